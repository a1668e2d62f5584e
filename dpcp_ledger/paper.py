"""A paper's claims, each beside what decides it: a decorated computation, a check, a theorem."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.claims import (
    Computation,
    Computed,
    ProofMethod,
    Row,
    Simulated,
    SourceLocation,
    Standing,
    Verdict,
    claims_of,
)
from dpcp_audit.extensions.statistics import MeanBets, all_at_most, clopper_pearson
from dpcp_audit.extensions.theorems import claim_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpcp_audit.extensions.claims import Check, PlainData, Quantity

    Compute = Callable[..., Computation]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """The claims of one paper on one topic; ``rows`` has them in the order in which they stand.

    Parameters
    ----------
    title : str
        The paper, as its claims' source names it.
    subject : str
        The heading that its claims stand under, unless they say otherwise.
    standing : Standing
        Their standing, unless they say otherwise.

    Examples
    --------
    >>> from dpcp_audit.extensions.claims import Quantity
    >>> paper = Paper(title="A paper", subject="Its numbers")
    >>> @paper.claim("paper.limit", "Section 1", Verdict.REFUTED, "It is at most 1.", limit=1.0)
    ... def largest(*, limit: float) -> Computation:
    ...     return Computation(quantity=Quantity.VALUE, value=2.0, claimed=limit)
    >>> [(row.claim.id, row.check.compute().verdict.name) for row in paper.rows]
    [('paper.limit', 'REFUTED')]
    """

    title: str
    subject: str = ""
    standing: Standing = Standing.PAPER
    rows: list[Row] = field(default_factory=list[Row])

    def claim(
        self,
        id_: str,
        section: str,
        expected: Verdict | None,
        says: str,
        formula: str = "",
        *,
        subject: str = "",
        standing: Standing | None = None,
        assumptions: str = "",
        vacuous: str = "",
        parameters: PlainData | None = None,
        simulated: bool = False,
        **case: Any,
    ) -> Callable[[Compute], Compute]:
        """Return a decorator that adds a claim, decided by the computation that it decorates.

        Parameters
        ----------
        id_, section, expected, says, formula : str or Verdict
            The claim's id, where it stands, the verdict to expect, the statement in words and as
            a formula.
        vacuous : str
            Why it promises nothing, in a sentence that goes before the statement.
        parameters : dict, optional
            Parameters that the claim fixes, as plain data; by default those of the case.
        simulated : bool
            True if the number rests on simulated runs; the computation is then also called with a
            ``significance`` (see ``Simulated``).
        **case : object
            The keyword arguments that the computation is called with.
        """

        def decorate(compute: Compute) -> Compute:
            decided = partial(compute, **case) if case else compute
            self.tested(
                id_,
                section,
                expected,
                f"{vacuous} {says}".lstrip(),
                formula,
                check=Simulated(decided) if simulated else Computed(decided),
                subject=subject,
                standing=standing,
                assumptions=assumptions,
                vacuous=vacuous,
                parameters=case if parameters is None else parameters,
            )
            return compute

        return decorate

    def tested(
        self,
        id_: str,
        section: str,
        expected: Verdict | None,
        says: str,
        formula: str = "",
        *,
        check: Check,
        vacuous: str = "",
        **others: Any,
    ) -> None:
        """Add a claim that a check of any kind decides; ``others`` are those of ``ClaimMaker``."""
        make = claims_of(self.title, subject=self.subject, standing=self.standing)
        claim = make(id_, section, expected, says, formula, **others)
        claim = replace(claim, vacuous=vacuous, location=_written())
        self.rows.append(Row(claim=claim, check=check))

    def theorem(
        self, theorem: Any, id_: str, expected: Verdict | None, check: Check, **others: Any
    ) -> None:
        """Add the claim of a theorem, in its own words; ``others`` are those of ``claim_of``."""
        given: dict[str, Any] = {"subject": self.subject, "standing": self.standing} | others
        claim = replace(claim_of(theorem, id_, expected, **given), location=_written())
        self.rows.append(Row(claim=claim, check=check))


def _written() -> SourceLocation | None:
    """Return the line that adds a claim, in the module of whoever calls this one."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    if frame is None:
        return None
    module = str(frame.f_globals["__name__"])
    return SourceLocation.in_module(frame.f_code.co_filename, frame.f_lineno, module=module)


def largest(
    numbers: Mapping[Any, Fraction | float],
    claimed: float,
    *,
    quantity: Quantity,
    detail: str,
    says: str,
    argument: str,
    note: str,
    witness: PlainData | None = None,
    key: str = "at",
    parameters: PlainData | None = None,
) -> Computation:
    """Return the largest of some exact numbers against a claim, proved by comparing each.

    Parameters
    ----------
    numbers : mapping
        The numbers, by their names.
    says, argument : str
        The comparison as a formula, and why it is all that the claim says.
    witness, key : dict, str
        The witness beside the name of the largest, and the key of that name.
    """
    worst = max(numbers, key=lambda name: numbers[name])
    found = Computation(
        quantity=quantity,
        detail=detail,
        value=float(numbers[worst]),
        claimed=claimed,
        witness={key: worst} | (witness or {}),
        note=note,
    )
    return found.between(
        all_at_most(says, list(numbers.values()), Fraction(claimed)),
        method=ProofMethod.ENUMERATION,
        argument=argument,
        parameters=parameters or {},
    )


def mean_of_runs(values: Sequence[float], *, most: float, significance: float) -> dict[str, Any]:
    """Return the mean over runs as fields of a computation, with its limit from below.

    Parameters
    ----------
    values : sequence of float
        A number of each run, between 0 and ``most``.
    """
    shares = np.asarray(values, dtype=np.float64) / most
    lower = most * MeanBets().lower_limit(shares, significance=significance)
    return _over_runs(float(np.mean(values)), lower, math.inf, len(values), significance)


def share_of_runs(hits: int, runs: int, *, significance: float) -> dict[str, Any]:
    """Return the share of the runs in which something happened, as fields of a computation."""
    lower, upper = clopper_pearson(hits, runs, significance=significance)
    return _over_runs(hits / runs, lower, upper, runs, significance)


def _over_runs(
    value: float, lower: float, upper: float, runs: int, significance: float
) -> dict[str, Any]:
    return {
        "value": value,
        "lower": lower,
        "upper": upper,
        "samples": runs,
        "confidence": 1 - significance,
    }


REAL_NOISE = "noise drawn from its stated law on the real numbers; not of floating-point draws"
"""The assumption of proofs of mechanisms with continuous noise."""


class Heading(StrEnum):
    """A heading for the claims of several modules; one module's own heading stands there."""

    SCORE_ALGORITHM = "LDP-CP-S, Algorithm 3"
    SCORE_COVERAGE = "LDP-CP-S, coverage"
    LABEL_COVERAGE = "LDP-CP-L, coverage"
    ONE_REPORT = "LDP-CP, privacy of one report"
    SHUFFLED = "LDP-CP, shuffled reports"
    SEARCH_PRIVACY = "P-COQS, privacy"
    SEARCH_RANK = "P-COQS, rank error"
    SEARCH_COVERAGE = "P-COQS, coverage"
    PRINTED_TABLES = "P-COQS, the printed tables"
    EXPONQ_PRIVACY = "ExponQ, privacy"
    EXPONQ_COVERAGE = "ExponQ, coverage"
    HISTLAP_PRIVACY = "HistLap, privacy"
    HISTLAP_COVERAGE = "HistLap, coverage"
    SPLIT_COVERAGE = "Split conformal prediction, coverage"
    PLANTED_BUGS = "Private training with planted bugs"
    TRAINED_MODELS = "Trained models, membership inference"
    WITHOUT_NOISE = "Training without noise, the attacks' positive control"
    TRAINING_PIPELINE = "A private classifier under P-COQS"
