"""What the level study has counted so far, kept in a file so that it can be resumed."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

CHUNK = 50
"""Repetitions of a chunk: what is lost at most where the study is stopped, for each process."""


class Series(NamedTuple):
    """A case, at equality or at twice the loss."""

    name: str
    twice: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyChunk:
    """``count`` repetitions of a series, from ``first`` on; their numbers are their seeds."""

    name: str
    twice: bool
    first: int
    count: int
    refuted: int = 0

    @property
    def series(self) -> Series:
        """What it is a part of."""
        return Series(self.name, self.twice)


class Tally(NamedTuple):
    """How many of a series' repetitions refuted."""

    refuted: int
    repetitions: int


def planned(names: Iterable[str], repetitions: int, detections: int) -> Iterator[StudyChunk]:
    """Yield the chunks of all cases: so many repetitions at equality, so many at twice."""
    for name in names:
        for twice, total in ((False, repetitions), (True, detections)):
            for first in range(0, total, CHUNK):
                count = min(CHUNK, total - first)
                yield StudyChunk(name=name, twice=twice, first=first, count=count)


def kept(path: Path) -> list[StudyChunk]:
    """Return the chunks of a file; a last line that was cut off is left out."""
    if not path.exists():
        return []
    lines = path.read_text("utf-8").split("\n")[:-1]
    return [StudyChunk(**json.loads(line)) for line in lines]


def keep(path: Path, chunk: StudyChunk) -> None:
    """Add a chunk to the file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(chunk)) + "\n")


def missing(chunks: Iterable[StudyChunk], known: Iterable[StudyChunk]) -> list[StudyChunk]:
    """Return the planned chunks that are not among the known ones."""
    done = {(chunk.series, chunk.first, chunk.count) for chunk in known}
    return [chunk for chunk in chunks if (chunk.series, chunk.first, chunk.count) not in done]


def tallies(chunks: Iterable[StudyChunk]) -> dict[Series, Tally]:
    """Return the sums over each series."""
    sums: dict[Series, Tally] = defaultdict(lambda: Tally(0, 0))
    for chunk in chunks:
        refuted, repetitions = sums[chunk.series]
        sums[chunk.series] = Tally(refuted + chunk.refuted, repetitions + chunk.count)
    return dict(sums)
