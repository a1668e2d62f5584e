"""P-COQS: the noisy search for a private quantile, its law and its transcript."""
