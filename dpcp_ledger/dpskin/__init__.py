"""What DP-SKIN claims, each claim beside what decides it."""
