"""Runs: checks cut into tasks, handed to engines, journalled, and put together again."""
