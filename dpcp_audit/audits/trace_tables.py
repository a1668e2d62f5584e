"""What the traces of a pair show, as tables: the lines that spend, leaks, the loss law."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit.outcome_tables import Table, TableColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.mechanisms.laws import FinitePair
    from dpcp_audit.results import SourceLocation
    from dpcp_audit.tracing.line_losses import LineLoss
    from dpcp_audit.tracing.pair_traces import PairTrace, Remark

_SIGNIFICANCE = 0.05
_JOINED_NOTE = (
    "Draws that are compared with each other count at the one that the others share; their scale "
    "and sensitivity are not shown."
)
_PROFILE_NOTE = (
    "By post-processing δ(ε) of the release is at most that. Each limit errs with probability "
    f"{_SIGNIFICANCE / 2:g}."
)
_DELTAS = (0.0, 1e-3, 1e-2)
_EPSILONS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)


def leaking_line(trace: PairTrace) -> SourceLocation | None:
    """Return the line that leaks data without noise, or else the one that spends most."""
    if trace.leaks:
        return trace.leaks[0].location
    spent = [line.location for line in trace.lines if line.mean_loss > 0]
    return spent[0] if spent else None


def trace_tables(trace: PairTrace) -> tuple[Table, ...]:
    """Return the tables of a trace, without those that are empty."""
    tables: list[Table] = []
    if trace.lines and not (trace.exact and trace.forward.departed.all()):
        tables.append(lines_table(trace.lines))
    if trace.exact is not None:
        tables += [_exact_profile(trace.exact), _exact_parameters(trace.exact)]
    elif trace.forward.size:
        tables += [_profile(trace), _parameters(trace)]
    if trace.leaks:
        tables.append(_remarks("Data without noise", trace.leaks))
    if trace.unfollowed:
        tables.append(_remarks("What cannot be followed", trace.unfollowed))
    return tuple(tables)


def lines_table(lines: Sequence[LineLoss]) -> Table:
    """Return the lines that draw, with what they spend."""
    return Table(
        title="Which line spends the privacy loss",
        columns=[
            TableColumn(name="line", texts=[f"{e.location.file}:{e.location.line}" for e in lines]),
            TableColumn(name="law", texts=[each.law for each in lines]),
            _numbers("draws a run", [each.draws for each in lines]),
            _numbers("noise scale", [each.scale for each in lines]),
            _numbers("realised sensitivity", [each.sensitivity for each in lines]),
            _numbers("largest loss of a draw", [each.largest_loss for each in lines]),
            _numbers("mean loss a run", [each.mean_loss for each in lines]),
            TableColumn(
                name="share",
                texts=[f"{each.share:.0%}" for each in lines],
                values=[each.share for each in lines],
            ),
        ],
        notes=[_JOINED_NOTE] if any(each.joined for each in lines) else [],
    )


def _numbers(name: str, values: Sequence[float]) -> TableColumn:
    texts = ["" if math.isnan(value) else f"{value:.4g}" for value in values]
    return TableColumn(name=name, texts=texts, values=list(values))


def _profile(trace: PairTrace) -> Table:
    """Return δ(ε) of the transcript, the larger of both directions, with limits."""
    each_way = [
        [sample.delta(epsilon, significance=_SIGNIFICANCE) for sample in trace.samples]
        for epsilon in _EPSILONS
    ]
    return Table(
        title="Loss law of what the noise reveals: δ(ε)",
        columns=[
            TableColumn(name="ε", texts=[f"{e:g}" for e in _EPSILONS], values=list(_EPSILONS)),
            _numbers("δ(ε)", [max(found.value for found in pair) for pair in each_way]),
            _numbers("lower limit", [max(found.lower for found in pair) for pair in each_way]),
            _numbers("upper limit", [max(found.upper for found in pair) for pair in each_way]),
        ],
        notes=[_PROFILE_NOTE],
    )


def _exact_profile(pair: FinitePair) -> Table:
    deltas = [max(way.delta_at(e) for way in (pair, pair.reversed())) for e in _EPSILONS]
    return Table(
        title="Privacy profile of the output: δ(ε), exact",
        columns=[
            TableColumn(name="ε", texts=[f"{e:g}" for e in _EPSILONS], values=list(_EPSILONS)),
            _numbers("δ(ε)", deltas),
        ],
    )


def _parameters(trace: PairTrace) -> Table:
    samples = trace.samples
    return _in_parameters(
        "Estimates of what the noise reveals, not certified",
        [max(each.epsilon(delta) for each in samples) for delta in _DELTAS],
        max(each.rho() for each in samples),
    )


def _exact_parameters(pair: FinitePair) -> Table:
    ways = pair, pair.reversed()
    return _in_parameters(
        "Privacy parameters of the output, exact",
        [max(each.epsilon_at(delta) for each in ways) for delta in _DELTAS],
        max(each.rho() for each in ways),
    )


def _in_parameters(title: str, epsilons: Sequence[float], rho: float) -> Table:
    names = [f"ε at δ = {delta:g}" for delta in _DELTAS]
    return Table(
        title=title,
        columns=[
            TableColumn(name="parameter", texts=[*names, "ρ"]),
            _numbers("loss", [*epsilons, rho]),
        ],
    )


def _remarks(title: str, remarks: Sequence[Remark]) -> Table:
    places = [f"{each.location.file}:{each.location.line}" for each in remarks]
    return Table(
        title=title,
        columns=[
            TableColumn(name="line", texts=places),
            TableColumn(name="what is seen", texts=[each.says for each in remarks]),
            _numbers("paths", [float(each.paths) for each in remarks]),
        ],
    )
