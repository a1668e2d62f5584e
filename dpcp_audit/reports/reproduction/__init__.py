"""A reproduction as plain data, and its pages."""
