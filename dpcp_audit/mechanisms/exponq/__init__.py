"""ExponQ: the exponential-mechanism quantile, its bins and its worst neighbours."""
