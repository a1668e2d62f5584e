"""The claims of the papers, one module a subject."""
