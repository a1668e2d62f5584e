"""Coverage theorems, each one object: statement, assumptions, bound, trial and check."""
