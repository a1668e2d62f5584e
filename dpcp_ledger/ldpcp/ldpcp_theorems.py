"""LDP-CP's theorems: Theorems 1, 3 and 4, starred calibration, Algorithm 3's output.

An adversary searches for the law of scores on which a theorem fails. What the search maximises is
exact, so that chance only decides which laws are tried: a law that it returns does what is said of
it, whatever the seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import ROUNDING, Computed, Quantity, Standing, Verdict
from dpcp_audit.extensions.claims import validate as _validate
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
    LabelSearch,
    OnMiss,
    Window,
    threshold_law,
)
from dpcp_audit.extensions.theorems import (
    PLAIN_LAWS,
    BoundedWindows,
    FailureRate,
    LabelTheorem,
    LawSpace,
    ScoreTheorem,
    UniformEvent,
    outside,
)
from dpcp_ledger.mechanisms.score_pools import digits, raps_of_digits
from dpcp_ledger.paper import Heading, Paper

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import Check, Computation, Context, Outcome
    from dpcp_audit.extensions.laws import PiecewiseConstant


_PATIENCE = 60
"""Moves in a row that gain little before the search starts afresh."""
_GAIN = 0.02
"""A little: a larger failure probability, but by less than this part of it."""


class Score(NamedTuple):
    """The extent to which a theorem fails on a law; compared in this order.

    Attributes
    ----------
    failure : float
        The probability that the coverage lies outside of its bounds.
    shortfall : float
        Distance from the bounds that is exceeded with probability δ; negative inside of them.
    """

    failure: float
    shortfall: float


class _Worst(NamedTuple):
    """The worst law that a search found, its score, and the number of laws scored."""

    law: PiecewiseConstant
    score: Score
    evaluations: int


def exact_score(theorem: ScoreTheorem) -> Score:
    """Compute the score of Theorem 4 on its population, without sampling."""
    law = threshold_law(theorem.mechanism, theorem.population, n=theorem.n)
    coverage = theorem.population.cdf(law.threshold)
    lower, *upper = theorem.bounds.values()
    excess = np.max([lower - coverage, *(coverage - bound for bound in upper)], axis=0)
    order = np.argsort(-excess, kind="stable")
    reached = int(np.searchsorted(np.cumsum(law.mass[order]), theorem.delta, side="right"))
    return Score(
        failure=law.probability(outside(coverage, theorem.bounds)),
        shortfall=float(excess[order[min(reached, order.size - 1)]]),
    )


def search_worst(
    score: Callable[[PiecewiseConstant], Score],
    *,
    space: LawSpace,
    evaluations: int,
    enough: float = 1.0,
    rng: np.random.Generator | int | None = None,
) -> _Worst:
    """Search for the law with the largest score, by climbs from random laws.

    A climb takes every move that does not lower the score and ends when 60 moves in a row
    have raised the failure probability by less than 2 % each.

    Parameters
    ----------
    score : callable
        The function to maximise; exact, so that two calls agree.
    space : LawSpace
        The laws to choose from, and the moves.
    evaluations : int
        Number of laws scored at most.
    enough : float
        A failure probability at which the search stops.
    """
    generator = _validate.generator(rng)
    left = evaluations
    worst: _Worst | None = None
    while left > 0 and (worst is None or worst.score.failure < enough):
        climbed = _climb(score, space, left, enough, generator)
        left -= climbed.evaluations
        if worst is None or climbed.score > worst.score:
            worst = climbed
    assert worst is not None  # noqa: S101  (evaluations >= 1: the loop ran)
    return worst._replace(evaluations=evaluations - left)


def _climb(
    score: Callable[[PiecewiseConstant], Score],
    space: LawSpace,
    budget: int,
    enough: float,
    rng: np.random.Generator,
) -> _Worst:
    law = space.draw(rng=rng)
    best, used, idle = score(law), 1, 0
    while used < budget and idle < _PATIENCE and best.failure < enough:
        candidate = space.neighbour(law, rng=rng)
        reached = score(candidate)
        used += 1
        idle = 0 if _gains(reached, best) else idle + 1
        if reached >= best:
            law, best = candidate, reached
    return _Worst(law, best, used)


def _gains(reached: Score, best: Score) -> bool:
    if best.failure == 0:
        return reached > best
    return reached.failure > (1 + _GAIN) * best.failure


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionSearch:
    """Test Theorem 4 against the worst law of scores that a search finds.

    REFUTED if the theorem fails on a law with a probability above δ: the witness is that law,
    or a plain one on which the theorem fails too. CONSISTENT if no such law was found; the
    evidence is the largest failure probability among the laws tried.

    :Null hypothesis: The theorem fails with probability at most δ on every law of scores in the
        space.
    :Statistic: The exact failure probability on the worst law found.
    :Level: No false alarms: chance chooses the laws that are tried, and each failure probability is
        computed.
    :Power: On the laws tried, any failure probability beyond δ. The search may miss a worse law,
        and another seed may end at another one.
    :Reference: The theorem's own paper, LDP-CP.

    Parameters
    ----------
    theorem_factory : callable
        Returns the theorem on a population.
    evaluations : int
        Number of laws tried, at effort 1.
    space : LawSpace
        The laws to choose from, with the theorem's assumptions.
    enough : float
        A failure probability at which the search stops.
    """

    theorem_factory: Callable[[Population], ScoreTheorem]
    evaluations: int = 1000
    space: LawSpace = field(default_factory=LawSpace)
    enough: float = 0.99

    @property
    def sampled(self) -> bool:
        """No: chance chooses the laws that are tried, but cannot refute a true theorem."""
        return False

    def __call__(self, context: Context) -> Outcome:
        """Search, and compute the failure probability of what was found, or of a plain law."""
        return Computed(lambda: self._worst(context))(context)

    def _worst(self, context: Context) -> Computation:
        found = search_worst(
            self._score,
            space=self.space,
            evaluations=context.samples(self.evaluations),
            enough=self.enough,
            rng=context.rng(),
        )
        laws = (*PLAIN_LAWS, found.law) if self._broken(found.law) else (found.law,)
        law = next(filter(self._broken, laws), found.law)
        theorem = self.theorem_factory(law)
        computed = theorem.exact()
        return replace(
            computed,
            quantity=Quantity.COVERAGE_FAILURE,
            detail="on the worst law found",
            proof=None,  # of this law alone, not of every one that was searched
            witness=computed.witness | {"population": law.as_plain()},
            note=self._note(found, law, computed.note),
        )

    def _score(self, law: PiecewiseConstant) -> Score:
        return exact_score(self.theorem_factory(law))

    def _broken(self, law: PiecewiseConstant) -> bool:
        if not self.space.contains(law):
            return False
        theorem = self.theorem_factory(law)
        return theorem.failure_probability() > theorem.allowed_failure * (1 + ROUNDING)

    def _note(self, found: _Worst, law: PiecewiseConstant, computed: str) -> str:
        tried = (
            f"{found.evaluations} laws tried; the largest failure probability among them is "
            f"{found.score.failure:.3g}, and the coverage that all but δ of the runs reach was "
        )
        side = "short of its bounds by" if found.score.shortfall > 0 else "within its bounds by"
        plain = f" It fails on a plain law, too: {law.name}." if law != found.law else ""
        return f"{tried}{side} {abs(found.score.shortfall):.3g}.{plain} {computed}"


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
    pool_name="digits-logistic", pool=_LOGISTIC_POOL, k=10, n=10_000, epsilon=2.0, delta=_DELTA
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
    return Computed(replace(_THEOREM_4, **changes).exact)


_theorem_4(
    "uniform,delta=1e-6",
    _PROVED,
    _PAPER,
    _exactly(delta=1e-6),
    note="by exact computation",
    delta=1e-6,
)
_theorem_4(
    "beta(5,0.2),rounds=25",
    _PROVED,
    _PAPER,
    _exactly(population=_BETA, rounds=25),
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
