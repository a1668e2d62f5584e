"""What LDP-CP claims, each claim beside what decides it."""
