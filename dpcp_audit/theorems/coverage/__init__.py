"""Coverage audits of third-party calibrators, on the law that each covers worst."""
