"""The table of exit codes on the page of the command line says what the commands do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dpcp_audit.faces.cli.main import main
from dpcp_audit.reports.document import dump, load

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "command_line.md"
CODE = """
import math
import numpy as np

def right(scores):
    return np.sort(scores)[math.ceil((len(scores) + 1) * 0.9) - 1]

def wrong(scores):
    return np.sort(scores)[math.ceil(len(scores) * 0.9) - 1]

def count(scores, *, rng):
    return np.count_nonzero(scores <= 0.5) + rng.laplace(scale=1)

def nothing(scores, *, rng):
    raise ValueError("no")
"""
COVERS = "--kind quantile --coverage-at-least 0.9 --n 20"
PRIVATE = "--kind quantile --n 5 --seed 1 --false-alarm 1e-9"
EXAMPLES = {
    ("check", 0): f"check code.py:right {COVERS}",
    ("check", 1): f"check code.py:wrong {COVERS}",
    ("check", 3): f"check code.py:nothing {PRIVATE} --pure-dp 1 --draws 600",
    ("trace", 0): f"trace code.py:count {PRIVATE} --pure-dp 1",
    ("trace", 1): f"trace code.py:count {PRIVATE} --pure-dp 0.5",
    ("trace", 3): f"trace code.py:nothing {PRIVATE} --pure-dp 1",
    ("prove", 0): f"prove code.py:count {PRIVATE} --pure-dp 0.5",
    ("prove", 1): f"prove code.py:count {PRIVATE} --pure-dp 0.5 --strict",
    ("compare", 0): "compare right.json right.json",
    ("compare", 1): "compare right.json wrong.json",
    ("compare", 3): "compare right.json cut.json",
    ("replay", 0): "replay {claim} wrong.json",
    ("replay", 1): "replay {claim} mended.json",
    ("report", 0): "report wrong.json --report markdown=wrong.md",
}


def told() -> dict[tuple[str, int], str]:
    """Return the table's cells by command and exit code; those that never occur left out."""
    rows = re.findall(
        r"^\| (`.*?) \| (.*?) \| (.*?) \| (.*?) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    return {
        (command, code): said
        for names, *cells in rows
        for command in re.findall(r"`(\w+)`", names)
        for code, said in zip((0, 1, 3), cells, strict=True)
        if said != "never"
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("code.py").write_text(CODE, "utf-8")
    for name in ("right", "wrong"):
        main(f"check code.py:{name} --name it {COVERS} -q --report json={name}.json".split())
    right, wrong = load(Path("right.json")), load(Path("wrong.json"))
    Path("cut.json").write_text(dump(right | {"complete": False}), "utf-8")
    (finding,) = right["findings"]
    targets = wrong["targets"]
    Path("mended.json").write_text(dump(right | {"targets": targets}), "utf-8")
    Path("id").write_text(json.dumps(finding["id"]), "utf-8")
    return tmp_path


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=1e-9)
@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_a_command_exits_as_the_table_says(case: tuple[str, int], folder: Path) -> None:
    """A true claim of privacy is refuted with probability 1e-9."""
    claim = json.loads((folder / "id").read_text("utf-8"))
    words = [word.format(claim=claim) for word in EXAMPLES[case].split()]
    assert main(words) == case[1]
    assert case in told() or case[0] == "report"


def test_a_proof_that_stops_and_a_right_one_exit_alike(folder: Path) -> None:
    assert main(f"prove code.py:count {PRIVATE} --pure-dp 1 --strict".split()) == 0
    assert main(["prove", "code.py:count", "--kind", "quantile"]) == 2
    assert ("prove", 3) not in told()
