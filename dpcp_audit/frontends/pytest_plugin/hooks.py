"""The pytest plugin: the fixture ``dp_audit``, its options, and what a session says at its end.

All audits of a session share one false-alarm probability. Each of the N collected tests that
name the fixture has a share of 1/N of it, whether or not it is deselected afterwards; all
workers of pytest-xdist collect the same tests, so that they agree on N. Of a test's share a
tenth is kept for the comparison with a baseline, and the j-th audit has 1/(j(j+1)) of the rest.

This module is loaded by every pytest session: it imports nothing but pytest, the standard
library and the names of the report formats, and has no hook that runs once a test.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from dpcp_audit.reports.formats import menu

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from _pytest.terminal import TerminalReporter

    from dpcp_audit.frontends.pytest_plugin.fixture import Audited, DPAudit

FALSE_ALARM, SEED, DRAWS = 1e-4, 0, 20_000
_LEAST_PROBABILITY = 1e-90  # a share of it must stay above runs' least one
_FINISHED = {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED}
_NODE_OUTPUT = "dp_audit"
_COLLECTED = pytest.StashKey[str]()


class InconclusiveAuditWarning(pytest.PytestWarning):
    """An audit had too few draws to refute anything: its test could not have failed."""


@dataclass(slots=True, kw_only=True)
class AuditSession:
    """The settings of a session's audits, and what they have found so far.

    Parameters
    ----------
    draws : int
        Calls of the target for each audit, where a test does not say.
    forced_draws : int or None
        Those of the command line, whatever a test says.
    reports : tuple of str
        FORMAT=PATH.
    tests : int
        The number N of collected tests that name the fixture.
    audited : dict
        What was audited here, by its id; a test that is run again replaces what it found.
    received : list of dict
        What the workers of pytest-xdist found.
    complete : bool
        Whether nothing is missing.
    failed : bool
        Whether something got worse than in the baseline, or a report could not be written.
    lines : list of str
        What the session says at its end.
    """

    false_alarm: float
    seed: int
    draws: int
    forced_draws: int | None
    strict: bool
    reports: tuple[str, ...]
    baseline: Path | None
    tests: int = 0
    audited: dict[str, Audited] = field(default_factory=dict)
    received: list[dict[str, Any]] = field(default_factory=list)
    complete: bool = True
    failed: bool = False
    lines: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """One test's share of the false-alarm probability."""
        return self.false_alarm / max(1, self.tests)

    @property
    def compares(self) -> bool:
        """Whether what is found is kept for, or held against, another session."""
        return self.baseline is not None or bool(self.reports)


_SESSION = pytest.StashKey[AuditSession]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and the settings of the configuration file."""
    group = parser.getgroup("dp-audit", "statistical audits of differential privacy")
    for name, metavar, kind, words in (
        (
            "false-alarm",
            "P",
            _probability,
            (
                "probability that the session fails any correct mechanism, all its tests together "
                f"(default: {FALSE_ALARM:g})"
            ),
        ),
        ("seed", "N", _whole(0), f"seed of every audit's random streams (default: {SEED})"),
        (
            "draws",
            "N",
            _whole(1),
            (
                "calls of the target for each audit, whatever the tests say (in the configuration "
                f"file: where they do not say; default: {DRAWS})"
            ),
        ),
    ):
        group.addoption(f"--dp-audit-{name}", type=kind, default=None, metavar=metavar, help=words)
        parser.addini(f"dp_audit_{name.replace('-', '_')}", f"as --dp-audit-{name}", default=None)
    group.addoption(
        "--dp-audit-strict",
        action="store_true",
        default=None,
        help="an inconclusive audit fails its test; without, it warns",
    )
    parser.addini("dp_audit_strict", "as --dp-audit-strict", type="bool", default=False)
    group.addoption(
        "--dp-audit-report",
        action="append",
        default=[],
        metavar="FORMAT=PATH",
        help=f"write a report of the session's audits: {menu()}; repeatable",
    )
    group.addoption(
        "--dp-audit-baseline",
        default=None,
        metavar="FILE",
        help="fail the session where a loss or a coverage got significantly worse than in the "
        "session that wrote this file by --dp-audit-report json=FILE",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the options; what cannot be used is refused here."""
    false_alarm = _setting(config, "false_alarm", _probability)
    seed = _setting(config, "seed", _whole(0))
    draws = _setting(config, "draws", _whole(1))
    baseline = config.getoption("dp_audit_baseline")
    session = AuditSession(
        false_alarm=FALSE_ALARM if false_alarm is None else false_alarm,
        seed=SEED if seed is None else seed,
        draws=DRAWS if draws is None else draws,
        forced_draws=config.getoption("dp_audit_draws"),
        strict=bool(config.getoption("dp_audit_strict") or config.getini("dp_audit_strict")),
        reports=tuple(config.getoption("dp_audit_report") or ()),
        baseline=None if baseline is None else config.invocation_params.dir / baseline,
    )
    config.stash[_SESSION] = session
    if session.baseline is not None:
        config.option.dp_audit_baseline = str(session.baseline)  # as workers are to read it
    if session.compares and not _is_worker(config):
        from dpcp_audit.frontends.pytest_plugin.session import require_files  # noqa: PLC0415  (heavy)

        require_files(session)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count the tests that name the fixture, before any are deselected."""
    named = [item for item in items if "dp_audit" in getattr(item, "fixturenames", ())]
    config.stash[_SESSION].tests = len(named)
    for item in named:
        item.stash[_COLLECTED] = item.nodeid


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> DPAudit:
    """Audits of differential privacy and of coverage: ``private``, ``local`` and ``covers``.

    Each takes a function and what it claims, and fails the test where the claim is refuted.
    """
    from dpcp_audit.frontends.pytest_plugin.fixture import DPAudit  # noqa: PLC0415  (heavy)

    item: pytest.Item = request.node
    nodeid = item.stash.get(_COLLECTED, None)
    if nodeid is None:
        pytest.fail(
            "dp_audit must be an argument of the test or of one of its fixtures: the session's "
            "false-alarm probability is divided among the tests that name it",
            pytrace=False,
        )
    return DPAudit(session=request.config.stash[_SESSION], nodeid=nodeid, path=item.path)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int | pytest.ExitCode) -> None:
    """Hand what was found to the controller, or gather, compare and report it."""
    found = session.config.stash.get(_SESSION, None)
    if found is None or not (found.audited or found.received or found.compares):
        return
    if session.config.getoption("collectonly"):
        return
    from dpcp_audit.frontends.pytest_plugin import session as plugin_session  # noqa: PLC0415  (heavy)

    stopped = session.shouldstop or session.shouldfail or exitstatus not in _FINISHED
    found.complete &= not stopped
    if _is_worker(session.config):
        output: dict[str, str] = session.config.workeroutput  # type: ignore[attr-defined]
        output[_NODE_OUTPUT] = json.dumps(plugin_session.as_data(found))
        return
    plugin_session.conclude(found)
    if found.failed and exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take what a worker of pytest-xdist found; of one that died, nothing comes."""
    found = node.config.stash[_SESSION]
    output = getattr(node, "workeroutput", {}).get(_NODE_OUTPUT)
    if output is not None:
        found.received.append(json.loads(output))
    elif error:
        found.complete = False


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """Say how much was audited, at which budget, with which power, and what got worse."""
    lines = config.stash[_SESSION].lines
    if lines:
        terminalreporter.section("dp-audit")
        for line in lines:
            terminalreporter.write_line(line)


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _setting(config: pytest.Config, name: str, parse: Callable[[str], Any]) -> Any:
    """Return the option where given, else what the configuration file says, else None."""
    option = config.getoption(f"dp_audit_{name}")
    if option is not None:
        return option
    written = config.getini(f"dp_audit_{name}")
    if not written:
        return None
    try:
        return parse(str(written))
    except argparse.ArgumentTypeError as error:
        raise pytest.UsageError(f"dp_audit_{name} {error}") from None


def _probability(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not _LEAST_PROBABILITY <= value < 1:
        raise argparse.ArgumentTypeError(
            f"must lie in (0, 1), at least {_LEAST_PROBABILITY:g}, got {text!r}"
        )
    return value


def _whole(at_least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = at_least - 1
        if value < at_least:
            raise argparse.ArgumentTypeError(f"must be an integer >= {at_least}, got {text!r}")
        return value

    return parse
