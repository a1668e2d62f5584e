"""One mutant before its tests, in a fork of a process that has imported what all need."""

from __future__ import annotations

import importlib
import importlib.machinery
import math
import os
import resource
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from mutation_operators import Mutant, mutated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import CodeType

_PRELOADED = (
    "numpy",
    "scipy.special",
    "scipy.stats",
    "scipy.optimize",
    "rich.console",
)
_PATIENCE = 3.0
"""A mutant may take this multiple of what its tests take, and a start, of processor time."""
_START_SECONDS, _UNKNOWN_SECONDS = 20.0, 0.5
_LONGEST, _LONGEST_OF_OTHERS = 6.0, 1.0
"""Seconds: longer tests of the module, or of others that import it, are left out."""
_OPTIONS = ("-q", "-x", "--assert=plain", "-p", "no:cacheprovider")
_GREEN, _BROKEN = 0, frozenset({3, 4, 5})


KILLED, SURVIVED, TIME = "killed by ", "survived", "its time limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A mutant, what the tests take that are known, and whether only the module's own are run."""

    root: Path
    mutant: Mutant
    durations: Mapping[str, float]
    mirrored: bool = False

    @property
    def own(self) -> list[str]:
        """The test files that mirror the module; of one without, those of its folder."""
        path = self.root / self.mutant.path
        folder = self.root / "tests" / path.parent.relative_to(self.root / "dpcp_audit")
        found = {*folder.glob(f"test_{path.stem}.py"), *folder.glob(f"test_{path.stem}_*.py")}
        return sorted(
            each.relative_to(self.root).as_posix() for each in found or folder.glob("test_*.py")
        )

    @property
    def others(self) -> list[str]:
        """The other test files that import the module."""
        if self.mirrored:
            return []
        name = self.mutant.path.removesuffix(".py").replace("/", ".")
        package, _, module = name.rpartition(".")
        wanted = (f"from {name} import", f"import {name}", f"from {package} import {module}")
        found = (
            path.relative_to(self.root).as_posix()
            for path in sorted((self.root / "tests").rglob("test_*.py"))
            if any(each in path.read_text() for each in wanted)
        )
        own = self.own
        return [path for path in found if path not in own]


def green(root: Path, tests: Sequence[str]) -> bool:
    """Return True if tests pass without a mutant."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.chdir(root)
            code = int(pytest.main([*_OPTIONS, *tests]))
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == _GREEN


def preload() -> None:
    """Import what the tests need beside the package itself."""
    for name in _PRELOADED:
        importlib.import_module(name)


def outcome(trial: Trial) -> str:
    """Return "survived", or what the mutant was killed by."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 1
        try:
            code = _tried(trial, writer)
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as file:
        told = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == _GREEN:
        return SURVIVED
    if code in _BROKEN:
        raise RuntimeError(f"pytest ended with {code} for {trial.mutant}: {told}")
    return f"{KILLED}{told or TIME}"


def _tried(trial: Trial, writer: int) -> int:
    """Run the tests in this process, which is the mutant's own."""
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    os.chdir(trial.root)
    path = str(trial.root / trial.mutant.path)
    tree = mutated((trial.root / trial.mutant.path).read_text(), trial.mutant)
    _plant(path, compile(tree, path, "exec", dont_inherit=True))
    sys.argv[:] = ["pytest"]
    order = _Order(trial, writer)
    return int(pytest.main([*_OPTIONS, *order.files], plugins=[order]))


def _plant(path: str, code: CodeType) -> None:
    loader = importlib.machinery.SourceFileLoader
    original = loader.get_code

    def get_code(self: Any, fullname: str) -> CodeType | None:
        return code if self.path == path else original(self, fullname)

    loader.get_code = get_code  # type: ignore[method-assign]


class _Order:
    """Runs the shortest tests first, those of the module before others; tells what failed."""

    def __init__(self, trial: Trial, writer: int) -> None:
        self._durations, self._writer = trial.durations, writer
        self._own = (*trial.own, trial.mutant.path)
        self.files = [*trial.own, *trial.others, trial.mutant.path]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort, drop what is long and not the module's own, and set the time limit."""
        items[:] = [
            item
            for item in items
            if self._seconds(item) < (_LONGEST if self._is_own(item) else _LONGEST_OF_OTHERS)
        ]
        items.sort(key=lambda item: (not self._is_own(item), self._seconds(item)))
        total = sum(map(self._seconds, items))
        most = math.ceil(_START_SECONDS + _PATIENCE * total)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell of a test that fails."""
        if report.failed:
            os.write(self._writer, report.nodeid.encode())

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Tell of a file that cannot be imported."""
        if report.failed:
            os.write(self._writer, report.nodeid.encode())

    def _is_own(self, item: pytest.Item) -> bool:
        return item.nodeid.startswith(self._own)

    def _seconds(self, item: pytest.Item) -> float:
        return self._durations.get(item.nodeid, _UNKNOWN_SECONDS)
