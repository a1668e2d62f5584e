"""Intervals of a loss: of the ROC curve of counts, and the bound that follows a refutation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from level_case import LevelCase
from release_cases import Response
from scipy.stats import laplace, norm
from training_cases import Answers, models_attacked

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.local import LocalPrivacy
from dpcp_audit.audits.loss_bracket import SIGNIFICANCE
from dpcp_audit.audits.release_membership import MembershipInference
from dpcp_audit.audits.search.record_pairs import ValuePairs
from dpcp_audit.stats.roc import RocCurve, roc_band
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import LocalDP, Neighbours, PureDP, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.validate import FloatArray

_COUNTED = 1000
"""Outputs of each input behind a band."""
_SHARES = (0.05, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 0.97)
_ROUNDING = 1e-9
_DRAWS = 1500
_SEARCHED = 6000


@dataclass(frozen=True, slots=True)
class BandTrial:
    """The band of the ROC curve of cells, their order known or the wrong way round.

    Parameters
    ----------
    law : str
    upside_down : bool
        Whether the cells likelier on the first law come last.
    """

    law: str
    upside_down: bool = False

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Return True if the curve, or one of twice the loss, leaves the band anywhere."""
        rng, (p, q) = np.random.default_rng([seed, _COUNTED]), _cells(self.law, 1.0)
        order = slice(None, None, -1 if self.upside_down else 1)
        x, y = (rng.multinomial(_COUNTED, law)[order] for law in (p, q))
        band = roc_band(x, y, significance=level)
        truth = _curve(*_cells(self.law, 2.0)) if twice else _curve(p, q)
        below = band.least.tpr > truth.at(band.least.fpr) + _ROUNDING
        above = truth.tpr > band.most.at(truth.fpr) + _ROUNDING
        return bool(below.any() or above.any())


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTrial:
    """The loss that an audit prints of a claim which it as good as surely refutes.

    Parameters
    ----------
    tight, twice : Check
        Of mechanisms of loss ``loss``, and of twice that.
    loss : float
        What the printed bound must not exceed.
    """

    tight: Check
    twice_lost: Check
    loss: float = 1.0

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Return True if the bound exceeds the loss."""
        context = Context(seed=seed, name="level", significance=level)
        check = self.twice_lost if twice else self.tight
        return check(context).evidence.lower > self.loss


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateTrial:
    """The interval of ε beside the verdict on a randomised response, whose cells are its values.

    Parameters
    ----------
    check : Check
    twice_lost : float
        What the interval is to exclude in the power column.
    """

    check: Check
    twice_lost: float = 2.0

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Return True if the interval, which has an error of 5 % at any level, misses ε = 1."""
        context = Context(seed=seed, name="level", significance=min(level, SIGNIFICANCE))
        (found,) = self.check(context).estimates
        upper = found.upper if found.partition_upper is None else found.partition_upper
        return not found.lower <= (self.twice_lost if twice else 1.0) <= upper


def estimate_cases() -> Iterator[LevelCase]:
    """Yield the intervals of a loss."""
    for law, upside_down in (("Laplace", False), ("Gaussian", True), ("10-ary response", False)):
        order = ", cells in the wrong order" if upside_down else ""
        yield LevelCase(
            auditor="estimate, band of the ROC curve",
            claim=f"holds the whole curve, {law}{order}",
            trial=BandTrial(law, upside_down),
            at_twice="the curve of twice the loss excluded",
        )
    for (auditor, claim), (tight, twice) in _bounds().items():
        yield LevelCase(
            auditor=f"{auditor}, bound after a refutation",
            claim=f"at most the loss, {claim}",
            trial=BoundTrial(tight=tight, twice_lost=twice),
            at_twice="more than half of the loss certified",
        )
    for auditor, check in _beside_verdicts().items():
        yield LevelCase(
            auditor=f"estimate beside {auditor}",
            claim="holds ε, randomised response",
            trial=EstimateTrial(check=check),
            at_twice="twice the loss excluded",
        )


def _beside_verdicts() -> dict[str, Check]:
    """Return audits of binary randomised response, of which two outputs show the whole loss."""
    pair = Neighbours(relation=Relation.SUBSTITUTION, value=1, neighbour=0)
    sample = Response(1.0)

    return {
        "membership": MembershipInference(
            sample=sample, guarantee=LocalDP(1.0), neighbours=pair, n_samples=_DRAWS
        ),
        "a local audit": LocalPrivacy(
            randomizer=sample.report,
            guarantee=LocalDP(1.0),
            n_inputs=2,
            n_outputs=2,
            n_samples=_DRAWS,
        ),
        "membership in models": models_attacked(Answers(1.0), PureDP(1.0)),
    }


def _bounds() -> dict[tuple[str, str], tuple[Check, Check]]:
    tight, twice = (
        BlackBoxPrivacy(
            sample=Response(epsilon, 3),
            guarantee=LocalDP(0.2),
            pairs=ValuePairs(n_values=3),
            draws=_SEARCHED,
        )
        for epsilon in (1.0, 2.0)
    )
    return {("black-box search", "randomised response"): (tight, twice)}


def _cells(law: str, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """Return the masses of the cells under both laws, the first law's likeliest in front."""
    if law == "10-ary response":
        pair = Response(2 * epsilon, 10).pair()
        p, q = np.exp(pair.law.log_mass), np.exp(pair.neighbour_law.log_mass)
        order = np.argsort(-p / q, kind="stable")
        return p[order], q[order]
    noise = laplace if law == "Laplace" else norm
    cuts = noise.ppf(_SHARES) - epsilon / 2
    p, q = (np.diff(np.concatenate([[0], noise.cdf(cuts + s), [1]])) for s in (epsilon, 0.0))
    return p, q


def _curve(p: FloatArray, q: FloatArray) -> RocCurve:
    order = np.argsort(-p / q, kind="stable")
    return RocCurve.hull(np.cumsum(q[order])[:-1], np.cumsum(p[order])[:-1])
