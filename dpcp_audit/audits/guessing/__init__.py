"""The guessing game: one online test of a pair of laws, for every guarantee."""
