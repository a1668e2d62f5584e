"""Mechanisms: the reference implementations, each with its law and its worst pair."""
