"""Data: populations of scores, pools and conformity scores."""
