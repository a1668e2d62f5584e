"""dpcp-audit: a statistical auditor for differentially private conformal prediction."""

from __future__ import annotations

__version__ = "0.1.0"
