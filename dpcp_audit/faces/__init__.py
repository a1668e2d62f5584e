"""The ways in: command line, configuration file, pytest plugin and Python."""
