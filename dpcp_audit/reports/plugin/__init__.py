"""What stands behind the pytest plugin."""
