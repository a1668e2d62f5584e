"""LDP-CP: calibration from randomised labels or scores, with its laws."""
