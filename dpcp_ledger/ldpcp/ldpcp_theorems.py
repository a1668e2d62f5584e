"""LDP-CP's theorems: Theorems 1, 3 and 4, starred calibration, Algorithm 3's output."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.claims import Computed, Standing, Verdict
from dpcp_audit.extensions.laws import (
    Beta,
    Classifier,
    Dataset,
    Population,
    Uniform,
    classifier_pool,
)
from dpcp_audit.extensions.mechanisms import Blocks, Debiasing, LabelSearch, OnMiss, Window
from dpcp_audit.extensions.theorems import (
    BoundedWindows,
    FailureRate,
    LabelTheorem,
    LawSpace,
    ScoreTheorem,
    UniformEvent,
    exact_failure,
)
from dpcp_ledger.claims.claim_pools import digits, raps_of_digits
from dpcp_ledger.ldpcp.law_search import DistributionSearch, failure_with_regions
from dpcp_ledger.paper import Heading, Paper

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import Check

paper = Paper(title="LDP-CP", subject=Heading.SCORE_COVERAGE)
_N, _EPSILON, _DELTA, _ROUNDS = 11_080, 4.0, 0.1, 10
_ADMITTED_ROUNDS = 12
"""T = ⌈log2(1/τ)⌉ of Theorem 3 for the scores of digits-logistic."""
_OVERCONFIDENT, _LOGISTIC = digits(Classifier.GAUSSIAN_NB), digits(Classifier.LOGISTIC)
_NB_POOL = partial(classifier_pool, Dataset.DIGITS, Classifier.GAUSSIAN_NB)
_LOGISTIC_POOL = partial(classifier_pool, Dataset.DIGITS, Classifier.LOGISTIC)
_PAPER, _READING, _OUTSIDE = Standing.PAPER, Standing.READING, Standing.OUTSIDE_HYPOTHESIS
_REFUTED, _PROVED, _CONSISTENT = Verdict.REFUTED, Verdict.PROVED, Verdict.CONSISTENT
_NOT_ADMITTED = "on scores that the theorem does not admit"
_LAST, _UPPER = OnMiss.LAST_MIDPOINT, OnMiss.UPPER_END
_THEOREM_4 = ScoreTheorem(
    population=Uniform(), n=_N, epsilon=_EPSILON, delta=_DELTA, rounds=_ROUNDS
)


def _note(standing: Standing) -> str:
    return _NOT_ADMITTED if standing is _OUTSIDE else ""


# Algorithm 3 as printed (1/n, blocks from n′+1 on) and corrected, on uniform scores.
_TWO_SIDED = replace(_THEOREM_4, n=10**6, two_sided=True)
for _form, _theorem, _standing, _expected in (
    (
        "printed",
        replace(_TWO_SIDED, debiasing=Debiasing.PRINTED, blocks=Blocks.PRINTED),
        Standing.ERRATUM,
        _REFUTED,
    ),
    ("corrected", _TWO_SIDED, Standing.CORRECTED, _PROVED),
):
    paper.theorem(
        _theorem,
        f"ldpcp.algorithm-3[form={_form}]",
        _expected,
        _theorem.check(),
        subject=Heading.SCORE_ALGORITHM,
        standing=_standing,
        parameters={"form": _form},
    )


# Theorem 1, as a statement of every threshold at once.
_EVENT = UniformEvent(
    pool_name="digits-logistic",
    pool=_LOGISTIC_POOL,
    k=10,
    n=10_000,
    epsilon=2.0,
    delta=_DELTA,
)
for _event, _sides in ((_EVENT, ""), (replace(_EVENT, two_sided=True), ",sides=2")):
    paper.theorem(
        _event,
        f"ldpcp.theorem-1[event=uniform{_sides}]",
        _CONSISTENT,
        FailureRate(theorem=_event, n_trials=1_000, chunk_trials=500),
        subject=Heading.LABEL_COVERAGE,
        standing=_READING,
        parameters={"event": "uniform"},
    )


# Theorem 3 and its starred form.
_ADMITTED = LabelTheorem(
    pool_name="digits-logistic",
    pool=_LOGISTIC_POOL,
    k=10,
    n=50_000,
    epsilon=_EPSILON,
    delta=_DELTA,
    rounds=_ADMITTED_ROUNDS,
)
_HEAPED = replace(_ADMITTED, pool_name="digits-gaussian-nb", pool=_NB_POOL, rounds=_ROUNDS)
_NACP = replace(_HEAPED, search=LabelSearch.NACP, rounds=14)
for _label, _name, _expected, _standing in (
    (_ADMITTED, "theorem-3[scores=digits-logistic]", _CONSISTENT, _PAPER),
    (_HEAPED, "theorem-3[scores=digits-gaussian-nb]", _REFUTED, _OUTSIDE),
    (_NACP, "theorem-3[scores=digits-gaussian-nb,search=nacp]", _CONSISTENT, _OUTSIDE),
    (replace(_ADMITTED, starred=True), "starred[scores=digits-logistic]", _CONSISTENT, _PAPER),
):
    paper.theorem(
        _label,
        f"ldpcp.{_name}",
        _expected,
        FailureRate(theorem=_label, n_trials=2_000, chunk_trials=1_000),
        subject=Heading.LABEL_COVERAGE,
        standing=_standing,
        note=_note(_standing),
    )


def _theorem_4(
    variant: str,
    expected: Verdict,
    standing: Standing,
    check: Check | None = None,
    *,
    note: str = "",
    parameters: dict[str, Any] | None = None,
    **changes: Any,
) -> None:
    theorem = replace(_THEOREM_4, **changes)
    paper.theorem(
        theorem,
        f"ldpcp.theorem-4[scores={variant}]",
        expected,
        check or theorem.check(),
        standing=standing,
        note=note or _note(standing),
        parameters=parameters,
    )


_BETA = Beta(5, 0.2)
_theorem_4("uniform", _PROVED, _PAPER)
_theorem_4("beta(5,0.2)", _REFUTED, _OUTSIDE, population=_BETA)
_theorem_4("beta(5,0.2),on-miss=upper-end", _PROVED, _OUTSIDE, population=_BETA, on_miss=_UPPER)
_theorem_4("digits-gaussian-nb", _REFUTED, _OUTSIDE, population=_OVERCONFIDENT, n=10**6)
_theorem_4(
    "digits-gaussian-nb,on-miss=upper-end",
    _PROVED,
    _OUTSIDE,
    population=_OVERCONFIDENT,
    n=10**6,
    on_miss=_UPPER,
)
_theorem_4("digits-logistic", _PROVED, _PAPER, population=_LOGISTIC)
_theorem_4("digits-logistic-raps", _PROVED, _PAPER, population=raps_of_digits(Classifier.LOGISTIC))
_STARRED = replace(_THEOREM_4, starred=True)
for _theorem, _expected, _standing in (
    (_STARRED, _PROVED, _PAPER),
    (replace(_STARRED, population=_OVERCONFIDENT, n=10**6), _REFUTED, _OUTSIDE),
):
    paper.theorem(
        _theorem,
        f"ldpcp.starred[scores={_theorem.population.name}]",
        _expected,
        _theorem.check(),
        standing=_standing,
        note=_note(_standing),
    )


# Theorem 4 at a δ that sampling could not verify, and at the T that its τ asks for.
def _exactly(**changes: Any) -> Computed:
    return Computed(partial(exact_failure, replace(_THEOREM_4, **changes)))


_theorem_4(
    "uniform,delta=1e-6",
    _PROVED,
    _PAPER,
    _exactly(delta=1e-6),
    note="by exact computation",
    delta=1e-6,
)
_ADMITTING = replace(_THEOREM_4, population=_BETA, rounds=25)
_theorem_4(
    "beta(5,0.2),rounds=25",
    _PROVED,
    _PAPER,
    Computed(partial(failure_with_regions, _ADMITTING, compared_rounds=_ROUNDS)),
    note="with T = ⌈log2(1/τ)⌉, where T = 10 does not admit the scores, by exact computation",
    population=_BETA,
    rounds=25,
)
_theorem_4(
    "uniform,window=preprint",
    _PROVED,
    _PAPER,
    _exactly(window=Window.PREPRINT),
    note="with the preprint's window of half-width Δ/2 around 1−α, by exact computation",
    window=Window.PREPRINT,
)


# Theorem 4 against a search over score laws: any, without atoms, or the admissible ones.
def _theorem_on(on_miss: OnMiss, population: Population) -> ScoreTheorem:
    return replace(_THEOREM_4, population=population, on_miss=on_miss)


_WINDOW = BoundedWindows(rounds=_ROUNDS, mass=_THEOREM_4.mechanism.window_width)
for _variant, _laws, _on_miss, _space, _standing, _expected in (
    ("", "any", _LAST, LawSpace(), _OUTSIDE, _REFUTED),
    (",atoms=none", "any atomless", _LAST, LawSpace(most_atoms=0), _OUTSIDE, _REFUTED),
    (",admissible", "any admissible", _LAST, LawSpace(admits=_WINDOW), _PAPER, _CONSISTENT),
    (",on-miss=upper-end", "any", _UPPER, LawSpace(), _OUTSIDE, _CONSISTENT),
):
    _theorem_4(
        f"searched{_variant}",
        _expected,
        _standing,
        DistributionSearch(theorem_factory=partial(_theorem_on, _on_miss), space=_space),
        note="searched for the law of scores on which it fails most",
        parameters={"population": _laws, "atoms": _space.most_atoms},
        on_miss=_on_miss,
    )
