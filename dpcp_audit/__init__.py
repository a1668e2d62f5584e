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
from sys import modules, platform
from typing import TYPE_CHECKING, Any

if platform == "win32":
    raise ImportError(
        "dpcp-audit runs on Linux and macOS: checks are limited and isolated by POSIX means, which "
        "Windows lacks\nhint: run it in the Windows Subsystem for Linux"
    )
if TYPE_CHECKING:
    from dpcp_audit.faces.audits import audit, check_calibrator, covers, draws_needed, power, run
    from dpcp_audit.faces.estimates import LossEstimates, estimate
    from dpcp_audit.faces.pytest_plugin.fixture import DPAudit
    from dpcp_audit.faces.result import ClaimResult, Result
    from dpcp_audit.faces.theorems import Exploration, explore, theorem
    from dpcp_audit.faces.traces import Trace, trace
    from dpcp_audit.faces.training_audits import audit_training
    from dpcp_audit.mechanisms.calibrators import calibrate
    from dpcp_audit.proving.proof_result import ProofResult
    from dpcp_audit.proving.prover import prove
    from dpcp_audit.tracing.generators import primitive
    from dpcp_audit.words.guarantees import (
        ZCDP,
        ApproxDP,
        Coverage,
        GaussianDP,
        LocalDP,
        Neighbours,
        PureDP,
        RenyiDP,
    )
    from dpcp_audit.words.results import Estimate, Finding, Outcome, Power, Verdict

__version__ = "0.2.0"
__all__ = [
    "ZCDP",
    "ApproxDP",
    "ClaimResult",
    "Coverage",
    "DPAudit",
    "Estimate",
    "Exploration",
    "Finding",
    "GaussianDP",
    "LocalDP",
    "LossEstimates",
    "Neighbours",
    "Outcome",
    "Power",
    "ProofResult",
    "PureDP",
    "RenyiDP",
    "Result",
    "Trace",
    "Verdict",
    "__version__",
    "audit",
    "audit_training",
    "calibrate",
    "check_calibrator",
    "covers",
    "draws_needed",
    "estimate",
    "explore",
    "power",
    "primitive",
    "prove",
    "run",
    "theorem",
    "trace",
]
_GUARANTEES = "dpcp_audit.words.guarantees"
_RESULTS = "dpcp_audit.words.results"
_HOMES = {
    "audit": "dpcp_audit.faces.audits",
    "audit_training": "dpcp_audit.faces.training_audits",
    "calibrate": "dpcp_audit.mechanisms.calibrators",
    "check_calibrator": "dpcp_audit.faces.audits",
    "covers": "dpcp_audit.faces.audits",
    "run": "dpcp_audit.faces.audits",
    "estimate": "dpcp_audit.faces.estimates",
    "explore": "dpcp_audit.faces.theorems",
    "draws_needed": "dpcp_audit.faces.audits",
    "power": "dpcp_audit.faces.audits",
    "prove": "dpcp_audit.proving.prover",
    "primitive": "dpcp_audit.tracing.generators",
    "theorem": "dpcp_audit.faces.theorems",
    "trace": "dpcp_audit.faces.traces",
    "ClaimResult": "dpcp_audit.faces.result",
    "DPAudit": "dpcp_audit.faces.pytest_plugin.fixture",
    "Exploration": "dpcp_audit.faces.theorems",
    "LossEstimates": "dpcp_audit.faces.estimates",
    "ProofResult": "dpcp_audit.proving.proof_result",
    "Result": "dpcp_audit.faces.result",
    "Trace": "dpcp_audit.faces.traces",
    "ApproxDP": _GUARANTEES,
    "Coverage": _GUARANTEES,
    "GaussianDP": _GUARANTEES,
    "LocalDP": _GUARANTEES,
    "PureDP": _GUARANTEES,
    "RenyiDP": _GUARANTEES,
    "ZCDP": _GUARANTEES,
    "Neighbours": _GUARANTEES,
    "Estimate": _RESULTS,
    "Finding": _RESULTS,
    "Outcome": _RESULTS,
    "Power": _RESULTS,
    "Verdict": _RESULTS,
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    _tell_hypothesis()
    return value


def _tell_hypothesis() -> None:
    """Register strategies of the guarantees with Hypothesis, where both are loaded.

    It is an entry point of Hypothesis, which is loaded first in most test suites; then a name
    that is asked of this module registers them. Neither alone imports anything.
    """
    if _GUARANTEES in modules and hasattr(modules.get("hypothesis"), "strategies"):
        import_module("dpcp_audit.strategies")  # registers what it has


def __dir__() -> list[str]:
    return sorted(__all__)
