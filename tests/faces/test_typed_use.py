"""Programs of users under mypy and pyright: wrong ones are refused on the very line."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """\
import numpy as np

import dpcp_audit as dp


def f(scores: object, *, rng: np.random.Generator) -> float:
    return float(rng.laplace())


def annotated(dp_audit: dp.DPAudit) -> dp.Outcome:
    return dp_audit.private(f, dp.ZCDP(0.5), n=[50, 500], alpha=0.1, randomness="generator")


result: dp.Result = dp.audit(f, dp.PureDP(1.0), dp.Coverage(0.9), n=20, alpha=0.1, seed=1)
seeded: dp.Result = dp.audit(f, dp.PureDP(1.0), rng=np.random.default_rng(0), budget="5s")
claim: dp.ClaimResult = result["pure_dp"]
finding: dp.Finding = claim.finding
number: dp.Estimate | None = claim.estimate
seen: dp.Power | None = claim.power
trace: dp.Trace = dp.trace(f, [0.0], [1.0], dp.PureDP(1.0), scope="transcript", rng=0)
proof: dp.ProofResult = dp.prove(f, dp.PureDP(1.0), neighbours="add-remove")
losses: dp.LossEstimates = dp.estimate(f, dp.PureDP(1.0), paths=100, draws=2000)
pair = dp.Neighbours(relation="substitution", value=[0.0], neighbour=[1.0])
paired: dp.Result = dp.audit(f, dp.PureDP(1.0), pair=pair, bounds=(0, None))
stated: dp.Result = dp.theorem("ldpcp-4", scores="uniform", n=2000, epsilon=2, delta=0.05)
planned: dp.Power = dp.power("quantile", dp.ZCDP(0.5), draws=20_000)
needed: int = dp.draws_needed(f, dp.ZCDP(0.5), detect=1.2)

dp.audit(f, dp.ZCDP(0.5), alpah=0.1)  # wrong
dp.audit(f, dp.ZCDP(0.5), n="twenty")  # wrong
dp.audit(f, dp.ZCDP(0.5), nonsense=3)  # wrong
dp.audit(f, dp.ZCDP(0.5), kind="quantil")  # wrong
dp.audit(f, dp.ZCDP(0.5), rng="none")  # wrong
dp.audit(f, dp.ZCDP(0.5), bounds=(0, 1, 2))  # wrong
dp.audit(f, 0.5)  # wrong
dp.covers(f, at_least=0.9, tiess=False)  # wrong
dp.check_calibrator(f, at_least="most")  # wrong
dp.trace(f, [0.0], [1.0], scope="all")  # wrong
dp.trace(f, [0.0], [1.0], drawss=3)  # wrong
dp.prove(f, dp.PureDP(1.0), neighbours="none")  # wrong
dp.estimate(f, dp.PureDP(1.0), pathss=100)  # wrong
dp.theorem("ldpcp-4", alhpa=0.1)  # wrong
dp.run("papers", profile="fast")  # wrong
dp.power("quantile", dp.ZCDP(0.5), drawn=3)  # wrong
dp.Neighbours(relation="add_remove", value=0, neighbour=1)  # wrong


def misspelt(dp_audit: dp.DPAudit) -> None:
    dp_audit.private(f, dp.ZCDP(0.5), alpah=0.1)  # wrong
    dp_audit.local(f, dp.LocalDP(2.0), domain="ten")  # wrong
    dp_audit.covers(f, at_least=0.9, confidense=0.9)  # wrong
"""
WRONG = {i for i, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")}


def run(folder: Path, *words: str) -> str:
    """Return what a type checker prints of the program."""
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr or done.stdout
    return done.stdout


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.mark.study  # 16 seconds without mypy's cache; .ci/run has it behind mypy of the package
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_refuses_wrong_uses_and_no_right_ones(program: Path) -> None:
    cache = f"--cache-dir={ROOT / '.mypy_cache'}"  # shared with mypy of the package
    settings = ["--strict", "--config-file=", "--show-error-codes", "--no-error-summary"]
    told = run(program.parent, "mypy", *settings, cache, program.name)
    lines = {int(line.split(":")[1]) for line in told.splitlines() if ": error:" in line}
    assert lines == WRONG, told


@pytest.mark.skipif(find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_refuses_wrong_uses_and_no_right_ones(program: Path) -> None:
    told = run(
        program.parent, "pyright", "--outputjson", f"--pythonpath={sys.executable}", "mine.py"
    )
    found = json.loads(told)["generalDiagnostics"]
    lines = {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}
    assert lines == WRONG, told
