"""Replays: what the target does, on other data, where it sees what another path saw."""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing.path_runs import PathRun, Question, RevealedDraw
from dpcp_audit.tracing.source_lines import Observation, PathDivergedError, Seen, UnfollowableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.tracing.source_lines import Line


SAME = 1e-12
"""Relative difference, by rounding, up to which two settled numbers are the same."""


class ForcedRun(PathRun):
    """A replay, on other data, of the observations of a path.

    Parameters
    ----------
    transcript : sequence of Observation
        What the program is to see.
    """

    def __init__(self, transcript: Sequence[Observation], *, values: bool = False) -> None:
        super().__init__(values=values)
        self.transcript = transcript
        self.moved: list[tuple[Line, Line]] = []

    def chosen(self, choice: RevealedDraw, line: Line) -> Any:
        """Return what the other path saw."""
        entry = self._next(Seen.CHOICE, (len(self.draws),), line)
        if entry.key[0] != choice.name:
            raise PathDivergedError(f"{choice.name} is drawn in place of {entry.key[0]}", line)
        if choice.key is not None and entry.key != (choice.name, choice.key):
            raise UnfollowableError(f"the parameters of {choice.name} depend on the data", line)
        return entry.result

    def decided(self, asked: Question) -> Any:
        """Return what the other path saw."""
        found = asked.found
        entry = self._next(found.kind, found.draws, found.line)
        result = entry.result
        if found.kind is Seen.SETTLED and not _same(found.offset, float(result), found.scale):
            raise PathDivergedError(
                f"a number that the noise seen so far settles is {found.offset:.6g} "
                f"in place of {float(result):.6g}",
                found.line,
            )
        self.seen.append(found.with_result(result))
        return result

    def _next(self, kind: Seen, draws: tuple[int, ...], line: Line) -> Observation:
        if len(self.seen) >= len(self.transcript):
            raise PathDivergedError("more is observed", line)
        entry = self.transcript[len(self.seen)]
        if entry.kind is not kind or entry.draws != draws:
            raise PathDivergedError(
                f"a {kind} of {len(draws)} draws in place of a {entry.kind} of "
                f"{len(entry.draws)} at line {entry.line[1]}",
                line,
            )
        if entry.line != line:
            self.moved.append((entry.line, line))
        return entry


class ChangedRun(ForcedRun):
    """A replay on the same data that sees other noisy values: what returns them, changes too."""

    @classmethod
    def of(cls, path: PathRun) -> ChangedRun:
        """Return the replay of a path, each value a little larger."""
        changed = [
            each.with_result(_larger(each.result, each.scale)) if each.kind is Seen.VALUE else each
            for each in path.seen
        ]
        return cls(changed, values=path.values)

    def decided(self, asked: Question) -> Any:
        """Return the changed value; what earlier ones settle is what they settle now."""
        if asked.found.kind is not Seen.SETTLED:
            return super().decided(asked)
        self._next(asked.found.kind, asked.found.draws, asked.found.line)
        self.seen.append(asked.found.with_result(asked.found.offset))
        return asked.found.offset


def _larger(value: Any, scale: float) -> Any:
    if isinstance(value, int | np.integer):
        return type(value)(value + 1)
    return value + (1.0 if np.all(np.equal(np.mod(value, 1), 0)) else 1e-3 * (scale or 1.0))


def _same(first: float, second: float, size: float) -> bool:
    """Tell whether numbers agree but for rounding, of what they were computed from too."""
    return first == second or abs(first - second) <= SAME * max(1.0, abs(first), abs(second), size)
