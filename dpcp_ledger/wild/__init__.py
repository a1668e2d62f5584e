"""Public repositories whose code is audited in a user's own clone, and none of it here."""
