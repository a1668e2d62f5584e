"""A user's own Opacus training: what it accounts, what its steps do, and canaries in its loop."""
