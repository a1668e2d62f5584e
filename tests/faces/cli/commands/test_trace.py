"""``dpcp-audit trace``: exit codes, the table of lines, reports, refusals."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest

from dpcp_audit.faces.cli.main import main
from dpcp_audit.reports.witness import tables_of_finding

CODE = """import numpy as np
def mean(scores, *, rng):
    return (scores.sum() + rng.laplace(scale=0.5)) / len(scores)

def leaking(scores, *, rng):
    noisy = scores.sum() + rng.laplace(scale=1.0)
    return noisy, scores.max()

def hidden(scores, *, rng):
    return scores.sum() + np.random.Generator(rng.bit_generator).laplace(), 0.0
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Any:
    (tmp_path / "mine.py").write_text(CODE, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> int:
    settings = ("--kind", "quantile", "--n", "10", "--draws", "600", "--jobs", "1")
    return main(["trace", "mine.py:mean", *settings, *words])


def test_a_refutation_names_the_line(folder, capsys) -> None:
    code = run("--pure-dp", "1", "--report", "json=a.json", "--report", "html=a.html")
    assert code == 1
    shown = capsys.readouterr().out
    assert "Which line spends the privacy loss" in shown
    assert "mine.py:3" in shown
    (finding,) = json.loads((folder / "a.json").read_text("utf-8"))["findings"]
    assert finding["verdict"] == "REFUTED"
    assert finding["traced"]["draws"][0]["location"] == {
        "file": "mine.py",
        "line": 3,
        "text": (folder / "mine.py").read_text("utf-8").splitlines()[2].strip(),
    }
    assert "mine.py:3" in (folder / "a.html").read_text("utf-8")


def columns(table: Any) -> Any:
    return {column["name"]: column["texts"] for column in table["columns"]}


def reported(folder, name) -> Any:
    """Return the tables of a function, by title, of JSON and of SARIF."""
    words = ("trace", f"mine.py:{name}", "--kind", "vector", "--n", "10", "--draws", "600")
    forms = [f"--report={form}=a.{form}" for form in ("json", "sarif", "html")]
    assert main([*words, "--pure-dp", "1", "--jobs", "1", *forms]) in {0, 1}
    (finding,) = json.loads((folder / "a.json").read_text("utf-8"))["findings"]
    (run,) = json.loads((folder / "a.sarif").read_text("utf-8"))["runs"]
    for part in ("tables", "traced"):
        shown = [result["properties"].get(part) or [] for result in run["results"]]
        others = run.get("properties", {}).get(part, {finding["id"]: []})
        assert finding[part] in (shown or [*others.values()])
    tables = tables_of_finding(finding)
    assert all(note in str(tables) for table in finding["tables"] for note in table["notes"])
    page = (folder / "a.html").read_text("utf-8")
    assert all(table["title"] in page for table in tables)
    return {table["title"]: columns(table) for table in tables}


@pytest.mark.known_bad
def test_every_report_holds_what_a_line_spends_and_the_law_of_the_loss(folder) -> None:
    found = reported(folder, "mean")
    lines = found["Which line spends the privacy loss"]
    assert [lines[each] for each in ("line", "law", "noise scale", "share")] == [
        ["mine.py:3"],
        ["laplace"],
        ["0.05"],
        ["100%"],
    ]
    assert lines["realised sensitivity"] == ["0.1"]
    assert {"draws a run", "largest loss of a draw", "mean loss a run"} <= set(lines)
    assert set(found["Loss law of what the noise reveals: δ(ε)"]) == {
        *("ε", "δ(ε)", "lower limit", "upper limit"),
    }


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("name", "title", "line", "says"),
    [
        ("leaking", "Data without noise", "mine.py:7", "in place of"),
        ("hidden", "What cannot be followed", "mine.py:10", "own bits"),
    ],
)
def test_every_report_holds_what_leaks_and_what_is_not_followed(
    folder, name, title, line, says
) -> None:
    found = reported(folder, name)[title]
    assert found["line"] == [line]
    assert says in found["what is seen"][0]


VECTORS = """
import math
import numpy as np
def unary(value, *, rng, epsilon=1.0):
    ones = np.arange(4) == value
    return (rng.random(4) < np.where(ones, 0.5, 1 / (math.exp(epsilon) + 1))).astype(int)
def rappor(value, *, rng, epsilon=1.0):
    return (np.arange(4) == value) ^ (rng.random(4) < 1 / (1 + math.exp(epsilon / 2)))
def hadamard(value, *, rng, epsilon=1.0):
    row = int(rng.integers(4))
    sign = 1 - 2 * ((row & int(value)).bit_count() % 2)
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return [row, sign if rng.random() < keep else -sign]
"""


@pytest.mark.known_bad
@pytest.mark.parametrize("name", ["unary", "rappor", "hadamard"])
def test_vectors_of_bits_have_their_whole_law(folder, name) -> None:
    """Every path of a correct one is enumerated; a broken one is refuted exactly by a check."""
    (folder / "bits.py").write_text(VECTORS, "utf-8")
    for command, epsilon, code in (("trace", 1.0, 0), ("check", 1.5, 1)):
        words = (command, f"bits.py:{name}", "--kind", "local", "--domain", "4", "--jobs", "1")
        given = ("--local-dp", "1.000001", "--option", f"epsilon={epsilon}")
        assert main([*words, *given, "--report", "json=a.json"]) == code
        (finding,) = json.loads((folder / "a.json").read_text("utf-8"))["findings"]
        assert finding["verdict"] == ("REFUTED" if code else "CONSISTENT")
        assert finding["evidence"]["kind"] == "exact"
        assert finding["evidence"]["value"] == pytest.approx(epsilon, abs=1e-8)


@pytest.mark.parametrize(("claimed", "code"), [("1", 1), ("2.0001", 0)])
def test_a_check_has_both_sides_of_the_loss_in_sarif(folder, claimed, code) -> None:
    words = ("check", "mine.py:mean", "--kind", "quantile", "--n", "10", "--draws", "2000")
    given = ("--pure-dp", claimed, "--jobs", "1", "--no-prove")
    reports = ("--report", "json=a.json", "--report", "sarif=a.sarif")
    assert main([*words, *given, *reports]) == code
    (finding,) = json.loads((folder / "a.json").read_text("utf-8"))["findings"]
    (run,) = json.loads((folder / "a.sarif").read_text("utf-8"))["runs"]
    listed = run["results"][0]["properties"] if code else run["properties"]
    found = listed.get("estimates", [])
    (found,) = [found] if code else found.values()
    assert found
    assert found == finding["estimates"]
    assert all({"lower", "upper", "confidence"} <= set(each) for each in found)


def test_a_claim_that_the_noise_pays_for_stands(folder) -> None:
    assert run("--pure-dp", "2.0001", "--scope", "transcript") == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "nothing is claimed"),
        (("--coverage-at-least", "0.9"), "claims no privacy"),
        (("--pure-dp", "1", "--resume", "a.journal"), "--resume is not for traces"),
        (("--pure-dp", "1", "--scope", "all"), "--scope"),
    ],
)
def test_mistakes_are_said(folder, capsys, words, says) -> None:
    with pytest.raises(SystemExit) if "--scope" in words else nullcontext():
        assert run(*words) == 2
    assert says in capsys.readouterr().err
