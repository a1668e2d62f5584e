"""The settings of a session of pytest, and what its audits found so far.

Every module of the plugin reads it, and it reads none of them; it is light, as every session of
pytest loads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.words.results import Finding, PlainData

COMPARED = 0.1
"""The share of the false-alarm probability that comparisons with a baseline have."""


class InconclusiveAuditWarning(pytest.PytestWarning):
    """An audit had too few draws to refute what is to be detected: its test says little."""


class RepresentationWarning(pytest.PytestWarning):
    """The last bits of a release break the claim that its values keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """The result of one audit.

    Parameters
    ----------
    nodeid : str
        The test's.
    reference : dict or None
        A case that a later session can measure again.
    compared : bool
        True if the case that the baseline holds was measured again.
    worse : str
        The way in which it got worse than in the baseline; "" where it did not.
    """

    nodeid: str
    spec: CheckSpec
    finding: Finding
    replay: str
    reference: PlainData | None = None
    compared: bool = False
    worse: str = ""


@dataclass(slots=True, kw_only=True)
class AuditSession:
    """The settings of a session's audits, and what they have found so far.

    Parameters
    ----------
    draws : int or None
        Calls of the target for each audit, where a test does not say; None plans them.
    detect : float or None
        The violation to detect, where a test does not say.
    forced_draws : int or None
        The draws of the command line, which override those of a test.
    reports : tuple of str
        FORMAT=PATH.
    verbose : bool
        True if a failure says how it was found, too.
    tests : int
        The number N of collected tests that name the fixture.
    audited : dict
        The audits of this process by id; a test that is run again replaces its finding.
    received : list of dict
        The findings of the workers of pytest-xdist.
    complete : bool
        True if nothing is missing.
    failed : bool
        True if a report could not be written.
    lines : list of str
        The lines that the session prints at its end.
    tell : callable
        Prints a line while a test runs; without a terminal reporter, as in a worker of
        pytest-xdist, it does nothing.
    """

    false_alarm: float
    seed: int
    draws: int | None
    detect: float | None
    forced_draws: int | None
    strict: bool
    reports: tuple[str, ...]
    baseline: Path | None
    verbose: bool = False
    tests: int = 0
    audited: dict[str, Audited] = field(default_factory=dict[str, Audited])
    received: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    complete: bool = True
    failed: bool = False
    lines: list[str] = field(default_factory=list[str])
    tell: Callable[[str], object] = str

    @property
    def share(self) -> float:
        """One test's share of the false-alarm probability."""
        return self.false_alarm / max(1, self.tests)

    @property
    def compares(self) -> bool:
        """True if what is found is kept for, or compared with, another session."""
        return self.baseline is not None or bool(self.reports)
