"""Computations that settle claims of the papers."""
