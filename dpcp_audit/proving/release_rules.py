"""Rules of functions that choose or release: weights, noisy maxima, printing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpcp_audit.proving import gaps, noise_rules
from dpcp_audit.proving.arithmetic import in_range, kind
from dpcp_audit.proving.distances import Noisy, Records, Statistic, Value, statistic

if TYPE_CHECKING:
    from dpcp_audit.proving.paths import Interpreter

from dpcp_audit.proving.rules import whole_axis


def exponential(reader: Interpreter, a: Value) -> Value:
    """Weights of the exponential mechanism."""
    if isinstance(a, gaps.Gaps):
        return gaps.exponential(reader, a)
    if isinstance(a, Statistic) and len(a.shape) == 1:
        return noise_rules.exponentials(reader, a)
    return NotImplemented


def softmax(reader: Interpreter, x: Value, axis: Value = None) -> Value:
    """The law of the exponential mechanism."""
    if isinstance(x, gaps.Gaps) and whole_axis(axis):
        return gaps.softmax(reader, x)
    if isinstance(x, Statistic) and len(x.shape) == 1 and whole_axis(axis):
        return replace(noise_rules.softened(x), normalised=True)
    return NotImplemented


def cumulated(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """Partial sums: each moves by at most the l1 distance."""
    if isinstance(a, Statistic) and len(a.shape) == 1 and whole_axis(axis):
        entries = a.shape[0]
        found = statistic(
            a.shape,
            a.l1 * entries,
            a.l1 * a.l1 * entries,
            a.l1,
            integer=a.integer,
            says=f"partial sums of {a.says}",
            size=None if a.size is None else a.size * entries,
            floats=a.floats,
        )
        return in_range(reader, found)
    return NotImplemented


def argmax(reader: Interpreter, a: Value, axis: Value = None) -> Value:
    """The place of the largest entry: a noisy maximum."""
    a = reader.gathered(a)
    if isinstance(a, gaps.Gaps) and whole_axis(axis):
        return gaps.argmax(reader, a)
    if isinstance(a, Noisy) and len(a.noise.shape) == 1 and whole_axis(axis):
        return noise_rules.argmax(reader, a)
    if isinstance(a, Statistic | Records):
        raise reader.leak(
            f"the largest of {kind(a)} is chosen without noise",
            "add Gumbel or Laplace noise to each before the argmax",
        )
    return NotImplemented


def logarithm(reader: Interpreter, x: Value) -> Value:
    """``np.log``: of the gaps between the sorted records."""
    return (
        gaps.logarithm(reader, x, quiet=reader.quiet)
        if isinstance(x, gaps.Gaps)
        else NotImplemented
    )


def log_of_sum(reader: Interpreter, a: Value) -> Value:
    """``scipy.special.logsumexp``: of the weights of gaps."""
    return gaps.log_sum(a) if isinstance(a, gaps.Gaps) else NotImplemented


def differences(reader: Interpreter, a: Value) -> Value:
    """``np.diff``: of the sorted records between two public ends."""
    return gaps.lengths(a) if isinstance(a, gaps.Edges) else NotImplemented


def concatenated(reader: Interpreter, arrays: Value) -> Value:
    """``np.concatenate``: of the sorted records and two public ends."""
    items = reader.entries_or_none(arrays)
    if items is None or not any(isinstance(each, Records) for each in items):
        return NotImplemented
    return gaps.joined(reader, tuple(reader.gathered(each) for each in items))


def printed(reader: Interpreter, *values: Value, **settings: Value) -> Value:
    """Release the values: printed output is public."""
    if reader.each_record:
        raise reader.refuse("something is printed for each record")
    for value in (*values, *settings.values()):
        reader.public(reader.opened(value), "what is printed")
