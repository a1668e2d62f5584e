"""Theorems: coverage theorems, each with its statement, bound, trial and check."""
