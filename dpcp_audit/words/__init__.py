"""Words: the vocabulary of every storey above: guarantees, claims, evidence, findings."""
