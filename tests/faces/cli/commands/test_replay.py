"""``dpcp-audit replay`` of third-party code: the recorded case, on the code as it is now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dpcp_audit.faces.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

LOUD, MENDED = 0.2, 1.0
CODE = """
def mean(scores, size, *, rng):
    return scores.mean() + rng.laplace(scale={scale} / len(scores), size=size)

def low(scores, *, rng):
    return float(sorted(scores)[int({rank} * len(scores)) - 1])
"""
CHECK = ["--kind", "quantile", "--draws", "20000", "--jobs", "1"]
ALONE = ["--n", "40", "--false-alarm", "1e-9"]


def written(folder: Path, *, scale: float = MENDED, rank: float = 1.0) -> None:
    (folder / "mine.py").write_text(CODE.format(scale=scale, rank=rank))


def replayed(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """Replay the one finding; return the exit code and the lines."""
    (finding,) = json.loads((folder / "r.json").read_text())["findings"]
    capsys.readouterr()
    code = main(["replay", finding["id"], "r.json"])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, captured.out.splitlines()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=2e-9)
def test_mended_code_is_told_from_broken_code_by_the_recorded_pair(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A true claim is refuted with probability 1e-9, in each of two runs."""
    written(folder, scale=LOUD)
    audit = ["check", "mine.py:mean", "--vectorised", "--pure-dp", "1", *CHECK, *ALONE]
    assert main([*audit, "--report", "json=r.json"]) == 1
    code, lines = replayed(folder, capsys)
    assert (code, lines[-1]) == (
        0,
        "reproduced: the recorded case still refutes the claim",
    )
    assert lines[-3].startswith("recorded  REFUTED  ")
    assert lines[-2].startswith("now       REFUTED  ")
    assert "where they differ" in lines[1] or "value[" in lines[1]
    assert max(map(len, lines)) < 420
    written(folder, scale=MENDED)
    code, lines = replayed(folder, capsys)
    assert code == 1
    assert lines[-1].startswith("not reproduced: the current code is not refuted")
    assert not lines[-2].startswith("now       REFUTED")


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=1e-9)
def test_a_law_of_scores_is_replayed_likewise(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The maximum of 40 scores covers 40/41 of a continuous law, where 0.9 is claimed."""
    written(folder, rank=0.5)
    audit = ["check", "mine.py:low", "--coverage-at-least", "0.9", *CHECK, *ALONE]
    assert main([*audit, "--report", "json=r.json"]) == 1
    assert replayed(folder, capsys)[0] == 0
    written(folder, rank=1.0)
    assert replayed(folder, capsys)[0] == 1


def test_code_that_is_gone_or_raises_is_no_verdict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, scale=LOUD)
    audit = ["check", "mine.py:mean", "--vectorised", "--pure-dp", "1", *CHECK, *ALONE]
    assert main([*audit, "--report", "json=r.json"]) == 1
    (folder / "mine.py").write_text("def mean(scores, size, *, rng):\n    raise ValueError('no')\n")
    code, lines = replayed(folder, capsys)
    assert (code, lines[-1]) == (3, "the recorded case could not be tested")
    assert "ValueError: no" in lines[-2]


def test_what_a_file_holds_steers_no_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["run", "--profile", "smoke", "--jobs", "1", "--only", "ldpcp.krr"]
    assert main([*run, "--report", "json=r.json"]) == 0
    document = json.loads((folder / "r.json").read_text())
    (finding,) = document["findings"]
    finding["statement"] = "\x1b[2J\x1b]0;owned\x07 \u202e statement"
    finding["witness"] = {"\x1b[31m": "\x1b[2J"} | {"scores": list(range(200))}
    finding["evidence"]["detail"] = "\x1b[5m"
    (folder / "r.json").write_text(json.dumps(document))
    code, lines = replayed(folder, capsys)
    assert code == 1
    assert all(character.isprintable() for line in lines for character in line)
    assert max(map(len, lines)) < 420
