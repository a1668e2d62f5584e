"""Recipes: code that nobody here wrote, with what its documentation promises, ready to check."""
