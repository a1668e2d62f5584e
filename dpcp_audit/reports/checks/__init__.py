"""Audits of foreign code: what is to be checked, as data, and the rows that it makes."""
