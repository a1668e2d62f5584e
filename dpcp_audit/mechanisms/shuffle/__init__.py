"""The shuffle model: laws of shuffled reports."""
