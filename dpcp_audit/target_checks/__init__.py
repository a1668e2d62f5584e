"""Checks of third-party code: what is to be checked, as data, and the rows it makes."""
