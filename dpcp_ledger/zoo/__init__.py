"""The zoo: broken twins of correct code, and what catches each."""
