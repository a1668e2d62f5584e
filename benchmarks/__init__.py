"""What the package costs and how strong it is, measured: see README.md."""
