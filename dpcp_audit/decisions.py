"""The decision rule: from evidence and power to a verdict, for every check.

REFUTED: the whole interval lies beyond the claim. PROVED: computed evidence lies within it, and a
proof, every premise of which is enclosed and holds, covers every case that the statement speaks of.
CONSISTENT: not refuted, and either the power reached the factor asked for, or the whole certified
interval lies within the claim. INCONCLUSIVE: anything else. Comparisons are strict, without a
tolerance: what a number may be off by is in its interval.

An interval that lies within the claim settles nothing where a search chose one case of many, since
another may be worse. So it is with a sampled loss of privacy: one event or one attack shows it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit.quantities import Bound, Quantity
from dpcp_audit.results import EvidenceKind, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.figures import Figure
    from dpcp_audit.outcome_tables import Table
    from dpcp_audit.proofs import Proof
    from dpcp_audit.results import Estimate, Evidence, PlainData, Power

DETECT = 2.0
"""The factor, in the scale of the noise, that a check has to be able to refute."""
LEAST_LOSS = 0.05
"""The loss that a factor is taken of, where a claim allows none at all."""
_SQUARED = frozenset({Quantity.RHO, Quantity.RENYI_DIVERGENCE})
"""Quantities that grow by a factor of four where the noise is halved."""


def decide(
    evidence: Evidence,
    *,
    power: Power | None = None,
    proof: Proof | None = None,
    searched: bool = False,
    detect: float = DETECT,
) -> Verdict:
    """Return the verdict on a claim.

    Parameters
    ----------
    evidence : Evidence
        Of a number that the claim bounds; without a claimed value nothing is decided.
    power : Power or None
        What this check would have refuted.
    proof : Proof or None
        Why the evidence's number is within the claim in every case that the statement speaks of.
    searched : bool
        Whether it is of the worst case that a search has found.
    detect : float
        CONSISTENT needs the power to refute a violation by this factor: twice ε or μ, but four
        times ρ or D_α, since it is a factor of the noise. Infinity asks for any violation.

    Examples
    --------
    >>> from dpcp_audit.proofs import Premise, Proof, ProofMethod
    >>> from dpcp_audit.results import Evidence, Power
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
    one_of_many = searched or evidence.quantity.is_loss
    settled = exact or not (one_of_many or evidence.kind is EvidenceKind.INDICATIVE)
    within = settled and _lies_within(evidence)
    if exact and within and proof is not None and proof.holds:
        return Verdict.PROVED
    measured = evidence.claimed is not None and not math.isnan(evidence.value)
    able = measured and power is not None and reaches(power, detect)
    return Verdict.CONSISTENT if within or able else Verdict.INCONCLUSIVE


def conclude(
    evidence: Evidence,
    power: Callable[[], Power],
    *,
    witness: PlainData,
    note: str,
    figures: tuple[Figure, ...] = (),
    tables: tuple[Table, ...] = (),
    estimates: tuple[Estimate, ...] = (),
    searched: bool = False,
    detect: float = DETECT,
) -> Outcome:
    """Return the outcome of a sampled check; its power is asked for where it does not refute."""
    seen = None if refutes(evidence) else power()
    return Outcome(
        verdict=decide(evidence, power=seen, searched=searched, detect=detect),
        evidence=evidence,
        power=seen,
        witness=witness,
        note=note,
        figures=figures,
        tables=tables,
        estimates=estimates,
    )


def refutes(evidence: Evidence) -> bool:
    """Tell whether the whole interval lies beyond the claim."""
    nearer = evidence.lower if evidence.bound is Bound.AT_MOST else evidence.upper
    return evidence.claimed is not None and _beyond(nearer, evidence, evidence.claimed)


def reaches(power: Power, detect: float = DETECT) -> bool:
    """Tell whether a violation by the factor ``detect`` of the noise would have been refuted."""
    if math.isinf(power.smallest):
        return False
    if power.claimed == 0 and power.quantity.is_loss and math.isfinite(detect):
        return power.smallest <= LEAST_LOSS * detect
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
    """Tell whether the whole interval meets the claim: what is not a number does not."""
    if evidence.claimed is None:
        return False
    if evidence.bound is Bound.AT_MOST:
        return evidence.upper <= evidence.claimed
    return evidence.lower >= evidence.claimed


def _beyond(number: float, evidence: Evidence, claimed: float) -> bool:
    return number > claimed if evidence.bound is Bound.AT_MOST else number < claimed
