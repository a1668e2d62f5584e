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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.certificates import Judgement
from dpcp_audit.audits.evidence import Evidence, EvidenceKind, Verdict
from dpcp_audit.audits.features import feature_from_data
from dpcp_audit.mechanisms.guarantees import ZCDP, RenyiDP

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.features import Feature
    from dpcp_audit.mechanisms.guarantees import PrivacyGuarantee

_ORDERS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0)
_CAP = 8.0
"""Largest |g|, and, times the order, the largest exponent."""
_BETS = np.geomspace(0.004, 0.9, 28)
_ROOM = 4.0
"""Bets stay possible up to so many times the claimed limit, so that the bound can be inverted."""
_DETECTION_QUANTILE = 1.645


def bounds_renyi(guarantee: PrivacyGuarantee) -> bool:
    """Tell whether a guarantee bounds a Rényi divergence, as the moment test needs."""
    return isinstance(guarantee, ZCDP | RenyiDP)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MomentTest:
    """A step function g, an order and a bet, against a claimed limit of D_α.

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
        Whether P is the law on the neighbour.
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
        per_order, claimed = self._scale(guarantee)
        highest = _ROOM * claimed
        bet = self.share / self._largest_loss(highest * per_order)

        def p_value(level: float) -> float:
            gains = self._gains(first, second, level * per_order)
            capital = np.cumsum(np.log1p(bet * gains))
            return math.exp(-max(0.0, float(capital.max())))

        refuted = p_value(claimed) <= significance
        low, high = (claimed, highest) if refuted else (0.0, claimed)
        if not refuted and p_value(0.0) > significance:
            high = 0.0
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if p_value(middle) <= significance else (low, middle)
        best = first.size * math.log1p(
            bet
            * float(
                self._gains(
                    self.log_ratios.max()[None], self.log_ratios.min()[None], claimed * per_order
                )[0]
            )
        )
        could = refuted or best >= -math.log(significance)
        name = "ρ" if isinstance(guarantee, ZCDP) else f"D_α at α = {self.order:.6g}"
        return Judgement(
            verdict=Verdict.REFUTED
            if refuted
            else (Verdict.CONSISTENT if could else Verdict.INCONCLUSIVE),
            evidence=Evidence(
                kind=EvidenceKind.CERTIFIED,
                quantity=f"{name} of the release, from its moment of order {self.order:.6g}",
                value=max(0.0, self._estimate(first, second)) / per_order,
                lower=max(low, math.nextafter(claimed, math.inf)) if refuted else low,
                upper=math.inf,
                claimed=claimed,
                confidence=1 - significance,
                n_samples=2 * first.size,
            ),
            note=self._detectable(first, second, claimed, per_order, significance),
        )

    def as_data(self) -> dict[str, Any]:
        """Return the test as plain data."""
        return {
            "feature": self.feature.as_data(),
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

    def _cells(self, outputs: FloatArray) -> FloatArray:
        return np.searchsorted(self.cuts, self.feature(outputs), side="left")

    def _scale(self, guarantee: PrivacyGuarantee) -> tuple[float, float]:
        """Return the limit of D_α per unit of the claimed parameter, and that parameter."""
        if isinstance(guarantee, ZCDP):
            return self.order, guarantee.rho
        if isinstance(guarantee, RenyiDP):
            return 1.0, guarantee.epsilon
        raise ValueError(f"guarantee must be ZCDP or RenyiDP, got {guarantee}")

    def _gains(self, first: FloatArray, second: FloatArray, limit: float) -> FloatArray:
        """Return X from the values of g on either side."""
        return gains(first, second, order=self.order, limit=limit, reference=self.reference)

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

    def _detectable(
        self,
        first: FloatArray,
        second: FloatArray,
        claimed: float,
        per_order: float,
        significance: float,
    ) -> str:
        step = max(claimed, 1e-9) * 1e-3
        here, there = (
            self._gains(first, second, level * per_order) for level in (claimed, claimed + step)
        )
        slope = float((here - there).mean()) / step
        needed = _DETECTION_QUANTILE + math.sqrt(
            _DETECTION_QUANTILE**2 - 2 * math.log(significance)
        )
        excess = needed * float(here.std()) / math.sqrt(first.size) / max(slope, 1e-300)
        return (
            f"A loss of {claimed + excess:.4g} ({1 + excess / claimed:.3g} times the claim) of such "
            "a pair would have been refuted with probability about 0.95."
        )


def gains(
    first: FloatArray, second: FloatArray, *, order: float, limit: float, reference: float
) -> FloatArray:
    """Return X, elementwise, from g(x) and g(y); its mean is at most 0 where D_α <= ``limit``."""
    if order == 1:
        return first - limit - math.log(reference) + 1 - np.exp(second) / reference
    theta = (order - 1) / order
    flat = (
        theta * reference ** (theta - 1) * np.exp(order * second) + (1 - theta) * reference**theta
    )
    return np.exp((order - 1) * first - theta * limit) - flat


def choose_moments(
    guarantee: PrivacyGuarantee,
    feature: Feature,
    samples: tuple[FloatArray, FloatArray],
    cuts: FloatArray,
) -> MomentTest | None:
    """Choose g on every other pilot output, and the order, direction and bet on the rest.

    Returns
    -------
    MomentTest or None
        None where no order promises anything.
    """
    _validate.integer(n_pilot=min(map(len, samples)), at_least=4)
    cells = [np.searchsorted(cuts, feature(sample), side="left") for sample in samples]
    best: MomentTest | None = None
    for swapped in (False, True):
        x, y = cells[::-1] if swapped else cells
        p, q = (np.bincount(z[::2], minlength=cuts.size + 1) for z in (x, y))
        g = np.log((p + 0.5) / (q + 0.5))
        size = min(x[1::2].size, y[1::2].size)
        held = x[1::2][:size], y[1::2][:size]
        for order in _orders(guarantee):
            steps = np.clip(g, -_CAP / order, _CAP / order)
            test = _bet(guarantee, feature, cuts, steps, held, order=order, swapped=swapped)
            if test is not None and (best is None or test.promise > best.promise):
                best = test
    return best


def _orders(guarantee: PrivacyGuarantee) -> tuple[float, ...]:
    return (guarantee.alpha,) if isinstance(guarantee, RenyiDP) else _ORDERS


def _bet(
    guarantee: PrivacyGuarantee,
    feature: Feature,
    cuts: FloatArray,
    steps: FloatArray,
    held: tuple[FloatArray, FloatArray],
    *,
    order: float,
    swapped: bool,
) -> MomentTest | None:
    """Return the test at one order, with the bet whose capital grows most on held-out outputs."""
    first, second = steps[held[0]], steps[held[1]]
    draft = MomentTest(
        feature=feature,
        cuts=cuts,
        log_ratios=steps,
        order=order,
        reference=float(np.exp(order * second).mean()),
        share=0.5,
        swapped=swapped,
        promise=0.0,
    )
    per_order, claimed = draft._scale(guarantee)
    values = draft._gains(first, second, claimed * per_order)
    mean, spread = float(values.mean()), float(values.std())
    if mean <= 0:
        return None
    largest = draft._largest_loss(_ROOM * claimed * per_order)
    growth = [float(np.log1p(share / largest * values).mean()) for share in _BETS]
    best = int(np.argmax(growth))
    return MomentTest(
        feature=feature,
        cuts=cuts,
        log_ratios=steps,
        order=order,
        reference=draft.reference,
        share=float(_BETS[best]),
        swapped=swapped,
        promise=math.sqrt(max(0.0, 2 * growth[best])) if spread else math.inf,
    )
