"""The claims of P-COQS and the quantiles it is compared with, each beside what decides it."""
