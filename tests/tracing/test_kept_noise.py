"""What a target keeps of followed calls is gone when the trace ends, and the rest stays."""

from __future__ import annotations

import functools
from collections import deque
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.followed_paths import trace_pair

from dpcp_audit.tracing.target_calls import _reached, put_back
from dpcp_audit.tracing.traced_arrays import traced_array
from dpcp_audit.tracing.traced_numbers import Traced

if TYPE_CHECKING:
    from collections.abc import Callable

_NAMED: Any = None
"""A global name that a target gives its noise."""


def _noise() -> Any:
    path: Any = SimpleNamespace(symbolic=False)
    number: Any = Traced(path, 1.0, 0.0, {})
    return traced_array([number, number])


def _in_dictionary() -> tuple[object, Callable[[], Any], Callable[[], Any]]:
    kept: dict[Any, Any] = {"plain": 1}
    return kept, lambda: kept.update(noise=_noise(), other=2), lambda: dict(kept)


def _in_nested_list() -> tuple[object, Callable[[], Any], Callable[[], Any]]:
    kept: dict[str, list[Any]] = {"list": [1]}
    return kept, lambda: kept["list"].append({"deep": (_noise(),)}), lambda: kept["list"][:]


def _in_queue() -> tuple[object, Callable[[], Any], Callable[[], Any]]:
    kept: deque[Any] = deque([1, 2], maxlen=2)
    return kept, lambda: kept.append(_noise()), lambda: list(kept)


def _in_objects() -> tuple[object, Callable[[], Any], Callable[[], Any]]:
    kept = np.array([None, 3], dtype=object)
    return kept, lambda: kept.__setitem__(0, _noise()[0]), kept.tolist


def _in_function() -> tuple[object, Callable[[], Any], Callable[[], Any]]:
    def target() -> None:
        """Do nothing."""

    return target, lambda: setattr(target, "noise", _noise()), lambda: dict(vars(target))


def _in_class() -> tuple[object, Callable[[], Any], Callable[[], Any]]:
    class Holder:
        noise: Any = None

    def keep() -> None:
        Holder.noise = _noise()
        Holder.new = _noise()  # type: ignore[attr-defined]

    return (
        functools.partial(int, Holder()),
        keep,
        lambda: (
            Holder.noise,
            hasattr(Holder, "new"),
        ),
    )


def _in_cell() -> tuple[object, Callable[[], Any], Callable[[], Any]]:
    kept: Any = None

    def keep() -> None:
        nonlocal kept
        kept = _noise()

    return keep, keep, lambda: kept


def _in_global() -> tuple[object, Callable[[], Any], Callable[[], Any]]:
    def keep() -> None:
        global _NAMED  # noqa: PLW0603  (that is what is tried)
        _NAMED = _noise()

    return keep, keep, lambda: _NAMED


def _in_cache(size: int | None) -> tuple[object, Callable[[], Any], Callable[[], Any]]:
    @functools.lru_cache(size)
    def drawn(key: int) -> Any:
        return _noise() if key else key

    def keep() -> None:
        drawn(1)

    return drawn, keep, lambda: isinstance(drawn(0), int) and drawn.cache_info().currsize


FORMS = {
    "dictionary": _in_dictionary,
    "list": _in_nested_list,
    "queue": _in_queue,
    "objects": _in_objects,
    "function": _in_function,
    "class": _in_class,
    "cell": _in_cell,
    "global": _in_global,
    "cache": lambda: _in_cache(None),
    "chain": lambda: _in_cache(8),
}


@pytest.mark.parametrize("form", FORMS)
def test_noise_that_is_kept_is_taken_out(form: str) -> None:
    make: Any = FORMS[form]
    root, keep, content = make()
    before = content()
    with put_back(root) as keeps:
        assert not keeps()
        keep()
        assert keeps()
    assert not keeps()
    expected = before | {"other": 2} if form == "dictionary" else before
    assert content() == expected


def test_what_is_no_noise_stays() -> None:
    kept: dict[str, Any] = {"list": [], "noise": 1}
    with put_back(kept):
        kept["list"].append(np.zeros(2))
        kept["noise"] = 2
        kept["loaded"] = object()
    assert len(kept["list"]) == 1
    assert kept["noise"] == 2
    assert "loaded" in kept


def test_it_is_put_back_where_a_call_fails() -> None:
    kept: list[Any] = []

    def fail() -> None:
        kept.append(_noise())
        raise ValueError

    with pytest.raises(ValueError, match="^$"), put_back(kept):
        fail()
    assert kept == []


def test_installed_code_is_not_looked_through() -> None:
    assert not any(
        each is vars(np) for each in _reached((np.random.default_rng, pytest.raises, np))
    )


@pytest.mark.parametrize("shape", [None, 2])
def test_a_trace_of_code_that_keeps_its_noise_is_refused(shape: int | None) -> None:
    kept: dict[int, Any] = {}

    def target(scores: Any, *, rng: Any) -> Any:
        if len(scores) not in kept:
            kept[len(scores)] = rng.laplace(scale=5.0, size=shape)
        return np.mean(scores) + kept[len(scores)]

    found = trace_pair(target, np.zeros(4), np.ones(4), draws=3, rng=0)
    assert "keeps noise of one call for later ones" in found.unfollowed[0].says
    assert kept == {}


def test_a_trace_of_code_that_notes_its_latest_noise_is_followed() -> None:
    noted: dict[str, Any] = {}

    def target(scores: Any, *, rng: Any) -> Any:
        noted["latest"] = rng.laplace(scale=1.0)
        return np.mean(scores) + noted["latest"]

    found = trace_pair(target, np.zeros(4), np.ones(4), draws=3, rng=0)
    assert found.followed
    assert found.forward.epsilon(0.0) == pytest.approx(1.0)
    assert noted == {}
