"""The moment test: bets against a bound of the Rényi divergence from many cells at once.

One event shows only two numbers of a law. By Hölder's inequality, for every bounded g and α > 1,

    E_P[e^((α−1)g)] ≤ (E_Q[(dP/dQ)^α])^(1/α) · (E_Q[e^(αg)])^((α−1)/α),

with equality at g = log dP/dQ (Birrell et al. 2021 give it as a variational formula). With
θ = (α−1)/α, a claim D_α(P‖Q) ≤ L thus says E_P[e^((α−1)g)] ≤ e^(θL)·B^θ with B = E_Q[e^(αg)]. As
B^θ is concave, it is at most θ·b^(θ−1)·B + (1−θ)·b^θ for every b > 0, so that

    X = e^((α−1)g(x) − θL) − θ·b^(θ−1)·e^(αg(y)) − (1−θ)·b^θ,    x ~ P, y ~ Q,

has a mean of at most 0 under the claim. At α = 1 the same reads
X = g(x) − L − log b + 1 − e^(g(y))/b (Donsker and Varadhan 1983); zCDP bounds it, too, by L = ρ,
since D_α falls to D_1. X is bounded below, by −M; for a bet 0 < λ < 1/M the capital ∏(1 + λX) is a
non-negative supermartingale, and by Ville's inequality 1/max capital is a p-value. g, a step
function of a feature, and α, b and λ come from other samples than those that are bet on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcp_audit.audits import certificates
from dpcp_audit.audits.certificates import Judgement
from dpcp_audit.audits.search.event_search import PilotCounts, feature_as_data, feature_from_data
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.stats.roots import turn
from dpcp_audit.words.evidence import of_loss

if TYPE_CHECKING:
    from dpcp_audit.audits.search.event_search import Feature
    from dpcp_audit.laws.losses import Loss
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Power
    from dpcp_audit.words.validate import FloatArray, IntArray

_ORDERS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
_CAPS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Heights to cut αg off at."""
_BOLDEST = 0.75
_ROOM = 4.0
"""Bets stay possible up to so many times the claimed limit, so that the bound can be inverted."""
_DETECTION_QUANTILE = 1.645


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MomentTest:
    """A step function g, an order and a bet, against a claimed limit of D_α.

    :Null hypothesis: D_α(P‖Q) ≤ L at one order α, for claims that bound a Rényi divergence (ρ-zCDP:
        L = ρ·α). P and Q are the laws of the output on the two inputs.
    :Statistic: The largest capital of bets on X, whose mean is at most 0 under the claim (see the
        module). The p-value is 1 divided by that capital.
    :Level: At most the significance, at every sample size, by Ville's inequality. Conservative:
        bets on fixed steps rarely spend the whole level.
    :Power: It finds a loss that is spread over many cells, which no single event shows.
        ``smallest_violation`` states a lower bound: the loss of a Gaussian release that one event
        refutes with probability 0.95.
    :Reference: Birrell et al. (2021); Donsker and Varadhan (1983), for α = 1; Ville (1939).

    Parameters
    ----------
    feature : Feature
    cuts : ndarray, shape (m,)
        Increasing right ends of the first m cells of the feature's range.
    log_ratios : ndarray, shape (m+1,)
        g on each cell.
    order : float
        α >= 1.
    reference : float
        b > 0.
    share : float
        The bet, as a share of the largest that cannot lose everything, in (0, 1).
    swapped : bool
        True if P is the law on the neighbour.
    promise : float
        The mean of X over its standard deviation, as the pilot estimates it.
    """

    feature: Feature
    cuts: FloatArray
    log_ratios: FloatArray
    order: float
    reference: float
    share: float
    swapped: bool
    promise: float

    def judge(
        self,
        guarantee: PrivacyGuarantee,
        outputs: FloatArray,
        neighbour_outputs: FloatArray,
        *,
        significance: float,
    ) -> Judgement:
        """Bet on fresh outputs, equally many on either input."""
        x, y = (neighbour_outputs, outputs) if self.swapped else (outputs, neighbour_outputs)
        first, second = (self.log_ratios[self._cells(z)] for z in (x, y))
        loss = loss_of(guarantee)
        claimed, highest = limits(guarantee, self.order)
        bet = self.share / self._largest_loss(highest)

        def p_value(level: float) -> float:
            gains = self._gains(first, second, level)
            capital = np.cumsum(np.log1p(bet * gains))
            return math.exp(-max(0.0, float(capital.max())))

        refuted = p_value(claimed) <= significance
        low, high = (claimed, highest) if refuted else (0.0, claimed)
        if refuted or p_value(0.0) <= significance:
            low = turn(lambda level: p_value(level) <= significance, high, low, steps=20).holds
        return Judgement(
            evidence=of_loss(
                loss.quantity,
                loss.of_divergence(self._estimate(first, second), self.order),
                loss.of_divergence(low, self.order),
                refuted=refuted,
                at=loss.at,
                detail=f"of the release, from its moment of order {self.order:.6g}",
                claimed=loss.of_divergence(claimed, self.order),
                confidence=1 - significance,
                n_samples=2 * first.size,
            ),
            note=self._of_such_a_pair(first, second, loss, significance),
        )

    def smallest_violation(
        self, guarantee: PrivacyGuarantee, trials: int, *, significance: float
    ) -> Power:
        """Return the smallest loss that is refuted with probability 0.95.

        By an event of a Gaussian release; none, where the bet on the moment cannot win at all.
        """
        power = certificates.smallest_violation(guarantee, trials, significance=significance)
        claimed, highest = limits(guarantee, self.order)
        extremes = self.log_ratios.max()[None], self.log_ratios.min()[None]
        gain = float(self._gains(*extremes, claimed)[0])
        best = trials * math.log1p(self.share / self._largest_loss(highest) * gain)
        return power if best >= -math.log(significance) else replace(power, smallest=math.inf)

    def as_data(self) -> dict[str, Any]:
        """Return the test as plain data."""
        return {
            "feature": feature_as_data(self.feature),
            "cuts": self.cuts.tolist(),
            "log_ratios": self.log_ratios.tolist(),
            "order": self.order,
            "reference": self.reference,
            "share": self.share,
            "swapped": self.swapped,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> MomentTest:
        """Build the test that ``as_data`` wrote."""
        rest = dict(data)
        return cls(
            feature=feature_from_data(rest.pop("feature")),
            cuts=np.asarray(rest.pop("cuts"), dtype=np.float64),
            log_ratios=np.asarray(rest.pop("log_ratios"), dtype=np.float64),
            promise=math.nan,
            **rest,
        )

    def _cells(self, outputs: FloatArray) -> IntArray:
        return np.searchsorted(self.cuts, self.feature(outputs), side="left")

    def _gains(self, first: FloatArray, second: FloatArray, limit: float) -> FloatArray:
        """Return X from the values of g on either side."""
        up = _gain(first, order=self.order, limit=limit, reference=self.reference)
        down = _loss(np.exp(self.order * second), order=self.order, reference=self.reference)
        return up - down

    def _largest_loss(self, limit: float) -> float:
        worst = self.log_ratios.min()[None], self.log_ratios.max()[None]
        return max(1e-12, -float(self._gains(*worst, limit)[0]))

    def _estimate(self, first: FloatArray, second: FloatArray) -> float:
        """Return the plug-in estimate of the variational bound of D_α."""
        if self.order == 1:
            return float(first.mean() - np.log(np.exp(second).mean()))
        theta = (self.order - 1) / self.order
        upper = float(np.log(np.exp((self.order - 1) * first).mean()))
        return upper / theta - float(np.log(np.exp(self.order * second).mean()))

    def _of_such_a_pair(
        self,
        first: FloatArray,
        second: FloatArray,
        loss: Loss,
        significance: float,
    ) -> str:
        claimed = limits(loss.guarantee, self.order)[0]
        step = max(claimed, 1e-9) * 1e-3
        here, there = (self._gains(first, second, level) for level in (claimed, claimed + step))
        slope = float((here - there).mean()) / step
        needed = _DETECTION_QUANTILE + math.sqrt(
            _DETECTION_QUANTILE**2 - 2 * math.log(significance)
        )
        excess = needed * float(here.std()) / math.sqrt(first.size) / max(slope, 1e-300)
        return (
            f"For pairs like this one, the moment test refutes losses from about "
            f"{loss.of_divergence(claimed + excess, self.order):.4g} on "
            f"({1 + excess / claimed:.3g} times the claim)."
        )


def _gain(
    first: FloatArray, *, order: float, limit: float, reference: FloatArray | float
) -> FloatArray:
    """Return A(x) of X = A(x) − B(y), elementwise, from g(x).

    The mean of X is at most 0 where D_α <= ``limit``.
    """
    if order == 1:
        return first - limit - np.log(reference) + 1
    theta = (order - 1) / order
    rest = (1 - theta) * reference**theta
    return np.asarray(np.exp((order - 1) * first - theta * limit) - rest)


def _loss(raised: FloatArray, *, order: float, reference: FloatArray | float) -> FloatArray:
    """Return B(y) of X = A(x) − B(y), elementwise, from e^(αg(y))."""
    if order == 1:
        return raised / reference
    theta = (order - 1) / order
    return np.asarray(theta * reference ** (theta - 1) * raised)


class _StepFunctions(NamedTuple):
    """Step functions against one order, and what they lose, whatever the claim.

    Parameters
    ----------
    order : float
        α >= 1.
    swapped : tuple of bool, length r
        True where P is the law on the neighbour.
    steps : ndarray, shape (r, k, m)
        g on m cells, cut off at k heights.
    shares : ndarray, shape (r, m)
        The probabilities of the cells under P.
    reference, mean, variance, largest : ndarray, shape (r, k)
        b; and of B(y) under Q the mean and the variance, and what it is at most.
    """

    order: float
    swapped: tuple[bool, ...]
    steps: FloatArray
    shares: FloatArray
    reference: FloatArray
    mean: FloatArray
    variance: FloatArray
    largest: FloatArray

    @classmethod
    def of(
        cls,
        log_ratios: FloatArray,
        caps: FloatArray,
        shares: tuple[FloatArray, FloatArray],
        *,
        order: float,
        swapped: tuple[bool, ...],
    ) -> _StepFunctions:
        """Cut log-ratios off; the shares of the cells are those under P and under Q."""
        first, second = shares
        heights = caps[:, None] / order
        steps = np.clip(log_ratios[:, None], -heights, heights)
        raised = np.exp(order * steps)
        reference = np.maximum(_mean(raised, second), 1e-12)
        lost = _loss(raised, order=order, reference=reference[..., None])
        mean = _mean(lost, second)
        variance = _mean((lost - mean[..., None]) ** 2, second)
        highest = np.exp(order * steps.max(axis=-1))
        largest = _loss(highest, order=order, reference=reference)
        return cls(order, swapped, steps, first, reference, mean, variance, largest)

    def bets(self, guarantee: PrivacyGuarantee) -> tuple[FloatArray, FloatArray]:
        """Return the bets that suit a claim, and what they promise; shape (r, k).

        By the second-order growth of the capital: the promise is that growth, in standard errors;
        where the mean of X is not positive it is negative.
        """
        claimed, highest = limits(guarantee, self.order)
        reference = self.reference[..., None]
        won = _gain(self.steps, order=self.order, limit=claimed, reference=reference)
        gain = _mean(won, self.shares)
        mean = gain - self.mean
        variance = _mean((won - gain[..., None]) ** 2, self.shares) + self.variance
        square = np.maximum(variance + mean**2, 1e-300)
        lowest = self.steps.min(axis=-1)
        least = _gain(lowest, order=self.order, limit=highest, reference=self.reference)
        largest = np.maximum(self.largest - least, 1e-12)
        share = np.minimum(np.maximum(largest * mean / square, 0.0), _BOLDEST)
        growth = share / largest * (mean - share / largest * square / 2)
        promise = np.where(mean > 0, np.sqrt(np.maximum(0.0, 2 * growth)), mean / np.sqrt(square))
        return share, promise


class PilotMoments(NamedTuple):
    """The step functions that a pilot tries, of several orders, in either direction.

    g is chosen on every other pilot output, and the order, direction and bet on the rest. It is
    the log-ratio of the cells' counts, or a straight line through it; it is cut off at several
    heights, as a bet must survive the largest loss.
    """

    cuts: FloatArray
    of_orders: tuple[_StepFunctions, ...]

    @classmethod
    def of(
        cls,
        guarantee: PrivacyGuarantee,
        values: tuple[FloatArray, FloatArray],
        counts: PilotCounts,
        *,
        thorough: bool,
    ) -> PilotMoments:
        """Return those for a claim, and for all claims of its orders."""
        places = _places(values, counts.cuts)
        rows = [
            (swapped, steps)
            for swapped in (False, True)
            for steps in _steps(counts, places, swapped)
        ]
        held = counts.judging / counts.judging.sum(axis=1, keepdims=True)
        swapped = tuple(each for each, _ in rows)
        first = np.array(swapped, dtype=np.intp)
        log_ratios, caps = np.stack([steps for _, steps in rows]), np.array(_CAPS)
        return cls(
            counts.cuts,
            tuple(
                _StepFunctions.of(
                    log_ratios,
                    caps if thorough else caps[1::2],
                    (held[first], held[1 - first]),
                    order=order,
                    swapped=swapped,
                )
                for order in _orders(guarantee, thorough=thorough)
            ),
        )

    def best(self, guarantee: PrivacyGuarantee, feature: Feature) -> MomentTest | None:
        """Return the most promising test of a claim; None where nothing promises anything."""
        shares, promises = zip(*(each.bets(guarantee) for each in self.of_orders), strict=True)
        stacked = np.stack(promises, axis=1)  # rows, orders, heights
        row, order, height = np.unravel_index(int(stacked.argmax()), stacked.shape)
        if not stacked[row, order, height] > 0:
            return None
        chosen = self.of_orders[order]
        return MomentTest(
            feature=feature,
            cuts=self.cuts,
            log_ratios=chosen.steps[row, height],
            order=chosen.order,
            reference=float(chosen.reference[row, height]),
            share=float(shares[order][row, height]),
            swapped=chosen.swapped[row],
            promise=float(stacked[row, order, height]),
        )


def _mean(values: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the means of step functions, shape (r, k), from values of shape (r, k, m)."""
    return np.asarray((values @ shares[:, :, None])[..., 0])


def limits(guarantee: PrivacyGuarantee, order: float) -> tuple[float, float]:
    """Return the claimed limit of D_α, and the largest up to which bets stay possible."""
    loss = loss_of(guarantee)
    claimed = loss.divergence_allowed(order)
    if claimed is None or not loss.renyi:
        raise ValueError(f"guarantee must be ZCDP or RenyiDP, got {guarantee}")
    return claimed, _ROOM * claimed


def _orders(guarantee: PrivacyGuarantee, *, thorough: bool) -> tuple[float, ...]:
    order = loss_of(guarantee).at.get("alpha")
    if order is not None:
        return (order,)
    return _ORDERS if thorough else _ORDERS[::3]


def _places(values: tuple[FloatArray, FloatArray], cuts: FloatArray) -> FloatArray:
    """Return the mean of the feature in each cell, standardised and cut at ±4, shape (cells,)."""
    pooled, count = np.concatenate(values), cuts.size + 1
    finite = np.isfinite(pooled)
    if not finite.any():
        return np.zeros(count)
    low, centre, high = np.quantile(pooled[finite], [0.16, 0.5, 0.84])
    scale = (high - low) / 2 or 1.0
    z = np.clip((pooled - centre) / scale, -4.0, 4.0)
    cells = np.searchsorted(cuts, pooled, side="left")
    sizes = np.bincount(cells, minlength=count)
    return np.asarray(np.bincount(cells, z, minlength=count) / np.maximum(sizes, 1))


def _steps(counts: PilotCounts, places: FloatArray, swapped: bool) -> list[FloatArray]:  # noqa: FBT001
    """Return log-ratios of the cells: as counted, and on a straight line fitted to those."""
    p, q = counts.ordering[::-1] if swapped else counts.ordering
    counted = np.log((p + 0.5) / p.sum()) - np.log((q + 0.5) / q.sum())
    weights = 1 / (1 / (p + 0.5) + 1 / (q + 0.5))
    weights[(p + q) == 0] = 0.0
    mean, middle = np.average(np.stack([counted, places]), axis=1, weights=weights)
    spread = np.average((places - middle) ** 2, weights=weights)
    if not spread > 0:
        return [counted]
    slope = np.average((places - middle) * (counted - mean), weights=weights) / spread
    return [counted, mean + slope * (places - middle)]
