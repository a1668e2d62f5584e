"""The papers' tables and figures, reproduced: published, as published, as written."""
