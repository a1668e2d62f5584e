"""Reports: from a results document to what people and other tools read."""
