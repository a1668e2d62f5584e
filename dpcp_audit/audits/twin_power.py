"""The power of a search on a planted twin: a mechanism with a part of the noise that it needs.

A twin is a reference mechanism of the claim's own notion whose noise is 1/f of what the claim
asks for: Laplace noise for ε, randomised response for reports of a small domain, Gaussian noise
for ρ, μ and Rényi divergences, and there a noisy bisection where scores are searched, since a
comparison shows only 2/π of its noise's ρ; of one user's number the twin is a release of it.
Below the factor at which a bisection shows too little the twin is the release, and the bisection
of that factor besides: who asks for more never gets fewer outputs. Its best event is tested
against the lines that the claim implies; a search does not know pair and event, and takes so
many times the outputs, as measured (``benchmarks/detection.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from dpcp_audit.audits.guessing.game import tangents_of
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.stats.roots import turn_by_factor
from dpcp_audit.words.evidence import LEAST_LOSS, noise_factor, violation_by
from dpcp_audit.words.formatting import number
from dpcp_audit.words.guarantees import GaussianDP
from dpcp_audit.words.results import Power

if TYPE_CHECKING:
    from dpcp_audit.audits.guessing.guesser import Tangent
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import FloatArray

_DETECTION = 0.95
_SEARCHED_RESPONSE, _SEARCHED_LAPLACE = 4.0, 12.0
_SEARCHED_GAUSSIAN, _SEARCHED_BISECTION = 6.0, 10.0
_SEARCHED_NUMBERS, _GIVEN = 6.0, 2.5
"""Outputs that a search takes for each one that the best event of the worst pair would; the last
of a pair that is given."""
_FEWEST_CALLS = 1_500
"""Outputs below which no search was seen to find every twin."""
_LAST_STAGE = 0.45
"""The share of the significance that the last stage of a search has, at least."""
_COMPARED = math.sqrt(2 / math.pi)
"""The part of a Gaussian shift that the bits of comparisons with it show."""
_LEAST_BISECTED = 1.1 / _COMPARED
"""The least factor asked of a bisection, of which it then shows 1.1."""
_LARGEST_FACTOR = 64.0
_ROUNDING = 1e-12
_LARGEST_EPSILON = 500.0
_CUTS = np.linspace(-6.0, 14.0, 401)
"""The half-lines among which a shift's best event is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A reference mechanism of a claim's notion, of which a search is to refute a weaker one.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        The claim.
    inputs : int or None
        The number of values of a randomizer's domain; None for scores, and for numbers.
    of_numbers : bool
        True if one user's number between two bounds is searched.
    given : bool
        True if its worst pair is given, so that only the event is searched.
    detect : float
        The factor f > 1 of interest, by which the twin is chosen.

    Examples
    --------
    >>> from dpcp_audit.words.guarantees import PureDP
    >>> twin = Twin(guarantee=PureDP(1.0))
    >>> round(twin.calls(2.0, significance=1e-6)) < round(twin.calls(1.2, significance=1e-6))
    True
    >>> twin.power(40_000, significance=1e-4).factor < 1.5
    True
    """

    guarantee: PrivacyGuarantee
    inputs: int | None = None
    of_numbers: bool = False
    given: bool = False
    detect: float = 2.0

    def calls(self, factor: float, *, significance: float) -> float:
        """Return the outputs with which noise of 1/factor is refuted with probability 0.95.

        Infinity where no number of them suffices.
        """
        needed = _calls(self, factor, significance, bisecting=self.bisects)
        if self.of_scores and not self.bisects:
            bisected = max(factor, _LEAST_BISECTED)
            needed = max(needed, _calls(self, bisected, significance, bisecting=True))
        return needed

    def power(self, calls: int, *, significance: float) -> Power:
        """Return the smallest loss of a twin that a search with so many outputs refutes."""
        smallest = self._smallest_factor(calls, significance)
        loss = loss_of(self.guarantee)
        claimed = loss.claimed
        able = math.isfinite(smallest)
        return Power(
            quantity=loss.quantity,
            smallest=violation_by(smallest, loss.quantity, claimed) if able else math.inf,
            claimed=claimed,
            at=loss.at,
            detail=self._words(smallest),
        )

    def calls_for(self, violation: float, *, significance: float) -> float:
        """Return the outputs that refute a twin with a loss of ``violation``, likewise."""
        loss = loss_of(self.guarantee)
        factor = noise_factor(violation, loss.quantity, loss.claimed)
        return self.calls(factor, significance=significance)

    @property
    def of_scores(self) -> bool:
        """True if scores are searched for Gaussian noise, which a bisection shows the least of."""
        return self.inputs is None and not self.of_numbers and not self._linear

    @property
    def bisects(self) -> bool:
        """True if the twin is a bisection alone, which compares scores with its noise."""
        return self.of_scores and self.detect >= _LEAST_BISECTED

    def searched(self, *, bisecting: bool) -> float:
        """Return how many times the outputs a search takes, as measured."""
        if self.given:
            return _GIVEN
        if self.of_numbers:
            return _SEARCHED_NUMBERS
        if self._linear:
            return _SEARCHED_LAPLACE if self.inputs is None else _SEARCHED_RESPONSE
        return _SEARCHED_BISECTION if bisecting else _SEARCHED_GAUSSIAN

    def rates(self, factor: float, *, bisecting: bool) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities of its likeliest events on one input and on its neighbour."""
        loss = loss_of(self.guarantee)
        if self._linear:
            epsilon = factor * (loss.claimed or LEAST_LOSS)
            if self.inputs is None:
                return _laplace_rates(epsilon)
            return _response_rates(epsilon, self.inputs)
        seen = _COMPARED if bisecting else 1.0
        shift = factor * (loss.to_shift(loss.claimed) or LEAST_LOSS) * seen
        return ndtr(shift - _CUTS), ndtr(-_CUTS)

    @property
    def _linear(self) -> bool:
        return loss_of(self.guarantee).linear is not None

    def _smallest_factor(self, calls: int, significance: float) -> float:
        def able(factor: float) -> bool:
            return self.calls(factor, significance=significance) <= calls

        if not able(_LARGEST_FACTOR):
            return math.inf
        return turn_by_factor(able, 1.0, _LARGEST_FACTOR, ratio=1.0001).holds

    def _words(self, factor: float) -> str:
        part = f" with {number(1 / factor, digits=2)} of its noise" if math.isfinite(factor) else ""
        if not self._linear:
            bisected = self.bisects or (self.of_scores and factor >= _LEAST_BISECTED)
            return f"of a {'noisy bisection' if bisected else 'Gaussian release'}{part}"
        if self.inputs is None:
            return f"of a Laplace mechanism{part}"
        return f"of randomised response over {self.inputs} values"


@lru_cache(maxsize=4096)
def _calls(twin: Twin, factor: float, significance: float, *, bisecting: bool) -> float:
    levels = float(-ndtri(_LAST_STAGE * significance)), float(ndtri(_DETECTION))
    rates = twin.rates(factor, bisecting=bisecting)
    by_event = _by_event(twin.guarantee, rates, levels)
    by_moment = _by_moment(twin, rates, levels)
    return max(_FEWEST_CALLS, twin.searched(bisecting=bisecting) * min(by_event, by_moment))


def _by_event(
    guarantee: PrivacyGuarantee, rates: tuple[FloatArray, FloatArray], levels: tuple[float, float]
) -> float:
    needed = [_for_tangent(tangent, rates, levels) for tangent in tangents_of(guarantee)]
    return min(needed, default=math.inf)


def _by_moment(
    twin: Twin, rates: tuple[FloatArray, FloatArray], levels: tuple[float, float]
) -> float:
    """Return the outputs with which moments show a Gaussian release beyond its divergences.

    They show about what events show against the Gaussian claim of the same noise, but for what
    the tails take: more, as was measured, the larger the divergence D that is allowed, by
    e^(D/2), and the farther an order α looks out, by e^((α−1)²μ²/2).
    """
    loss = loss_of(twin.guarantee)
    if not loss.renyi:
        return math.inf
    shift = loss.to_shift(loss.claimed)
    tilt = (loss.at.get("alpha", 1.0) - 1) * shift
    tails = math.exp(min(tilt**2 / 2 + loss.claimed / 2, _LARGEST_EPSILON))
    by_event = _by_event(GaussianDP(shift or LEAST_LOSS), rates, levels)
    return by_event * tails


def _for_tangent(
    tangent: Tangent, rates: tuple[FloatArray, FloatArray], levels: tuple[float, float]
) -> float:
    """Return the outputs of both inputs that show an event above a line, p > e^ε·q + δ.

    In the normal approximation, with the variance of a claim that just holds in front.
    """
    slope, delta = math.exp(tangent.epsilon), max(0.0, tangent.delta)
    p, q = rates
    excess = p - slope * q - delta
    least = (p + q - delta) / (1 + slope)
    shown = (excess > _ROUNDING) & (least >= 0)
    p, q, excess, least = p[shown], q[shown], excess[shown], least[shown]
    if not excess.size:
        return math.inf
    held = np.sqrt(p + q - least + slope**2 * least)
    true = np.sqrt(p + slope**2 * q)
    spread = levels[0] * held + levels[1] * true
    return float((2 * (spread / excess) ** 2).min())


def _laplace_rates(epsilon: float) -> tuple[FloatArray, FloatArray]:
    return _laplace_tail(_CUTS - epsilon), _laplace_tail(_CUTS)


def _laplace_tail(cuts: FloatArray) -> FloatArray:
    tail = np.exp(-np.abs(cuts)) / 2
    return np.where(cuts > 0, tail, 1 - tail)


def _response_rates(epsilon: float, inputs: int) -> tuple[FloatArray, FloatArray]:
    """Return the rates of an input's own report, and of all but the other's."""
    other = 1 / (math.exp(min(epsilon, _LARGEST_EPSILON)) + inputs - 1)
    own = 1 - (inputs - 1) * other
    return np.array([own, 1 - other]), np.array([other, 1 - own])
