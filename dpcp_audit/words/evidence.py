"""The decision rule: from evidence and power to a verdict, for every check.

REFUTED: the whole interval lies beyond the claim. PROVED: computed evidence lies within it, and a
proof, every premise of which is enclosed and holds, covers every case that the statement speaks of.
CONSISTENT: not refuted, and the stated power reached the factor asked for. INCONCLUSIVE: anything
else; also where the interval lies within the claim, but the test had less power than that.
Comparisons are strict, without a tolerance: what a number may be off by is in its interval.

An exact check settles a statement "this number is at most that" by computing it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Sampled
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import (
    ROUNDING,
    Assumption,
    Evidence,
    EvidenceKind,
    Measure,
    Outcome,
    PlainData,
    Power,
    Proof,
    Sample,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import (
        Count,
        Estimate,
        Extent,
        Figure,
        Premise,
        ProofMethod,
        Table,
    )


DETECT = 2.0
"""The factor, in the scale of the noise, that a check has to be able to refute."""
LEAST_LOSS = 0.05
"""The loss that a factor is taken of, where a claim allows none at all."""
_SQUARED = frozenset({Quantity.RHO, Quantity.RENYI_DIVERGENCE})
"""Quantities that grow by a factor of four where the noise is halved."""


class Representation(StrEnum):
    """The consequence if only a number's floating-point representation breaks a claim."""

    WARN = "warn"
    STRICT = "strict"


REPRESENTATION = "representation"
"""The key of a witness for the sentence about how outputs are written."""


def decide(
    evidence: Evidence,
    *,
    power: Power | None = None,
    proof: Proof | None = None,
    detect: float = DETECT,
) -> Verdict:
    """Return the verdict on a claim.

    Parameters
    ----------
    evidence : Evidence
        Evidence for a number that the claim bounds; without a claimed value nothing is decided.
    power : Power or None
        The smallest violation that this check would have refuted.
    proof : Proof or None
        Why the evidence's number is within the claim in every case that the statement speaks of.
    detect : float
        CONSISTENT needs the power to refute a violation by this factor: twice ε or μ, but four
        times ρ or D_α, since it is a factor of the noise. Infinity asks for any violation.

    Examples
    --------
    >>> from dpcp_audit.words.results import Premise, Proof, ProofMethod
    >>> from dpcp_audit.words.results import Evidence, Power
    >>> found = Evidence.exact(Quantity.EPSILON, 0.9, claimed=1.0)
    >>> seen = Power(quantity=Quantity.EPSILON, smallest=1.0, claimed=1.0, detection=1.0)
    >>> loss = Premise(says="loss ≤ 1", left=(0.9, 0.9), right=(1.0, 1.0), holds=True)
    >>> proof = Proof(
    ...     method=ProofMethod.CLOSED_FORM, argument="One pair is worst.", premises=(loss,)
    ... )
    >>> str(decide(found, power=seen, proof=proof)), str(decide(found, power=seen))
    ('PROVED', 'CONSISTENT')
    """
    if refutes(evidence):
        return Verdict.REFUTED
    exact = evidence.kind is EvidenceKind.EXACT
    if exact and _lies_within(evidence) and proof is not None and proof.holds:
        return Verdict.PROVED
    measured = evidence.claimed is not None and not math.isnan(evidence.value)
    able = measured and power is not None and reaches(power, detect)
    return Verdict.CONSISTENT if able else Verdict.INCONCLUSIVE


def settled(evidence: Evidence) -> bool:
    """Return True if more trials would change nothing: the interval has left the claim's edge."""
    return refutes(evidence) or _lies_within(evidence)


def exact_power(evidence: Evidence) -> Power | None:
    """Return the power of a computed number: a violation beyond its error is refuted for certain.

    None where nothing was claimed, or where it was not computed.
    """
    if evidence.claimed is None or evidence.kind is not EvidenceKind.EXACT:
        return None
    wide = evidence.upper > evidence.lower
    width = evidence.upper - evidence.lower if wide else 0.0
    return Power(
        quantity=evidence.quantity,
        smallest=evidence.claimed + (width if evidence.bound is Bound.AT_MOST else -width),
        claimed=evidence.claimed,
        bound=evidence.bound,
        detection=1.0,
        at=evidence.at,
    )


def conclude(
    evidence: Evidence,
    power: Callable[[], Power],
    *,
    witness: PlainData,
    note: str,
    figures: tuple[Figure, ...] = (),
    tables: tuple[Table, ...] = (),
    estimates: tuple[Estimate, ...] = (),
    extent: Extent | None = None,
    detect: float = DETECT,
) -> Outcome:
    """Return the outcome of a sampled check; its power is asked for where it does not refute."""
    seen = None if refutes(evidence) else power()
    return Outcome(
        verdict=decide(evidence, power=seen, detect=detect),
        evidence=evidence,
        power=seen,
        witness=witness,
        note=note,
        figures=figures,
        tables=tables,
        estimates=estimates,
        extent=extent,
    )


def refutes(evidence: Evidence) -> bool:
    """Return True if the whole interval lies beyond the claim."""
    nearer = evidence.lower if evidence.bound is Bound.AT_MOST else evidence.upper
    return evidence.claimed is not None and _beyond(nearer, evidence, evidence.claimed)


def reaches(power: Power, detect: float = DETECT) -> bool:
    """Return True if a violation by the factor ``detect`` of the noise would have been refuted."""
    if math.isinf(power.smallest):
        return False
    if power.claimed == 0 and power.quantity.is_loss and math.isfinite(detect):
        return power.smallest <= LEAST_LOSS * detect
    if power.claimed < 0:  # of a negative number, such as a logarithm, the distance counts
        return abs(power.smallest - power.claimed) <= (detect - 1) * -power.claimed
    return power.factor <= (detect**2 if power.quantity in _SQUARED else detect)


def violation_by(
    factor: float, quantity: Quantity, claimed: float, bound: Bound = Bound.AT_MOST
) -> float:
    """Return the value of a quantity at which a claim is broken by a factor of the noise.

    Of a share that is not covered, or of a rate, the factor is its own; where that would leave
    the unit interval, it is the middle of what the claim excludes.

    Examples
    --------
    >>> violation_by(2.0, Quantity.RHO, 0.5), violation_by(2.0, Quantity.EPSILON, 1.0)
    (2.0, 2.0)
    >>> round(violation_by(2.0, Quantity.COVERAGE, 0.9, Bound.AT_LEAST), 12)
    0.8
    """
    if quantity.is_loss:
        times = factor**2 if quantity in _SQUARED else factor
        return times * claimed if claimed > 0 else factor * LEAST_LOSS
    if bound is Bound.AT_LEAST:
        return max(1 - factor * (1 - claimed), claimed / 2)
    return min(factor * claimed, (1 + claimed) / 2)


def noise_factor(violation: float, quantity: Quantity, claimed: float) -> float:
    """Return the factor of the noise by which a loss breaks a claim: ``violation_by`` undone."""
    if claimed <= 0:
        return violation / LEAST_LOSS
    times = violation / claimed
    return math.sqrt(times) if quantity in _SQUARED else times


def _lies_within(evidence: Evidence) -> bool:
    """Return True if the whole interval satisfies the claim; NaN never does."""
    if evidence.claimed is None:
        return False
    if evidence.bound is Bound.AT_MOST:
        return evidence.upper <= evidence.claimed
    return evidence.lower >= evidence.claimed


def _beyond(number: float, evidence: Evidence, claimed: float) -> bool:
    return number > claimed if evidence.bound is Bound.AT_MOST else number < claimed


def of_rate(
    quantity: Quantity,
    interval: tuple[float, float],
    *counts: Count,
    claimed: float,
    confidence: float,
    worst: int = 0,
    detail: str = "",
) -> Evidence:
    """Return evidence of a rate that a claim bounds from above.

    Parameters
    ----------
    *counts : Count
        The hits behind the rate, and those of other cases that it was chosen among.
    worst : int
        Index of the count that the rate and its interval belong to.
    """
    shown = counts[worst]
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=quantity,
        detail=detail,
        value=shown.hits / shown.trials,
        lower=interval[0],
        upper=interval[1],
        claimed=claimed,
        confidence=confidence,
        n_samples=sum(count.trials for count in counts),
        sample=Sample(measure=Measure.RATES, counts=counts),
    )


def of_mean(
    quantity: Quantity,
    value: float,
    interval: tuple[float, float],
    *,
    claimed: float,
    confidence: float,
    trials: int,
    variance: float,
    bound: Bound,
    limits: tuple[float, float] = (0.0, 1.0),
    detail: str = "",
    any_time: bool = False,
) -> Evidence:
    """Return evidence of the mean of ``trials`` values that never leave ``limits``.

    Where it is valid at any time, the number of trials may have been chosen in view of the values.
    """
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=quantity,
        detail=detail,
        value=value,
        lower=interval[0],
        upper=interval[1],
        claimed=claimed,
        confidence=confidence,
        n_samples=trials,
        bound=bound,
        sample=Sample(
            measure=Measure.MEAN,
            trials=trials,
            variance=variance,
            range=limits,
            any_time=any_time,
        ),
    )


def of_loss(
    quantity: Quantity,
    value: float,
    lower: float,
    *,
    refuted: bool,
    claimed: float,
    confidence: float,
    n_samples: int,
    at: dict[str, float] | None = None,
    detail: str = "",
    sample: Sample | None = None,
    assumption: Assumption = Assumption.NONE,
) -> Evidence:
    """Return evidence of a loss of privacy that a test bounds from below.

    A bound that was found by a search lies on the test's side of the claim: just beyond it where
    the test has refuted, and not beyond it elsewhere. The value lies within its own bound.
    """
    beyond = math.nextafter(claimed, math.inf)
    least = max(lower, beyond) if refuted else min(max(0.0, lower), claimed)
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=quantity,
        at=at or {},
        detail=detail,
        value=max(0.0, value, least),
        lower=least,
        upper=math.inf,
        claimed=claimed,
        confidence=confidence,
        n_samples=n_samples,
        sample=sample,
        assumption=assumption,
    )


_SAME = 1e-6
"""Relative distance of a value and an end of its interval up to which they are one number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """A number that a claim bounds from above, with the case that attains it.

    Parameters
    ----------
    quantity : Quantity
        The quantity that the number measures.
    value, claimed : float
        The largest value found, and the largest that the claim allows.
    slack : float
        Largest excess of the truth over ``value``.
    error : float
        Relative numerical error of the value on both sides; 0 where it is a whole number.
    lower, upper : float or None
        Rigorous ends, rounded outward, in the place of what value, slack and error give; a value
        outside of them by rounding is moved onto the nearer end.
    at, detail
        The quantity's parameters, and what else the number is of, in words. That the value is one
        end of a wider interval, "from below" or "from above", is added to them.
    proof : Proof or None
        Why the number is within the claim in every case of the statement.
    samples : int or None
        The number of simulated runs that the number rests on; None where it rests on none.
    confidence : float
        The probability that ``lower`` and ``upper`` hold; 1 where nothing was simulated.
    """

    quantity: Quantity
    value: float
    claimed: float
    slack: float = 0.0
    error: float = ROUNDING
    lower: float | None = None
    upper: float | None = None
    at: dict[str, float] = field(default_factory=dict[str, float])
    detail: str = ""
    proof: Proof | None = None
    witness: PlainData = field(default_factory=dict[str, Any])
    note: str = ""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    samples: int | None = None
    confidence: float = 1.0

    def __post_init__(self) -> None:
        _validate.non_negative(slack=self.slack, error=self.error)
        for name in ("value", "claimed"):
            if math.isnan(getattr(self, name)):
                raise ValueError(f"{name} must be a number, got nan ({self.quantity})")

    @classmethod
    def counted(
        cls,
        number: int,
        *,
        detail: str,
        witness: PlainData,
        note: str = "",
        claimed: int = 0,
        tables: tuple[Table, ...] = (),
    ) -> Computation:
        """Return the computation of a whole number, which is without error; ``claimed`` is 0.

        Examples
        --------
        >>> Computation.counted(2, detail="tables that repeat others", witness={}).verdict
        <Verdict.REFUTED: 'REFUTED'>
        """
        return cls(
            quantity=Quantity.COUNT,
            detail=detail,
            value=float(number),
            claimed=float(claimed),
            error=0.0,
            witness=witness,
            note=note,
            tables=tables,
        )

    @property
    def evidence(self) -> Evidence:
        """The number between its ends."""
        found = Evidence.exact(
            self.quantity,
            self.value,
            claimed=self.claimed,
            slack=self.slack,
            error=self.error,
            at=self.at,
            detail=self.detail,
        )
        lower = found.lower if self.lower is None else self.lower
        upper = found.upper if self.upper is None else self.upper
        value = min(max(self.value, lower), upper)
        side = known_side(value, lower, upper) if self.samples is None else ""
        return replace(
            found,
            kind=EvidenceKind.EXACT if self.samples is None else EvidenceKind.CERTIFIED,
            value=value,
            lower=lower,
            upper=upper,
            detail=", ".join(words for words in (self.detail, side) if words),
            n_samples=self.samples,
            confidence=self.confidence,
        )

    def between(
        self,
        compared: Premise,
        *further: Premise,
        method: ProofMethod,
        argument: str,
        parameters: PlainData,
    ) -> Computation:
        """Return the computation with the ends that a comparison encloses, and its proof.

        Parameters
        ----------
        compared : Premise
            The number against the claim. Where it holds between exact numbers, its ends may round
            beyond the claim; the upper end is then the claim.
        *further : Premise
            Further premises of the argument.
        """
        lower, upper = compared.left
        return replace(
            self,
            lower=max(lower, 0.0) if self.value >= 0 else lower,
            upper=min(upper, self.claimed) if compared.holds else upper,
            proof=Proof(
                method=method,
                argument=argument,
                premises=(compared, *further),
                parameters=parameters,
            ),
        )

    @property
    def verdict(self) -> Verdict:
        """REFUTED beyond the claim, PROVED with a proof within it; else the power decides."""
        return decide(self.evidence, power=self.power, proof=self.proof)

    @property
    def power(self) -> Power:
        """Whatever exceeds the claim by more than the interval's width is refuted if it holds."""
        found = self.evidence
        width = found.upper - found.lower if found.upper > found.lower else 0.0
        return Power(
            quantity=self.quantity,
            smallest=self.claimed + width,
            claimed=self.claimed,
            detection=self.confidence,
            at=self.at,
        )


def known_side(value: float, lower: float, upper: float) -> str:
    """Return the end of its interval that a value is, if the interval is wider than an error.

    Examples
    --------
    >>> known_side(7.2, 7.2, 91.7), known_side(0.5, 0.0, 0.5), known_side(0.5, 0.5, 0.5)
    ('from below', 'from above', '')
    """
    room = _SAME * max(abs(value), _SAME)
    at_lower, at_upper = value - lower <= room, upper - value <= room
    if math.isinf(value) or at_lower == at_upper:
        return ""
    return "from below" if at_lower else "from above"


@dataclass(frozen=True, slots=True)
class Computed:
    """Settle a claim by computation; ``compute`` does the work when the check runs.

    Nothing that the number rests on may be simulated: that is for ``Simulated``.

    :Null hypothesis: The claimed bound holds for the number that is computed: an exact loss,
        coverage or failure probability.
    :Statistic: The number itself, with an interval that encloses its numerical error.
    :Level: No false alarms, as far as the enclosure holds: nothing is sampled.
    :Power: Whatever exceeds the claim by more than the width of the interval.
    :Reference: The finding names its own formula; comparisons are in ball arithmetic where it is
        PROVED.
    """

    compute: Callable[[], Computation]

    @property
    def sampled(self) -> bool:
        """No part of the verdict is left to chance."""
        return False

    def __call__(self, context: Context) -> Outcome:  # noqa: ARG002  (exact: nothing to draw)
        """Compute the number and test it against the claim."""
        return _outcome(self.compute(), sampled=False)


@dataclass(frozen=True, slots=True)
class Simulated(Sampled):
    """Settle a claim by a number over simulated runs, whose interval holds with a probability.

    ``compute`` is called with the check's ``significance``, the largest probability with which its
    interval may be wrong, and says how many runs it has made.

    :Null hypothesis: The claimed bound holds for a number that a simulation estimates.
    :Statistic: The estimate over simulated runs, with a confidence interval.
    :Level: At most the significance, with which the interval may miss the number.
    :Power: Whatever exceeds the claim by more than the width of the interval.
    :Reference: The finding names its own interval.
    """

    compute: Callable[..., Computation]

    def __call__(self, context: Context) -> Outcome:
        """Simulate the runs and test their number against the claim."""
        return _outcome(self.compute(significance=context.significance), sampled=True)


def _outcome(result: Computation, *, sampled: bool) -> Outcome:
    if sampled != (result.samples is not None):
        raise ValueError(
            f"samples must be {'a number' if sampled else 'None'}, got {result.samples!r}"
        )
    verdict = result.verdict
    return Outcome(
        verdict=verdict,
        evidence=result.evidence,
        power=None if verdict is Verdict.REFUTED else result.power,
        proof=result.proof if verdict is Verdict.PROVED else None,
        witness=result.witness,
        note=result.note,
        figures=result.figures,
        tables=result.tables,
    )
