"""Without an optional package everything else works, and what needs it says what to install."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from support.absences import run_without

ABSENT = (
    ("torch", "opacus"),
    ("opacus", "jinja2"),
    ("matplotlib", "pandas", "polars"),
    ("distributed", "hypothesis", "statsmodels", "pytest"),
)
"""Packages that are missing at a time: none hides that another is asked for."""
TARGET = """
from importlib.util import find_spec


def mean(data, *, rng):
    found = [name for name in {absent} if find_spec(name) is not None]
    if found:
        raise RuntimeError(f"the worker finds {{found}}")
    return float(sum(data)) + rng.laplace(scale=1.0)
"""
PROGRAM = """
import contextlib, io, json, os, sys
import dpcp_audit as dp
from dpcp_audit.faces.cli.main import main

def called(words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as stop:
            code = stop.code or 0
    return code, out.getvalue(), err.getvalue()

def raised(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return "nothing", "nothing was raised"

found = [called(words.split()) for words in {commands!r}]
needs = [raised(lambda: exec(code)) for code in {needs!r}]
json.dump((found, needs), sys.__stdout__)
"""
WORKING = (
    "--help",
    "list",
    "list --suites",
    "list --suite training",
    "check mine.py:mean --kind vector --pure-dp 1 --n 3 --draws 600",
    "theorem ldpcp-4 --pool digits-logistic --n 200 --epsilon 2 --delta 0.05",
    "run --only pcoqs.epsilon-equivalence --report json=results.json --report junit=results.xml",
)
"""Command lines that need no optional package."""
EXTRA = "{} is not installed\nhint: pip install 'dpcp-audit[{}]'"
PAGE = "run --only pcoqs.epsilon-equivalence --report html=page.html"
CLUSTER = "run --only pcoqs.epsilon-equivalence --engine"
RESULT = (
    "few = {'draws': 600, 'trace': False, 'prove': False}; "
    "r = dp.audit(lambda x, *, rng: rng.laplace(), dp.PureDP(1), kind='vector', n=3, **few)"
)
COMMANDS = {
    "distributed": {f"{CLUSTER} dask=tcp://127.0.0.1:1": "distributed"},
    "jinja2": {PAGE: "jinja2"},
    "matplotlib": {PAGE: "matplotlib"},
    "torch": {
        "run --suite training --only dpskin.pipeline?budget?": "PyTorch",
    },
}
"""Command lines that end with exit code 2 and a line that begins with this name."""
CALLS = {
    "hypothesis": {"import dpcp_audit.strategies": "pip install hypothesis"},
    "jinja2": {f"{RESULT}; r.report('page.html')": EXTRA.format("jinja2", "report")},
    "matplotlib": {
        f"{RESULT}; r.report('page.html')": EXTRA.format("matplotlib", "report"),
        f"{RESULT}; r[0].plot()": EXTRA.format("matplotlib", "report"),
    },
    "pandas": {
        f"{RESULT}; r.to_frame()": "to_frame needs pandas: pip install pandas",
        f"{RESULT}; r.to_frame('polars')": "to_frame needs polars: pip install polars",
    },
    "statsmodels": {
        "from dpcp_audit.reports.two_runs import _holm; _holm([0.5])": EXTRA.format(
            "statsmodels", "all"
        )
    },
    "torch": {
        "dp.audit_training(None, None, None, None, epochs=1)": EXTRA.format("PyTorch", "dpsgd")
    },
}
"""Python code, and the error's text."""


def test_without_any_of_them_all_else_works(tmp_path) -> None:
    absent = [name for names in ABSENT for name in names]
    (tmp_path / "mine.py").write_text(TARGET.format(absent=absent))
    done = run_without(*absent, program=PROGRAM.format(commands=WORKING, needs=()), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for words, (code, _, told) in zip(WORKING, json.loads(done.stdout)[0], strict=True):
        assert code == 0, (words, told)
        assert "Error" not in told


@pytest.mark.parametrize("absent", ABSENT, ids=",".join)
def test_what_needs_a_package_says_so(absent, tmp_path) -> None:
    needy = {words: name for each in absent for words, name in COMMANDS.get(each, {}).items()}
    calls = {code: says for each in absent for code, says in CALLS.get(each, {}).items()}
    program = PROGRAM.format(commands=tuple(needy), needs=tuple(calls))
    done = run_without(*absent, program=program, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    commands, errors = json.loads(done.stdout)
    for name, (code, shown, told) in zip(needy.values(), commands, strict=True):
        assert (code, shown) == (2, "")
        assert f" error: {name} is not installed\nhint: pip install 'dpcp-" in told
        assert told.count("\n") == 2
    for message, (_, told) in zip(calls.values(), errors, strict=True):
        assert message in told


def test_a_missing_package_is_seen_by_workers(tmp_path) -> None:
    """The target above can tell: it refuses where the worker finds what it must not."""
    (tmp_path / "mine.py").write_text(TARGET.format(absent=["json"]))
    done = run_without(
        "torch",
        program=PROGRAM.format(commands=(f"{WORKING[4]} --no-trace --no-prove",), needs=()),
        folder=tmp_path,
    )
    ((code, _, told),) = json.loads(done.stdout)[0]
    assert code == 3, told


def test_a_date_that_numpy_refuses_is_one_line(tmp_path) -> None:
    program = PROGRAM.format(commands=(WORKING[0],), needs=())
    done = run_without(program=program, folder=tmp_path, SOURCE_DATE_EPOCH="nope")
    ((code, shown, told),) = json.loads(done.stdout)[0]
    assert (code, shown) == (2, "")
    assert "SOURCE_DATE_EPOCH must be a whole number of seconds, got 'nope'" in told
    assert told.splitlines()[1:] == ["hint: unset it"]


def test_a_backend_that_matplotlib_refuses_is_one_line(tmp_path) -> None:
    program = PROGRAM.format(commands=(PAGE, WORKING[-1]), needs=())
    done = run_without(program=program, folder=tmp_path, MPLBACKEND="nope")
    (code, shown, told), (other, _, _) = json.loads(done.stdout)[0]
    assert (code, shown, other) == (2, "", 0)
    assert "MPLBACKEND must name a backend of matplotlib, got 'nope'" in told
    assert told.splitlines()[1:] == ["hint: unset it, or set it to agg"]


def test_windows_is_refused_in_a_line_and_a_hint() -> None:
    program = "import sys; sys.platform = 'win32'; import dpcp_audit"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    *_, said, hint = done.stderr.splitlines()
    assert said.startswith("ImportError: dpcp-audit runs on Linux and macOS: ")
    assert hint == "hint: run it in the Windows Subsystem for Linux"
