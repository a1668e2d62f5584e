"""dpcp-audit: a statistical auditor for differentially private conformal prediction.

The names below are the public interface; every other module is internal and may change. They
are imported when they are first used.

Examples
--------
>>> import dpcp_audit as dp
>>> def private_mean(scores, size, *, rng):
...     return scores.mean() + rng.laplace(scale=1 / len(scores), size=size)
>>> result = dp.audit(private_mean, dp.PureDP(1.0), n=20, vectorised=True)
>>> result.verdict
<Verdict.CONSISTENT: 'CONSISTENT'>
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcp_audit.frontends.python_api.audits import audit, covers, run
    from dpcp_audit.frontends.python_api.calibrator_checks import check_calibrator
    from dpcp_audit.frontends.python_api.estimates import estimate
    from dpcp_audit.frontends.python_api.result import Result
    from dpcp_audit.frontends.python_api.theorem_tests import theorem
    from dpcp_audit.frontends.python_api.traces import trace
    from dpcp_audit.frontends.python_api.training_audits import audit_training
    from dpcp_audit.guarantees import (
        ZCDP,
        ApproxDP,
        Coverage,
        GaussianDP,
        LocalDP,
        PureDP,
        RenyiDP,
    )
    from dpcp_audit.neighbours import Neighbours
    from dpcp_audit.results import Verdict
    from dpcp_audit.tracing.primitives import primitive

__version__ = "0.1.0"
__all__ = [
    "ZCDP",
    "ApproxDP",
    "Coverage",
    "GaussianDP",
    "LocalDP",
    "Neighbours",
    "PureDP",
    "RenyiDP",
    "Result",
    "Verdict",
    "__version__",
    "audit",
    "audit_training",
    "check_calibrator",
    "covers",
    "estimate",
    "primitive",
    "run",
    "theorem",
    "trace",
]
_GUARANTEES = "dpcp_audit.guarantees"
_HOMES = {
    "audit": "dpcp_audit.frontends.python_api.audits",
    "audit_training": "dpcp_audit.frontends.python_api.training_audits",
    "check_calibrator": "dpcp_audit.frontends.python_api.calibrator_checks",
    "covers": "dpcp_audit.frontends.python_api.audits",
    "run": "dpcp_audit.frontends.python_api.audits",
    "estimate": "dpcp_audit.frontends.python_api.estimates",
    "primitive": "dpcp_audit.tracing.primitives",
    "theorem": "dpcp_audit.frontends.python_api.theorem_tests",
    "trace": "dpcp_audit.frontends.python_api.traces",
    "Result": "dpcp_audit.frontends.python_api.result",
    "ApproxDP": _GUARANTEES,
    "Coverage": _GUARANTEES,
    "GaussianDP": _GUARANTEES,
    "LocalDP": _GUARANTEES,
    "PureDP": _GUARANTEES,
    "RenyiDP": _GUARANTEES,
    "ZCDP": _GUARANTEES,
    "Neighbours": "dpcp_audit.neighbours",
    "Verdict": "dpcp_audit.results",
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
