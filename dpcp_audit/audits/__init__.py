"""Audits: privacy claims put to the test, exactly or by sampling."""
