"""A private threshold by the mechanism that suits a guarantee and a number of scores best."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcp_audit.mechanisms.calibrators import calibrators
from dpcp_audit.mechanisms.conformal import conformal_rank
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from dpcp_audit.mechanisms.calibrators import ProvedCalibrator
    from dpcp_audit.words.guarantees import Coverage, PrivacyGuarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateThreshold:
    """A private threshold, and what is proved of it.

    Parameters
    ----------
    threshold : float
        A label belongs to the set where its score is at most this.
    guarantee : PrivacyGuarantee
        The guarantee proved for the threshold, under substitution of one score; ``LocalDP`` is the
        guarantee of each score's report.
    coverage : Coverage
        ``at_least`` is the coverage that is proved; with a ``confidence`` below 1 it holds for that
        share of calibrations on i.i.d. scores, else on average over calibrations.
    calibrator : ProvedCalibrator
        The mechanism that was chosen.
    every_label : bool
        True if the threshold is the upper bound whatever the scores are: every set holds every
        label, because n is too small for the noise.
    reason : str
        Why it was chosen, in a sentence.
    """

    threshold: float
    guarantee: PrivacyGuarantee
    coverage: Coverage
    calibrator: ProvedCalibrator
    every_label: bool
    reason: str


def calibrate(
    scores: ArrayLike,
    *,
    alpha: float,
    guarantee: PrivacyGuarantee,
    confidence: float = 1.0,
    bounds: tuple[float, float] = (0.0, 1.0),
    resolution: float = 1e-4,
    rng: np.random.Generator | int | None = None,
) -> PrivateThreshold:
    """Return a private conformal threshold by the mechanism that suits the guarantee and n best.

    The mechanism is chosen by n, alpha, guarantee, confidence, bounds and resolution alone, never
    by the scores: the choice costs no privacy.

    Parameters
    ----------
    scores : array_like, shape (n,)
        Nonconformity scores of the calibration data, within ``bounds``; a large score is strange.
    alpha : float
        Miscoverage level in (0, 1).
    guarantee : PrivacyGuarantee
        The guarantee that the threshold must keep, under substitution of one score: ``dp.PureDP``,
        ``dp.ApproxDP``, ``dp.ZCDP``, ``dp.GaussianDP`` or ``dp.RenyiDP``; or ``dp.LocalDP``, kept
        by each score's report.
    confidence : float
        1 for a coverage of 1−α on average over calibrations, of exchangeable scores; below 1, such
        as 0.99, for that coverage in this share of calibrations, on i.i.d. scores.
    bounds : tuple of float
        The public interval [a, b] that holds every score, test scores too.
    resolution : float
        Δ > 0, in units of scores: how finely the threshold is searched.
    rng : Generator, int or None
        Source of the noise: a Generator, a seed or None. A threshold whose seed is
        known is not private.

    Returns
    -------
    PrivateThreshold
        Threshold, guarantee, coverage, and the reason for the choice.

    Raises
    ------
    ValueError
        Naming the argument; also of a guarantee that no mechanism here keeps.

    Notes
    -----
    The proofs are in ``dpcp_audit.mechanisms.calibrators``. They are of real numbers: noise in
    floating point is outside of them, as of every mechanism here.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcp_audit import ZCDP
    >>> scores = np.random.default_rng(0).random(1000)
    >>> found = calibrate(scores, alpha=0.1, guarantee=ZCDP(0.5), rng=1)
    >>> found.guarantee, found.coverage.at_least
    (ZCDP(rho=0.5), 0.9)
    >>> print(found.reason)
    P-COQS, upper end, was chosen: it aims at rank 907 of 1000 for a coverage of 0.9 under \
ZCDP(rho=0.5) (ExponQ, full budget: 911.1; without privacy: 901). The choice depends on public \
numbers alone.
    """
    _validate.bounds(bounds)
    values = _validate.scores(scores, within=bounds)
    draws = _validate.generator(rng)
    offers = calibrators(
        guarantee,
        n=values.size,
        alpha=alpha,
        confidence=confidence,
        bounds=bounds,
        resolution=resolution,
    )
    best = offers[0]
    return PrivateThreshold(
        threshold=float(best.sample(values, 1, rng=draws)[0]),
        guarantee=best.guarantee,
        coverage=best.coverage,
        calibrator=best,
        every_label=best.every_label,
        reason=_reason(offers, alpha),
    )


def _reason(offers: tuple[ProvedCalibrator, ...], alpha: float) -> str:
    best, *others = offers
    n, level = best.n, f"{float(1 - Fraction(repr(float(alpha)))):g}"
    rest = [f"{each.name}: {_rank(each)}" for each in others]
    compared = "; ".join([*rest, f"without privacy: {conformal_rank(n, alpha=alpha)}"])
    if best.every_label:
        return (
            f"The threshold is the upper bound, whose sets hold every label: under "
            f"{best.guarantee} no mechanism promises a coverage of {level} with {n} scores by less "
            f"(rank aimed at by {best.name}: {_rank(best)}; {compared})."
        )
    return (
        f"{best.name}, was chosen: it aims at rank {_rank(best)} of {n} for a coverage of {level} "
        f"under {best.guarantee} ({compared}). The choice depends on public numbers alone."
    )


def _rank(offer: ProvedCalibrator) -> str:
    return f"more than {offer.n}" if offer.every_label else f"{round(offer.rank, 1):g}"
