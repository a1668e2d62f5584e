"""Audits of trainings that serve the thesis's claims: extraction, inversion, reconstruction."""
