"""What a followed call imports or compiles keeps the generators as they are."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.followed_paths import trace_pair

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LIBRARY = "a_library_that_is_late"
_SOURCE = """
import math, os, random
import numpy as np
from numpy.random import laplace
KEPT = {"normal": np.random.normal, "random": random.random, "log": math.log}
SALT = os.urandom(4)
own = np.random.RandomState
"""


@pytest.fixture(params=["site-packages"])
def library(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A library as numba: what it finds at its first import is what it keeps."""
    folder = tmp_path / request.param
    folder.mkdir()
    (folder / f"{_LIBRARY}.py").write_text(_SOURCE)
    monkeypatch.syspath_prepend(str(folder))
    yield _LIBRARY
    sys.modules.pop(_LIBRARY, None)


def late(x, *, rng) -> float:
    importlib.import_module(_LIBRARY)
    return x + rng.laplace() + np.random.laplace()  # noqa: NPY002


@pytest.mark.known_bad
def test_a_library_imported_in_a_call_keeps_the_generators_themselves(library: str) -> None:
    own = (np.random.laplace, np.random.normal, np.random.RandomState)
    found = trace_pair(late, 0.0, 1.0, draws=20, rng=0)
    loaded = sys.modules[library]
    assert (loaded.laplace, loaded.KEPT["normal"], loaded.own) == own
    assert loaded.KEPT["random"].__self__ is not None
    assert loaded.KEPT["log"](1.0) == 0.0
    assert isinstance(loaded.laplace(), float)
    assert not found.unfollowed, "the draws after the import are followed"


@pytest.mark.parametrize("library", ["mine"], indirect=True)
def test_a_module_of_the_targets_own_is_followed_at_its_import(library: str) -> None:
    """Its draws are the target's: they must not go unseen."""
    found = trace_pair(late, 0.0, 1.0, draws=2, rng=0)
    assert library not in sys.modules
    assert "random bytes of the system" in found.unfollowed[0].says


def test_a_library_that_cannot_be_imported_leaves_the_generators_followed() -> None:
    def without(x, *, rng) -> float:
        with pytest.raises(ImportError):
            importlib.import_module("a_library_that_is_nowhere")
        return x + rng.laplace() + np.random.laplace()  # noqa: NPY002

    found = trace_pair(without, 0.0, 1.0, draws=20, rng=0)
    assert not found.unfollowed
    assert np.random.normal.__self__ is np.random.mtrand._rand


class _Compiled:
    """A function as numba's: the first call compiles it, and a failure to compile is kept."""

    def __init__(self, function) -> None:
        self.function = function
        self.found = ""

    def _compile_for_args(self) -> None:
        importlib.import_module(_LIBRARY)
        self.found = self.found or type(np.random.laplace).__name__

    def __call__(self, x: float) -> float:
        self._compile_for_args()
        return self.function(x)


@pytest.fixture
def numba(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Stand-ins of the two modules of numba that matter here; the state of its generators."""
    state = [0]
    helper = SimpleNamespace(
        rnd_get_np_state_ptr=lambda: 0,
        rnd_get_py_state_ptr=lambda: 1,
        rnd_get_state=lambda pointer: (state[0], pointer),
    )
    monkeypatch.setitem(sys.modules, "numba._helperlib", helper)
    compilers = SimpleNamespace(Dispatcher=_Compiled)
    monkeypatch.setitem(sys.modules, "numba.core.dispatcher", compilers)
    return state


@pytest.mark.known_bad
@pytest.mark.usefixtures("numba", "library")
def test_numba_compiles_with_the_generators_themselves() -> None:
    compiled = _Compiled(lambda x: 2 * x)

    def doubled(x, *, rng) -> float:
        return compiled(x) + np.random.laplace()  # noqa: NPY002

    found = trace_pair(doubled, 0.0, 1.0, draws=2, rng=0)
    assert not found.unfollowed
    assert compiled.found == type(np.random.laplace).__name__ != "function"


@pytest.mark.known_bad
def test_draws_of_compiled_code_are_seen_however_seldom_they_matter(numba: list[int]) -> None:
    def drawn(x) -> float:
        numba[0] += 1
        return 0.0

    found = trace_pair(drawn, 0.0, 1.0, draws=2, rng=0)
    assert "randomness that is not followed" in found.unfollowed[0].says


@pytest.mark.known_bad
def test_numba_compiles_after_a_trace_that_it_was_part_of() -> None:
    """The functions that numba lists at its first compilation are the generators' own."""
    numba = pytest.importorskip("numba")
    noise = numba.njit(lambda x: x + np.random.laplace(0.0, 1.0))  # noqa: NPY002

    def compiled(x) -> float:
        return float(noise(x))

    assert trace_pair(compiled, 0.0, 1.0, draws=2, rng=0).unfollowed
    assert isinstance(compiled(0.0), float)
