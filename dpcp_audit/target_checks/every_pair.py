"""All pairs of values of a randomizer: their whole laws, and what may be proved of them.

A proof needs more than the laws: the verifier must have read the source and found nothing that it
does not know, so that the code depends on its input and its draws alone and keeps no state; and a
few calls must do the same without a trace. Where that is not so the exact loss stands, and the
reason why it is no proof is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.exact import worst_measurement
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.targets import Kind
from dpcp_audit.tracing.draws import TraceEnd
from dpcp_audit.tracing.outputs import (
    ROUNDED,
    exact_pair,
    pair_of,
    rounded_output,
    same_atoms,
    without_marks,
    without_rounding,
)
from dpcp_audit.tracing.path_losses import require_replay
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.path_tree import release_law
from dpcp_audit.words.evidence import decide
from dpcp_audit.words.guarantees import Neighbours, Relation
from dpcp_audit.words.results import Premise, Proof, ProofMethod, SourceLocation, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.laws.laws import FinitePair
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.tracing.outputs import OutputLaw
    from dpcp_audit.tracing.target_calls import TracedTarget
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Outcome

_ALL_PATHS, _ALL_PAIRS = 10_000, 2_000
"""Paths over all values, and pairs of values, up to which a randomizer is enumerated whole."""
_UNTRACED = 8
"""Calls of each value without a trace, which must return what the traced ones do."""

_EVERY_PATH = "Every path of the code was run on every value, for ideal draws."
_DOUBLES = (
    " Assumed: each probability, which the code has as a double, stands for a real number within "
    "its rounding; a loss that only this rounding puts beyond the claim is within it."
)
_ROUNDED_AWAY = "outputs that differ by no more than rounding, or in type, are taken for one"


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryPair:
    """The whole laws of a randomizer over a finite domain.

    Parameters
    ----------
    worst : Neighbours
        The pair that loses most.
    largest : float
        The loss of the worst pair where outputs are told apart to the last bit, and by type.
    doubt : str
        Why the laws prove nothing, with the line; "" where they may.
    elementary : bool
        True if all probabilities are sums and products of doubles of the code.
    """

    worst: Neighbours[Any]
    largest: float
    doubt: str
    elementary: bool = False

    @classmethod
    def of(
        cls, spec: CheckSpec, guarantee: PrivacyGuarantee, target: TracedTarget
    ) -> EveryPair | None:
        """Return the laws of all values; None where they are not finite, or not followed."""
        domain = None if spec.pair is not None else spec.target.domain
        if spec.target.kind is not Kind.RANDOMIZER or domain is None:
            return None
        if math.comb(domain, 2) > _ALL_PAIRS or not loss_of(guarantee).by_laws:
            return None
        pairs = list(combinations(range(domain), 2))
        try:
            laws = _laws(target, domain)
        except TraceEnd:
            return None
        return cls._of_laws(guarantee, laws, pairs, _doubt(target, domain), target)

    @classmethod
    def _of_laws(
        cls,
        guarantee: PrivacyGuarantee,
        laws: Sequence[OutputLaw],
        pairs: Sequence[tuple[int, int]],
        doubt: str,
        target: TracedTarget,
    ) -> EveryPair | None:
        try:
            near = [without_rounding(pair_of(laws[a], laws[b]))[0] for a, b in pairs]
        except TraceEnd:
            return None
        losses = [_loss(guarantee, each) for each in near]
        a, b = pairs[losses.index(max(losses))]
        largest = max(_loss(guarantee, _to_the_bit(laws[a], laws[b])) for a, b in pairs)
        if largest > max(losses):
            doubt = doubt or _ROUNDED_AWAY
        return cls(
            worst=Neighbours(relation=Relation.SUBSTITUTION, value=a, neighbour=b),
            largest=largest,
            doubt=doubt or _untraced_doubt(target, laws),
            elementary=all(law.elementary for law in laws),
        )

    def proved(
        self, found: Outcome, guarantee: PrivacyGuarantee, rounding: float | None = None
    ) -> Outcome:
        """Return the outcome of the worst pair: what lies within the claim is proved.

        Parameters
        ----------
        rounding : float or None
            By how much the loss moves if the probabilities, which are doubles, stand for real
            numbers that round to them. The claim is compared up to that, as the proof says.
        """
        rounding = rounding if self.elementary else None
        evidence = replace(
            found.evidence, upper=max(found.evidence.upper, self.largest + _room(found))
        )
        claimed = evidence.claimed
        assert claimed is not None  # noqa: S101  (for the type checker)
        allowed = claimed + (2 * rounding if rounding else 0.0)
        says = f", or beyond it by at most {allowed - claimed:.1e}" if rounding else ""
        premise = Premise(
            says=f"the loss on the worst pair, enumerated, is within {guarantee}{says}",
            left=(evidence.lower, evidence.upper),
            right=(claimed, allowed),
            holds=evidence.upper <= allowed,
        )
        if premise.holds:
            evidence = replace(
                evidence,
                value=min(evidence.value, claimed),
                lower=min(evidence.lower, claimed),
                upper=min(evidence.upper, claimed),
            )
        proof = Proof(
            method=ProofMethod.ENUMERATION,
            argument=f"{_EVERY_PATH}{_DOUBLES if rounding else ''}",
            premises=(premise,),
        )
        verdict = decide(evidence, power=found.power, proof=None if self.doubt else proof)
        power = None if found.power is None else replace(found.power, detail="on every pair")
        within = verdict is Verdict.CONSISTENT and self.doubt
        says = f" It is no proof: {self.doubt}." if within else ""
        return replace(
            found,
            evidence=evidence,
            verdict=verdict,
            power=power,
            proof=proof if verdict is Verdict.PROVED else None,
            note=f"{found.note} Of all pairs of values this one is the worst.{says}",
        )


def _room(found: Outcome) -> float:
    """Return what the exact value may be off by."""
    return found.evidence.upper - found.evidence.value if found.evidence.value < np.inf else 0.0


def _loss(guarantee: PrivacyGuarantee, pair: FinitePair) -> float:
    return worst_measurement(guarantee, [pair])[0].value


def _to_the_bit(law: OutputLaw, other: OutputLaw) -> FinitePair:
    return exact_pair(law.unrounded, other.unrounded)


def _laws(target: TracedTarget, domain: int) -> list[OutputLaw]:
    """Return the laws of all values."""
    for value in range(domain):
        require_replay(target, value, value)
    return [release_law(target, value, most=_ALL_PATHS // domain) for value in range(domain)]


def _doubt(target: TracedTarget, domain: int) -> str:
    """Return what in the source keeps the laws from being a proof, with its line; "" for none."""
    if target.read is None:
        return f"{_at(target.home)}: its source is not read"
    for value in range(domain):
        found = target.read(value)
        if found is not None:
            return f"{_at((found.file, found.line))}: {found.reason}"
    return ""


def _untraced_doubt(target: TracedTarget, laws: Sequence[OutputLaw]) -> str:
    """Return whether any of a few calls without a trace returns something else than with one.

    What it returns must be an output that the laws have, of the same types.
    """
    for value, law in enumerate(laws):
        known = [rounded_output(each) for each in law.unrounded]
        for seed in range(_UNTRACED):
            here, there = (np.random.default_rng(seed) for _ in range(2))
            try:
                found = target.outputs(value, SampledRun(), here)
                plain = target.untraced(value, there)
                same = same_atoms(without_marks(found), without_marks(plain), ROUNDED)
            except (TraceEnd, Exception) as end:  # noqa: BLE001  (a target may raise anything)
                return f"without a trace it raises {type(end).__name__}"
            if not same:
                return f"{_at(target.home)} returns something else without a trace"
            if not any(same_atoms(plain, each, ROUNDED) for each in known):
                return f"{_at(target.home)} returns values of a type that is not followed"
    return ""


def _at(line: tuple[str, int]) -> str:
    location = SourceLocation.of(*line)
    return f"{location.file}:{location.line}"
