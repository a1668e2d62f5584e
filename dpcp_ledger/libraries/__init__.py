"""Recipes: third-party libraries with what their documentation promises, ready to check."""
