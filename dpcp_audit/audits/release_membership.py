"""Membership inference on a release: how well an attacker infers whether the target was in.

The game: a release comes from one of two neighbours, with the target (in) or with another in
its place (out). Half of the games are pilots, on which attacks are fitted and thresholds
chosen; the other half, fresh, certify the rates. A guarantee bounds every attack, so that a
certified rate above its bound refutes it. An attack that stays below says nothing of others.

The higher an attack's score, the likelier that the target was in. Each estimates the likelihood
ratio of the two worlds, which no other score beats (Neyman and Pearson 1933).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from dpcp_audit.audits import certificates
from dpcp_audit.audits.certificates import Hits, certify, prefers_complement
from dpcp_audit.audits.loss_bracket import Rate, claimed_loss
from dpcp_audit.stats.rates import clopper_pearson
from dpcp_audit.targets.answers import require_independent, unprobed
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Sampled
from dpcp_audit.words.evidence import conclude
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import (
    Evidence,
    EvidenceKind,
    Figure,
    FigureKind,
    Outcome,
    PlainData,
    Power,
    Series,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.audits.certificates import Judgement
    from dpcp_audit.audits.search.pair_space import Sampler
    from dpcp_audit.laws.laws import FinitePair
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import Neighbours, PrivacyGuarantee
    from dpcp_audit.words.results import Estimate
    from dpcp_audit.words.validate import FloatArray


_TAIL_CELLS = 5


class Attack(Protocol):
    """A way to score releases, fitted on releases from both worlds."""

    @property
    def name(self) -> str:
        """The attack's name in reports."""
        ...

    def fit(self, member: FloatArray, other: FloatArray, /) -> Callable[[FloatArray], FloatArray]:
        """Return a score of releases, from pilot releases with and without the target.

        All three arrays have shape (size,); the score returns one number a release.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLikelihood:
    """The likelihood ratio of the cell that a release falls into.

    Every distinct release is a cell where there are at most ``cells``; else quantiles of the
    pooled releases are the cuts, and the outermost cells are halved again and again, since low
    false-positive rates are decided there.

    Parameters
    ----------
    cells : int
        The number of equally likely cells, at least 2, before the outermost are halved.
    feature : callable, optional
        Turns releases into the numbers that are cut into cells, shape (size,) to (size,).
    """

    cells: int = 64
    feature: Callable[[FloatArray], FloatArray] | None = None

    def __post_init__(self) -> None:
        _validate.integer(cells=self.cells, at_least=2)

    @property
    def name(self) -> str:
        """Likelihood ratio of cells, and of what."""
        what = "the release" if self.feature is None else "a feature of the release"
        return f"likelihood ratio of cells of {what}"

    def fit(self, member: FloatArray, other: FloatArray, /) -> Callable[[FloatArray], FloatArray]:
        """Return log p̂_in/p̂_out of the cell, with half an observation added to each."""
        cuts = _cuts(self._number(np.concatenate([member, other])), self.cells)
        masses = [_cell_shares(self._number(x), cuts) for x in (member, other)]
        loss = np.log(masses[0] / masses[1])

        def score(releases: FloatArray) -> FloatArray:
            return loss[np.searchsorted(cuts, self._number(releases), side="left")]

        return score

    def _number(self, releases: FloatArray) -> FloatArray:
        return releases if self.feature is None else self.feature(releases)


def membership_pvalues(
    scores: FloatArray, reference: FloatArray, *, rng: np.random.Generator | int | None = None
) -> FloatArray:
    """Return randomised conformal p-values of scores against reference scores of the out world.

    (#{r > s} + U·(#{r = s} + 1))/(m + 1). In the out world they are uniform on [0, 1] over the
    draw of both, ties or not (Vovk, Gammerman and Shafer 2005), so the attack "in, if p <= t"
    has a false-positive rate of t on average, at every t.

    Parameters
    ----------
    scores : ndarray, shape (size,)
    reference : ndarray, shape (m,)

    Returns
    -------
    ndarray, shape (size,)
    """
    generator = _validate.generator(rng)
    ordered = np.sort(reference)
    below = np.searchsorted(ordered, scores, side="left")
    above = ordered.size - np.searchsorted(ordered, scores, side="right")
    ties = ordered.size - below - above
    return (above + generator.random(scores.size) * (ties + 1)) / (ordered.size + 1)


def _cuts(pooled: FloatArray, cells: int) -> FloatArray:
    values = np.unique(pooled)
    if values.size > cells:
        tail = 0.5 ** np.arange(1, _TAIL_CELLS + 1) / cells
        levels = np.sort(np.concatenate([tail, np.arange(1, cells + 1) / cells, 1 - tail]))
        values = np.unique(np.quantile(pooled, levels, method="inverted_cdf"))
    return values[:-1]


def _cell_shares(values: FloatArray, cuts: FloatArray) -> FloatArray:
    counts = np.bincount(np.searchsorted(cuts, values, side="left"), minlength=cuts.size + 1)
    total = values.size + 0.5 * (cuts.size + 1)
    return np.asarray((counts + 0.5) / total, dtype=np.float64)


_LOW_RATES = (1e-2, 1e-3)
_LEVELS = expit(np.linspace(-7.0, 7.0, 57))
_LARGEST, _TELLING = "largest advantage", "most telling"
_TESTS = 2
_DESCRIBED = 0.05
_OF_ATTACK = "of the attack"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingPoint:
    """The attack at one threshold, chosen on pilot games.

    Parameters
    ----------
    purpose : str
        Why this threshold.
    tpr, fpr : Rate
        The shares of releases called "in", with and without the target.
    allowed : float
        The largest TPR that the guarantee allows at the certified upper limit of the FPR.
    """

    purpose: str
    tpr: Rate
    fpr: Rate
    allowed: float

    @property
    def advantage(self) -> Rate:
        """TPR − FPR; each limit takes one limit of each rate."""
        return Rate(
            self.tpr.value - self.fpr.value,
            self.tpr.lower - self.fpr.upper,
            self.tpr.upper - self.fpr.lower,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """The results of the fitted attack in fresh games.

    Parameters
    ----------
    attack : str
        Name of the attack that did best on the pilot games.
    points : tuple of OperatingPoint
        The threshold of largest advantage; those of false-positive rates 1e-2 and 1e-3; and
        the one that exceeds what is allowed by most standard errors, all on pilot games.
    roc_fpr, roc_tpr : ndarray, shape (m,)
        Measured rates over a grid of thresholds.
    games : int
        Fresh games in each world.
    telling : Judgement or None
        The exact test of the last threshold, where the claim is tested so.
    estimates : tuple of Estimate
        The loss on the pair, in the claim's unit.
    """

    attack: str
    points: tuple[OperatingPoint, ...]
    roc_fpr: FloatArray
    roc_tpr: FloatArray
    games: int
    telling: Judgement | None = None
    estimates: tuple[Estimate, ...] = ()

    @property
    def advantage(self) -> Rate:
        """The attack's advantage TPR − FPR at the threshold chosen for it."""
        return self.points[0].advantage


class _Fitted(NamedTuple):
    """An attack ready to play: its score, and the pilot scores of the out world."""

    name: str
    score: Callable[[FloatArray], FloatArray]
    reference: FloatArray
    pilot: FloatArray
    """p-values of held-out pilot releases of the in world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipInference(Sampled):
    """Test a guarantee against the best of several membership attacks on one pair.

    The attacks are fitted on a quarter of the games. A second quarter chooses among them and sets
    four thresholds. The last half tests two of these; the rates at the other two are described, at
    95 % confidence.

    :Null hypothesis: The guarantee, on one pair: with the target and without it. It bounds the
        true-positive rate of every attack at each false-positive rate.
    :Statistic: Two, each with half of the significance: the attack's advantage, TPR − FPR, by
        Clopper–Pearson limits; and the counts at the threshold that the pilot finds most telling,
        by the test of ``EventTest``.
    :Level: At most the significance, by a union bound. A millionth probes for serial dependence.
    :Power: ``smallest_violation``: the loss that the best attack refutes with probability 0.95. An
        attack that stays below the bound says nothing about other attacks.
    :Reference: Neyman and Pearson (1933), for the score; Yeom et al. (2018), for the advantage;
        Clopper and Pearson (1934).

    Parameters
    ----------
    sample : Sampler
        The mechanism, or what the attacker sees of it.
    guarantee : PrivacyGuarantee
        The claim.
    neighbours : Neighbours
        The input with the target (``value``) and without it (``neighbour``).
    attacks : tuple of Attack
        The attacks to try.
    exact : callable, optional
        Computes the exact laws of the release with and without the target.
    n_samples : int
        Games in each world at effort 1, pilot included.
    witness : dict
        Parameters of the mechanism, as plain data.
    """

    sample: Sampler
    guarantee: PrivacyGuarantee
    neighbours: Neighbours[Any]
    attacks: tuple[Attack, ...] = (CellLikelihood(),)
    exact: Callable[[], FinitePair] | None = None
    n_samples: int = 40_000
    witness: PlainData = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        _validate.integer(n_samples=self.n_samples, at_least=400)
        if not self.attacks:
            raise ValueError("attacks must hold at least one attack, got none")

    def __call__(self, context: Context) -> Outcome:
        """Play the games and test the attack's success against the guarantee."""
        result = self.play(context)
        pair = None if self.exact is None else self.exact()
        return conclude(
            self._evidence(result, context),
            lambda: self.smallest_violation(context),
            witness=self.witness
            | {
                "guarantee": str(self.guarantee),
                "relation": str(self.neighbours.relation),
                "value": np.asarray(self.neighbours.value).tolist(),
                "neighbour": np.asarray(self.neighbours.neighbour).tolist(),
                "attack": result.attack,
                "seed": context.seed,
            },
            note=self._note(result, pair),
            figures=(roc_figure(self.guarantee, result, pair),),
            estimates=result.estimates,
        )

    def play(self, context: Context) -> AttackResult:
        """Fit the attacks, choose one, and play the fresh games."""
        half = context.samples(self.n_samples) // 2
        inputs = (self.neighbours.value, self.neighbours.neighbour)
        pilot = [self._draw(x, half, context.rng(i)) for i, x in enumerate(inputs)]
        require_independent(*pilot, significance=context.significance)
        share = unprobed(context.significance) / _TESTS
        fitted = self._fit(pilot[0], pilot[1], context.rng(2))
        fresh = [self._draw(x, half, context.rng(3 + i)) for i, x in enumerate(inputs)]
        member, other = (
            membership_pvalues(fitted.score(drawn), fitted.reference, rng=context.rng(5 + i))
            for i, drawn in enumerate(fresh)
        )
        thresholds = self._thresholds(fitted.pilot)
        points = tuple(
            self._point(purpose, level, member, other, share if purpose == _LARGEST else _DESCRIBED)
            for purpose, level in thresholds.items()
        )
        return AttackResult(
            attack=fitted.name,
            points=points,
            roc_fpr=_shares(other),
            roc_tpr=_shares(member),
            games=half,
            telling=self._test(thresholds[_TELLING], fitted.pilot, member, other, share),
            estimates=claimed_loss(self.guarantee, (pilot[0], pilot[1]), (fresh[0], fresh[1])),
        )

    def _test(
        self,
        level: float,
        pilot: FloatArray,
        member: FloatArray,
        other: FloatArray,
        share: float,
    ) -> Judgement:
        """Test the claim at a threshold, on the side that the pilot suggests."""
        expected = Hits(int((pilot <= level).sum()), round(level * pilot.size), pilot.size)
        hits = Hits(int((member <= level).sum()), int((other <= level).sum()), member.size)
        complement = prefers_complement(self.guarantee, expected)
        return certify(self.guarantee, hits, significance=share, complement=complement)

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest loss that is refuted with probability 0.95, by the best attack.

        At one of the thresholds, where the pilot has found it.
        """
        return certificates.smallest_violation(
            self.guarantee,
            context.samples(self.n_samples) // 2,
            significance=unprobed(context.significance) / _TESTS,
        )

    def _fit(self, member: FloatArray, other: FloatArray, rng: np.random.Generator) -> _Fitted:
        """Fit every attack on half of the pilot games; the rest choose the best."""
        fitted: list[_Fitted] = []
        for attack in self.attacks:
            score = attack.fit(member[::2], other[::2])
            reference = score(other[1::2])
            pilot = membership_pvalues(score(member[1::2]), reference, rng=rng)
            fitted.append(_Fitted(attack.name, score, reference, pilot))
        return max(fitted, key=lambda one: float((_shares(one.pilot) - _LEVELS).max()))

    def _thresholds(self, pilot: FloatArray) -> dict[str, float]:
        tpr = _shares(pilot)
        error = np.sqrt(_LEVELS * (1 - _LEVELS) / pilot.size)
        allowed = _allowed(self.guarantee)
        shifted = self.guarantee.power(np.minimum(1.0, _LEVELS + error))
        variance = np.maximum(tpr * (1 - tpr), 1 / pilot.size) / pilot.size
        excess = (tpr - allowed) / np.sqrt(variance + (shifted - allowed) ** 2)
        return {
            _LARGEST: float(_LEVELS[np.argmax(tpr - _LEVELS)]),
            **{f"FPR near {level:g}": level for level in _LOW_RATES},
            _TELLING: float(_LEVELS[np.argmax(excess)]),
        }

    def _point(
        self, purpose: str, level: float, member: FloatArray, other: FloatArray, share: float
    ) -> OperatingPoint:
        tpr, fpr = _rate(member, level, share), _rate(other, level, share)
        allowed = float(self.guarantee.power(fpr.upper))
        return OperatingPoint(purpose=purpose, tpr=tpr, fpr=fpr, allowed=allowed)

    def _draw(self, value: object, size: int, rng: np.random.Generator) -> FloatArray:
        outputs = np.asarray(self.sample(value, size, rng=rng), dtype=np.float64)
        if outputs.shape != (size,):
            raise ValueError(f"sample must return shape ({size},), got shape {outputs.shape}")
        if np.isnan(outputs).any():
            raise ValueError("sample must return numbers, got NaN")
        return outputs

    def _evidence(self, result: AttackResult, context: Context) -> Evidence:
        """Return the advantage, or the loss at the threshold that alone refutes."""
        claimed, shown = self.guarantee.advantage(), result.advantage
        games, confidence = 4 * result.games, 1 - context.significance
        if result.telling and result.telling.refuted and shown.lower <= claimed:
            found = result.telling.evidence
            return replace(found, detail=_OF_ATTACK, confidence=confidence, n_samples=games)
        return Evidence(
            kind=EvidenceKind.CERTIFIED,
            quantity=Quantity.ADVANTAGE,
            detail=_OF_ATTACK,
            value=max(0.0, shown.value),
            lower=max(0.0, shown.lower),
            upper=max(0.0, shown.upper),
            claimed=claimed,
            confidence=confidence,
            n_samples=games,
        )

    def _note(self, result: AttackResult, pair: FinitePair | None) -> str:
        reached = (
            f"Attack: {result.attack}. Its advantage is {result.advantage}; the claim allows "
            f"{self.guarantee.advantage():.4g}."
        )
        sentences = [reached]
        if pair is not None:
            sentences.append(
                f"The best attack on this pair reaches {pair.total_variation():.4g}, the exact "
                "total variation."
            )
        sentences += [
            f"{point.purpose[0].upper()}{point.purpose[1:]}: TPR {point.tpr} at FPR {point.fpr}, "
            f"allowed {point.allowed:.4g}."
            for point in result.points[1:]
        ]
        sentences.append("Limits of these rates, in brackets, hold at 95 %.")
        return " ".join(sentences)


def roc_figure(
    guarantee: PrivacyGuarantee, result: AttackResult, pair: FinitePair | None
) -> Figure:
    """Return the ROC on logarithmic axes: allowed, exact where known, measured, certified."""
    series = [_curve(f"largest that {guarantee} allows", _LEVELS, _allowed(guarantee))]
    if pair is not None:
        fpr, fnr = pair.tradeoff()
        series.append(_curve("exact, best attack", _LEVELS, np.interp(_LEVELS, fpr, 1 - fnr)))
    certified = sorted((point.fpr.upper, point.tpr.lower) for point in result.points)
    series += [
        _curve("measured", result.roc_fpr, result.roc_tpr),
        _curve("certified: TPR above, at FPR below", *np.array(certified).T),
    ]
    return Figure(
        kind=FigureKind.LINES,
        title="Membership inference: the attack's ROC",
        x_label="false-positive rate",
        y_label="true-positive rate",
        log_x=True,
        log_y=True,
        series=series,
        description=(
            "The attack's true-positive rate against its false-positive rate, on fresh games. The "
            "limits of the certified points hold at 95 %, those of the largest advantage at half "
            "of the check's error."
        ),
    )


@lru_cache(maxsize=16)
def _allowed(guarantee: PrivacyGuarantee) -> FloatArray:
    """Return the largest TPR allowed at each level of the grid."""
    return guarantee.power(_LEVELS)


def _curve(name: str, x: FloatArray, y: FloatArray) -> Series:
    drawn = (x > 0) & (y > 0)
    return Series(name=name, x=x[drawn].tolist(), y=y[drawn].tolist())


def _shares(pvalues: FloatArray) -> FloatArray:
    """Return the share of p-values at or below each level of the grid."""
    shares: FloatArray = np.searchsorted(np.sort(pvalues), _LEVELS, side="right") / pvalues.size
    return shares


def _rate(pvalues: FloatArray, level: float, share: float) -> Rate:
    count = int((pvalues <= level).sum())
    return Rate(count / pvalues.size, *clopper_pearson(count, pvalues.size, significance=share))
