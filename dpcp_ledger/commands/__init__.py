"""Commands of the ledger: reproduce, compare-calibrators and selftest."""
