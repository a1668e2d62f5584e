"""``dpcp_audit.explore`` and ranges on the command line: one table, frame, figure, document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import dpcp_audit as dp
from dpcp_audit.faces.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ["theorem", "ldpcp-4", "--n=100..1000", "--epsilon=1,2", "--k=10"]


def test_the_two_faces_print_the_same_table(capsys: pytest.CaptureFixture[str]) -> None:
    found = dp.explore("ldpcp-4", n=[100, 200, 500, 1000], epsilon="1,2", k=10)
    assert main(WORDS) == 0
    out = capsys.readouterr().out
    assert out == repr(found)
    assert out.startswith("LDP-CP, Theorem 4: α = 0.1, δ = 0.05, k = 10, T = 10\n")
    head, first = out.splitlines()[1:3]
    assert head.split() == [
        *("epsilon", "n", "1−α−Δ_S", "exceeded", "slack"),
        *("not", "vacuous", "from", "n"),
    ]
    assert first.split()[:3] == ["1", "100", "vacuous"]
    assert max(map(len, out.splitlines())) <= 80


def test_frame_document_and_table_hold_the_same_numbers() -> None:
    found = dp.explore("ldpcp-4", n=[100, 1000], scores="uniform")
    frame = found.to_frame()
    cells = json.loads(json.dumps(found.document))["cells"]
    assert list(frame["slack"]) == [each["slack"] for each in cells]
    assert list(frame["n"]) == [100, 1000]
    assert found.document["fixed"]["epsilon"] == 2.0
    assert "<pre>" in found._repr_html_()


@pytest.mark.statistical(false_alarm=0)
def test_a_cell_that_is_sampled_does_not_depend_on_the_grid() -> None:
    alone = dp.explore("ldpcp-3", k=3, n=300, epsilon=1, seed=5).cells[0]
    within = dp.explore("ldpcp-3", k=[2, 3], n=300, epsilon=1, seed=5).cells[1]
    assert alone.reached == within.reached
    assert alone.reached.sampled


def test_the_heat_map_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "slack.svg"
    assert main([*WORDS, "--figure", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    assert "ε = 2" in text
    assert ">1000<" in text
    found = dp.explore("ldpcp-4", n=[100, 1000])
    assert found.plot().get_xlabel() == "n; coverage exceeded with probability 1−δ, less promised"
    assert found.figure().series[0].texts[0] == "0.57"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([*WORDS, "--report", "json=x.json"], "--report applies to one case"),
        ([*WORDS, "--profile", "smoke"], "--profile applies to one case"),
    ],
)
def test_mistakes_are_named(words: list[str], told: str, capsys) -> None:
    assert main(words) == 2
    assert told in capsys.readouterr().err


@pytest.mark.statistical(false_alarm=1e-8)
def test_theorem_3_takes_k_without_data() -> None:
    """True there, and refuted with probability at most 1e-8."""
    result = dp.theorem(
        "ldpcp-3", k=10, n=5000, epsilon=2, delta=0.1, profile="smoke", false_alarm=1e-8
    )
    assert result.verdict is not dp.Verdict.REFUTED
    assert result[0].id.startswith("theorem.ldpcp-3[scores=even(10),n=5000")
    assert result.document["options"]["case"]["k"] == 10
    assert result.replay()


@pytest.mark.parametrize("word", ["1e3", "1000"])
def test_whole_numbers_may_be_written_with_powers_of_ten(word: str, capsys) -> None:
    case = ["--scores", "uniform", "--epsilon=2", "--delta=0.1"]
    assert main(["theorem", "ldpcp-4", f"--n={word}", *case, "--jobs", "1e0"]) == 0
    assert "n = 1000" in capsys.readouterr().out
