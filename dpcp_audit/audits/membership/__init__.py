"""Membership inference on what a private calibrator releases."""
