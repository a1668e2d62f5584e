"""Hypothesis strategies of piecewise-constant laws with atoms."""

from __future__ import annotations

from hypothesis import strategies as st

from dpcp_audit.laws.populations import PiecewiseConstant

grid_points = st.integers(0, 64).map(lambda k: k / 64)
any_points = st.floats(0, 1, allow_subnormal=False)


@st.composite
def piecewise_laws(
    draw, *, points=grid_points | any_points, heaviest: int = 100
) -> PiecewiseConstant:
    """Draw a law of up to 4 cells and 3 atoms with whole weights."""
    inner = draw(st.lists(points.filter(lambda x: 0 < x < 1), max_size=3, unique=True))
    edges = [0.0, *sorted(inner), 1.0]
    size = len(edges) - 1
    cells = draw(st.lists(st.integers(0, heaviest), min_size=size, max_size=size))
    places = sorted(draw(st.lists(points, max_size=3, unique=True)))
    if not any(cells) and not places:
        places = [draw(points)]
    atoms = tuple((place, draw(st.integers(1, heaviest))) for place in places)
    return PiecewiseConstant(edges=edges, cells=cells, atoms=atoms)
