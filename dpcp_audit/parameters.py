"""The parameters that mechanisms and theorems share, as options: one wording for each symbol.

The metadata of a field, such as ``n: int = field(metadata=N)``; each says its unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcp_audit._values import Pair, Positive, Probability, Whole
from dpcp_audit.options import Group, option

if TYPE_CHECKING:
    from dpcp_audit._values import Value
    from dpcp_audit.options import Option

MOST_USERS, MOST_ROUNDS = 10**15, 60
"""Counts beyond 2⁵³ are no longer whole in doubles, nor are midpoints apart after 60 halvings."""
_LARGEST_EPSILON = 500.0
"""e^ε beyond it comes near the end of a float's range."""


def parameter(value: Value, help: str, **others: Any) -> dict[str, Option]:  # noqa: A002
    """Return the metadata of a field that is a parameter; a choice shows its values."""
    return option(value, help, group=Group.THEOREM, **({"metavar": value.words} | others))


N = parameter(Whole(at_most=MOST_USERS), "n, the number of calibration users", metavar="N")
ALPHA = parameter(Probability(), "α, the miscoverage aimed at, a probability", metavar="A")
EPSILON = parameter(
    Positive(at_least=1e-9, at_most=_LARGEST_EPSILON),
    "ε, the privacy that is paid, in nats",
    metavar="E",
)
RHO = parameter(
    Positive(at_least=1e-12, at_most=1e12),
    "ρ of zCDP, the privacy that is paid, in nats",
    metavar="R",
)
DELTA = parameter(Probability(), "δ, the failure probability that the theorem allows", metavar="D")
BETA = parameter(Probability(), "β, the failure probability that the theorem allows", metavar="B")
ROUNDS = parameter(
    Whole(at_most=MOST_ROUNDS), "T, the number of halvings, ⌈log2(1/τ)⌉", metavar="T"
)
BOUNDS = parameter(
    Pair(), "[a, b], the public interval of the scores, in their units", metavar="A B"
)
RESOLUTION = parameter(
    Positive(at_least=1e-18), "Δ, the resolution of the search, in units of the scores", metavar="D"
)
WINDOW_COUNT = parameter(
    Whole(at_least=0, at_most=MOST_USERS),
    "M(Δ), the most scores in an interval of length Δ, in ranks",
    metavar="M",
)
