"""Mistakes that newcomers make with ``dpcp-audit check``: each is told with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.messages import require_line_and_hint

from dpcp_audit.faces import planning
from dpcp_audit.faces.cli.main import main
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.words.errors import IncompleteError

if TYPE_CHECKING:
    from pathlib import Path

MINE = """
import time


class Maker:
    def threshold(self, scores, *, rng):
        return float(rng.random())


maker = Maker()


def calibrate(probabilities, labels, *, rng):
    return float(rng.random())


def bare(scores):
    return 0.5


def wrapped(*args, **kwargs):
    return inner(*args, **kwargs)


def inner(scores, *, rng):
    return float(rng.random())


def takes(scores, **kwargs):
    return kwargs["seed"] % 1000


def colourful(scores, *, rng):
    raise ValueError("\\x1b[31mred\\x07")


def slow(scores, *, rng):
    time.sleep(0.02)
    return float(rng.random())
"""
PURE = ["--pure-dp", "1", "--jobs", "1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["mine.py:Maker.threshold", "--kind", "quantile"], 2, "a method without its object"),
        (
            ["mine.py:calibrate", "--kind", "quantile"],
            2,
            "looks like a calibrator: set kind to calib",
        ),
        (
            ["mine.py:bare", "--kind", "calibrator"],
            2,
            "looks like a quantile: set kind to quantile",
        ),
        (["mine.py:wrapped", "--kind", "quantile"], 3, "randomness generator"),
        (["mine.py:takes", "--kind", "quantile"], 3, "randomness seed"),
        (["mine.py:colourful", "--kind", "quantile"], 3, r"ValueError: \x1b[31mred\x07 (line"),
        (["mine.py:maker", "--kind", "quantile"], 2, "give the function itself, not what it ret"),
        (["mine.py:bare"], 2, "hint: quantile is for f(scores, *, rng) -> float; vector is for"),
        (
            ["mine.py:bare", "--kind", "quantile", "--approx-dp", "1", "0"],
            2,
            "without δ it is Pure",
        ),
        (["mine.py:bare", "--kind", "quantile", "--approx-dp", "1", "1"], 2, "nothing is claimed"),
        (["pack/part.py:f", "--kind", "quantile"], 2, "named as a module is, pack.part:FUNCTION"),
    ],
)
def test_a_mistake_is_told_with_what_to_do(
    arguments: list[str],
    code: int,
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "pack").mkdir()
    (folder / "pack" / "part.py").write_text("from .other import f\n")
    assert main(["check", *arguments, *PURE]) == code
    captured = capsys.readouterr()
    assert not captured.out
    require_line_and_hint(captured.err)
    assert message in captured.err


@pytest.mark.parametrize("style", ["generator", "seed"])
@pytest.mark.usefixtures("folder")
@pytest.mark.statistical(false_alarm=1e-9)
def test_what_the_hint_says_works(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The true claim is refuted with probability 1e-9."""
    target = {"generator": "mine.py:wrapped", "seed": "mine.py:takes"}[style]
    arguments = [target, "--kind", "quantile", "--randomness", style, "--draws", "600"]
    assert main(["check", *arguments, *PURE, "--false-alarm", "1e-9"]) == 0, capsys.readouterr()


@pytest.mark.usefixtures("folder")
@pytest.mark.statistical(false_alarm=1e-9)
def test_a_method_of_an_object_is_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    """The true claim is refuted with probability 1e-9."""
    arguments = ["mine.py:maker.threshold", "--kind", "quantile", "--draws", "600"]
    assert main(["check", *arguments, *PURE, "--false-alarm", "1e-9"]) == 0, capsys.readouterr()


@pytest.mark.usefixtures("folder")
def test_what_is_too_slow_for_its_budget_is_not_begun() -> None:
    """2048 calls of 20 ms take 41 s."""
    data = {"target": "mine.py:slow", "kind": "quantile", "pure-dp": 1, "budget": "1s"}
    with pytest.raises(
        IncompleteError, match=r"^mine.py:slow takes .* a call.*\nhint: .* a budget of \d+m"
    ):
        planning.plan([CheckSpec.from_data(data)])


@pytest.mark.parametrize(("refused", "planned"), [("scores.max() > 0.99", True), ("True", False)])
def test_what_refuses_the_typical_input_is_timed_on_another(
    refused: str, planned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's audit does not time it, and skips inputs that it refuses."""
    monkeypatch.chdir(tmp_path)
    body = f"    if {refused}:\n        raise ValueError\n    return scores.sum() + rng.laplace()\n"
    (tmp_path / "picky.py").write_text(f"def f(scores, *, rng):\n{body}")
    spec = CheckSpec.from_data({"target": "picky.py:f", "kind": "quantile", "pure-dp": 1})
    if planned:
        assert planning.plan([spec])[0].planned
    else:
        with pytest.raises(IncompleteError, match="raised ValueError"):
            planning.plan([spec])


@pytest.mark.parametrize("raised", ["BaseException('boom')", "KeyboardInterrupt"])
@pytest.mark.parametrize("effort", ["--draws=700", "--budget=10m"])
def test_what_is_no_exception_is_told_by_its_name(
    raised: str,
    effort: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(f"def f(scores, *, rng):\n    raise {raised}\n")
    options = ["--kind", "quantile", "--zcdp", "0.5", "--n", "20", effort]
    assert main(["check", "bad.py:f", *options]) == 3
    told = capsys.readouterr()
    assert raised.partition("(")[0] in told.out + told.err
    assert "Traceback" not in told.err
    assert "died" not in told.out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("option", ["--journal", "--log", "--engine"])
def test_what_cannot_be_used_is_refused_before_the_target_is_loaded(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No power is announced of a run that will not be."""
    assert main(["check", "mine.py:bare", "--kind", "quantile", *PURE, option, "."]) == 2
    said, hint = capsys.readouterr().err.splitlines()
    assert said.startswith(f"dpcp-audit check: error: {option}")
    assert hint.startswith("hint: ")


@pytest.mark.usefixtures("folder")
def test_an_interruption_before_the_first_call_says_that_no_report_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(specs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(planning, "plan_unproved", interrupted)
    options = ["--kind", "quantile", *PURE, "--report", "json=r.json"]
    assert main(["check", "mine.py:bare", *options]) == 3
    assert "interrupted before the first call: no report is written" in capsys.readouterr().err
