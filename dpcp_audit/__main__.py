"""``python -m dpcp_audit``."""

from __future__ import annotations

import sys

from dpcp_audit.faces.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
