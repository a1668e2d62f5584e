"""The pytest plugin: the fixture ``dp_audit``, its options, and what a session says at its end.

All audits of a session share one false-alarm probability. Each of the N collected tests that
name the fixture has a share of 1/N of it, whether or not it is deselected afterwards; all
workers of pytest-xdist collect the same tests, so that they agree on N. Of a test's share a
tenth is kept for the comparison with a baseline, and the j-th audit has 1/(j(j+1)) of the rest.

This module is loaded by every pytest session: what it imports is light, and it has no hook that
runs once a test. Under pytest-xdist each test's audits travel with its report, so that a worker
that dies takes nothing with it that it had finished.
"""

from __future__ import annotations

import argparse
import json
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from dpcp_audit.faces.pytest_plugin.audit_session import AuditSession
from dpcp_audit.reports.formats import menu
from dpcp_audit.words.errors import HINT
from dpcp_audit.words.options import RUN_OPTIONS, Option, dashed, described, parser_of
from dpcp_audit.words.values import MOST_DRAWS, Positive, Whole

if TYPE_CHECKING:
    from collections.abc import Generator

    from _pytest.terminal import TerminalReporter

    from dpcp_audit.faces.pytest_plugin.fixture import DPAudit


_DEFAULTS: dict[str, Any] = {
    "false_alarm": 1e-4,
    "seed": 0,
    "strict": False,
    "draws": None,
    "detect": None,
}
_DETECT_OPTION = Option(
    name="detect",
    value=Positive(above=1),
    help="detect noise that is too small by this factor, unless a test gives its own; the number "
    "of calls follows from it; a nightly run may take 1.2",
    metavar="FACTOR",
    otherwise="2",
)
_DRAWS_OPTION = Option(
    name="draws",
    value=Whole(at_most=MOST_DRAWS),
    help="calls of the target for each audit; overrides the tests, but in the configuration file "
    "the tests override it",
    metavar="N",
    otherwise="as many as the violation to detect needs",
)
_OPTIONS = (*RUN_OPTIONS, _DETECT_OPTION, _DRAWS_OPTION)
_TRUTH: dict[str, bool] = {
    "1": True,
    "yes": True,
    "true": True,
    "on": True,
    "0": False,
    "no": False,
    "false": False,
    "off": False,
}
_FINISHED = {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED}
_OVER_XDIST = "dp_audit_over_xdist"
"""The name of the plugin that sends, or receives, what workers of pytest-xdist find."""
_COLLECTED = pytest.StashKey[str]()


_SESSION = pytest.StashKey[AuditSession]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and the settings of the configuration file."""
    group = parser.getgroup("dp-audit", "statistical audits of differential privacy")
    for each in _OPTIONS:
        flag = f"--dp-audit-{dashed(each.name)}"
        settings = each.value.arguments(default=False)
        if each.metavar:
            settings = {"type": parser_of(each), "metavar": each.metavar}
        group.addoption(flag, default=None, help=described(each), **settings)
        parser.addini(_key(each), f"as {flag}", default=None)
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
        help="fail the session if a loss or a coverage is significantly worse than in this file, "
        "which an earlier session wrote by --dp-audit-report json=FILE",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the options; what cannot be used is refused here."""
    said = {each.name: _setting(config, each) for each in _OPTIONS}
    settings = _DEFAULTS | {name: value for name, value in said.items() if value is not None}
    baseline = config.getoption("dp_audit_baseline")
    session = AuditSession(
        **settings,
        forced_draws=config.getoption("dp_audit_draws"),
        reports=tuple(config.getoption("dp_audit_report") or ()),
        baseline=None if baseline is None else config.invocation_params.dir / baseline,
        verbose=config.get_verbosity() > 0,
    )
    session.tell = partial(_tell, config)
    config.stash[_SESSION] = session
    if session.baseline is not None:
        config.option.dp_audit_baseline = str(session.baseline)  # as workers are to read it
    if session.compares and not _is_worker(config):
        from dpcp_audit.faces.pytest_plugin.session import require_files  # noqa: PLC0415  (heavy)

        require_files(session)


def _tell(config: pytest.Config, line: str) -> None:
    """Print a line on the terminal while a test runs, whose output is captured."""
    reporter: TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if reporter is None:
        return
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        reporter.ensure_newline()
        reporter.write_line(line)
        reporter.flush()


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
    from dpcp_audit.faces.pytest_plugin.fixture import DPAudit  # noqa: PLC0415  (heavy)

    plugins = request.config.pluginmanager
    if _is_worker(request.config) and not plugins.has_plugin(_OVER_XDIST):
        plugins.register(_Sender(), _OVER_XDIST)
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
    """Gather what was found, and report it."""
    found = session.config.stash.get(_SESSION, None)
    if found is None or not (found.audited or found.received or found.compares):
        return
    if session.config.getoption("collectonly"):
        return
    if _is_worker(session.config):
        return
    from dpcp_audit.faces.pytest_plugin.session import conclude  # noqa: PLC0415  (heavy)

    stopped = session.shouldstop or session.shouldfail or exitstatus not in _FINISHED
    found.complete &= not stopped
    conclude(found)
    if found.failed and exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Take what the workers of pytest-xdist find, test by test."""
    if not node.config.pluginmanager.has_plugin(_OVER_XDIST):
        node.config.pluginmanager.register(_Receiver(node.config.stash[_SESSION]), _OVER_XDIST)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Note that a worker of pytest-xdist died: its last test is missing."""
    if error and not hasattr(node, "workeroutput"):
        node.config.stash[_SESSION].complete = False


class _Receiver:
    """Takes the audits of tests that ran in workers."""

    def __init__(self, session: AuditSession) -> None:
        self._session = session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a worker has attached to the report of a test's end."""
        found: str | None = getattr(report, "dp_audit", None)
        if found is not None:
            self._session.received.append(json.loads(found))


class _Sender:
    """Attaches a test's audits to the report of its end."""

    @staticmethod
    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach them; all that a report holds travels with it."""
        report = yield
        session = item.config.stash[_SESSION]
        audited = {i: each for i, each in session.audited.items() if each.nodeid == item.nodeid}
        if call.when == "teardown" and audited:
            from dpcp_audit.faces.pytest_plugin.session import as_data  # noqa: PLC0415  (heavy)

            report.dp_audit = json.dumps(as_data(replace(session, audited=audited)))  # type: ignore[attr-defined]
        return report


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """Say how much was audited, at which budget, with which power, and what got worse."""
    lines = config.stash[_SESSION].lines
    if lines:
        terminalreporter.section("dp-audit")
        for line in lines:
            terminalreporter.write_line(line)


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _setting(config: pytest.Config, option: Option) -> Any:
    """Return the option where given, else what the configuration file says, else None."""
    found = config.getoption(_key(option))
    if found is not None:
        return found
    written = str(config.getini(_key(option)) or "").strip()
    if not written:
        return None
    if not option.metavar:
        return _truth(written, _key(option))
    try:
        return parser_of(option)(written)
    except argparse.ArgumentTypeError as error:
        raise pytest.UsageError(f"{_key(option)} {error}{HINT}{option.help}") from None


def _truth(written: str, name: str) -> bool:
    try:
        return _TRUTH[written.lower()]
    except KeyError:
        raise pytest.UsageError(
            f"{name} must be true or false, got {written!r}{HINT}correct it in the "
            "configuration file of pytest"
        ) from None


def _key(option: Option) -> str:
    """Return an option's name in pytest's configuration file."""
    return f"dp_audit_{option.name}"
