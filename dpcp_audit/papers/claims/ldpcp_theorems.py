"""Rows for LDP-CP's theorems: Theorems 1, 3 and 4, starred calibration, Algorithm 3's output."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dpcp_audit.computed import Computed
from dpcp_audit.data.pools import Classifier, Dataset, classifier_pool
from dpcp_audit.data.populations import Beta, Population, Uniform
from dpcp_audit.mechanisms.ldpcp.editions import Blocks, Debiasing, OnMiss, Window
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.papers.claims.claim_pools import digits
from dpcp_audit.papers.computations.failure_regions import failure_with_regions
from dpcp_audit.papers.computations.ldpcp_remarks import noise_model_error
from dpcp_audit.results import Verdict
from dpcp_audit.rows import Row, claims_of
from dpcp_audit.theorems.ldpcp_coverage import LabelTheorem, ScoreTheorem
from dpcp_audit.theorems.ldpcp_exact import exact_failure
from dpcp_audit.theorems.ldpcp_uniform import UniformEvent
from dpcp_audit.theorems.search.adversary import DistributionSearch
from dpcp_audit.theorems.search.law_space import BoundedWindows, LawSpace
from dpcp_audit.theorems.theorem import FailureRate

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.computed import Computation

_N, _EPSILON, _DELTA, _ROUNDS = 11_080, 4.0, 0.1, 10
_OVERCONFIDENT = digits(Classifier.GAUSSIAN_NB)
_NB_POOL = partial(classifier_pool, Dataset.DIGITS, Classifier.GAUSSIAN_NB)
_LOGISTIC_POOL = partial(classifier_pool, Dataset.DIGITS, Classifier.LOGISTIC)
_claim = claims_of("LDP-CP")


def rows() -> list[Row]:
    """Return the rows of LDP-CP's theorems."""
    return [*_output_rows(), *_uniform_rows(), *_label_rows(), *_score_rows()]


_THEOREM_4 = ScoreTheorem(
    population=Uniform(), n=_N, epsilon=_EPSILON, delta=_DELTA, rounds=_ROUNDS
)


def _rate(theorem: ScoreTheorem) -> FailureRate:
    return FailureRate(theorem=theorem, n_trials=40_000)


def _output_rows() -> list[Row]:
    """Algorithm 3 as printed (1/n, blocks from n′+1 on) and corrected, on uniform scores."""
    forms = (
        ("printed", Debiasing.PRINTED, Blocks.PRINTED, Verdict.REFUTED),
        ("corrected", Debiasing.CORRECTED, Blocks.CORRECTED, Verdict.CONSISTENT),
    )
    return [
        Row(
            claim=_claim(
                f"ldpcp.algorithm-3[form={form}]",
                "Algorithm 3 and the proof of Theorem 4",
                expected,
                f"Algorithm 3 ({form}) returns the (1−α)-quantile: the coverage is within 2Δ_S "
                "of 1−α with probability at least 1−δ, on uniform scores.",
                "1−α−Δ_S ≤ coverage ≤ 1−α+2Δ_S",
            ),
            check=_rate(
                replace(_THEOREM_4, n=10**6, debiasing=debiasing, blocks=blocks, two_sided=True)
            ),
        )
        for form, debiasing, blocks, expected in forms
    ]


def _score_rows() -> list[Row]:
    statement = "LDP-CP-S covers at least 1−α−Δ_S with probability at least 1−δ"
    formula = "Δ_S = (e^ε+1)/(e^ε−1)·√(T·log(2T/δ)/(2n))"
    beta = Beta(5, 0.2)
    cases: list[tuple[Population, OnMiss, Verdict, int]] = [
        (Uniform(), OnMiss.LAST_MIDPOINT, Verdict.CONSISTENT, _N),
        (beta, OnMiss.LAST_MIDPOINT, Verdict.REFUTED, _N),
        (beta, OnMiss.UPPER_END, Verdict.CONSISTENT, _N),
        (_OVERCONFIDENT, OnMiss.LAST_MIDPOINT, Verdict.REFUTED, 10**6),
        (_OVERCONFIDENT, OnMiss.UPPER_END, Verdict.CONSISTENT, 10**6),
        (digits(Classifier.LOGISTIC), OnMiss.LAST_MIDPOINT, Verdict.CONSISTENT, _N),
    ]
    return [
        *(
            Row(
                claim=_claim(
                    f"ldpcp.theorem-4[scores={population.name}{_suffix(on_miss)}]",
                    "Theorem 4",
                    expected,
                    f"{statement}, on {population.name} scores, {_RETURNS[on_miss]}.",
                    formula,
                ),
                check=_rate(replace(_THEOREM_4, population=population, on_miss=on_miss, n=n)),
            )
            for population, on_miss, expected, n in cases
        ),
        Row(
            claim=_claim(
                "ldpcp.starred[scores=uniform]",
                "Section 2.2 and Table 1, LDP-CP-S*",
                Verdict.CONSISTENT,
                "Calibrated at 1−α+Δ_S, LDP-CP-S covers at least 1−α with probability ≥ 1−δ.",
                "P(coverage ≥ 1−α) ≥ 1−δ",
            ),
            check=_rate(replace(_THEOREM_4, starred=True)),
        ),
        *_exact_rows(),
        *_searched_rows(),
    ]


_RETURNS = {
    OnMiss.LAST_MIDPOINT: "returning the last midpoint on a miss, as printed",
    OnMiss.UPPER_END: "returning the upper end of the bracket on a miss",
}


def _suffix(on_miss: OnMiss) -> str:
    return "" if on_miss is OnMiss.LAST_MIDPOINT else f",on-miss={on_miss}"


def _exact_rows() -> list[Row]:
    """Theorem 4 at a δ that sampling could not verify, and at the T that its τ asks for."""
    cases: tuple[tuple[str, ScoreTheorem, str, Callable[[ScoreTheorem], Computation]], ...] = (
        (
            "scores=uniform,delta=1e-6",
            replace(_THEOREM_4, delta=1e-6),
            "at δ = 1e-6, on uniform scores",
            exact_failure,
        ),
        (
            "scores=beta(5,0.2),rounds=25",
            replace(_THEOREM_4, population=Beta(5, 0.2), rounds=25),
            "at T = 25 = ⌈log2(1/τ)⌉, on beta(5,0.2) scores, which T = 10 does not admit",
            partial(failure_with_regions, compared_rounds=_ROUNDS),
        ),
        (
            "scores=uniform,window=preprint",
            replace(_THEOREM_4, window=Window.PREPRINT),
            "with the preprint's window of half-width Δ/2 around 1−α, on uniform scores",
            exact_failure,
        ),
    )
    return [
        Row(
            claim=_claim(
                f"ldpcp.theorem-4[{variant}]",
                "Theorem 4",
                Verdict.PROVED,
                f"LDP-CP-S covers at least 1−α−Δ_S with probability at least 1−δ, {words}; "
                "computed, not sampled.",
                "Δ_S = (e^ε+1)/(e^ε−1)·√(T·log(2T/δ)/(2n))",
            ),
            check=Computed(partial(compute, theorem)),
        )
        for variant, theorem, words, compute in cases
    ]


def _searched_rows() -> list[Row]:
    """Theorem 4 against a search over score laws: any, without atoms, or the admissible ones."""
    admissible = BoundedWindows(rounds=_ROUNDS, mass=_THEOREM_4.mechanism.window_width)
    last, upper = OnMiss.LAST_MIDPOINT, OnMiss.UPPER_END
    cases = (
        ("", "any scores", last, LawSpace(), Verdict.REFUTED),
        (",atoms=none", "any scores without atoms", last, LawSpace(most_atoms=0), Verdict.REFUTED),
        (
            ",admissible",
            "any admissible scores",
            last,
            LawSpace(admits=admissible),
            Verdict.CONSISTENT,
        ),
        (_suffix(upper), "any scores", upper, LawSpace(), Verdict.CONSISTENT),
    )
    return [
        Row(
            claim=_claim(
                f"ldpcp.theorem-4[scores=searched{variant}]",
                "Theorem 4",
                expected,
                f"LDP-CP-S covers at least 1−α−Δ_S with probability at least 1−δ on {words}, "
                f"{_RETURNS[on_miss]}; a search over score laws looks for the worst.",
                "Δ_S = (e^ε+1)/(e^ε−1)·√(T·log(2T/δ)/(2n))",
            ),
            check=DistributionSearch(theorem_factory=partial(_theorem_on, on_miss), space=space),
        )
        for variant, words, on_miss, space, expected in cases
    ]


def _theorem_on(on_miss: OnMiss, population: Population) -> ScoreTheorem:
    return replace(_THEOREM_4, population=population, on_miss=on_miss)


def _uniform_rows() -> list[Row]:
    return [
        Row(
            claim=_claim(
                f"ldpcp.theorem-1[event=uniform{suffix}]",
                section,
                Verdict.CONSISTENT,
                "With probability at least 1−δ the noise-aware estimate is within Δ_L of the true "
                f"coverage at every threshold{words}, on HPS scores of digits-logistic.",
                formula,
            ),
            check=FailureRate(
                theorem=UniformEvent(
                    pool_name="digits-logistic",
                    pool=_LOGISTIC_POOL,
                    k=10,
                    n=10_000,
                    epsilon=2.0,
                    delta=_DELTA,
                    two_sided=two_sided,
                ),
                n_trials=2_000,
                chunk_trials=1_000,
            ),
        )
        for two_sided, suffix, section, words, formula in (
            (False, "", "Theorem 1", " (not above it by more)", "sup_q F̂c(q) − F^c(q) ≤ Δ_L"),
            (True, ",sides=2", "Theorem 2.1 of the preprint", "", "sup_q |F̂c(q) − F^c(q)| ≤ Δ_L"),
        )
    ]


def _label_rows() -> list[Row]:
    starred = LabelTheorem(
        pool_name="digits-logistic",
        pool=_LOGISTIC_POOL,
        k=10,
        n=50_000,
        epsilon=_EPSILON,
        delta=_DELTA,
        starred=True,
    )
    return [
        *_theorem_3_rows(),
        Row(
            claim=_claim(
                "ldpcp.starred[scores=digits-logistic]",
                "Section 2.2 and Table 1, LDP-CP-L*",
                Verdict.CONSISTENT,
                "Calibrated at 1−α+Δ_L, LDP-CP-L covers at least 1−α with probability ≥ 1−δ.",
                "P(coverage ≥ 1−α) ≥ 1−δ",
            ),
            check=FailureRate(theorem=starred, n_trials=2_000, chunk_trials=1_000),
        ),
        Row(
            claim=_claim(
                "ldpcp.equation-2",
                "Equation (2)",
                Verdict.PROVED,
                "The noise-aware estimate F̂c is unbiased, since F^n = (1−β)F^c + βF^r; on HPS "
                "scores of digits-logistic.",
                "E[F̂c(q)] = F^c(q)",
            ),
            check=Computed(
                partial(noise_model_error, _LOGISTIC_POOL, KaryRandomizedResponse(2.0, 10))
            ),
        ),
    ]


def _theorem_3_rows() -> list[Row]:
    pools = (
        ("digits-logistic", _LOGISTIC_POOL, Verdict.CONSISTENT),
        ("digits-gaussian-nb", _NB_POOL, Verdict.REFUTED),
    )
    return [
        Row(
            claim=_claim(
                f"ldpcp.theorem-3[scores={name}]",
                "Theorem 3",
                expected,
                "LDP-CP-L covers at least 1−α−Δ_L with probability at least 1−δ, on HPS scores "
                f"of {name}, returning the last midpoint on a miss, as printed.",
                "Δ_L = √(log(4/δ)/(2nh²)), h = (1−β)/(1+β)",
            ),
            check=FailureRate(
                theorem=LabelTheorem(
                    pool_name=name, pool=pool, k=10, n=50_000, epsilon=_EPSILON, delta=_DELTA
                ),
                n_trials=2_000,
                chunk_trials=1_000,
            ),
        )
        for name, pool, expected in pools
    ]
