"""Mechanisms as papers' published code has them, and extensions of the papers' algorithms."""
