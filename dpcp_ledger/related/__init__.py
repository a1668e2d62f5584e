"""Claims of neighbouring works: a file of claims, and the module that decides them."""
