"""Estimates of the privacy loss on a pair, with two sides: over a partition, traced, or exact."""
