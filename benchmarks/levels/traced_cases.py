"""Audits of traced paths: the law of their losses, their mean cost, and both sides together."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from level_case import LevelCase

from dpcp_audit.audits.loss_bracket import transcript_curve
from dpcp_audit.audits.path_evidence import FormTest
from dpcp_audit.audits.traced_privacy import TracedPrivacy, mean_outcome
from dpcp_audit.faces.keywords import spec_of
from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.target_checks.target_claims import TargetPrivacy
from dpcp_audit.target_checks.trace_search import TraceEffort, TraceSearch
from dpcp_audit.target_checks.two_sided import TwoSidedPrivacy
from dpcp_audit.tracing.pair_traces import ComposedNoise, LossSample, PairTrace
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import refutes
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, GaussianDP, Neighbours, PureDP, Relation
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.tracing.outputs import Atom
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import FloatArray

_PATHS = 400
"""In each direction."""
_MU = 1.0
_COSTS = (0.2, 1.8)
"""Divergences of the two kinds of paths of a transcript, equally likely."""
_OUTPUTS = 600
_FEW = TraceEffort(pairs=2, pilot=2, paths=60, tree=100, pilot_tree=20, replays=2)
_RATES = np.linspace(0.0, 1.0, 201)
_CALLS = 1000
"""Calls of either input that count a form, as many as an audit makes."""
_EPSILON, _RARER = 0.5, 0.2
"""The claim, and the probability of a form on the input on which it is rarer."""


def gaussian_losses(mu: float, rng: np.random.Generator) -> LossSample:
    """Return the losses of paths that release one number of a ``mu``-GDP Gaussian mechanism."""
    losses = rng.normal(mu**2 / 2, mu, size=_PATHS)
    return LossSample(losses=losses, departed=np.zeros(_PATHS, dtype=np.bool_))


def gaussian_trace(mu: float, seed: int) -> PairTrace:
    """Return the trace of such a mechanism, without a run of it."""
    rng = np.random.default_rng([seed, _PATHS])
    return PairTrace(
        forward=gaussian_losses(mu, rng),
        backward=gaussian_losses(mu, rng),
        exact=None,
        lines=(),
        leaks=(),
        unfollowed=(),
        values=False,
        released=True,
    )


@dataclass(frozen=True, slots=True)
class TracedLossTrial:
    """The test of the law of the losses of a Gaussian release's paths."""

    guarantee: PrivacyGuarantee

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Draw the losses and judge the claim."""
        audit = TracedPrivacy(
            target=TracedTarget.of(noisy_mean, {}),
            guarantee=self.guarantee,
            neighbours=Neighbours(relation=Relation.SUBSTITUTION, value=1, neighbour=0),
        )
        context = Context(seed=seed, name="level", significance=level)
        trace = gaussian_trace(2 * _MU if twice else _MU, seed)
        return audit.judge(trace, context).verdict is Verdict.REFUTED


@dataclass(frozen=True, slots=True)
class MeanCostTrial:
    """The test of a transcript whose paths cost differently, by their mean."""

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Draw the paths from either input and test ρ-zCDP at the mean of their divergences."""
        rng = np.random.default_rng([seed, _PATHS])
        dear = rng.binomial(_PATHS, 0.5, size=2).tolist()
        counts = [_PATHS - each for each in dear], dear
        paths = tuple(
            ComposedNoise(gaussian=math.sqrt(2 * cost * (1 + twice)), paths=tuple(each))
            for cost, each in zip(_COSTS, counts, strict=True)
        )
        claim = ZCDP(sum(_COSTS) / 2)
        found = mean_outcome(claim, paths, significance=level, witness={}, tables=())
        return found is not None


@dataclass(frozen=True, slots=True)
class FormTrial:
    """The test of a form of outputs, such as a type, whatever the pilot that chose it.

    In an audit the pilot must seem to break the claim first, which makes a false alarm rarer.
    """

    guarantee: PrivacyGuarantee

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Count the form in calls of two inputs, as likely as the claim just allows."""
        claimed = loss_of(self.guarantee).linear
        assert claimed is not None  # noqa: S101  (of an (ε, δ) claim)
        likelier = _RARER * math.exp(claimed.epsilon * (1 + twice)) + claimed.delta * (1 + twice)
        rng = np.random.default_rng([seed, _CALLS])
        form = ("…",)

        def count(calls: int) -> list[Counter[tuple[Atom, ...]]]:
            hits = (int(rng.binomial(calls, rate)) for rate in (likelier, _RARER))
            return [Counter({form: each}) for each in hits]

        test = FormTest(form=form, swapped=False, count=count, calls=_CALLS)
        found = test.evidence(self.guarantee, level)
        return found is not None and refutes(found)


@dataclass(frozen=True, slots=True)
class UpperCurveTrial:
    """The curve above the ROC curve of a release, from the losses of its paths."""

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Return True if the curve fails to lie above, or with ``twice`` excludes, the truth."""
        curve = transcript_curve(gaussian_trace(_MU, seed), significance=level)
        if curve is None:
            return False
        truth = GaussianDP(2 * _MU if twice else _MU).power(_RATES)
        return bool((curve.at(_RATES) < truth - 1e-9).any())


@dataclass(frozen=True, slots=True)
class BothSidesTrial:
    """The audit of a function whose noise is followed and whose outputs are searched, too."""

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Audit the mean of two scores, by few paths and outputs."""
        check = _target_check(noisier_claimed if twice else noisy_mean)
        with check.spec.target.open() as target:
            traces = TraceSearch.of(check.spec, check.guarantee, target, effort=_FEW)
            audit = TwoSidedPrivacy(black_box=check.audit.on(target, _OUTPUTS), trace=traces)
            found = audit(Context(seed=seed, name="level", significance=level))
        return found.verdict is Verdict.REFUTED


def noisy_mean(scores: FloatArray, *, rng: np.random.Generator) -> float:
    """Return a mean with noise for μ = 1, of scores in [0, 1]."""
    return float(scores.mean() + rng.normal(scale=1 / len(scores)))


def noisier_claimed(scores: FloatArray, *, rng: np.random.Generator) -> float:
    """Return a mean with noise for μ = 2."""
    return float(scores.mean() + rng.normal(scale=0.5 / len(scores)))


@lru_cache(maxsize=2)
def _target_check(function: Callable[..., float]) -> TargetPrivacy:
    spec = spec_of(function, [GaussianDP(_MU)], {"draws": _OUTPUTS, "n": 2}, file="study.py")
    return TargetPrivacy(spec=spec, guarantee=GaussianDP(_MU))


def traced_cases() -> Iterator[LevelCase]:
    """Yield the audits that follow the noise."""
    delta = GaussianPair(_MU).delta_at(1.0)
    claims = {"μ-GDP, Gaussian": GaussianDP(_MU), "(ε, δ)-DP, Gaussian": ApproxDP(1.0, delta)}
    for claim, guarantee in claims.items():
        yield LevelCase(
            auditor="traced audit, law of the losses",
            claim=claim,
            trial=TracedLossTrial(guarantee),
        )
    yield LevelCase(
        auditor="traced audit, mean cost", claim="ρ of two kinds of paths", trial=MeanCostTrial()
    )
    forms = {"ε-DP, a type": PureDP(_EPSILON), "(ε, δ)-DP, a type": ApproxDP(_EPSILON, 0.01)}
    for claim, guarantee in forms.items():
        yield LevelCase(
            auditor="traced audit, a form of outputs", claim=claim, trial=FormTrial(guarantee)
        )
    yield LevelCase(
        auditor="estimate, upper curve of a trace",
        claim="lies above that of a Gaussian release",
        trial=UpperCurveTrial(),
        at_twice="twice the loss excluded",
    )
    yield LevelCase(
        auditor="both sides of a function", claim="μ-GDP, Gaussian mean", trial=BothSidesTrial()
    )
