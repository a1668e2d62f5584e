"""The zoo: broken twins of correct code, written as users write it, and what catches each."""
