from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.theorems.pcoqs_coverage import NoiseBound, noise_rank_error
from dpcp_audit.words.results import Verdict
from dpcp_ledger.pcoqs.algorithm import noise_exceeds
from dpcp_ledger.pcoqs.privacy import zcdp_supremum


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakerNoise(PCOQS):
    """Adds ``factor`` times the noise that it should."""

    factor: float = 1.0

    @property
    def noise_scale(self) -> float:
        return self.factor * PCOQS.noise_scale.fget(self)  # type: ignore[attr-defined,no-any-return]


@pytest.mark.known_bad
@pytest.mark.parametrize("factor", [0.999998, 1 - 1e-9, 1 - 1e-12, 1 - 2**-52])
def test_a_little_less_noise_is_not_proved(factor: float) -> None:
    found = zcdp_supremum(WeakerNoise(alpha=0.1, rho=0.5, factor=factor), n=50)
    assert found.verdict is Verdict.CONSISTENT
    assert found.proof is not None
    assert not found.proof.holds


@pytest.mark.known_bad
def test_less_noise_is_refuted_by_the_worst_pair() -> None:
    assert zcdp_supremum(WeakerNoise(alpha=0.1, rho=0.5, factor=0.999), n=50).verdict is (
        Verdict.REFUTED
    )


@pytest.mark.parametrize("factor", [1.0, 1 + 1e-12, 2.0])
def test_enough_noise_is_proved(factor: float) -> None:
    found = zcdp_supremum(WeakerNoise(alpha=0.1, rho=0.5, factor=factor), n=50)
    assert found.verdict is Verdict.PROVED
    assert found.evidence.upper == pytest.approx(0.5 / factor**2, rel=1e-14)


@given(st.floats(1e-6, 100.0), st.integers(1, 60))
def test_the_noise_in_doubles_is_enough(rho: float, rounds: int) -> None:
    search = PCOQS(alpha=0.1, rho=rho, resolution=2.0**-rounds * 1.01)
    assert search.noise_scale == pytest.approx(math.sqrt(search.rounds / (2 * rho)), rel=1e-15)
    assert search.rounds * 0.5 / search.noise_scale**2 <= rho * (1 + 1e-15)


@pytest.mark.parametrize("beta", [0.1, 1e-6, 1e-18, 1e-300])
def test_noise_beyond_its_bound(beta: float) -> None:
    mechanism = PCOQS(alpha=0.1, rho=0.5)
    union, exact = (noise_exceeds(mechanism, beta=beta, bound=bound) for bound in NoiseBound)
    assert union.verdict is Verdict.PROVED
    assert union.evidence.upper < exact.evidence.upper
    assert exact.evidence.upper == pytest.approx(-math.expm1(34 * math.log1p(-beta / 34)))
    proved = exact.evidence.upper <= beta
    assert exact.verdict is (Verdict.PROVED if proved else Verdict.CONSISTENT)  # τ* is rounded


@pytest.mark.known_bad
@pytest.mark.parametrize("bound", NoiseBound)
def test_a_bound_of_noise_that_falls_short(
    bound: NoiseBound, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Remark 3's τ* is as small as it can be; Proposition 1's has room for 5 % at β = 1e-6."""

    def short(mechanism: PCOQS, *, beta: float, bound: NoiseBound) -> float:
        return 0.95 * noise_rank_error(mechanism, beta=beta, bound=bound)

    name = "dpcp_ledger.pcoqs.algorithm.noise_rank_error"
    monkeypatch.setattr(name, short)
    found = noise_exceeds(PCOQS(alpha=0.1, rho=0.5), beta=1e-6, bound=bound)
    tight = bound is NoiseBound.GAUSSIAN
    assert found.verdict is (Verdict.REFUTED if tight else Verdict.PROVED)
