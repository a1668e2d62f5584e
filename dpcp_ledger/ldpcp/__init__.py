"""The claims of LDP-CP, each beside the computation that decides it."""
