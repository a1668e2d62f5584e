"""Hypothesis strategies for property tests of private conformal code; ``pip install hypothesis``.

What a property fails on is shrunk by Hypothesis: to few scores, of round values, that are alike.
``hypothesis`` is imported with this module and nowhere else. ``hypothesis.strategies.from_type``
knows guarantees and ``Neighbours`` as soon as they are named, by an entry point.

Examples
--------
>>> from hypothesis import find, settings
>>> import numpy as np
>>> def moves_far(pair):
...     return abs(np.quantile(pair.value, 0.5) - np.quantile(pair.neighbour, 0.5)) > 0.4
>>> repeated = settings(max_examples=1000, derandomize=True, database=None)
>>> pair = find(neighbours(n=(3, 30)), moves_far, settings=repeated)
>>> len(pair.value), bool(moves_far(pair))
(3, True)
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import numpy as np

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    raise ImportError("dpcp_audit.strategies needs hypothesis: pip install hypothesis") from error

from dpcp_audit.laws.pools import ProbabilityPool
from dpcp_audit.laws.populations import PiecewiseConstant
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    Coverage,
    GaussianDP,
    LocalDP,
    Neighbours,
    PrivacyGuarantee,
    PureDP,
    Relation,
    RenyiDP,
)

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from dpcp_audit.words.validate import FloatArray

__all__ = ["guarantees", "neighbours", "pools", "score_laws", "scores"]

_DISTINCT = 5
_MOST_WEIGHT = 8
_CLASSES = (2, 5)
_LARGEST = 10.0


def scores(
    *, n: tuple[int, int] = (1, 30), bounds: tuple[float, float] = (0.0, 1.0), ties: bool = True
) -> SearchStrategy[FloatArray]:
    """Return a strategy of score arrays, tied ones among them.

    Parameters
    ----------
    n : tuple of int
        The least and the largest number of scores.
    bounds : tuple of float
        The interval that holds every score.
    ties : bool
        True if scores may be equal.

    Examples
    --------
    >>> from hypothesis import find, settings
    >>> find(scores(), lambda x: x.sum() > 1, settings=settings(derandomize=True)).sum() > 1
    np.True_
    """
    return _scores(_sizes(n), _validate.bounds(bounds), ties=ties)


def neighbours(
    *,
    n: tuple[int, int] = (1, 30),
    bounds: tuple[float, float] = (0.0, 1.0),
    relation: str = Relation.SUBSTITUTION,
) -> SearchStrategy[Neighbours[FloatArray]]:
    """Return a strategy of two score arrays that differ in one record.

    Parameters
    ----------
    n : tuple of int
        The least and the largest number of scores.
    bounds : tuple of float
        The interval that holds every score.
    relation : str
        "substitution", where one score is replaced by another, or "add-remove", where the
        neighbour lacks one.
    """
    known = (Relation.SUBSTITUTION, Relation.ADD_REMOVE)
    if relation not in known:
        raise ValueError(f"relation must be one of {', '.join(known)}, got {relation!r}")
    return _neighbours(_sizes(n), _validate.bounds(bounds), Relation(relation))


def score_laws(*, ties: bool = True) -> SearchStrategy[PiecewiseConstant]:
    """Return a strategy of laws of scores on [0, 1], with ``sample`` and ``cdf``.

    Parameters
    ----------
    ties : bool
        True if laws may have atoms.
    """
    return _score_laws(ties=ties)


def guarantees(*, largest: float = _LARGEST) -> SearchStrategy[PrivacyGuarantee]:
    """Return a strategy of privacy guarantees of every kind.

    Parameters
    ----------
    largest : float
        The largest ε, ρ or μ.
    """
    _validate.positive(largest=largest)
    return st.one_of(*(_guarantee(each, largest) for each in _GUARANTEES))


def _loss(largest: float) -> SearchStrategy[float]:
    return st.floats(min(0.01, largest), largest)


_PARAMETERS = {"delta": st.floats(1e-9, 0.5), "alpha": st.floats(1.1, 64.0)}
"""What a guarantee's other parameters than its ε, ρ or μ are drawn from."""
_GUARANTEES = (PureDP, ApproxDP, ZCDP, GaussianDP, RenyiDP, LocalDP)


def _guarantee(kind: type[PrivacyGuarantee], largest: float) -> SearchStrategy[PrivacyGuarantee]:
    """Return a strategy of guarantees of one class, whose ε, ρ or μ is at most ``largest``."""
    names = inspect.signature(kind).parameters
    return st.builds(kind, **{name: _PARAMETERS.get(name, _loss(largest)) for name in names})


def pools(
    *, n: tuple[int, int] = (1, 30), classes: tuple[int, int] = _CLASSES
) -> SearchStrategy[ProbabilityPool]:
    """Return a strategy of classifiers' outputs: ``probabilities`` (n, K) and ``labels`` (n,).

    Parameters
    ----------
    n, classes : tuple of int
        The least and the largest number of rows, and of classes K.
    """
    least, most = classes
    _validate.integer(at_least=2, classes=least)
    _validate.integer(at_least=least, classes=most)
    return _pools(_sizes(n), (least, most))


@st.composite
def _scores(
    draw: DrawFn, n: tuple[int, int], bounds: tuple[float, float], *, ties: bool
) -> FloatArray:
    each = st.floats(*bounds)
    if not ties:
        found = draw(st.lists(each, min_size=n[0], max_size=n[1], unique=True))
        return np.array(found, dtype=np.float64)
    distinct = draw(st.lists(each, min_size=1, max_size=_DISTINCT))
    found = draw(st.lists(st.sampled_from(distinct), min_size=n[0], max_size=n[1]))
    return np.array(found, dtype=np.float64)


@st.composite
def _neighbours(
    draw: DrawFn, n: tuple[int, int], bounds: tuple[float, float], relation: Relation
) -> Neighbours[FloatArray]:
    value = draw(_scores(n, bounds, ties=True))
    place = draw(st.integers(0, len(value) - 1))
    if relation is Relation.ADD_REMOVE:
        return Neighbours(relation=relation, value=value, neighbour=np.delete(value, place))
    neighbour = value.copy()
    old = float(value[place])
    neighbour[place] = draw(st.floats(*bounds).filter(lambda new: new != old))
    return Neighbours(relation=relation, value=value, neighbour=neighbour)


@st.composite
def _score_laws(draw: DrawFn, *, ties: bool) -> PiecewiseConstant:
    inner = draw(st.lists(st.integers(1, 99), max_size=3, unique=True))
    edges = [0.0, *(place / 100 for place in sorted(inner)), 1.0]
    weights = st.integers(0, _MOST_WEIGHT)
    cells = draw(st.lists(weights, min_size=len(edges) - 1, max_size=len(edges) - 1))
    places = draw(st.lists(st.integers(0, 100), max_size=3, unique=True)) if ties else []
    atoms = [(place / 100, float(draw(st.integers(1, _MOST_WEIGHT)))) for place in sorted(places)]
    if not sum(cells) and not atoms:
        cells[0] = 1
    return PiecewiseConstant(edges=edges, cells=list(map(float, cells)), atoms=tuple(atoms))


@st.composite
def _pools(draw: DrawFn, n: tuple[int, int], classes: tuple[int, int]) -> ProbabilityPool:
    rows, k = draw(st.integers(*n)), draw(st.integers(*classes))
    row = st.lists(st.integers(0, _MOST_WEIGHT), min_size=k, max_size=k).filter(any)
    weights = np.array(draw(st.lists(row, min_size=rows, max_size=rows)), dtype=np.float64)
    labels = draw(st.lists(st.integers(0, k - 1), min_size=rows, max_size=rows))
    probabilities = weights / weights.sum(axis=1, keepdims=True)
    return ProbabilityPool("drawn", probabilities, np.array(labels, dtype=np.int64))


def _sizes(n: tuple[int, int]) -> tuple[int, int]:
    least, most = n
    _validate.integer(at_least=1, n=least)
    _validate.integer(at_least=least, n=most)
    return least, most


def _register() -> None:
    """Make ``hypothesis.strategies.from_type`` know the guarantees and ``Neighbours``."""
    st.register_type_strategy(PrivacyGuarantee, guarantees())
    for kind in _GUARANTEES:
        st.register_type_strategy(kind, _guarantee(kind, _LARGEST))
    st.register_type_strategy(Coverage, st.builds(Coverage, st.floats(0.01, 0.99)))
    st.register_type_strategy(Neighbours, neighbours())


_register()
