"""The search for what refutes a claim: pairs of neighbours, and events of the output."""
