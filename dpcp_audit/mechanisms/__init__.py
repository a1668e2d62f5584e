"""Mechanisms: the reference implementations, their guarantees, samplers and exact laws."""
