"""A private calibrator that another package brings to the comparison at equal privacy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from dpcp_audit.extensions.claims import validate as _validate

if TYPE_CHECKING:
    import numpy as np

    from dpcp_audit.extensions.claims import FloatArray


class Trust(StrEnum):
    """Whom the people in the calibration data must trust."""

    CURATOR = "curator"
    """Whoever calibrates sees their data; the threshold alone is private."""
    SHUFFLER = "shuffler"
    """Someone who mixes their randomised reports, but need not be shown the data."""
    NOBODY = "nobody"
    """Nobody: what leaves a device is private already."""


class CalibratorFunction(Protocol):
    """A private threshold of scores in [0, 1]."""

    def __call__(
        self,
        scores: FloatArray,
        *,
        alpha: float,
        epsilon: float,
        delta: float,
        rng: np.random.Generator,
    ) -> float:
        """Return a threshold that is (ε, δ)-DP under substitution of one score."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateCalibrator:
    """A private calibrator that another package brings to ``compare-calibrators``.

    Parameters
    ----------
    label : str
        Its name for readers.
    calibrate : callable
        ``calibrate(scores, *, alpha, epsilon, delta, rng)`` returns a threshold, a float in [0, 1],
        of scores of shape (n,) in [0, 1]; (ε, δ)-DP under substitution of one score.
    privacy : str
        How its δ(ε) is known, such as "proved: pure ε".
    promise : str
        What its theory promises about coverage; empty where it promises nothing.
    trust : Trust
        Whom the people in the data must trust.

    Raises
    ------
    ValueError
        Naming the field, with what it got.

    Examples
    --------
    >>> def everything(scores, *, alpha, epsilon, delta, rng):
    ...     return 1.0
    >>> PrivateCalibrator(label="all labels", calibrate=everything, privacy="a constant").trust
    <Trust.CURATOR: 'curator'>
    """

    label: str
    calibrate: CalibratorFunction
    privacy: str
    promise: str = ""
    trust: Trust = Trust.CURATOR

    def __post_init__(self) -> None:
        _validate.instance(str, label=self.label, privacy=self.privacy, promise=self.promise)
        _validate.choice(Trust, trust=self.trust)
        if not self.label:
            raise ValueError("label must not be empty")
        if not callable(self.calibrate):
            raise ValueError(  # noqa: TRY004  (as for every other argument)
                f"calibrate must be a function, got {self.calibrate!r}"
            )
