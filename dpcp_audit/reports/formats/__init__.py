"""Report formats, and the schema of the results document they are made from."""
