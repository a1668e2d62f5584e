"""``dpcp-audit theorem``: every theorem at parameters of one's own, its figure, its mistakes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.messages import require_line_and_hint

from dpcp_audit.faces.cli.main import main
from dpcp_audit.theorems.catalogue import CATALOGUE, NamedTheorem, named_theorem
from dpcp_audit.theorems.theorem_case import TheoremGrid
from dpcp_audit.words.options import Option, dashed, flag_of
from dpcp_audit.words.values import Choice, Pair

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUICK = ["--profile", "smoke", "--jobs", "1", "--false-alarm", "1e-7"]
BASE = {"ldpcp-4": ["--n", "20000", "--epsilon", "2", "--delta", "0.05"]}
WRONG = ("", "x", "nan", "-1", "inf", "1e400", "9" * 400)
"""Words that no number of a theorem is."""


@pytest.fixture
def pool(tmp_path: Path) -> str:
    """Return a saved pool of 400 users and three classes; a third of its probabilities are tied."""
    rng = np.random.default_rng(3)
    weights = rng.dirichlet((2, 1, 1), size=400)
    weights[::3] = (0.5, 0.25, 0.25)
    labels = np.array([rng.choice(3, p=row) for row in weights])
    path = tmp_path / "mine.npz"
    np.savez(path, probabilities=weights, labels=labels)
    return str(path)


def asked(named: NamedTheorem, **others: Any) -> list[str]:
    """Return the words that ask for a theorem in a small case."""
    given = named.example | {"n": 500} | others
    words = (f"--{dashed(name)}={value}" for name, value in given.items())
    return ["theorem", named.name, *words]


FIRST = {"ldpcp-3", "ldpcp-4-starred", "pcoqs-remark-3", "split-conformal"}
"""In every run of the tests; ``dpcp_audit.theorem`` is tested on the others there."""


@pytest.mark.statistical(false_alarm=1e-7)
@pytest.mark.parametrize(
    "named",
    [
        pytest.param(each, marks=() if each.name in FIRST else pytest.mark.study, id=each.name)
        for each in CATALOGUE
    ],
)
def test_every_theorem_is_tested_on_a_pool(
    named: NamedTheorem, pool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is refuted, where it is true, with probability at most 1e-7."""
    results = tmp_path / "results.json"
    code = main([*asked(named), "--pool", pool, *QUICK, "--report", f"json={results}"])
    document = json.loads(results.read_text(encoding="utf-8"))
    (finding,) = document["findings"]
    assert finding["verdict"] in {"PROVED", "CONSISTENT", "INCONCLUSIVE", "REFUTED", "VACUOUS"}
    assert code == (finding["verdict"] == "REFUTED")
    if finding["standing"] != "outside-hypothesis":
        assert finding["verdict"] != "REFUTED"
    assert finding["id"].startswith(f"theorem.{named.name}[scores=mine,n=500")
    assert document["pools"] == []
    assert document["options"]["case"]["pool"] == pool
    out = capsys.readouterr().out
    assert out.startswith(f"{finding['verdict']}: theorem.{named.name}\n")
    told = [line for line in out.splitlines() if not line.startswith("replay")]
    assert max(map(len, told)) <= 80


@pytest.mark.statistical(false_alarm=0)
def test_scores_that_are_not_admitted_are_said_to_be(capsys, tmp_path) -> None:
    """Half of the mass lies within 2⁻¹⁰ of 1: the bound fails with probability 1."""
    results = tmp_path / "results.json"
    words = [*BASE["ldpcp-4"], "--scores", "beta(5,0.2)", *QUICK, "--report", f"json={results}"]
    assert main(["theorem", "ldpcp-4", *words]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "standing the printed statement outside its hypotheses" in out
    assert "not met here: an interval of length 2^(−10) holds 0.3693 of the scores" in out
    (rounds,) = re.findall(r"T = (\d+) would admit them", out)
    (finding,) = json.loads(results.read_text(encoding="utf-8"))["findings"]
    assert (finding["standing"], finding["expected"]) == ("outside-hypothesis", None)
    assert not finding["contradicts"]
    assert main(["theorem", "ldpcp-4", *words, "--rounds", rounds]) == 0
    assert "standing" not in capsys.readouterr().out


def test_the_law_is_drawn_with_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "law.svg"
    words = [*BASE["ldpcp-4"], "--scores", "uniform", *QUICK, "--figure", str(path)]
    assert main(["theorem", "ldpcp-4", *words]) == 0
    text = path.read_text(encoding="utf-8")
    assert "1−α−Δ = " in text
    assert ">coverage<" in text


@pytest.mark.statistical(false_alarm=1e-7)
def test_a_finding_replays_and_a_run_resumes(pool: str, tmp_path: Path, capsys) -> None:
    """The true bound is refuted with probability at most 1e-7."""
    results, journal = tmp_path / "results.json", tmp_path / "journal.jsonl"
    words = ["theorem", "pcoqs-proposition-1", "--n=500", "--beta=0.1", "--alpha=0.1", "--rho=1"]
    words += ["--pool", pool, *QUICK, "--report", f"json={results}"]
    assert main([*words, "--journal", str(journal)]) == 0
    (replay,) = re.findall(
        r"^replay +dpcp-audit replay '(.+)' ", capsys.readouterr().out, re.MULTILINE
    )
    assert main(["replay", replay, str(results)]) == 0
    first = json.loads(results.read_text(encoding="utf-8"))["findings"][0]
    assert main([*words, "--resume", str(journal)]) == 0
    assert json.loads(results.read_text(encoding="utf-8"))["findings"][0] == first
    assert main([*words, "--rho=2", "--resume", str(journal)]) == 2
    assert "begun with" in capsys.readouterr().err


def mistakes() -> Iterator[tuple[NamedTheorem, Option, list[str]]]:
    """Yield what a parameter cannot be, as words of the command line: each parameter once."""
    seen: set[str] = set()
    for named in CATALOGUE:
        for each in named.parameters:
            if each.name in seen:
                continue
            seen.add(each.name)
            flag = flag_of(each)
            if isinstance(each.value, Choice):
                yield named, each, [f"{flag}=nosuch"]
            elif isinstance(each.value, Pair):
                for pair in (("1", "0"), ("0", "nan"), ("x", "1"), ("0", "inf"), ("0.25", "0.5")):
                    yield named, each, [flag, *pair]
            else:
                yield from ((named, each, [f"{flag}={word}"]) for word in WRONG)


def test_every_mistake_is_a_line_that_names_the_argument(capsys) -> None:
    count = 0
    for named, option, words in mistakes():
        pool = ["--pool", "breast-cancer-logistic"] if named.needs_probabilities else []
        law = pool or ["--scores", "uniform"]
        code = main([*asked(named), *words, *law, *QUICK])
        out, err = capsys.readouterr()
        assert (code, out) == (2, ""), words
        assert re.match(rf"dpcp-audit theorem: error: {dashed(option.name)}\b", err), (words, err)
        require_line_and_hint(err)
        assert len(err) < 400, err
        count += 1
    assert count > 80


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "NAME of a theorem must be given"),
        (["ldpcp-5"], "theorem's name must be one of ldpcp-1, "),
        (["ldpcp-4"], "n, epsilon, delta must be given for ldpcp-4 (n, the number of"),
        (["ldpcp-4", "--n", "5", "--epsilon", "1"], "delta must be given for ldpcp-4 ("),
        (["ldpcp-4", *BASE["ldpcp-4"]], "pool must be given"),
        (
            ["ldpcp-4", *BASE["ldpcp-4"], "--pool", "digits-logistic", "--scores", "uniform"],
            "pool and scores are two laws",
        ),
        (["ldpcp-4", *BASE["ldpcp-4"], "--pool", "no.npz"], "pool: path must name a readable"),
        (["ldpcp-4", *BASE["ldpcp-4"], "--scores", "normal"], "scores must be one of uniform"),
        (["ldpcp-3", *BASE["ldpcp-4"], "--scores", "uniform"], "scores must come from a pool"),
        (["ldpcp-4", "--n=9", *BASE["ldpcp-4"][2:], "--scores=uniform"], "n must be an integer"),
        (["ldpcp-4", *BASE["ldpcp-4"], "--figure", "x.gif"], "--figure must end in one of .pdf"),
        (["ldpcp-4", *BASE["ldpcp-4"], "--figure", "no/x.svg"], "--figure: no/x.svg cannot be"),
        (["ldpcp-4", *BASE["ldpcp-4"], "--rho", "1"], "unrecognized arguments: --rho 1"),
        (["ldpcp-4", *BASE["ldpcp-4"], "--epsilom", "1"], "did you mean --epsilon?"),
        (
            ["pcoqs-theorem-1", "--n=1000000000", "--alpha=0.1", "--rho=1", "--beta=0.1"],
            "n must be at most 100,000,000 in the marginal reading, got 1,000,000,000",
        ),
        (["--n", "5", "ldpcp-4"], "unrecognized arguments: --n"),
        (
            ["ldpcp-4", *BASE["ldpcp-4"], "--scores=uniform", "--report", "x"],
            "--report must end in",
        ),
    ],
)
def test_what_cannot_be_used_ends_with_2_and_is_named(words: list[str], told: str, capsys) -> None:
    try:
        code = main(["theorem", *words])
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert told in err
    assert err.splitlines()[-1].startswith("hint: ")


def test_the_list_has_every_theorem_with_its_parameters_on_80_columns(capsys) -> None:
    assert main(["theorem", "--list"]) == 0
    out = capsys.readouterr().out
    blocks = {block.split()[0]: block for block in out.split("\n\n")}
    assert list(blocks) == [named.name for named in CATALOGUE]
    assert max(map(len, out.splitlines())) <= 80
    for named in CATALOGUE:
        said = " ".join(blocks[named.name].split())
        assert named.statement.words in said
        for each in named.parameters:
            assert flag_of(each) in said
            assert f"{each.help} (" in said


@pytest.mark.parametrize("named", CATALOGUE, ids=lambda named: named.name)
def test_the_help_of_a_theorem_has_its_parameters(named: NamedTheorem, capsys) -> None:
    assert main(["theorem", named.name, "--help"]) == 0
    out = capsys.readouterr().out
    assert named.statement.bound in " ".join(out.split())
    for each in (*named.parameters, *(("--figure", "--seed", "--report"))):
        assert (each if isinstance(each, str) else flag_of(each)) in out


def test_options_of_other_theorems_are_not_in_the_help(capsys) -> None:
    assert main(["theorem", named_theorem("ldpcp-1").name, "--help"]) == 0
    assert "--rho" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "word", "hint"),
    [
        ("pcoqs-theorem-1", "--epsilon", "pcoqs-theorem-1 takes --rho: ρ of zCDP"),
        ("pcoqs-corollary-1", "--delta", "pcoqs-corollary-1 takes --beta: β"),
        ("ldpcp-4", "--rho", "ldpcp-4 takes --epsilon: ε"),
    ],
)
def test_another_theorems_privacy_parameter_is_told_from_this_ones(
    name: str, word: str, hint: str, capsys
) -> None:
    assert main(["theorem", name, word, "1"]) == 2
    assert hint in capsys.readouterr().err


def test_a_table_says_how_far_it_has_come(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every case is told here; else one where nothing was told for five seconds."""
    monkeypatch.setattr("dpcp_audit.faces.theorems._QUIET_SECONDS", -1.0)
    words = ["--n", "1000,2000,5000", "--epsilon", "2", "--delta", "0.05"]
    assert main(["theorem", "ldpcp-4", *words]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines() == ["1 of 3 cases", "2 of 3 cases"]
    assert "of 3 cases" not in out


def test_one_case_and_a_table_have_the_same_window_count(capsys, tmp_path: Path) -> None:
    """What the scores need, where it is not given; and what is given, were it 1."""
    words = ["--alpha", "0.1", "--rho", "0.5", "--beta", "0.05", "--resolution", "0.001"]
    path = tmp_path / "r.json"
    case = ["theorem", "pcoqs-theorem-1", *words, "--profile", "smoke", "-q"]
    main([*case, "--n", "500", "--report", f"json={path}"])
    (needed,) = json.loads(path.read_text())["findings"]
    assert (needed["standing"], needed["parameters"]["window_count"]) == ("paper", 7)
    main([*case, "--n", "500", "--window-count", "1", "--report", f"json={path}"])
    (given,) = json.loads(path.read_text())["findings"]
    assert (given["standing"], given["parameters"]["window_count"]) == ("outside-hypothesis", 1)
    assert "window-count=1" in given["id"]
    capsys.readouterr()
    grid = TheoremGrid.of(
        "pcoqs-theorem-1", {"n": 500, "alpha": 0.1, "rho": 0.5, "beta": 0.05, "resolution": 0.001}
    )
    (cell,) = grid.promises()
    assert cell.level == pytest.approx(needed["witness"]["limits"]["lower bound"])
