"""DP-SGD and DP-Adam, the reference trainings, and the audits of trainings that the claims need.

``examples`` needs nothing beyond NumPy; ``gradients``, ``linear``, ``networks`` and ``dpsgd`` need
the extra ``dpsgd`` (PyTorch, Opacus).
"""

from __future__ import annotations

from dpcp_audit.extensions.claims import require_package


def require_torch() -> None:
    """Raise ``MissingExtraError``, which says what to install, where PyTorch is missing.

    To be called before what needs PyTorch is imported inside a function.
    """
    require_package("torch", "dpsgd", name="PyTorch")
