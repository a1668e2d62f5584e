"""The claims of DP-SKIN, each beside the computation that decides it."""
