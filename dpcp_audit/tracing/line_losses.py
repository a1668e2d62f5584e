"""What the lines that draw spend of the loss."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.results import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.tracing.path_losses import DrawLoss, PathLoss
    from dpcp_audit.tracing.trace_errors import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class LineLoss:
    """What a line of the target spends.

    Parameters
    ----------
    location : SourceLocation
        The line that draws.
    draws : float
        Observed draws a run, on average.
    law : str
        As the generator's method is called.
    scale : float
        The smallest noise scale, in the unit of the noisy number; NaN where it is not known.
    sensitivity : float
        The largest difference of that number between the inputs; NaN where it is not known.
    mean_loss : float
        Its loss a run, on average over the inputs' own paths: the larger of the two directions.
    largest_loss : float
        The largest loss of one of its draws.
    share : float
        Its part of the mean loss of all lines: of what was observed, not of what a claim counts.
    joined : bool
        Whether its draws were compared with each other.
    """

    location: SourceLocation
    draws: float
    law: str
    scale: float
    sensitivity: float
    mean_loss: float
    largest_loss: float
    share: float
    joined: bool = False


def line_losses(paths: Sequence[Sequence[PathLoss]]) -> tuple[LineLoss, ...]:
    """Return what each line that draws spends, the largest first."""
    means = [_means(direction) for direction in paths]
    parts: dict[tuple[Line, str], list[DrawLoss]] = defaultdict(list)
    followed = 0
    for path in (path for direction in paths for path in direction):
        followed += path.divergence is None
        for part in path.draws:
            parts[part.line, part.name].append(part)
    largest = {key: max(each.get(key, 0.0) for each in means) for key in parts}
    total = math.fsum(value for value in largest.values() if math.isfinite(value))
    found = [
        _line(key, listed, largest[key], total=total, paths=followed)
        for key, listed in parts.items()
    ]
    return tuple(sorted(found, key=lambda line: -line.mean_loss))


def _means(paths: Sequence[PathLoss]) -> dict[tuple[Line, str], float]:
    sums: dict[tuple[Line, str], float] = defaultdict(float)
    followed = [path for path in paths if path.divergence is None]
    for part in (part for path in followed for part in path.draws):
        sums[part.line, part.name] += part.loss / len(followed)
    return sums


def _line(
    key: tuple[Line, str], parts: Sequence[DrawLoss], mean: float, *, total: float, paths: int
) -> LineLoss:
    scales = [part.scale for part in parts if not math.isnan(part.scale)]
    moves = [part.sensitivity for part in parts if not math.isnan(part.sensitivity)]
    return LineLoss(
        location=SourceLocation.of(*key[0]),
        draws=len(parts) / paths,
        law=key[1],
        scale=min(scales, default=math.nan),
        sensitivity=max(moves, default=math.nan),
        mean_loss=mean,
        largest_loss=max(part.loss for part in parts),
        share=mean / total if total > 0 and math.isfinite(mean) else 0.0,
        joined=any(part.law is not None and math.isnan(part.scale) for part in parts),
    )
