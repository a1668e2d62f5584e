"""Shrinking of a refuted pair: simpler neighbours that fresh outputs still refute."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit.targets.degenerate import DegenerateTargetError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.audits.search.pair_race import PairRace
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.audits.search.race_stage import Stage

CERTIFICATIONS = 12
_PILOTS = 40
_NEEDED = 1.2
"""How far beyond the critical standard errors a pilot must promise to be worth certifying."""


def shrink(
    race: PairRace,
    stage: Stage,
    certify: Callable[[Candidate, int, float], Stage | None],
    *,
    size: int,
    room: int,
    significance: float,
) -> Stage:
    """Return the stage of the simplest pair that was certified within ``room`` outputs.

    Each of at most 12 certifications has 1/12 of the significance. A pilot, of half as many
    outputs, says which pairs are worth one.

    Parameters
    ----------
    certify : callable
        Judges a pair on so many fresh outputs of each input at a significance; None where it
        is not refuted.
    size : int
        Outputs of each input for a certification.
    """
    share = significance / CERTIFICATIONS
    critical = _NEEDED * math.sqrt(-2 * math.log(share))
    stop = race.bank.spent + room
    left, pilots = CERTIFICATIONS, _PILOTS
    simpler = iter(race.pairs.simpler(stage.candidate))
    while left and pilots and race.bank.spent + 3 * size <= stop:
        candidate = next(simpler, None)
        if candidate is None:
            break
        pilots -= 1
        promise = _promise(race, candidate, max(50, size // 2))
        if not promise * math.sqrt(size) >= critical:
            continue
        left -= 1
        found = certify(candidate, size, share)
        if found is not None:
            stage, simpler = found, iter(race.pairs.simpler(candidate))
    return stage


def _promise(race: PairRace, candidate: Candidate, size: int) -> float:
    """Return what a pilot promises of a pair; −∞ where the target says nothing on it."""
    try:
        race.bank.fill(candidate, size)
    except DegenerateTargetError:
        raise
    except Exception:  # noqa: BLE001  (a target may raise anything)
        return -math.inf
    return race.choose_pair_test(candidate).promise
