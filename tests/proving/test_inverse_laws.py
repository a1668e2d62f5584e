"""Noise by the inverse of a distribution function: its law is SciPy's, at each of many draws."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpcp_audit as dp
from dpcp_audit.targets.loading import load

DRAWS = (np.arange(1000) + 0.5) / 1000
LAPLACE = (
    ("u - 0.5", "-{b} * np.sign(v) * np.log(1 - 2 * np.abs(v))"),
    ("u - 0.5", "np.sign(v) * np.log(1 - 2 * abs(v)) * {b}"),
    ("0.5 - u", "{b} * np.sign(v) * np.log1p(-2 * np.abs(v))"),
    ("2 * u - 1", "-np.sign(v) * {b} * np.log(1 - np.abs(v))"),
    ("u * 2 - 1", "np.log(1 - np.abs(v)) / 2 * np.sign(v) * {b} * 2"),
    ("u - 0.5", "math.copysign({b}, v) * math.log(1 - 2 * abs(v))"),
    ("u - 0.5", "{b} * math.copysign(1.0, v) * math.log1p(-2 * math.fabs(v))"),
    ("u - 0.5", "math.copysign(math.log(1 - 2 * abs(v)), v) * {b}"),
)
OTHERS = (
    ("u - 0.5", "{b} * np.sign(v) * np.log(1 - np.abs(v))"),
    ("u", "{b} * np.sign(v - 0.5) * np.log(1 - 2 * np.abs(v))"),
    ("u - 0.4", "{b} * np.sign(v) * np.log(1 - 2 * np.abs(v))"),
    ("u - 0.5", "{b} * np.sign(v) * np.log(2 - 2 * np.abs(v))"),
    ("u - 0.5", "{b} * np.sign(v) * (1 - 2 * np.abs(v))"),
    ("u - 0.5", "{b} * np.log(1 - 2 * np.abs(v))"),
    ("u - 0.5", "{b} * np.sign(v) * np.sign(v)"),
    ("u - 0.5", "{b} * np.sign(v) * np.log(u)"),
    ("u", "{b} * np.log(v)"),
    ("u", "{b} * (np.log(v) - np.log(1 - v))"),
    ("u", "-np.log(-np.log(v)) * {b}"),
    ("u", "{b} * np.log(2 * v)"),
)
"""Of these the noise is another one: bounded, one-sided, or not symmetric."""


def program(folder, centre: str, noise: str, scale: float) -> tuple[Any, Any]:
    """Return the proof of a noisy count, and the function that makes its noise of one draw."""
    made = noise.format(b=scale)
    path = folder / "noise_of_one_draw.py"
    path.write_text(
        "import math\n\nimport numpy as np\n\n\n"
        f"def noise(rng):\n    u = rng.random()\n    v = {centre}\n    return {made}\n\n\n"
        "def noisy(scores, *, rng):\n    return np.sum(scores > 0.5) + noise(rng)\n"
    )
    return dp.prove(load(f"{path}:noisy"), dp.PureDP(10.0)), load(f"{path}:noise")


@pytest.mark.parametrize(("centre", "noise"), LAPLACE)
@pytest.mark.parametrize("scale", [1.0, 0.25, 3.0])
def test_laplace_noise_of_one_draw(tmp_path, centre, noise, scale) -> None:
    proof, of_draw = program(tmp_path, centre, noise, scale)
    assert proof.total == pytest.approx(1 / scale)
    made = sorted(of_draw(SimpleNamespace(random=lambda u=u: float(u))) for u in DRAWS)
    assert np.allclose(made, stats.laplace.ppf(DRAWS, scale=scale))


@pytest.mark.parametrize(("centre", "noise"), OTHERS)
def test_other_noise_of_one_draw_is_not_proved(tmp_path, centre, noise) -> None:
    assert not program(tmp_path, centre, noise, 1.0)[0].proved


def test_exponential_and_gumbel_noise_are_quantiles_of_their_laws() -> None:
    assert np.allclose(-np.log(1 - DRAWS), stats.expon.ppf(DRAWS))
    assert np.allclose(-np.log(-np.log(DRAWS)), stats.gumbel_r.ppf(DRAWS))
    assert math.isclose(-math.log(0.25), stats.expon.isf(0.25))
