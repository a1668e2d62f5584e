"""Fixed seeds, and the global generators of a target."""

from __future__ import annotations

import functools
import hashlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_targets import SCORES, drawn, quantile, randomizer, refusal

import dpcp_audit as dp
from dpcp_audit.faces.cli.main import main
from dpcp_audit.targets import RandomStyle
from dpcp_audit.words.results import Verdict

SEED = 42
HERE = Path(__file__).relative_to(Path.cwd()).as_posix()


def cause(function, value=SCORES, **settings: Any) -> str:
    return quantile(function, **settings).frozen(value, rng=np.random.default_rng(0))


def fixed(scores, *, rng) -> float:
    return np.random.default_rng(42).laplace()


def fixed_by_name(scores) -> float:
    np.random.seed(SEED)  # noqa: NPY002
    return np.random.random()  # noqa: NPY002


def fixed_in_a_helper(scores, *, rng) -> float:
    return fixed(scores, rng=rng) + 1


def fixed_by_keyword(scores, *, rng) -> float:
    return np.random.RandomState(seed=3).laplace()


@pytest.mark.parametrize(
    ("function", "call", "offset"),
    [
        (fixed, "np.random.default_rng(42)", 1),
        (fixed_by_name, "np.random.seed(SEED)", 1),
        (fixed_in_a_helper, "np.random.default_rng(42)", None),
        (fixed_by_keyword, "np.random.RandomState(seed=3)", 1),
        (functools.partial(fixed), "np.random.default_rng(42)", None),
    ],
)
def test_a_fixed_seed_is_shown(function, call, offset) -> None:
    line = (fixed if offset is None else function).__code__.co_firstlineno + 1
    said = cause(function)
    assert said.startswith("Every call on one input returns the same, since it seeds itself by")
    assert f"{call} at {HERE}:{line}: draw from the rng or seed that it is handed" in said


def test_a_randomizer_with_a_fixed_seed_is_shown() -> None:
    def fixed_report(value, *, rng) -> int:
        return np.random.default_rng(0).integers(5)

    target = randomizer(fixed_report)
    assert "seeds itself by" in target.frozen(3, rng=np.random.default_rng(0))


@pytest.mark.parametrize("function", [np.max, lambda scores, *, rng: scores.max()])
def test_of_a_constant_without_a_fixed_seed_no_more_is_said(function) -> None:
    assert "since no noise reaches the output" in cause(function)


def test_of_what_varies_nothing_is_said() -> None:
    assert not cause(lambda scores, *, rng: rng.random())
    assert not cause(np.max, rng=RandomStyle.NONE)


class Attribute:
    seed = 3

    def __call__(self, scores) -> float:
        return scores.max() + np.random.default_rng(self.seed).laplace()


def by_a_default(scores, *, start=5) -> float:
    return scores.max() + np.random.RandomState(start).laplace()


def by_the_size(scores, *, rng) -> float:
    return scores.max() + np.random.default_rng(len(scores)).laplace()


def test_a_seed_that_is_handed_over_is_no_fixed_one() -> None:
    def certain(scores, *, seed) -> float:
        np.random.default_rng(seed).laplace()
        return 1.0

    def plain(scores) -> float:
        return float(scores.max())

    assert "seeds itself" not in cause(certain) + cause(plain)
    assert np.random.default_rng.__name__ == "default_rng"


def test_a_seed_that_the_data_make_is_no_fixed_one() -> None:
    def hashed(scores, *, rng) -> float:
        return np.random.default_rng(int(1e6 * np.sum(scores))).laplace()

    assert "since no noise reaches the output" in cause(hashed)


class Kept:
    """Draws its noise once, for good."""

    noise = np.random.default_rng(0).laplace()

    def __call__(self, scores, *, rng) -> float:
        return scores.max() + self.noise


def by_a_hash(scores, *, rng) -> float:
    seed = int.from_bytes(hashlib.sha256(scores.tobytes()).digest()[:4], "big")
    return scores.max() + np.random.default_rng(seed).laplace()


@functools.lru_cache
def _noise(n: int) -> float:
    return float(np.random.default_rng().laplace())


def cached_noise(scores, *, rng) -> float:
    return scores.max() + _noise(len(scores))


def one_seed(scores, *, rng) -> float:
    return scores.max() + np.random.default_rng(0).laplace()


def one_batch(scores, *, size, rng) -> np.ndarray:
    return scores.max() + np.random.default_rng(0).laplace(size=size)


def by_numpy(scores) -> float:
    np.random.seed(0)  # noqa: NPY002
    return scores.max() + np.random.laplace()  # noqa: NPY002


def by_python(scores) -> float:
    random.seed(0)
    return scores.max() + random.gauss(0, 1)


def by_torch(scores) -> float:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return scores.max() + float(torch.randn(()))


kept = Kept()
FORMS = [one_seed, by_numpy, by_python, kept, by_a_hash, cached_noise, one_batch]
FORMS += [by_the_size, by_a_default, Attribute()]
TRACED = (one_seed, kept, cached_noise)
"""One of each way to keep noise: a seed, an attribute and a cache."""


@pytest.mark.known_bad
@pytest.mark.parametrize("form", [by_torch, *FORMS])
def test_one_bug_has_one_outcome(form) -> None:
    """Noise that is the same in every call hides nothing, whatever keeps it so."""
    vectorised = form is one_batch
    more = {"n": 10, "draws": 600, "vectorised": vectorised, "trace": form in TRACED}
    result = dp.audit(form, dp.PureDP(1.0), kind="quantile", **more)
    assert result.verdict is Verdict.REFUTED
    assert result["pure_dp"].witness["cause"].startswith("Every call on one input returns the same")
    assert not vectorised or result["pure_dp"].replay()


def seldom_false(value, *, rng) -> str:
    """Sixteen calls mostly agree."""
    answers = ["no", "yes"] if value > 0.5 else ["yes", "no"]
    return str(rng.choice(answers, p=[0.001, 0.999]))


@pytest.mark.known_bad
def test_outputs_that_seldom_differ_are_not_said_to_be_the_same() -> None:
    """Sixteen calls on each of three inputs differ with probability 0.05."""
    result = dp.audit(seldom_false, dp.LocalDP(1.0), kind="local", draws=2000)
    assert result.verdict is Verdict.REFUTED
    assert "cause" not in result["local_dp"].witness


@pytest.mark.known_bad
def test_the_command_line_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--kind=quantile", "--pure-dp=1", "--n=10", "--draws=1000", "--jobs=1", "-v"]
    assert main(["check", f"{__file__}:one_seed", *given]) == 1
    assert "Every call on one input returns the same" in capsys.readouterr().out


def test_a_generator_beside_the_one_handed_over_is_refused_with_advice() -> None:
    """Its outputs do vary: it is no frozen noise, and what they rest on must be said."""
    own = np.random.default_rng(0)
    result = dp.audit(lambda scores, *, rng: scores.max() + own.laplace(), dp.PureDP(1), draws=1000)
    (found,) = result
    assert found.error is not None
    assert "draw from rng alone, or declare Randomness.EXTERNAL (randomness global)" in found.error


def hidden_by_its_seed(value) -> int:
    own = np.random.default_rng(0)
    return int(value) if own.random() < 0.3 else int(own.integers(4))


def constant_report(value, *, rng) -> int:
    return 2


@pytest.mark.known_bad
def test_a_seed_that_happens_to_hide_the_value_is_named_and_not_to_be_declared() -> None:
    line = hidden_by_its_seed.__code__.co_firstlineno + 1
    said = error_of(hidden_by_its_seed)
    assert f"since it seeds itself by np.random.default_rng(0) at {HERE}:{line}\nhint: draw" in said
    assert "none" not in said
    assert "--randomness none; in Python randomness='none'" in error_of(constant_report)


def error_of(function) -> str:
    settings: Any = {"domain": 4, "draws": 1000}
    (found,) = dp.audit(function, dp.LocalDP(1.0), **settings)
    assert found.error
    return found.error


@pytest.mark.parametrize("fails", [False, True])
def test_global_generators_are_left_as_they_were(fails) -> None:
    def draws(scores) -> float:
        np.random.random(), random.random()  # noqa: NPY002, S311
        if fails:
            raise ValueError("no")
        return 1.0

    def next_ones() -> tuple[float, float]:
        return np.random.random(), random.random()  # noqa: NPY002, S311

    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    expected = next_ones()
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    if fails:
        refusal(quantile(draws))
    else:
        drawn(quantile(draws))
    assert next_ones() == expected


def test_torch_is_seeded_where_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Generator:
        state = 7

        def get_state(self) -> int:
            return self.state

        def set_state(self, state: int) -> None:
            self.state = state

        manual_seed = set_state

    class FakeTorch:
        default_generator = Generator()

    monkeypatch.setitem(__import__("sys").modules, "torch", FakeTorch)
    target = quantile(lambda scores: FakeTorch.default_generator.state)
    assert drawn(target) == drawn(target) != drawn(target, seed=1)
    assert FakeTorch.default_generator.state == 7


def noise_on_other_inputs(scores, *, rng) -> float:
    noise = rng.laplace(scale=1)
    return float(np.sum(scores) + noise) if np.sum(scores) else 0.0


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (noise_on_other_inputs, "does not reach the output"),
        (lambda scores, *, rng: float(np.sum(scores)), "no noise reaches the output"),
    ],
)
def test_noise_that_one_input_does_not_get_is_told_from_none(function, said: str) -> None:
    settings: Any = {"pair": ([0.0, 0.0], [1.0, 0.0]), "draws": 2000, "trace": False}
    (found,) = dp.audit(function, dp.PureDP(1.0), prove=False, **settings)
    assert found.verdict is Verdict.REFUTED
    assert said in found.entry["note"]
    assert ("cause" in found.witness) == said.startswith("no noise")
