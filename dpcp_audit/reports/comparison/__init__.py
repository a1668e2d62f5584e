"""The comparison of calibrators at equal privacy, as tables, figures, a map and a page."""
