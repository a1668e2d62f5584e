"""Estimates of the privacy loss on a pair: over a partition of outputs, traced, or exact."""
