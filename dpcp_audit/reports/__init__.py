"""Reports: the suite, the runner, the command line and the report formats."""
