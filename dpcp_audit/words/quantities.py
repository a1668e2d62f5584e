"""Quantities: what a number is, its unit, which side of it is worse, and what that means.

A number that a claim bounds is one of these. Headlines, ranks and units of every report are made
from them, so that no program has to read a description.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dpcp_audit.words.formatting import number

if TYPE_CHECKING:
    from collections.abc import Mapping


class Bound(StrEnum):
    """The side on which a claim bounds a quantity."""

    AT_MOST = "at most"
    """A larger value is worse, as of a loss of privacy or a failure probability."""
    AT_LEAST = "at least"
    """A smaller value is worse, as of a coverage."""

    @property
    def sign(self) -> str:
        """≤ or ≥."""
        return "≤" if self is Bound.AT_MOST else "≥"

    @property
    def opposite(self) -> Bound:
        """The other side."""
        return Bound.AT_LEAST if self is Bound.AT_MOST else Bound.AT_MOST


class Scale(StrEnum):
    """The format and comparison of a quantity's values."""

    NUMBER = "number"
    """A number in the quantity's unit; twice as large is twice as bad."""
    SHARE = "share"
    """A probability, written in percent."""
    RUNS = "runs"
    """A share of runs, written in percent of them."""
    TIMES = "times"
    """A multiple of what is claimed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    label: str
    unit: str = ""
    guarantee: bool = False
    scale: Scale = Scale.NUMBER
    bound: Bound = Bound.AT_MOST
    worse: str = "Not true as stated"
    other: str = "Not true as stated"
    loss: bool = False


class Quantity(StrEnum):
    """The meaning of a number.

    Examples
    --------
    >>> Quantity.RHO.unit, Quantity.COVERAGE.bound.value
    ('ρ', 'at least')
    >>> Quantity.COVERAGE.consequence(Bound.AT_LEAST)
    'Covers less than promised'
    >>> Quantity.RHO.times_worse(5.0, 0.5, Bound.AT_MOST)
    10.0
    """

    EPSILON = "epsilon"
    DELTA = "delta"
    RHO = "rho"
    RENYI_DIVERGENCE = "renyi-divergence"
    MU = "mu"
    TOTAL_VARIATION = "total-variation"
    ADVANTAGE = "membership-advantage"
    TRUE_POSITIVE_RATE = "true-positive-rate"
    ATTACK_SUCCESS = "attack-success"
    LOSS_RATIO = "loss-ratio"
    """A privacy loss in units of the one claimed."""
    COVERAGE = "coverage"
    MISCOVERAGE = "miscoverage"
    COVERAGE_FAILURE = "coverage-failure"
    """The probability that a bound of the coverage fails."""
    OVER_COVERAGE = "over-coverage"
    """The probability that the coverage exceeds its upper bound, and no lower one fails."""
    SET_SIZE = "set-size"
    """The mean number of labels in a prediction set."""
    FAILURE = "failure"
    """The probability that another bound fails: of ranks, of noise, of an estimate."""
    MISPRINTS = "misprints"
    """The share of printed numbers that do not come out."""
    PROBABILITY = "probability"
    """Of an event that is neither a failure nor an attack's success."""
    SHARE_OF_OUTPUTS = "share-of-outputs"
    """By which outputs an event distinguishes two inputs."""
    DIFFERENCE = "difference"
    RATIO = "ratio"
    COUNT = "count"
    VALUE = "value"
    """Of an expression that the detail names."""

    @property
    def label(self) -> str:
        """Its name, for people."""
        return _KINDS[self].label

    @property
    def unit(self) -> str:
        """The symbol that its values carry; may be empty."""
        return _KINDS[self].unit

    @property
    def is_guarantee(self) -> bool:
        """True of privacy and coverage; False of a bound, an estimate or an observation."""
        return _KINDS[self].guarantee

    @property
    def scale(self) -> Scale:
        """The format of its values."""
        return _KINDS[self].scale

    @property
    def bound(self) -> Bound:
        """The side that a claim about it usually bounds."""
        return _KINDS[self].bound

    @property
    def is_loss(self) -> bool:
        """True if it measures a loss of privacy."""
        return _KINDS[self].loss

    def consequence(self, bound: Bound) -> str:
        """Return the meaning of a refuted claim about this side."""
        kind = _KINDS[self]
        return kind.worse if bound is kind.bound else kind.other

    def described(self, at: Mapping[str, float], detail: str = "") -> str:
        """Return its name with its parameters and what else the number is of.

        Examples
        --------
        >>> Quantity.EPSILON.described({"delta": 1e-5}, "of the event")
        'privacy loss ε at δ = 10⁻⁵, of the event'
        """
        where = ", ".join(
            f"{_SYMBOLS.get(name, name)} = {number(value, digits=6)}" for name, value in at.items()
        )
        named = f"{self.label} at {where}" if where else self.label
        return f"{named}, {detail}" if detail else named

    def times_worse(self, found: float, claimed: float, bound: Bound) -> float:
        """Return the factor by which a value is worse than promised; at most 1 where it is not.

        The ratio of the two values; of a coverage that falls short, that of the shares that are
        not covered. Infinity where nothing was allowed.
        """
        if math.isnan(found) or math.isnan(claimed) or found == claimed:
            return 1.0
        if self is Quantity.COVERAGE and bound is Bound.AT_LEAST:
            found, claimed, bound = 1 - found, 1 - claimed, Bound.AT_MOST
        if bound is Bound.AT_LEAST:
            found, claimed = claimed, found
        if claimed <= 0 or math.isinf(found):
            return math.inf if found > claimed else 0.0
        return max(0.0, found / claimed)


def _privacy(
    label: str, unit: str = "", *, scale: Scale = Scale.NUMBER, worse: str = "", loss: bool = True
) -> _Kind:
    return _Kind(
        label=label,
        unit=unit,
        guarantee=True,
        scale=scale,
        worse=worse or "Leaks more than promised",
        loss=loss,
    )


_SYMBOLS = {"epsilon": "ε", "delta": "δ", "alpha": "α", "fpr": "FPR"}
_LESS, _MORE = "Covers less than promised", "Covers more than promised"
_MEMBERS = "Members are recognised too well"
_KINDS: dict[Quantity, _Kind] = {
    Quantity.EPSILON: _privacy("privacy loss ε", "ε"),
    Quantity.DELTA: _privacy("δ", "δ"),
    Quantity.RHO: _privacy("zCDP loss ρ", "ρ"),
    Quantity.RENYI_DIVERGENCE: _privacy("Rényi divergence D_α", "D_α"),
    Quantity.MU: _privacy("Gaussian loss μ", "μ"),
    Quantity.TOTAL_VARIATION: _privacy("total variation", "TV"),
    Quantity.ADVANTAGE: _privacy("membership advantage", "advantage", worse=_MEMBERS),
    Quantity.TRUE_POSITIVE_RATE: _privacy("true-positive rate", "TPR", worse=_MEMBERS),
    Quantity.ATTACK_SUCCESS: _privacy(
        "success of the attack", scale=Scale.SHARE, worse="Attacks succeed more often than promised"
    ),
    Quantity.LOSS_RATIO: _privacy("privacy loss over the claim", scale=Scale.TIMES),
    Quantity.COVERAGE: _Kind(
        label="coverage",
        guarantee=True,
        scale=Scale.SHARE,
        bound=Bound.AT_LEAST,
        worse=_LESS,
        other=_MORE,
    ),
    Quantity.MISCOVERAGE: _Kind(
        label="miscoverage", guarantee=True, scale=Scale.SHARE, worse=_LESS, other=_MORE
    ),
    Quantity.COVERAGE_FAILURE: _Kind(
        label="failure probability of the coverage",
        guarantee=True,
        scale=Scale.RUNS,
        worse="Misses its coverage bound",
    ),
    Quantity.OVER_COVERAGE: _Kind(
        label="probability that the coverage exceeds its upper bound",
        guarantee=True,
        scale=Scale.RUNS,
        worse=_MORE,
    ),
    Quantity.SET_SIZE: _Kind(
        label="mean set size",
        guarantee=True,
        worse="Sets are larger than promised",
        other="Sets are smaller than promised",
    ),
    Quantity.FAILURE: _Kind(
        label="failure probability", scale=Scale.RUNS, worse="Misses its bound"
    ),
    Quantity.MISPRINTS: _Kind(
        label="share of the printed numbers that do not come out",
        scale=Scale.SHARE,
        worse="Prints numbers that do not come out",
    ),
    Quantity.PROBABILITY: _Kind(label="probability", scale=Scale.SHARE),
    Quantity.SHARE_OF_OUTPUTS: _Kind(label="share of outputs", scale=Scale.SHARE),
    Quantity.DIFFERENCE: _Kind(label="difference"),
    Quantity.RATIO: _Kind(label="ratio", scale=Scale.TIMES),
    Quantity.COUNT: _Kind(label="count"),
    Quantity.VALUE: _Kind(label="value"),
}
