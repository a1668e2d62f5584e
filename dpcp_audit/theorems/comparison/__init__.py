"""Calibrators compared at equal privacy: budgets, methods, and the study over cases."""
