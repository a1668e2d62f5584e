"""Which wrong constants inside the theorems' corrections the tightest rows refute.

A correction holds a number of rounds, N or T, and a share of the failure probability for each of
them. Too small a constant makes the correction smaller by a known factor, and a row refutes it if
the theorem fails there with its correction times this factor.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from dpcp_audit.extensions.claims import Table, TableColumn
from dpcp_audit.extensions.theorems import NoiseBound, ScoreTheorem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcp_audit.extensions.theorems import Tightness
    from dpcp_ledger.pcoqs.hostile_scores import HostileTheorem

_STEP = 1 / 256
"""How far below the smallest multiple that would do one fails for certain."""
_LEAST = 1e-3
"""The smallest multiple of a constant that is looked for."""


class Parts(NamedTuple):
    """A correction's constants, as far as they do not cancel in a ratio.

    Attributes
    ----------
    failure : float
        δ or β.
    shares : float
        Into how many parts it is divided: 2N, 2T, or the 4 of Theorem 1 of LDP-CP.
    rounds : bool
        Whether the correction grows with a number of rounds.
    gaussian : bool
        Whether the bound of a part is a Gaussian quantile, and not √(2·log(1/p)).
    """

    failure: float
    shares: float
    rounds: bool
    gaussian: bool

    def tail(self, chance: float) -> float:
        """Return the bound of a part, up to a constant."""
        return -float(ndtri(chance)) if self.gaussian else math.sqrt(-2 * math.log(chance))

    def with_rounds(self, multiple: float) -> float:
        """Return the correction's factor where N or T is multiplied."""
        chance = self.failure / self.shares
        return math.sqrt(multiple) * self.tail(chance / multiple) / self.tail(chance)

    def rounds_at(self, factor: float) -> float:
        """Return the multiple of N or T at which the correction has a factor below 1; else 0."""
        least = max(_LEAST, 2 * self.failure / self.shares)
        if not self.rounds or self.with_rounds(least) >= factor:
            return 0.0
        return float(brentq(lambda c: self.with_rounds(c) - factor, least, 1.0))

    def share_at(self, factor: float) -> float:
        """Return the multiple of the number of shares at which the correction has a factor."""
        chance = self.failure / self.shares
        bound = factor * self.tail(chance)
        larger = float(ndtr(-bound)) if self.gaussian else math.exp(-(bound**2) / 2)
        return chance / larger


def parts_of(theorem: Any) -> Parts:
    """Return the constants of a theorem's correction.

    Examples
    --------
    >>> from dpcp_ledger.claims.tightest_cases import NoiselessEvent
    >>> parts = parts_of(NoiselessEvent(n=2000, epsilon=120.0, delta=0.01))
    >>> parts.shares, parts.rounds
    (4.0, False)
    """
    failure = theorem.allowed_failure
    if isinstance(theorem, ScoreTheorem):
        return Parts(failure, 2.0 * theorem.rounds, rounds=True, gaussian=False)
    mechanism = getattr(theorem, "mechanism", None)
    if mechanism is None:
        return Parts(failure, 4.0, rounds=False, gaussian=False)
    gaussian = getattr(theorem, "noise_bound", NoiseBound.UNION) is NoiseBound.GAUSSIAN
    return Parts(failure, 2.0 * mechanism.rounds, rounds=True, gaussian=gaussian)


class _Seen(NamedTuple):
    """The largest multiple below 1 of each constant that some row refutes; 0 where none does."""

    correction: float = 0.0
    windows: float = 0.0
    rounds: float = 0.0
    share: float = 0.0


def constants_table(found: Iterable[tuple[str, HostileTheorem, Tightness]]) -> Table:
    """Return the wrong constants nearest to the right ones that rows refute, a row a theorem.

    Parameters
    ----------
    found : iterable of (str, HostileTheorem, Tightness)
        The rows: the theorem's name, the theorem on its worst scores, and how tight it is there.
    """
    seen: dict[str, _Seen] = {}
    for name, hostile, tightness in found:
        old = seen.get(name, _Seen())
        new = _seen(hostile, tightness)
        seen[name] = _Seen(*(max(pair) for pair in zip(old, new, strict=True)))
    heads = ("correction", "M(Δ)", "N or T", "share of β or δ")
    return Table(
        title="Wrong constants that a row refutes",
        columns=[
            TableColumn(name="theorem", texts=list(seen)),
            *(
                TableColumn(name=head, texts=[_shown(each[place]) for each in seen.values()])
                for place, head in enumerate(heads)
            ),
        ],
    )


def _seen(hostile: HostileTheorem, tightness: Tightness) -> _Seen:
    """Return what one row refutes."""
    factor = tightness.multiple - _STEP
    if factor <= 0:
        return _Seen()
    if hostile.correction_name == "M(Δ)":
        return _Seen(windows=factor)
    parts = parts_of(hostile.theorem)
    share = parts.share_at(factor)
    return _Seen(
        correction=factor,
        rounds=parts.rounds_at(factor),
        share=share if share > _LEAST else 0.0,
    )


def _shown(multiple: float) -> str:
    return f"× {multiple:.3g}" if multiple else "–"
