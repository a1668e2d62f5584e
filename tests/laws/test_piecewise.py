from __future__ import annotations

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.piecewise_laws import any_points, grid_points, piecewise_laws

from dpcp_audit.laws.populations import PiecewiseConstant, Uniform

MIXED = PiecewiseConstant(edges=(0, 0.5, 1), cells=(3, 0), atoms=((0.0, 1), (0.7, 2), (1, 4)))


def test_any_shape() -> None:
    for x in (0.7, np.array([[0.7], [0.1]])):
        assert MIXED.cdf(x).shape == MIXED.cdf_left(x).shape == np.shape(x)
        assert MIXED.quantile(x).shape == np.shape(x)
    assert MIXED.sample((3, 4), rng=1).shape == (3, 4)


def test_the_density_is_known_to_be_monotone_between_edges_and_atoms() -> None:
    law = PiecewiseConstant(edges=(0, 0.5, 1), cells=(1, 2), atoms=((0.75, 1),))
    assert law.monotone_between(0.1, 0.4)
    assert law.monotone_between(0.51, 0.74)
    assert not law.monotone_between(0.4, 0.5)
    assert not law.monotone_between(0.5, 0.6)
    assert not law.monotone_between(0.7, 0.8)


def test_largest_mass() -> None:
    assert MIXED.largest_mass(0.25) == pytest.approx(0.4)
    assert MIXED.largest_mass(0.375) == pytest.approx(0.6)  # both atoms, and nothing between
    assert MIXED.largest_mass(1) == 1
    assert PiecewiseConstant(cells=(1,), atoms=((1, 1),)).largest_mass(0.5) == 0.75
    assert PiecewiseConstant(cells=(1,)).largest_mass(2**-10) == 2**-10


def test_plain_data_builds_the_law_again() -> None:
    again = PiecewiseConstant(**json.loads(json.dumps(MIXED.as_plain())))
    assert again == MIXED
    assert hash(again) == hash(MIXED)
    assert pickle.loads(pickle.dumps(MIXED)) == MIXED  # noqa: S301  (workers get laws so)
    assert eval(repr(MIXED)) == MIXED  # noqa: S307  (the repr is a line of code)


def test_name_shows_what_has_weight() -> None:
    assert MIXED.name == "piecewise([0,0.5]:3,{0}:1,{0.7}:2,{1}:4)"


def test_words_say_where_the_scores_are_and_how_many() -> None:
    assert MIXED.words == (
        "40 % equal to 1, 30 % uniform on [0, 0.5], 20 % equal to 0.7, 10 % equal to 0"
    )
    assert PiecewiseConstant(atoms=((1.0, 3.0),)).words == "all equal to 1"
    assert PiecewiseConstant(cells=(2.0,)).words == "uniform on [0, 1]"
    assert Uniform().words == "of uniform"


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"edges": (0, 0.5, 0.5, 1), "cells": (1, 1, 1)}, "edges"),
        ({"edges": (0.1, 1), "cells": (1,)}, "edges"),
        ({"edges": (0, 2), "cells": (1,)}, "edges"),
        ({"edges": (0,), "cells": (1,)}, "edges"),
        ({"cells": (1, 1)}, "cells"),
        ({"cells": (-1,), "atoms": ((0.5, 2),)}, "cells"),
        ({"cells": (np.inf,)}, "cells"),
        ({"atoms": ((0.5, 0),)}, "atoms"),
        ({"atoms": ((1.5, 1),)}, "atoms"),
        ({"atoms": ((0.5, 1), (0.5, 1))}, "atoms"),
        ({"atoms": ((0.5, 1, 2),)}, "atoms"),
        ({"atoms": ((0.5, np.nan),)}, "atoms"),
        ({"cells": (0,)}, "cells and atoms"),
        ({"edges": (0, 0.5, 1), "cells": (1e308, 1e308)}, "cells and atoms"),
    ],
)
def test_bad_fields_are_named(fields, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        PiecewiseConstant(**fields)


@pytest.mark.parametrize("level", [0.0, -0.1, 1.1, np.nan])
def test_bad_level_is_named(level) -> None:
    with pytest.raises(ValueError, match="^u must "):
        MIXED.quantile(np.array([0.5, level]))


@pytest.mark.parametrize("length", [0.0, 1.5, np.nan])
def test_bad_length_is_named(length) -> None:
    with pytest.raises(ValueError, match="^length must "):
        MIXED.largest_mass(length)


points = grid_points | any_points
levels = st.floats(1e-9, 1)


def exact_cdf(law: PiecewiseConstant, x: float, *, left: bool = False) -> Fraction:
    """Return F(x), or P(S < x), in fractions, straight from the definition."""
    at = Fraction(x)
    total = mass = Fraction(0)
    for low, high, weight in zip(law.edges, law.edges[1:], law.cells, strict=False):
        a, b, w = Fraction(low), Fraction(high), Fraction(weight)
        total += w
        mass += w * min(max((at - a) / (b - a), Fraction(0)), Fraction(1))
    for place, weight in law.atoms:
        total += Fraction(weight)
        mass += Fraction(weight) * (place < x if left else place <= x)
    return mass / total


@given(piecewise_laws(), points)
def test_distribution_function_is_its_definition(law, x) -> None:
    for location in (x, *law.edges, *(place for place, _ in law.atoms)):
        point = np.array([location])
        assert abs(law.cdf(point)[0] - float(exact_cdf(law, location))) < 1e-14
        assert abs(law.cdf_left(point)[0] - float(exact_cdf(law, location, left=True))) < 1e-14


@given(piecewise_laws(), levels)
def test_quantile_inverts_the_distribution_function(law, u) -> None:
    q = float(law.quantile(np.array([u]))[0])
    step = 1e-12
    assert law.cdf(np.array([q + step]))[0] >= u - 1e-12
    assert law.cdf_left(np.array([q - step]))[0] <= u + 1e-12
    for place, _ in law.atoms:  # at a jump the inverse is exact
        if law.cdf_left(np.array([place]))[0] < u <= law.cdf(np.array([place]))[0]:
            assert q == place


@given(piecewise_laws(points=grid_points), grid_points, st.sampled_from([1 / 64, 0.25, 0.5]))
def test_no_interval_holds_more_than_the_largest_mass(law, x, length) -> None:
    mass = law.cdf(np.array([x + length]))[0] - law.cdf_left(np.array([x]))[0]
    largest = law.largest_mass(length)
    assert mass <= largest + 1e-15
    places = [*law.edges, *(place for place, _ in law.atoms)]
    starts = np.array([*places, *(place - length for place in places)])
    assert largest <= (law.cdf(starts + length) - law.cdf_left(starts)).max() + 1e-15
