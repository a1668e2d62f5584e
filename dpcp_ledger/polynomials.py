"""Identities of polynomials, proved by their values at a grid of points."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from dpcp_audit.extensions.claims import Computation, ProofMethod, Quantity
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.statistics import at_most

Point = tuple[int, ...]
Polynomial = Callable[[Point], int]
"""A polynomial with whole coefficients, of degree 2 at most in each of its variables."""
_POINTS = (-1, 0, 1)
"""A polynomial of degree 2 that is 0 at three points is 0."""


def largest_difference(left: Polynomial, right: Polynomial, *, variables: int) -> int:
    """Return the largest |left − right| over a grid that proves them equal if it is 0.

    Both are of degree 2 at most in each of the variables.

    Examples
    --------
    >>> largest_difference(lambda at: sum(at) ** 2, lambda at: sum(x * x for x in at), variables=2)
    2
    """
    _validate.integer(variables=variables, at_least=1)
    return max(abs(left(at) - right(at)) for at in product(_POINTS, repeat=variables))


def identity(gap: int, says: str, argument: str) -> Computation:
    """Return the computation that two polynomials are equal, from their largest difference."""
    found = Computation(
        quantity=Quantity.DIFFERENCE,
        detail=f"largest |{says}|",
        value=float(gap),
        claimed=0.0,
        error=0.0,
        witness={"points": list(_POINTS)},
    )
    return found.between(
        at_most(f"|{says}| ≤ 0", gap, 0),
        method=ProofMethod.CLOSED_FORM,
        argument=argument,
        parameters={},
    )
