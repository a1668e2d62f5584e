"""The words of the comparison: a case, a calibrator at its budget, a method, a case left out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Relation
from dpcp_audit.extensions.claims import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from dpcp_audit.extensions.claims import ApproxDP, FloatArray
    from dpcp_ledger.comparison.private_calibrator import Trust
    from dpcp_ledger.comparison.subjects import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One setting in which calibrators are compared.

    Parameters
    ----------
    subject : Subject
        What is calibrated on.
    n : int
        Calibration scores, drawn i.i.d.
    alpha : float
        Miscoverage level in (0, 1).
    budget : ApproxDP
        The privacy of the released threshold.
    failure : float
        The probability with which a promise that holds "with high probability" may fail: β of
        P-COQS, δ of LDP-CP.
    """

    subject: Subject
    n: int
    alpha: float
    budget: ApproxDP
    failure: float = 0.1

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, at_least=1)
        _validate.open_unit(alpha=self.alpha, failure=self.failure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A mechanism at the parameter that the budget buys.

    Parameters
    ----------
    draw : callable
        ``draw(trials, rng)`` returns the thresholds of independent runs on fresh scores.
    release : callable
        ``release(rng)`` draws one calibration set and returns a function without arguments
        that releases one threshold from it: what is timed.
    parameter : str
        The mechanism's own privacy parameter.
    most_trials : float
        How many runs are affordable; infinity where a run does not pay for n.
    """

    draw: Callable[[int, np.random.Generator], FloatArray]
    release: Callable[[np.random.Generator], Callable[[], object]]
    parameter: str
    most_trials: float = field(default=math.inf)


@dataclass(frozen=True, slots=True)
class SkippedMethod:
    """A method that was left out of a case, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to calibrate at a given privacy budget.

    Parameters
    ----------
    key, label : str
        Its short name, and its name for readers.
    family : str
        Methods of one family share what is costly to compute of a budget.
    trust : Trust
        Whom the people in the data must trust.
    promise : str
        What its theory promises about coverage; empty where it promises nothing.
    privacy : str
        How its δ(ε) is known.
    build : callable
        From a case to the calibrator at that budget, or the reason why there is none.
    relation : Relation
        What the budget protects: a whole record, or its label alone.
    private : bool
        False for the non-private reference.
    """

    key: str
    label: str
    family: str
    trust: Trust
    promise: str
    privacy: str
    build: Callable[[Case], Calibrated | SkippedMethod]
    relation: Relation = Relation.SUBSTITUTION
    private: bool = True
