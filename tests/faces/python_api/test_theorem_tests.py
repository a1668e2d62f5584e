"""``dpcp_audit.theorem``: what the command line finds, on arrays too, and what it refuses."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.faces.cli.main import main
from dpcp_audit.reports.document import agree
from dpcp_audit.theorems.catalogue import CATALOGUE

if TYPE_CHECKING:
    from pathlib import Path

CASE = {"n": 500, "epsilon": 2, "delta": 0.1}
SEARCH = {"n": 500, "rho": 1.0, "alpha": 0.2, "beta": 0.1}
RUN = {"profile": "smoke", "seed": 4, "false_alarm": 1e-7}


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    """Return probabilities of 300 users and three classes, with labels."""
    rng = np.random.default_rng(8)
    weights = rng.dirichlet((2, 1, 1), size=300)
    return {
        "probabilities": weights,
        "labels": np.array([rng.choice(3, p=row) for row in weights]),
    }


@pytest.mark.statistical(false_alarm=0)
@pytest.mark.parametrize(
    ("name", "given"),
    [("ldpcp-1", CASE), ("ldpcp-4", CASE | {"alpha": 0.2}), ("pcoqs-proposition-1", SEARCH)],
)
def test_the_same_case_and_seed_are_the_same_result(name, given, arrays, tmp_path: Path) -> None:
    """No claim of whether it holds: the two faces agree to the last digit."""
    path, results = tmp_path / "mine.npz", tmp_path / "results.json"
    np.savez(path, **arrays)
    words = [f"--{key}={value}" for key, value in given.items()]
    run = ["--profile=smoke", "--seed=4", "--false-alarm=1e-7", "--jobs=1"]
    report = ["--report", f"json={results}"]
    assert main(["theorem", name, f"--pool={path}", *words, *run, *report]) in {0, 1}
    (cli,) = json.loads(results.read_text(encoding="utf-8"))["findings"]
    result = dp.theorem(name, pool=path, **given, **RUN)
    entry = result[name].entry
    for key in ("id", "statement", "verdict", "evidence", "witness", "standing", "power"):
        assert agree(cli[key], entry[key]), key
    assert result.replay()


@pytest.mark.statistical(false_alarm=1e-7)
@pytest.mark.parametrize("named", CATALOGUE, ids=lambda named: named.name)
def test_every_theorem_is_tested_on_arrays(named, arrays) -> None:
    """Each is refuted, where it is true, with probability at most 1e-7."""
    result = dp.theorem(named.name, **(named.example | {"n": 300}), **arrays, **RUN)
    (claim,) = result
    assert claim.error == ""
    if claim.finding.claim.standing != "outside-hypothesis":
        assert claim.verdict is not dp.Verdict.REFUTED


def test_scores_at_hand_are_the_law() -> None:
    """Of ten equal scores the threshold is that score, and covers all."""
    result = dp.theorem("split-conformal", scores=np.full(10, 0.5), n=99)
    assert result["split-conformal"].estimate.value == pytest.approx(0.0, abs=1e-12)
    assert "scores=array-of-10" in result[0].id


def test_what_is_printed_is_the_case_that_is_tested() -> None:
    """δ = 0.619453 was printed of two cases, of which one is proved and the other refuted."""
    case = {"scores": "uniform", "n": 10_000, "epsilon": 0.9, "rounds": 3, "alpha": 0.3}
    proved = dp.theorem("ldpcp-4", **case, delta=0.619453122599085)[0]
    refuted = dp.theorem("ldpcp-4", **case, delta=0.619453)[0]
    assert (proved.verdict, refuted.verdict) == (dp.Verdict.PROVED, dp.Verdict.REFUTED)
    assert "δ = 0.619453122599085" in proved.claim
    assert "δ = 0.619453" in refuted.claim
    assert proved.claim != refuted.claim


def test_a_statement_on_arrays_says_which() -> None:
    """Its digest stands in statement and id, and short arrays in the witness."""
    scores = np.linspace(0, 1, 100)
    cases = [
        dp.theorem("ldpcp-4", scores=each, **CASE, **RUN)[0]
        for each in (scores, scores**2, scores[::-1], np.tile(scores, 5))
    ]
    one, other, reversed_, long = cases
    digest = hashlib.sha256(scores.tobytes()).hexdigest()[:8]
    name = f"array-of-100-sha256-{digest}"
    assert name in one.claim
    assert name in one.id
    assert (one.id, one.claim) == (reversed_.id, reversed_.claim)
    assert one.id != other.id
    assert one.claim != other.claim
    assert one.witness["scores"] == scores.tolist()
    assert "scores" not in long.witness
    assert one.replay()


def test_a_statement_on_probabilities_says_which(arrays) -> None:
    few = {name: array[:50] for name, array in arrays.items()}
    one = dp.theorem("ldpcp-4", **few, **CASE, **RUN)[0]
    other = dp.theorem("ldpcp-4", **few | {"labels": few["labels"][::-1]}, **CASE, **RUN)[0]
    assert one.id != other.id
    assert one.claim != other.claim
    assert one.witness["labels"] == few["labels"].tolist()
    assert one.witness["probabilities"] == few["probabilities"].tolist()


def test_no_command_is_promised_that_replays_arrays_in_memory(tmp_path: Path, capsys) -> None:
    result = dp.theorem("ldpcp-4", scores=[0.25, 0.5], **CASE, **RUN)
    report = result.report(tmp_path / "theorem.html").read_text(encoding="utf-8")
    assert "dpcp-audit replay" not in report
    assert "arrays in memory" in report
    path = result.report(tmp_path / "theorem.json")
    assert main(["replay", result[0].id, str(path)]) == 2
    assert "scores must be one of" in capsys.readouterr().err
    named = dp.theorem("ldpcp-4", scores="uniform", **CASE, **RUN)
    assert named[0].entry["replay"].startswith("dpcp-audit replay")


def test_defaults_that_are_given_change_nothing() -> None:
    plain = dp.theorem("ldpcp-4", scores="uniform", **CASE, **RUN)
    given = dp.theorem("ldpcp-4", scores="uniform", **CASE, alpha=0.1, rounds=10, **RUN)
    assert agree(plain[0].entry["evidence"], given[0].entry["evidence"])
    assert plain[0].id == given[0].id


def test_a_result_is_shown_drawn_and_reported(tmp_path: Path) -> None:
    result = dp.theorem("ldpcp-4", scores="beta(5,0.2)", **CASE | {"n": 20_000}, **RUN)
    assert result.verdict is dp.Verdict.REFUTED
    told = " ".join(repr(result[0]).split())
    assert "standing the printed statement outside its hypotheses" in told
    assert max(map(len, repr(result[0]).splitlines())) <= 80
    assert result.report(tmp_path / "theorem.html").exists()
    assert result.plot().get_xlabel() == "coverage"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"n": 5}, "n must be an integer >= 10"),
        ({"delta": None}, "delta must be given for ldpcp-4"),
        ({"rho": 1}, "unknown keyword 'rho'"),
        ({"scores": None}, "pool must be given"),
        ({"scores": [0.1, np.nan]}, "scores must"),
        ({"scores": "normal"}, "scores must be one of uniform"),
        ({"pool": "digits-logistic"}, "pool and scores are two laws"),
        ({"pool": 3, "scores": None}, "pool must name a file or a pool, got int"),
        ({"labels": [0]}, "probabilities and labels go together"),
        ({"probabilities": [[1.0, 0.0]]}, "scores and probabilities are two laws"),
    ],
)
def test_mistakes_are_named(given, told: str) -> None:
    case = CASE | {"scores": "uniform"} | given
    with pytest.raises(ValueError, match=f"^{told}"):
        dp.theorem("ldpcp-4", **{key: value for key, value in case.items() if value is not None})
