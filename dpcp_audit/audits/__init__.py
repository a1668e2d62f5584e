"""Audits: tests of privacy claims, exact or by sampling."""
