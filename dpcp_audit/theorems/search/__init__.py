"""The search for the law of scores on which a theorem fails."""
