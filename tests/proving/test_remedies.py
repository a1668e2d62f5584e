"""What a hint says is done to the source, and the claim is proved then; with less it is not."""

from __future__ import annotations

import importlib.util
import math
import re
from typing import TYPE_CHECKING, Any

import pytest

import dpcp_audit as dp

if TYPE_CHECKING:
    from pathlib import Path

    from dpcp_audit.proving.proof_result import ProofResult

HEAD = "import numpy as np\n\n\ndef quantile(scores, *, rng):\n    n = len(scores)\n"
GRID = """
    grid = np.linspace(0, 1, 21)
    below = np.array([np.sum(scores <= g) for g in grid])
"""
UTILITY = GRID + "    utility = -np.abs(below - 0.9 * n)\n"
BISECTION = """
    low, high = 0.0, 1.0
    for step in range(10):
        middle = (low + high) / 2
        if step < 9:
            count = np.sum(scores <= middle) + rng.{law}(0, <a>)
        else:
            count = np.sum(scores <= middle) + rng.{law}(0, <b>)
        low, high = (middle, high) if count < 0.9 * n else (low, middle)
    return high
"""
SPARSE = """
    threshold = 0.9 * n + rng.laplace(0, <a>)
    for g in np.linspace(0, 1, 11):
        count = np.sum(scores <= g)
        if count + rng.laplace(0, <b>) >= threshold:
            return g
    return 1.0
"""
HISTOGRAM = """
    counts, edges = np.histogram(scores, bins=20, range=(0, 1))
    total = np.cumsum(np.maximum(counts + rng.laplace(0, <a>, size=20), 0))
    return edges[min(np.searchsorted(total, 0.9 * total[-1]), 19) + 1]
"""
TREE = """
    node, rank = 0, 0.9 * n
    for level in range(1, 4):
        counts, edges = np.histogram(scores, bins=2**level, range=(0, 1))
        noisy = counts + rng.laplace(0, <a>, size=2**level)
        if noisy[2 * node] >= rank:
            node = 2 * node
        else:
            rank = rank - noisy[2 * node]
            node = 2 * node + 1
    return (node + 1) / 8
"""
GAPS = """
    edges = np.concatenate([[0.0], np.sort(np.clip(scores, 0, 1)), [1.0]])
    with np.errstate(divide="ignore"):
        logits = np.log(np.diff(edges)) - np.abs(np.arange(n + 1) - 0.9 * n) / <d>
    weights = np.exp(logits - logits.max())
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])
"""
CHOICE = """
    weights = np.exp((utility - utility.max()) / <d>)
    return rng.choice(grid, p=weights / weights.sum())
"""
PERMUTED = """
    p = np.exp((utility - utility.max()) / <d>)
    for i in rng.permutation(21):
        if rng.random() < p[i]:
            return grid[i]
"""
MAXIMUM = """
    return grid[np.argmax(utility + rng.laplace(0, <a>, size=21))]
"""
ORDER = """
    return np.sort(np.clip(scores, 0, 1))[17] + rng.laplace(0, <a>)
"""
DESCENT = """
    q = 0.5
    for t in range(20):
        gradient = np.mean(scores <= q) - 0.9 + rng.normal(0, <a>)
        q = np.clip(q - 0.5 / (t + 1) * gradient, 0, 1)
    return q
"""
LAPLACE = """
    return np.sum(scores > 0.5) + rng.laplace(0, <a>)
"""
UNLIKE = """
    return np.sum(scores > 0.5) + rng.laplace(0, <a>), np.sum(scores > 0.3) + rng.normal(0, <b>)
"""
FORMS = [
    (LAPLACE, dp.ZCDP(0.5), {"a": 0.5}),
    (LAPLACE, dp.GaussianDP(1.0), {"a": 0.5}),
    (LAPLACE, dp.RenyiDP(4.0, 0.5), {"a": 0.5}),
    (UNLIKE, dp.ZCDP(0.5), {"a": 0.4, "b": 1.2}),
    (UNLIKE, dp.GaussianDP(1.0), {"a": 1.2, "b": 0.5}),
    (BISECTION.format(law="normal"), dp.ZCDP(0.5), {"a": 1.0, "b": 1.0}),
    (BISECTION.format(law="laplace"), dp.PureDP(1.0), {"a": 20.0, "b": 0.1}),
    (BISECTION.format(law="normal"), dp.GaussianDP(1.0), {"a": 4.0, "b": 0.3}),
    (SPARSE, dp.PureDP(1.0), {"a": 2.0, "b": 0.2}),
    (SPARSE, dp.PureDP(1.0), {"a": 0.05, "b": 0.3}),
    (HISTOGRAM, dp.PureDP(1.0), {"a": 0.3}),
    (TREE, dp.PureDP(1.0), {"a": 0.7}),
    (GAPS, dp.PureDP(1.0), {"d": 0.3}),
    (UTILITY + CHOICE, dp.PureDP(1.0), {"d": 0.7}),
    (UTILITY + PERMUTED, dp.PureDP(1.0), {"d": 0.7}),
    (UTILITY + MAXIMUM, dp.PureDP(1.0), {"a": 0.25}),
    (ORDER, dp.PureDP(1.0), {"a": 0.05}),
    (DESCENT, dp.ZCDP(0.5), {"a": 0.03}),
]


def _proof(text: str, numbers: dict[str, float], claim: Any, folder: Path) -> ProofResult:
    """The proof of a source with numbers in it."""
    for name, number in numbers.items():
        text = text.replace(f"<{name}>", repr(number))
    path = folder / f"form_{abs(hash(text))}.py"
    path.write_text(HEAD + text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dp.prove(module.quantile, claim, n=20)


def _done(proof: ProofResult, text: str, numbers: dict[str, float], part: float) -> dict[str, Any]:
    """The numbers after a part of what the hint says is done."""
    line = (HEAD + text).splitlines()[(proof.line or 0) - 1]
    here = [name for name in numbers if f"<{name}>" in line]
    told = re.fullmatch(
        r"(?:(?P<to>a scale|σ) ≥|(?P<times>(?:all )?noise|the exponent divided by)) "
        r"(?P<number>\S+)(?: times as large)?(?P<here> at this line)? would prove it",
        proof.hint,
    )
    assert told is not None, proof.hint
    number = part * float(told["number"])
    which = here if told["here"] else list(numbers)
    return numbers | {each: number if told["to"] else number * numbers[each] for each in which}


@pytest.mark.parametrize(("text", "claim", "numbers"), FORMS)
def test_after_what_the_hint_says_the_claim_is_proved(
    text: str, claim: Any, numbers: dict[str, float], tmp_path: Path
) -> None:
    before = _proof(text, numbers, claim, tmp_path)
    assert not before.proved
    assert _proof(text, _done(before, text, numbers, 1.0), claim, tmp_path).proved, before.hint
    less = _done(before, text, numbers, 0.99)
    assert not _proof(text, less, claim, tmp_path).proved, before.hint


BARE = """
    epsilon, rho, mu = 1.0, 0.5, 1.0
    return np.mean(scores)<noise>
"""
OF_A_GRID = """
    epsilon, rho, mu = 1.0, 0.5, 1.0
    below = np.array([np.sum(scores <= g) / 7 for g in np.linspace(0, 1, 3)])
    return below[0]<noise>
"""


@pytest.mark.parametrize("text", [BARE, OF_A_GRID])
@pytest.mark.parametrize(
    ("claim", "law"),
    [
        (dp.PureDP(1.0), "ε-DP"),
        (dp.ZCDP(0.5), "ρ-zCDP"),
        (dp.GaussianDP(1.0), "μ-GDP"),
        (dp.ApproxDP(1.0, 1e-5), "ε-DP"),
    ],
)
def test_with_the_noise_that_a_hint_names_one_use_is_proved(
    text: str, claim: Any, law: str, tmp_path: Path
) -> None:
    bare = _proof(text.replace("<noise>", ""), {}, claim, tmp_path)
    told = re.fullmatch(r"adding (.+) makes one use of it (\S+)", bare.hint)
    assert told is not None, bare.hint
    assert told[2] == law
    noised = _proof(text.replace("<noise>", f" + {told[1]}"), {}, claim, tmp_path)
    assert noised.proved, noised.reason


TAKEN_BEFORE = """
    rho = 0.5
    middle = np.mean(scores)
    noisy = middle + rng.normal(0, 1.0)
    noisy = middle
    return 2 * noisy<noise>
"""


def test_a_hint_of_another_line_than_the_one_that_is_named_says_which(tmp_path: Path) -> None:
    bare = _proof(TAKEN_BEFORE.replace("<noise>", ""), {}, dp.ZCDP(0.5), tmp_path)
    told = re.fullmatch(r"at line (\d+), adding (.+) makes one use of it ρ-zCDP", bare.hint)
    assert told is not None, bare.hint
    text = (HEAD + TAKEN_BEFORE).splitlines()
    assert "<noise>" in text[int(told[1]) - 1]
    assert int(told[1]) != bare.line
    noised = _proof(TAKEN_BEFORE.replace("<noise>", f" + {told[2]}"), {}, dp.ZCDP(0.5), tmp_path)
    assert noised.proved, noised.reason


def noise_of_one(scores, *, rng) -> Any:
    return scores.sum() + rng.normal(0, 1)


def test_a_hint_about_delta_names_little_more_noise_than_is_needed() -> None:
    """σ = 1.39059 is the least for (3, 10⁻⁵)-DP of a number that moves by 1."""
    hint = dp.prove(noise_of_one, dp.ApproxDP(3, 1e-5)).hint
    found = re.search(r"σ ≥ ([\d.]+) would prove it", hint)
    assert found is not None
    assert 1.39059 <= float(found[1]) <= 1.41


@pytest.mark.parametrize("rate", [1.2, 2.0])
def test_a_hint_about_geometric_noise_names_its_probability(rate: float, tmp_path: Path) -> None:
    text = """
    count = int(np.sum(scores > 0.5))
    return count + int(rng.geometric(<p>)) - int(rng.geometric(<p>))
"""
    before = _proof(text, {"p": -math.expm1(-rate)}, dp.PureDP(1.0), tmp_path)
    told = re.fullmatch(r"p ≤ (\S+) would prove it", before.hint)
    assert told is not None, before.hint
    assert _proof(text, {"p": float(told[1])}, dp.PureDP(1.0), tmp_path).proved
    assert not _proof(text, {"p": 1.001 * float(told[1])}, dp.PureDP(1.0), tmp_path).proved


@pytest.mark.parametrize("scale", [0.5, 0.9])
def test_a_hint_about_delta_of_laplace_noise_proves_it(scale: float, tmp_path: Path) -> None:
    claim = dp.ApproxDP(1.0, 1e-5)
    before = _proof(LAPLACE, {"a": scale}, claim, tmp_path)
    told = re.fullmatch(r"a scale ≥ (\S+) would prove it", before.hint)
    assert told is not None, before.hint
    assert _proof(LAPLACE, {"a": float(told[1])}, claim, tmp_path).proved
    assert not _proof(LAPLACE, {"a": 0.98 * float(told[1])}, claim, tmp_path).proved


def test_a_claim_next_to_what_is_proved_is_told_with_more_digits() -> None:
    stop = dp.prove(noise_of_one, dp.ZCDP(0.5 - 1e-9)).reason
    assert stop == "the source proves only ρ ≤ 0.5, but ρ ≤ 0.499999999 is claimed"
