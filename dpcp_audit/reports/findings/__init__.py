"""Findings as a reader meets them: order, families, severity, and the words for numbers."""
