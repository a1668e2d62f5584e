"""DP-SGD and DP-Adam: the reference trainings, many models side by side.

``settings``, ``examples`` and ``canaries`` need nothing beyond NumPy; everything else needs the
extra ``dpsgd`` (PyTorch, Opacus).
"""

from __future__ import annotations

import importlib.util

from dpcp_audit.errors import MissingExtraError


def require_torch() -> None:
    """Raise ``MissingExtraError``, which says what to install, where PyTorch is missing.

    To be called before what needs PyTorch is imported inside a function.
    """
    if importlib.util.find_spec("torch") is None:
        raise MissingExtraError("PyTorch", "dpsgd")
