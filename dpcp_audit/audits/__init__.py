"""Audits: exact and sampled privacy audits, their statistics, evidence and verdicts."""
