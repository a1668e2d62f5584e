"""DP-SGD and DP-Adam: the reference trainings, many models side by side.

``examples`` and ``subsampled_gaussian`` need nothing beyond NumPy; everything else needs the extra
``dpsgd`` (PyTorch, Opacus).
"""

from __future__ import annotations

from dpcp_audit.words.errors import require_package


def require_torch() -> None:
    """Raise ``MissingExtraError``, which says what to install, where PyTorch is missing.

    To be called before what needs PyTorch is imported inside a function.
    """
    require_package("torch", "dpsgd", name="PyTorch")
