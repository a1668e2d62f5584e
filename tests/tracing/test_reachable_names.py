"""What a target reaches by names of its own is followed, or refused."""

from __future__ import annotations

import random
import secrets
from math import log
from os import urandom
from pathlib import Path
from random import gauss

import numpy as np
import pytest
from numpy.random import laplace
from support.followed_paths import trace_pair

from dpcp_audit.tracing.reachable_names import Reach, is_own

RARE = 2**-40
_BEFORE = np.random.default_rng(0)
_OLDER = random.Random(0)  # noqa: S311
_SYSTEM = secrets.SystemRandom()


def own_bytes(x, *, rng) -> float:
    return x + rng.laplace() + urandom(1)[0]


def device(x, *, rng) -> float:
    with Path("/dev/urandom").open("rb") as file:
        return x + rng.laplace() + file.read(1)[0]


def system(x, *, rng) -> float:
    return x + rng.laplace() + _SYSTEM.randint(0, 1)


@pytest.mark.known_bad
@pytest.mark.parametrize("function", [own_bytes, device, system])
def test_random_bytes_of_the_system_are_named_with_their_line(function) -> None:
    found = trace_pair(function, 0.0, 1.0, draws=2, rng=0)
    assert "random bytes of the system" in found.unfollowed[0].says
    first = function.__code__.co_firstlineno
    assert first < found.unfollowed[0].location.line <= first + 2


def seldom(x, *, rng) -> int:
    """Return the data where a generator of its own says so: hardly ever."""
    return int(x) if _BEFORE.random() < RARE else int(rng.random() < 0.5)


def seldom_too(x, *, rng) -> int:
    return int(x) if _OLDER.random() < RARE else int(rng.random() < 0.5)


@pytest.mark.known_bad
@pytest.mark.parametrize("function", [seldom, seldom_too])
def test_a_generator_made_before_is_seen_however_seldom_it_matters(function) -> None:
    """No replay differs: the state of the generator does."""
    found = trace_pair(function, 0, 1, draws=2, rng=0)
    assert "a generator that was made before the call" in found.unfollowed[0].says


def by_name(x) -> float:
    return x + laplace(0.0, 2.0)  # noqa: NPY002  (the old function itself)


def by_another_name(x) -> float:
    return x + gauss(0.0, 1.0)


def by_logarithm(x, *, rng) -> float:
    return x - log(rng.random())


@pytest.mark.parametrize("function", [by_name, by_another_name, by_logarithm])
def test_functions_that_were_imported_by_name_are_followed(function) -> None:
    before = laplace, gauss, log
    found = trace_pair(function, 0.5, 0.0, draws=20, rng=0)
    assert found.followed
    assert found.released
    assert (laplace, gauss, log) == before


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_a_package_is_installed_in_whichever_environment_it_lies(folder: str, tmp_path) -> None:
    assert not is_own(str(tmp_path / folder / "library" / "noise.py"))
    assert is_own(str(tmp_path / "mine" / "noise.py"))


def test_only_the_names_of_the_users_own_modules_are_looked_through() -> None:
    found = [names["__name__"] for names in Reach.of(seldom).namespaces]
    assert found == [__name__, "support.followed_paths"]
    assert {id(each) for each in Reach.of(seldom).generators} == {id(_BEFORE), id(_OLDER)}
    assert Reach.of(len) == Reach()
