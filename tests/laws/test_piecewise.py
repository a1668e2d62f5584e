from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from dpcp_audit.laws.populations import PiecewiseConstant, Uniform, atoms

MIXED = PiecewiseConstant(edges=(0, 0.5, 1), cells=(3, 0), atoms=((0.0, 1), (0.7, 2), (1, 4)))
X = np.array([-1.0, 0.0, 0.25, 0.5, 0.6, 0.7, 0.8, 1.0, 2.0])


def test_distribution_function_by_hand() -> None:
    assert MIXED.cdf(X) == pytest.approx([0, 0.1, 0.25, 0.4, 0.4, 0.6, 0.6, 1, 1], abs=1e-15)
    assert MIXED.cdf_left(X) == pytest.approx([0, 0, 0.25, 0.4, 0.4, 0.4, 0.6, 0.6, 1], abs=1e-15)


def test_quantile_by_hand() -> None:
    levels = np.array([0.05, 0.1, 0.2, 0.25, 0.4, 0.41, 0.6, 0.61, 1.0])
    by_hand = [0, 0, 1 / 6, 0.25, 0.5, 0.7, 0.7, 1, 1]
    assert MIXED.quantile(levels) == pytest.approx(by_hand, abs=1e-15)


def test_one_cell_is_uniform() -> None:
    law = PiecewiseConstant(cells=(7,))
    x = np.linspace(-0.5, 1.5, 41)
    assert (law.cdf(x) == Uniform().cdf(x)).all()
    assert (law.cdf_left(x) == Uniform().cdf(x)).all()
    assert (law.quantile(x[11:30]) == x[11:30]).all()


def test_atoms_alone_are_the_pool_of_atoms() -> None:
    law = PiecewiseConstant(atoms=((0.2, 1), (0.5, 3), (1, 4)))
    pool = atoms([0.2, 0.5, 1.0], [1, 3, 4], name="pool")
    x = np.array([0.0, 0.2, 0.3, 0.5, 0.9, 1.0, 1.5])
    assert (law.cdf(x) == pool.cdf(x)).all()
    assert (law.cdf_left(x) == pool.cdf_left(x)).all()
    levels = np.array([0.125, 0.126, 0.5, 0.51, 1.0])
    assert (law.quantile(levels) == pool.quantile(levels)).all()


def test_an_atom_in_the_middle_of_a_cell() -> None:
    law = PiecewiseConstant(cells=(1,), atoms=((0.5, 3),))
    at = np.array([0.5])
    assert law.cdf_left(at).tolist() == [0.125]
    assert law.cdf(at).tolist() == [0.875]
    assert law.quantile(np.array([0.125, 0.5, 0.875, 0.9375])).tolist() == [0.5, 0.5, 0.5, 0.75]


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
