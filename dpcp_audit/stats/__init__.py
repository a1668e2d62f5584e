"""Statistics: intervals, ratio tests, bets, two samples and their power; no privacy code."""
