"""``import dpcp_audit`` and ``--help`` leave the heavy libraries alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dpcp_audit

HEAVY = (
    "asyncio",
    "jinja2",
    "joblib",
    "matplotlib",
    "numpy",
    "pandas",
    "scipy.optimize",
    "scipy.stats",
    "sklearn",
    "torch",
    "unittest.mock",
)
COMMANDS = {
    "python -m": "import runpy; runpy.run_module('dpcp_audit', run_name='__main__')",
    "entry point": "from dpcp_audit.faces.cli.main import main; sys.exit(main())",
    "planted": "import scipy.stats",
    "audit": """import numpy as np
    def quantile(scores, *, rng):
        return float(np.quantile(scores, 0.9))
    result = dpcp_audit.audit(quantile, dpcp_audit.ZCDP(0.5), draws=2048)
    assert result.verdict == "REFUTED", result.verdict""",
}
OTHERS = ("dpcp_audit.faces.cli.results_commands", "dpcp_ledger")
TARGET = f"""
import sys
from pathlib import Path

import numpy as np


def quantile(scores, *, rng):
    with Path("loaded").open("a") as file:
        print([name for name in {HEAVY + OTHERS} if name in sys.modules], file=file)
    return float(np.quantile(scores, 0.9))
"""
REPORT = f"""
import sys
import dpcp_audit
sys.argv = ['dpcp-audit', '--help']
try:
    {{command}}
except SystemExit as stop:
    assert not stop.code, stop.code
print('loaded:', *(name for name in {HEAVY} if name in sys.modules))
"""


def heavy_modules(command: str) -> list[str]:
    """Return the heavy modules that a fresh interpreter has loaded after the command."""
    result = subprocess.run(
        [sys.executable, "-c", REPORT.format(command=command)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()[-1].split()[1:]


@pytest.mark.parametrize("name", ["python -m", "entry point"])
def test_nothing_heavy_is_imported(name) -> None:
    assert heavy_modules(COMMANDS[name]) == []


def test_an_audit_needs_few_libraries() -> None:
    """What takes longer to import than a short audit takes is not imported for it."""
    assert heavy_modules(COMMANDS["audit"]) == ["numpy", "scipy.optimize"]


def test_a_command_loads_no_other(tmp_path) -> None:
    """Neither the command line nor its worker loads what only other commands need."""
    (tmp_path / "mine.py").write_text(TARGET)
    words = ["check", "mine.py:quantile", "--kind=quantile", "--zcdp=0.5", "--draws=600"]
    program = f"""
import sys
from dpcp_audit.faces.cli.main import main
sys.argv[1:] = {words}
code = main()
print('loaded:', *(name for name in {HEAVY + OTHERS} if name in sys.modules))
sys.exit(code)"""
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1, result.stderr
    assert result.stdout.splitlines()[-1].split()[1:] == ["numpy"]
    loaded = set((tmp_path / "loaded").read_text().splitlines())
    assert loaded <= {"['numpy']", "['numpy', 'scipy.optimize']"}


PROVED = """
import numpy as np

def quantile(scores, *, rng):
    return float(np.mean(scores <= 0.5) + rng.laplace(scale=2 / len(scores)))
"""
SAMPLING = (
    "asyncio",
    "dpcp_audit.audits.blackbox",
    "dpcp_audit.audits.local",
    "dpcp_audit.theorems.coverage_audit",
    "dpcp_audit.tracing",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
)


def test_a_check_that_the_source_proves_loads_and_announces_no_sampling(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(PROVED)
    words = ["check", "mine.py:quantile", "--kind=quantile", "--pure-dp=1"]
    program = f"""
import sys
from dpcp_audit.faces.cli.main import main
sys.argv[1:] = {words}
code = main()
print('loaded:', *(name for name in {SAMPLING} if name in sys.modules))
sys.exit(code)"""
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "1 proved; nothing was sampled" in result.stdout
    assert result.stdout.splitlines()[-1] == "loaded:"
    assert "planned" not in result.stderr


def test_the_public_names_are_few_and_all_there() -> None:
    assert len(dpcp_audit.__all__) <= 35
    assert dir(dpcp_audit) == sorted(dpcp_audit.__all__)
    assert {*dpcp_audit._HOMES, "__version__"} == set(dpcp_audit.__all__)
    for name in dpcp_audit.__all__:
        assert getattr(dpcp_audit, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dpcp_audit.nothing


PLUGIN = """
import dpcp_audit.faces.pytest_plugin.hooks as hooks, pytest
class Collected:
    def pytest_collection_finish(self):
        loaded.update(name for name in sys.modules)
loaded = set()
code = pytest.main(["-q", "-p", "no:cacheprovider", "test_it.py"], plugins=[Collected()])
assert not code, code
own = sorted(name for name in loaded if name.partition(".")[0] in {"dpcp_audit", "dpcp_ledger"})
print("own:", *own)
print("heavy:", *(name for name in HEAVY if name in loaded))"""
LIGHT = {
    "dpcp_audit",
    "dpcp_audit.faces",
    "dpcp_audit.faces.pytest_plugin",
    "dpcp_audit.faces.pytest_plugin.audit_session",
    "dpcp_audit.faces.pytest_plugin.hooks",
    "dpcp_audit.reports",
    "dpcp_audit.reports.formats",
    "dpcp_audit.words",
    "dpcp_audit.words.errors",
    "dpcp_audit.words.options",
    "dpcp_audit.words.values",
}
"""What declares the plugin's options: the table of a run, and how its values are read."""


def test_the_plugin_loads_nothing_before_its_fixture_is_asked_for(tmp_path) -> None:
    """The test that asks for the fixture is collected; what it needs is imported when it runs."""
    (tmp_path / "test_it.py").write_text(
        "import sys\ndef test_it(dp_audit):\n    assert 'numpy' in sys.modules\n"
    )
    program = f"import sys\nHEAVY = {(*HEAVY, 'pydantic', 'rich')}\n{PLUGIN}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    own, heavy = done.stdout.splitlines()[-2:]
    assert set(own.split()[1:]) == LIGHT
    assert heavy == "heavy:"


def test_hypothesis_is_told_of_types_and_neither_package_loads_the_other() -> None:
    program = """import sys
import dpcp_audit
assert "hypothesis" not in sys.modules
from hypothesis import find, strategies as st
assert "numpy" not in sys.modules
assert find(st.from_type(dpcp_audit.ZCDP), lambda claim: claim.rho > 1).rho > 1
pair = find(st.from_type(dpcp_audit.Neighbours), lambda pair: len(pair.value) > 2)
assert (pair.value != pair.neighbour).sum() == 1"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_heavy_import_is_seen() -> None:
    assert "scipy.stats" in heavy_modules(COMMANDS["planted"])
