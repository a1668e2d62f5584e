"""What P-COQS and the quantiles it is compared with claim, each claim beside what decides it."""
