"""The suites of claims, and the record of every statement of the papers."""
