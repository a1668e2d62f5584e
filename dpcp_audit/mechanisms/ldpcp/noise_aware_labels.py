"""NACP's own search: noise-aware calibration as its authors' public code runs it.

LDP-CP-L takes Noise-Aware Conformal Prediction (Penso, Goldberger and Fetaya 2025) for the k-RR of
users' labels, and prints for it a search with a window (Algorithm 2). The public code of NACP
(``nacp_HPS.py``, ``nacp_APS.py``, ``nacp_RAPS.py`` of cobypenso/Noise-Aware-Conformal-Prediction on
GitHub) has none: it halves [1/2, 1] until the interval is no longer than 5·10⁻⁵, which takes 14
rounds, and returns, of the midpoints with F̂c above 1−α, the one with the least F̂c, or 1.

**Coverage.** What is returned has F̂c above 1−α, or is 1, which covers all. Theorem 1, which speaks
of any such q, then gives 1−α−Δ_L with probability 1−δ for every law of the scores, admissible or
not, and for every number of rounds. Where less than 1/2 would do, q̂ is larger than need be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.mechanisms.ldpcp.label_calibration import LDPCPLabels
from dpcp_audit.mechanisms.ldpcp.window import SearchResult, asked_places
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseAwareLabels(LDPCPLabels):
    """LDP-CP-L with the search of NACP's public code in the place of Algorithm 2's.

    Parameters
    ----------
    alpha, epsilon, k
        As in ``LDPCPLabels``.
    window_width : float
        Δ, by which a starred calibration aims higher; nothing stops the search before its end.
    rounds : int
        The number of halvings, 14 in the public code.
    lowest : float
        Where the interval begins, in [0, 1); 1/2 in the public code.
    """

    rounds: int = 14
    lowest: float = 0.5

    def __post_init__(self) -> None:
        LDPCPLabels.__post_init__(self)
        _validate.number(lowest=self.lowest)
        if not 0 <= self.lowest < 1:
            raise ValueError(f"lowest must lie in [0, 1), got {self.lowest!r}")

    def search(
        self, estimate: Callable[[int, FloatArray, IntArray], FloatArray], *, runs: int
    ) -> SearchResult:
        """Halve the interval in ``runs`` runs side by side; missed is where no F̂c was above."""
        target, _ = self.limits
        low, high = np.full(runs, self.lowest), np.ones(runs)
        point, least = np.ones(runs), np.full(runs, np.inf)
        everyone = np.arange(runs)
        for j in range(self.rounds):
            middle = (low + high) / 2
            z = estimate(j, middle, everyone)
            above = z > target
            nearer = above & (z < least)
            point[nearer], least[nearer] = middle[nearer], z[nearer]
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return SearchResult(point, np.isinf(least))

    def open_places(self, points: FloatArray, lowest: FloatArray, highest: FloatArray) -> BoolArray:
        """Return at which points the search may ask for an estimate that may be above 1−α.

        These are compared with each other as well, so that their sides alone are not enough.
        """
        target, _ = self.limits
        above = highest > target
        return above & asked_places(
            points, lowest <= target, above, start=self.lowest, rounds=self.rounds
        )
