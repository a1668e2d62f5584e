"""Rows for LDP-CP's theorems: Theorems 1, 3 and 4, starred calibration, Algorithm 3's output."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Computed, Row, Standing, Verdict, claims_of
from dpcp_audit.extensions.laws import (
    Beta,
    Classifier,
    Dataset,
    Population,
    Uniform,
    classifier_pool,
)
from dpcp_audit.extensions.mechanisms import (
    Blocks,
    Debiasing,
    KaryRandomizedResponse,
    LabelSearch,
    OnMiss,
    Window,
)
from dpcp_audit.extensions.theorems import (
    BoundedWindows,
    DistributionSearch,
    FailureRate,
    LabelTheorem,
    LawSpace,
    ScoreTheorem,
    UniformEvent,
    claim_of,
    exact_failure,
)
from dpcp_ledger.claims.claim_pools import digits, raps_of_digits
from dpcp_ledger.claims.headings import Heading
from dpcp_ledger.computations.failure_regions import failure_with_regions
from dpcp_ledger.computations.ldpcp_remarks import noise_model_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import Claim, Computation, PlainData


_N, _EPSILON, _DELTA, _ROUNDS = 11_080, 4.0, 0.1, 10
_ADMITTED_ROUNDS = 12
"""T = ⌈log2(1/τ)⌉ of Theorem 3 for the scores of digits-logistic."""
_OVERCONFIDENT = digits(Classifier.GAUSSIAN_NB)
_NB_POOL = partial(classifier_pool, Dataset.DIGITS, Classifier.GAUSSIAN_NB)
_LOGISTIC_POOL = partial(classifier_pool, Dataset.DIGITS, Classifier.LOGISTIC)
_PAPER, _READING, _OUTSIDE = Standing.PAPER, Standing.READING, Standing.OUTSIDE_HYPOTHESIS
_NOT_ADMITTED = "on scores that the theorem does not admit"
_claim = claims_of("LDP-CP", subject=Heading.LABEL_COVERAGE)


def rows() -> list[Row]:
    """Return the rows of LDP-CP's theorems."""
    return [*_output_rows(), *_uniform_rows(), *_label_rows(), *_score_rows()]


_THEOREM_4 = ScoreTheorem(
    population=Uniform(), n=_N, epsilon=_EPSILON, delta=_DELTA, rounds=_ROUNDS
)


def _output_rows() -> list[Row]:
    """Algorithm 3 as printed (1/n, blocks from n′+1 on) and corrected, on uniform scores."""
    two_sided = replace(_THEOREM_4, n=10**6, two_sided=True)
    printed = replace(two_sided, debiasing=Debiasing.PRINTED, blocks=Blocks.PRINTED)
    return [
        Row(
            claim=claim_of(
                theorem,
                f"ldpcp.algorithm-3[form={form}]",
                expected,
                subject=Heading.SCORE_ALGORITHM,
                standing=standing,
                parameters={"form": form},
            ),
            check=theorem.check(),
        )
        for form, theorem, standing, expected in (
            ("printed", printed, Standing.ERRATUM, Verdict.REFUTED),
            ("corrected", two_sided, _READING, Verdict.PROVED),
        )
    ]


def _score_rows() -> list[Row]:
    beta, upper = Beta(5, 0.2), OnMiss.UPPER_END
    starred = replace(_THEOREM_4, starred=True)
    overconfident = replace(starred, population=_OVERCONFIDENT, n=10**6)
    cases: list[tuple[Population, OnMiss, Standing, Verdict, int]] = [
        (Uniform(), OnMiss.LAST_MIDPOINT, _PAPER, Verdict.PROVED, _N),
        (beta, OnMiss.LAST_MIDPOINT, _OUTSIDE, Verdict.REFUTED, _N),
        (beta, upper, _OUTSIDE, Verdict.PROVED, _N),
        (_OVERCONFIDENT, OnMiss.LAST_MIDPOINT, _OUTSIDE, Verdict.REFUTED, 10**6),
        (_OVERCONFIDENT, upper, _OUTSIDE, Verdict.PROVED, 10**6),
        (digits(Classifier.LOGISTIC), OnMiss.LAST_MIDPOINT, _PAPER, Verdict.PROVED, _N),
        (raps_of_digits(Classifier.LOGISTIC), OnMiss.LAST_MIDPOINT, _PAPER, Verdict.PROVED, _N),
    ]
    return [
        *(
            _law_row(
                replace(_THEOREM_4, population=population, on_miss=on_miss, n=n),
                expected,
                standing,
            )
            for population, on_miss, standing, expected, n in cases
        ),
        Row(
            claim=claim_of(
                starred,
                "ldpcp.starred[scores=uniform]",
                Verdict.PROVED,
                subject=Heading.SCORE_COVERAGE,
            ),
            check=starred.check(),
        ),
        Row(
            claim=claim_of(
                overconfident,
                "ldpcp.starred[scores=digits-gaussian-nb]",
                Verdict.REFUTED,
                subject=Heading.SCORE_COVERAGE,
                standing=_OUTSIDE,
                note=_NOT_ADMITTED,
            ),
            check=overconfident.check(),
        ),
        *_exact_rows(),
        *_searched_rows(),
    ]


def _law_row(theorem: ScoreTheorem, expected: Verdict, standing: Standing) -> Row:
    variant = f"scores={theorem.population.name}{_suffix(theorem.on_miss)}"
    return Row(claim=_theorem_4(theorem, variant, expected, standing), check=theorem.check())


def _theorem_4(
    theorem: ScoreTheorem,
    variant: str,
    expected: Verdict,
    standing: Standing,
    *,
    note: str = "",
    parameters: PlainData | None = None,
) -> Claim:
    return claim_of(
        theorem,
        f"ldpcp.theorem-4[{variant}]",
        expected,
        subject=Heading.SCORE_COVERAGE,
        standing=standing,
        note=note or (_NOT_ADMITTED if standing is _OUTSIDE else ""),
        parameters=parameters,
    )


def _suffix(on_miss: OnMiss) -> str:
    return "" if on_miss is OnMiss.LAST_MIDPOINT else f",on-miss={on_miss}"


def _exact_rows() -> list[Row]:
    """Theorem 4 at a δ that sampling could not verify, and at the T that its τ asks for."""
    cases: tuple[tuple[str, ScoreTheorem, str, Callable[[ScoreTheorem], Computation]], ...] = (
        (
            "scores=uniform,delta=1e-6",
            replace(_THEOREM_4, delta=1e-6),
            "by exact computation",
            exact_failure,
        ),
        (
            "scores=beta(5,0.2),rounds=25",
            replace(_THEOREM_4, population=Beta(5, 0.2), rounds=25),
            "with T = ⌈log2(1/τ)⌉, where T = 10 does not admit the scores, by exact computation",
            partial(failure_with_regions, compared_rounds=_ROUNDS),
        ),
        (
            "scores=uniform,window=preprint",
            replace(_THEOREM_4, window=Window.PREPRINT),
            "with the preprint's window of half-width Δ/2 around 1−α, by exact computation",
            exact_failure,
        ),
    )
    return [
        Row(
            claim=_theorem_4(theorem, variant, Verdict.PROVED, _PAPER, note=note),
            check=Computed(partial(compute, theorem)),
        )
        for variant, theorem, note, compute in cases
    ]


def _searched_rows() -> list[Row]:
    """Theorem 4 against a search over score laws: any, without atoms, or the admissible ones."""
    window = BoundedWindows(rounds=_ROUNDS, mass=_THEOREM_4.mechanism.window_width)
    last, upper = OnMiss.LAST_MIDPOINT, OnMiss.UPPER_END
    admitted = LawSpace(admits=window)
    cases = (
        ("", "any", last, LawSpace(), _OUTSIDE, Verdict.REFUTED),
        (",atoms=none", "any atomless", last, LawSpace(most_atoms=0), _OUTSIDE, Verdict.REFUTED),
        (",admissible", "any admissible", last, admitted, _PAPER, Verdict.CONSISTENT),
        (_suffix(upper), "any", upper, LawSpace(), _OUTSIDE, Verdict.CONSISTENT),
    )
    return [
        Row(
            claim=_theorem_4(
                replace(_THEOREM_4, on_miss=on_miss),
                f"scores=searched{variant}",
                expected,
                standing,
                note="searched for the law of scores on which it fails most",
                parameters={"population": laws, "atoms": space.most_atoms},
            ),
            check=DistributionSearch(theorem_factory=partial(_theorem_on, on_miss), space=space),
        )
        for variant, laws, on_miss, space, standing, expected in cases
    ]


def _theorem_on(on_miss: OnMiss, population: Population) -> ScoreTheorem:
    return replace(_THEOREM_4, population=population, on_miss=on_miss)


def _uniform_rows() -> list[Row]:
    theorem = UniformEvent(
        pool_name="digits-logistic",
        pool=_LOGISTIC_POOL,
        k=10,
        n=10_000,
        epsilon=2.0,
        delta=_DELTA,
    )
    return [
        Row(
            claim=claim_of(
                event,
                f"ldpcp.theorem-1[event=uniform{suffix}]",
                Verdict.CONSISTENT,
                subject=Heading.LABEL_COVERAGE,
                standing=_READING,
                parameters={"event": "uniform"},
            ),
            check=FailureRate(theorem=event, n_trials=1_000, chunk_trials=500),
        )
        for event, suffix in ((theorem, ""), (replace(theorem, two_sided=True), ",sides=2"))
    ]


def _label_rows() -> list[Row]:
    admitted = LabelTheorem(
        pool_name="digits-logistic",
        pool=_LOGISTIC_POOL,
        k=10,
        n=50_000,
        epsilon=_EPSILON,
        delta=_DELTA,
        rounds=_ADMITTED_ROUNDS,
    )
    overconfident = replace(admitted, pool_name="digits-gaussian-nb", pool=_NB_POOL, rounds=_ROUNDS)
    return [
        _label_row(admitted, "theorem-3", Verdict.CONSISTENT, _PAPER),
        _label_row(overconfident, "theorem-3", Verdict.REFUTED, _OUTSIDE),
        _label_row(
            replace(overconfident, search=LabelSearch.NACP, rounds=14),
            "theorem-3",
            Verdict.CONSISTENT,
            _OUTSIDE,
        ),
        _label_row(replace(admitted, starred=True), "starred", Verdict.CONSISTENT, _PAPER),
        Row(
            claim=_claim(
                "ldpcp.equation-2",
                "Equation (2)",
                Verdict.PROVED,
                "The noise-aware estimate F̂c of the HPS scores' law is unbiased, since "
                "F^n = (1−β)F^c + βF^r.",
                "E[F̂c(q)] = F^c(q)",
                assumptions="labels pass through k-RR with a known β",
                parameters={"population": "digits-logistic", "epsilon": 2.0, "k": 10},
            ),
            check=Computed(
                partial(noise_model_error, _LOGISTIC_POOL, KaryRandomizedResponse(2.0, 10))
            ),
        ),
    ]


def _label_row(theorem: LabelTheorem, name: str, expected: Verdict, standing: Standing) -> Row:
    return Row(
        claim=claim_of(
            theorem,
            f"ldpcp.{name}[scores={theorem.pool_name}{_by(theorem.search)}]",
            expected,
            subject=Heading.LABEL_COVERAGE,
            standing=standing,
            note=_NOT_ADMITTED if standing is _OUTSIDE else "",
        ),
        check=FailureRate(theorem=theorem, n_trials=2_000, chunk_trials=1_000),
    )


def _by(search: LabelSearch) -> str:
    return "" if search is LabelSearch.WINDOW else f",search={search}"
