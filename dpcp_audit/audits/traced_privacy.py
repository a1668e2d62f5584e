"""A privacy claim against the traces of a pair: what the noise pays for, path by path.

In the scope ``transcript`` the claim is tested against all that the noisy values reveal, as a proof
by composition pays for it: each noisy number that is compared with a plain one counts as released.
In the scope ``release`` a refutation needs that what was observed is what the function returns, or
that its whole law was enumerated; by post-processing the release loses at most what is observed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.composition import composed_outcome
from dpcp_audit.audits.estimates.shown_losses import from_below
from dpcp_audit.audits.exact import TABLE_ROUNDING
from dpcp_audit.audits.path_evidence import (
    hides_infinity,
    leaking_line,
    path_evidence,
    trace_tables,
)
from dpcp_audit.audits.search.pair_space import input_as_data
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.tracing.pair_traces import PairTrace, trace_target
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import decide, refutes
from dpcp_audit.words.results import Evidence, EvidenceKind, Outcome, Power, Verdict

if TYPE_CHECKING:
    from dpcp_audit.tracing.target_calls import TracedTarget
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import Neighbours, PrivacyGuarantee
    from dpcp_audit.words.results import PlainData

_NUMERICAL = 1e-9
_HALF_ULP = 2.0**-54
_RARER = "paths that are rarer than those drawn may lose more"
_UNSHOWN = "it is not known what the release shows of what the noise reveals"
_BOUNDED = (
    "A draw between bounds that depend on the data loses infinitely much, if it is seen between "
    "which ones; the release need not show that, so no line is blamed."
)
_UNAMPLIFIED = (
    "Coins and choices, such as which rows are drawn, count as revealed: the loss is that without "
    "amplification, from above."
)
_RUN_OF_ALL = (
    "Every path was run: the whole law of the output, on {count} outputs, for ideal draws."
)
_MISSED_PATHS = (
    " Paths of a probability below 1e-12 together were left out: after a fork as unlikely as "
    "rounding, or of a loop that draws until something is accepted."
)


class Scope(StrEnum):
    """The output that a claim covers."""

    RELEASE = "release"
    """The values that leave the function."""
    TRANSCRIPT = "transcript"
    """All noisy numbers that the code acts on, as if released: what a composition proof bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedPrivacy:
    """Traces a target on two neighbours and tests a guarantee.

    Parameters
    ----------
    target : TracedTarget
        The function.
    guarantee : PrivacyGuarantee
        The claim.
    neighbours : Neighbours
        The pair.
    draws : int
        Paths in each direction.
    scope : Scope
        The scope of the claim.
    """

    target: TracedTarget
    guarantee: PrivacyGuarantee
    neighbours: Neighbours[Any]
    draws: int = 1000
    scope: Scope = Scope.RELEASE

    def __post_init__(self) -> None:
        _validate.integer(draws=self.draws, at_least=2)
        _validate.choice(Scope, scope=self.scope)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Trace the pair and judge the claim."""
        return self.judge(self.trace(context), context)

    def trace(self, context: Context) -> PairTrace:
        """Return the traces."""
        return trace_target(
            self.target,
            self.neighbours.value,
            self.neighbours.neighbour,
            draws=self.draws,
            rng=context.rng(),
        )

    def judge(self, trace: PairTrace, context: Context) -> Outcome:
        """Return the outcome of traces, with the line that leaks or spends most."""
        outcome = self._outcome(trace, context)
        return replace(outcome, location=leaking_line(trace)) if trace.followed else outcome

    def _outcome(self, trace: PairTrace, context: Context) -> Outcome:
        witness = self._witness(context)
        if self.scope is Scope.TRANSCRIPT and not trace.values and trace.exact is None:
            forward, backward = (sample.with_departures() for sample in trace.samples)
            trace = replace(trace, forward=forward, backward=backward)
        if not trace.followed:
            return _unknown(self.guarantee, trace, witness)
        significance = context.significance
        if self.scope is Scope.TRANSCRIPT:
            significance /= 2
        composed = self._composed(trace, significance, witness)
        if composed is not None and composed.verdict is Verdict.REFUTED:
            return composed
        if trace.exact is not None and loss_of(self.guarantee).by_laws:
            return _of_law(self.guarantee, trace, witness)
        found = _of_paths(self.guarantee, trace, significance, self.scope, witness)
        return found if composed is None or found.verdict is Verdict.REFUTED else composed

    def _composed(
        self, trace: PairTrace, significance: float, witness: PlainData
    ) -> Outcome | None:
        """Return what the noisy numbers cost, taken to be released, in the transcript's scope.

        Numbers that are revealed in place of a comparison are not taken to be.
        """
        if self.scope is not Scope.TRANSCRIPT or trace.values:
            return None
        return composed_outcome(
            self.guarantee,
            trace.composed,
            significance=significance,
            witness=witness,
            tables=trace_tables(trace),
        )

    def _witness(self, context: Context) -> PlainData:
        return {
            "guarantee": str(self.guarantee),
            "relation": str(self.neighbours.relation),
            "value": input_as_data(self.neighbours.value),
            "neighbour": input_as_data(self.neighbours.neighbour),
            "scope": str(self.scope),
            "draws": self.draws,
            "seed": context.seed,
        }


def _unknown(guarantee: PrivacyGuarantee, trace: PairTrace, witness: PlainData) -> Outcome:
    """Return that nothing is judged, and why."""
    loss = loss_of(guarantee)
    nothing = Evidence(
        kind=EvidenceKind.INDICATIVE,
        quantity=loss.quantity,
        value=0.0,
        lower=0.0,
        upper=math.inf,
        claimed=loss.claimed,
        at=loss.at,
        n_samples=trace.forward.size + trace.backward.size,
    )
    return Outcome(
        verdict=decide(nothing),
        evidence=nothing,
        witness=witness,
        note=f"The noise cannot be followed: {trace.unfollowed[0]}.",
        tables=trace_tables(trace),
        estimates=(from_below(nothing, why="the noise cannot be followed"),),
    )


def _of_law(guarantee: PrivacyGuarantee, trace: PairTrace, witness: PlainData) -> Outcome:
    """Return the outcome of the whole laws of the output."""
    pair = trace.exact
    assert pair is not None  # noqa: S101  (the caller made sure)
    ways = map(loss_of(guarantee).measured, (pair, pair.reversed()))
    found = max(ways, key=lambda each: each.value)
    error = _NUMERICAL * max(1.0, abs(found.value)) if math.isfinite(found.value) else 0.0
    error = min(error, input_rounding(guarantee, trace) or error)
    evidence = Evidence(
        kind=EvidenceKind.EXACT,
        quantity=found.quantity,
        value=found.value,
        lower=found.value - error,
        upper=found.value + error,
        claimed=found.claimed,
        at=found.at,
    )
    count = pair.law.log_mass.size
    power = Power(
        quantity=found.quantity,
        smallest=found.claimed + error,
        claimed=found.claimed,
        detection=1.0,
        at=found.at,
        detail="on this pair",
    )
    return Outcome(
        verdict=decide(evidence, power=power),
        evidence=evidence,
        power=None if refutes(evidence) else power,
        witness=witness,
        note=_RUN_OF_ALL.format(count=count) + (_MISSED_PATHS if trace.missed else ""),
        tables=trace_tables(trace),
    )


def input_rounding(guarantee: PrivacyGuarantee, trace: PairTrace) -> float | None:
    """Return how far a largest loss moves if each probability is off by its rounding as a double.

    Each is taken for a number within half a unit in the last place of 1, and eight units in the
    last place of its own. None where the probabilities are no sums of doubles of the code.
    """
    pair = trace.exact
    if pair is None or not trace.elementary or not loss_of(guarantee).pure:
        return None
    masses = np.stack([pair.law.log_mass, pair.neighbour_law.log_mass])
    masses = masses[:, np.isfinite(masses).all(axis=0)]
    with np.errstate(over="ignore"):
        each = _HALF_ULP * np.exp(-masses) + TABLE_ROUNDING * (1 + np.abs(masses))
    largest = float(each.sum(axis=0).max(initial=0.0))
    return largest if largest < _NUMERICAL else None


def _of_paths(
    guarantee: PrivacyGuarantee,
    trace: PairTrace,
    significance: float,
    scope: Scope,
    witness: PlainData,
) -> Outcome:
    evidence, power = path_evidence(guarantee, trace, significance=significance)
    refuted = refutes(evidence)
    shown = trace.released or (scope is Scope.TRANSCRIPT and trace.additive and not trace.values)
    shows = evidence if shown else _held(evidence)
    departed = not refuted and any(sample.departed.any() for sample in trace.samples)
    if departed:  # past the noise nothing bounds the loss from above
        shows = replace(shows, value=math.inf)
    unsaid = (refuted and not shown) or departed
    return Outcome(
        verdict=decide(_held(evidence)) if unsaid else decide(evidence, power=power),
        evidence=shows,
        power=None if refuted or unsaid else power,
        witness=witness,
        note=_note(trace, refuted=refuted, shown=shown),
        tables=trace_tables(trace),
        estimates=(from_below(shows, why=_RARER if shown else _UNSHOWN),),
    )


def _held(evidence: Evidence) -> Evidence:
    """Return evidence of the transcript that says nothing of the release from below."""
    return replace(evidence, kind=EvidenceKind.INDICATIVE, lower=0.0, detail="of the transcript")


def _note(trace: PairTrace, *, refuted: bool, shown: bool) -> str:
    parts = [_BOUNDED] if hides_infinity(trace) else []
    parts += [f"{leak}." for leak in trace.leaks[:3]]
    if refuted and not shown:
        parts.append(
            "Counted draw by draw, the noise does not pay for the claim: that bounds the loss of "
            "the release from above, and is no finding."
        )
    if not (trace.additive or shown):
        parts.append(_UNAMPLIFIED)
    if trace.values:
        parts.append("Comparisons of several draws count as if their values were revealed.")
    return " ".join(parts)
