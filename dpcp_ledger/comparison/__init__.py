"""All calibrators compared at equal privacy: budgets, methods, study and page."""
