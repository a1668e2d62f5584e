"""Audits of trained models: canaries, membership, extraction, inversion, reconstruction."""
