"""Traced audits: the privacy loss of unchanged code, run by run, from the noise that it draws."""
