"""The papers' tables and figures, computed again."""
