"""What the traces of a pair show, as tables: the lines that spend, leaks, the loss law."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.outcome_tables import Table, TableColumn
from dpcp_audit.tracing.loss_limits import (
    LossLimits,
    epsilon_limits,
    quantile_limits,
    rho_lower_limit,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.mechanisms.laws import FinitePair
    from dpcp_audit.results import SourceLocation
    from dpcp_audit.tracing.line_losses import LineLoss
    from dpcp_audit.tracing.loss_samples import LossSample
    from dpcp_audit.tracing.pair_traces import PairTrace, Remark

_SIGNIFICANCE = 0.05
_EACH_WAY = _SIGNIFICANCE / 2
"""Of one direction: what is shown is the larger of both."""
_JOINED_NOTE = (
    "Draws that are compared with each other count at the one that the others share; their scale "
    "and sensitivity are not shown."
)
_POINTWISE = (
    f"Limits of the larger of both directions, at confidence {1 - _SIGNIFICANCE:g} for each row: "
    "pointwise, not for all rows at once."
)
_PROFILE_NOTE = f"By post-processing δ(ε) of the release is at most that. {_POINTWISE}"
_NO_UPPER_LIMIT = (
    f"{_POINTWISE} Paths alone give no upper limit of ε at δ = 0, the largest loss, nor of ρ."
)
_SHARES = (0.5, 0.9, 0.99)
_DELTAS = (0.0, 1e-3, 1e-2)
_NAMES = (*(f"ε at δ = {delta:g}" for delta in _DELTAS), "ρ")
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
        tables += [_profile(trace), _quantiles(trace), _parameters(trace)]
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
        [sample.delta(epsilon, significance=_EACH_WAY) for sample in trace.samples]
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


def _quantiles(trace: PairTrace) -> Table:
    """Return quantiles of the loss of a path, the larger of both directions."""
    values = [max(_quantile(each, share) for each in trace.samples) for share in _SHARES]
    limits = [
        [quantile_limits(each, share, significance=_EACH_WAY) for each in trace.samples]
        for share in _SHARES
    ]
    names = [f"{share:.0%} quantile" for share in _SHARES]
    return _in_parameters("Quantiles of the loss of a path", names, values, limits, _POINTWISE)


def _quantile(sample: LossSample, share: float) -> float:
    return float(np.quantile(sample.losses, share, method="inverted_cdf"))


def _parameters(trace: PairTrace) -> Table:
    samples = trace.samples
    limits = [
        [epsilon_limits(each, delta, significance=_EACH_WAY) for each in samples]
        for delta in _DELTAS
    ]
    rho = [
        LossLimits(rho_lower_limit(each, significance=_EACH_WAY / 2), math.inf) for each in samples
    ]
    return _in_parameters(
        "Privacy parameters of what the noise reveals",
        _NAMES,
        [
            *(max(each.epsilon(delta) for each in samples) for delta in _DELTAS),
            max(each.rho() for each in samples),
        ],
        [*limits, rho],
        _NO_UPPER_LIMIT,
    )


def _exact_parameters(pair: FinitePair) -> Table:
    ways = pair, pair.reversed()
    found = [max(each.epsilon_at(delta) for each in ways) for delta in _DELTAS]
    rho = max(each.rho() for each in ways)
    return Table(
        title="Privacy parameters of the output, exact",
        columns=[
            TableColumn(name="parameter", texts=list(_NAMES)),
            _numbers("loss", [*found, rho]),
        ],
    )


def _in_parameters(
    title: str,
    names: Sequence[str],
    values: Sequence[float],
    limits: Sequence[Sequence[LossLimits]],
    note: str,
) -> Table:
    """Return a row a parameter: the larger of both directions, and its limits."""
    lower = [max(way.lower for way in pair) for pair in limits]
    upper = [max(way.upper for way in pair) for pair in limits]
    return Table(
        title=title,
        columns=[
            TableColumn(name="parameter", texts=list(names)),
            _numbers("loss", values),
            _numbers("lower limit", [min(low, v) for low, v in zip(lower, values, strict=True)]),
            _numbers("upper limit", [max(top, v) for top, v in zip(upper, values, strict=True)]),
        ],
        notes=[note],
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
