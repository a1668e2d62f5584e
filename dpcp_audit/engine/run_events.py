"""What happens in a run, as it happens: the runner yields it, whoever listens shows or keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcp_audit.results import Finding, PlainData


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A run is about to check these claims."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckStarted:
    """The first chunk of a check was handed to a worker.

    Parameters
    ----------
    chunks : int
        The number of chunks of the check, with those of an earlier run.
    """

    id: str
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkFinished:
    """One of several chunks of a check came to an end.

    Parameters
    ----------
    index, chunks : int
        Which chunk, of how many.
    data : dict
        Its result, encoded.
    seconds : float
        What it took.
    """

    id: str
    index: int
    chunks: int
    data: PlainData
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinished:
    """A check came to an end.

    Parameters
    ----------
    stopped : bool
        Whether it was not the check that came to an end, but its process, or a limit.
    recorded : bool
        Whether the finding is that of an earlier run, out of its journal.
    """

    finding: Finding
    stopped: bool = False
    recorded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """All checks came to an end; ``findings`` are in the order of the rows."""

    findings: tuple[Finding, ...]
    seconds: float


Event = RunStarted | CheckStarted | ChunkFinished | CheckFinished | RunFinished
