"""A claim of privacy from both sides: the noise is followed, and the outputs are searched."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.audits.search.pair_space import input_as_data, pair_from_data
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.targets import TargetError
from dpcp_audit.words.checks import Sampled
from dpcp_audit.words.evidence import REPRESENTATION
from dpcp_audit.words.formatting import rounded_down
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import EvidenceKind, Table, TableColumn, Verdict

if TYPE_CHECKING:
    from dpcp_audit.target_checks.trace_search import TraceResult, TraceSearch
    from dpcp_audit.words.checks import Check, Context
    from dpcp_audit.words.results import Evidence, Outcome, PlainData


_ROUNDING = 1e-9
"""A relative difference of two results that is none."""
_WIDER = 2.5
"""An interval at confidence 0.95 that is so much wider has a confidence of 1 − 10⁻⁶."""
_TRACED = 0.1
"""The share of the significance that the traces have: half before the search, half after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSidedPrivacy(Sampled):
    """Trace a target, and audit it as a black box unless the traces refute the claim.

    :Null hypothesis: The guarantee, on every pair of neighbours that is tried.
    :Statistic: In turn, that of ``TracedPrivacy`` on proposed pairs, of ``BlackBoxPrivacy`` or
        ``LocalPrivacy`` on the outputs, and of ``TracedPrivacy`` on the worst pair of that search.
    :Level: At most the significance s, by a union bound: s/20, 9s/10 and s/20. The pairs are chosen
        on other paths and outputs than those that test them.
    :Power: That of the audit of the outputs; or that of the trace, if its upper bound stays within
        the claim.
    :Reference: Those of the three checks.

    Parameters
    ----------
    black_box : Check
        A check of the same claim by outputs alone; its witness holds the pair.
    trace : TraceSearch
    """

    black_box: Check
    trace: TraceSearch

    def __call__(self, context: Context) -> Outcome:
        """Trace the pairs that are proposed, search the outputs, and trace the worst pair."""
        first = self.trace.worst(_part(context, "proposed", _TRACED / 2))
        if not first.reason and _is_refuted(first):
            return _of(first)
        found = self.black_box(replace(context, significance=(1 - _TRACED) * context.significance))
        found = replace(
            found, evidence=replace(found.evidence, confidence=1 - context.significance)
        )
        if first.reason:
            note = f"{found.note} The noise cannot be followed: {first.reason}."
            return replace(found, note=note)
        return self._joined(found, first, context)

    def _joined(self, found: Outcome, first: TraceResult, context: Context) -> Outcome:
        """Return the outcome of both sides, if the first traces refuted nothing."""
        second = first
        if not _same_pair(found.witness, first):
            second = self.trace.on(
                pair_from_data(found.witness), _part(context, "searched", _TRACED / 2)
            )
        if found.verdict is not Verdict.REFUTED and not second.reason and _is_refuted(second):
            return _of(second)
        shown = first if second.reason or first.every else second
        traced = _of(shown)
        contradiction = _contradiction(found, shown, same=shown is second)
        if contradiction and found.verdict is Verdict.REFUTED:
            return replace(found, note=f"{found.note} {contradiction}")
        if contradiction:
            raise TargetError(contradiction)
        comparable = shown is second or first.every
        crossed = comparable and _is_crossed(found.evidence, traced.evidence)
        tables = traced.tables
        if comparable and not crossed:
            tables = (_bracket(found, traced, same=shown is second), *tables)
        settled = first.every or self._settles(traced, found)
        if found.verdict is Verdict.REFUTED or not settled:
            note = f"{found.note} {traced.note}{_PAST_THE_NOISE if crossed else ''}"
            within = traced.verdict is Verdict.CONSISTENT or crossed
            leaks = shown.trace is not None and bool(shown.trace.leaks)
            line = None if within and not leaks else traced.location
            return replace(found, note=note, tables=tables, location=line, traced=traced.traced)
        if traced.evidence.kind is EvidenceKind.EXACT:
            traced = max(traced, _of(first), key=_exact_loss)
        note = f"{traced.note} {found.note}"
        warning = {key: found.witness[key] for key in (REPRESENTATION,) if key in found.witness}
        return replace(
            traced,
            witness=traced.witness | warning,
            note=note,
            figures=found.figures,
            tables=tables,
            estimates=found.estimates,
            extent=found.extent,
        )

    def _settles(self, traced: Outcome, found: Outcome) -> bool:
        """Return True if the traces settle what the outputs leave open.

        The largest loss of a few paths says nothing of a rare one: ε-DP needs the whole law.
        """
        exact = traced.evidence.kind is EvidenceKind.EXACT
        settling = exact or not loss_of(self.trace.guarantee).pure
        return (
            settling
            and found.verdict is Verdict.INCONCLUSIVE
            and traced.verdict is Verdict.CONSISTENT
        )


def _exact_loss(traced: Outcome) -> float:
    """Return the loss of a pair on which all paths were run; −∞ of any other."""
    exact = traced.evidence.kind is EvidenceKind.EXACT
    return traced.evidence.value if exact else -math.inf


def _part(context: Context, name: str, share: float) -> Context:
    """Return a context with streams of its own, and a share of the significance."""
    return replace(
        context, name=f"{context.name} {name}", significance=share * context.significance
    )


def _of(result: TraceResult) -> Outcome:
    assert result.outcome is not None  # noqa: S101  (the caller made sure)
    return result.outcome


def _is_refuted(result: TraceResult) -> bool:
    return _of(result).verdict is Verdict.REFUTED


def _same_pair(witness: PlainData, result: TraceResult) -> bool:
    if result.pair is None:
        return False
    traced = [input_as_data(each) for each in (result.pair.value, result.pair.neighbour)]
    return [witness["value"], witness["neighbour"]] in (traced, traced[::-1])


def _contradiction(found: Outcome, shown: TraceResult, *, same: bool) -> str:
    """Return the sentence on an enumerated loss below the certified one; "" if it is not below."""
    evidence = _of(shown).evidence
    if evidence.kind is not EvidenceKind.EXACT or not (same or shown.every):
        return ""
    upper, certified = evidence.upper, found.evidence
    if (evidence.quantity, evidence.at) != (certified.quantity, certified.at):
        exact = None if shown.trace is None else shown.trace.exact
        if exact is None or certified.quantity is not Quantity.EPSILON or shown.every:
            return ""
        delta = certified.at.get("delta", 0.0)
        upper = max(each.epsilon_at(delta) for each in (exact, exact.reversed()))
    beyond = upper + _ROUNDING * max(1.0, upper)
    unit = certified.quantity, certified.at
    sampled = [each for each in found.estimates if (each.quantity, each.at) == unit]
    least = [each.value - _WIDER * (each.value - each.lower) for each in sampled]
    lower = max([certified.lower, *(each for each in least if math.isfinite(each))])
    if lower <= beyond:
        return ""
    return (
        f"Two results contradict each other: by enumeration the {certified.label} is at most "
        f"{upper:.6g}, by the outputs it is at least {lower:.6g}. The code must draw differently "
        "when it is not traced: nothing is proved."
    )


_PAST_THE_NOISE = (
    " The outputs show a larger loss than the traced paths: data reaches them without noise."
)


def _is_crossed(below: Evidence, above: Evidence) -> bool:
    """Return True if the outputs certify more than the paths of the noise show."""
    same = (below.quantity, below.at) == (above.quantity, above.at)
    return same and below.lower > above.value + _ROUNDING


def _bracket(found: Outcome, traced: Outcome, *, same: bool) -> Table:
    """Return the loss on the searched pair: certified from below, followed from above."""
    sides = (found.evidence, traced.evidence)
    pairs = ["the witness's", "the witness's" if same else "the worst of all"]
    return Table(
        title="The loss from both sides",
        columns=[
            TableColumn(name="side", texts=["of the outputs", "of the noise"]),
            TableColumn(name="method", texts=["black box", "trace"]),
            TableColumn(name="pair", texts=pairs),
            TableColumn(name="quantity", texts=[each.label for each in sides]),
            TableColumn(name="loss", texts=[_below(found.evidence), _above(traced.evidence)]),
        ],
        notes=[_NOTE],
    )


_NOTE = (
    "By post-processing the outputs on a pair lose at most what the noise reveals there: the black "
    "box bounds the loss from below, the trace from above."
)


def _below(evidence: Evidence) -> str:
    return f"at least {rounded_down(evidence.lower)}, at confidence {evidence.confidence:.6g}"


def _above(evidence: Evidence) -> str:
    if evidence.kind is EvidenceKind.EXACT:
        return f"{evidence.value:.4g}, exact"
    if math.isinf(evidence.value):
        return "no upper limit"
    return f"{evidence.value:.4g}, estimated on {evidence.n_samples} paths"
