"""Data: populations of scores, pools, loaders and conformity scores."""
