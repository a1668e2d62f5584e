"""A privacy claim from both sides: the noise is followed, and the outputs are searched."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.audits.blackbox import REPRESENTATION
from dpcp_audit.audits.search.pair_space import input_as_data, input_from_data
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.targets import TargetError
from dpcp_audit.words.guarantees import Neighbours, Relation
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
class TwoSidedPrivacy:
    """Traces a target, and audits it as a black box unless the traces refute the claim.

    A true claim is refuted with probability at most the check's significance s: the traces of
    the pairs proposed have s/20, the black box 9s/10, and the traces of its worst pair s/20.
    The pairs are chosen by other paths and outputs than those that test them.

    Parameters
    ----------
    black_box : Check
        Of the same claim, by outputs alone; its witness holds the pair.
    trace : TraceSearch
    """

    black_box: Check
    trace: TraceSearch

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

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
        """Return what both sides say, of an audit in which the first traces refuted nothing."""
        second = first
        if not _same_pair(found.witness, first):
            second = self.trace.on(_pair(found.witness), _part(context, "searched", _TRACED / 2))
        if found.verdict is not Verdict.REFUTED and not second.reason and _is_refuted(second):
            return _of(second)
        shown = first if second.reason or first.every else second
        traced = _of(shown)
        contradiction = _contradiction(found, shown, same=shown is second)
        if contradiction and found.verdict is Verdict.REFUTED:
            return replace(found, note=f"{found.note} {contradiction}")
        if contradiction:
            raise TargetError(contradiction)
        tables = (_bracket(found, traced, same=shown is second), *traced.tables)
        settled = first.every or self._settles(traced, found)
        if found.verdict is Verdict.REFUTED or not settled:
            note = f"{found.note} {traced.note}"
            return replace(found, note=note, tables=tables, location=traced.location)
        note = f"{traced.note} {found.note}"
        warning = {key: found.witness[key] for key in (REPRESENTATION,) if key in found.witness}
        return replace(
            traced,
            witness=traced.witness | warning,
            note=note,
            figures=found.figures,
            tables=tables,
            estimates=found.estimates,
        )

    def _settles(self, traced: Outcome, found: Outcome) -> bool:
        """Tell whether the traces settle what the outputs leave open.

        The largest loss of a few paths says nothing of a rare one: ε-DP needs the whole law.
        """
        exact = traced.evidence.kind is EvidenceKind.EXACT
        settling = exact or not loss_of(self.trace.guarantee).pure
        return (
            settling
            and found.verdict is Verdict.INCONCLUSIVE
            and traced.verdict is Verdict.CONSISTENT
        )


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


def _pair(witness: PlainData) -> Neighbours[object]:
    return Neighbours(
        relation=Relation(witness["relation"]),
        value=input_from_data(witness["value"]),
        neighbour=input_from_data(witness["neighbour"]),
    )


def _same_pair(witness: PlainData, result: TraceResult) -> bool:
    if result.pair is None:
        return False
    traced = [input_as_data(each) for each in (result.pair.value, result.pair.neighbour)]
    return [witness["value"], witness["neighbour"]] in (traced, traced[::-1])


def _contradiction(found: Outcome, shown: TraceResult, *, same: bool) -> str:
    """Return that an enumerated loss lies below what the outputs certify; "" if it does not."""
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
        f"{upper:.6g}, by the outputs it is at least {lower:.6g}. The code draws otherwise without "
        "a trace: nothing is proved."
    )


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
    return f"at least {evidence.lower:.4g}, at confidence {evidence.confidence:.6g}"


def _above(evidence: Evidence) -> str:
    if evidence.kind is EvidenceKind.EXACT:
        return f"{evidence.value:.4g}, exact"
    if math.isinf(evidence.value):
        return "no upper limit"
    return f"{evidence.value:.4g}, estimated on {evidence.n_samples} paths"
