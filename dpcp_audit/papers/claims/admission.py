"""Which standing a theorem of LDP-CP has on given scores: what both suites agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.mechanisms.ldpcp.editions import OnMiss
from dpcp_audit.results import Standing
from dpcp_audit.theorems.admissible import is_admissible

if TYPE_CHECKING:
    from dpcp_audit.data.populations import Population
    from dpcp_audit.theorems.ldpcp_coverage import LabelTheorem, ScoreTheorem


def standing_of(theorem: LabelTheorem | ScoreTheorem, population: Population) -> Standing:
    """Return whose claim Theorem 3 or 4 is on a law of scores.

    Outside of its hypotheses where an interval of length 2^(−T) holds more than Δ of the mass;
    else the paper's, or a reading where a miss does not return what is printed.
    """
    width = theorem.mechanism.window_width
    if not is_admissible(population, rounds=theorem.rounds, width=width):
        return Standing.OUTSIDE_HYPOTHESIS
    return Standing.PAPER if theorem.on_miss is OnMiss.LAST_MIDPOINT else Standing.READING
