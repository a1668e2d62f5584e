"""Rows for the quantiles that P-COQS is compared with: ExponQ, HistLap, split conformal."""
