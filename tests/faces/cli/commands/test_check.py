"""``dpcp-audit check`` for newcomers: verdicts, exit codes, one line for every mistake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from dpcp_audit.engine.journal import line_of
from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import check_row
from dpcp_audit.engine.tasks import Done, Task
from dpcp_audit.faces import planning
from dpcp_audit.faces.cli.main import main
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.target_rows import rows_of_targets
from dpcp_audit.words.errors import IncompleteError
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dpcp_audit.engine.worker_pool import Limits, WorkerProcess

MINE = '''
import time

import numpy as np


def leaky(scores, *, rng):
    """Twice as loud as a claim of 1-DP allows, on two scores and more."""
    return float(np.clip(np.mean(scores) + rng.laplace(scale=0.2 / len(scores)), 0, 1))


def private(scores, size, *, rng):
    """The mean with the noise that 1-DP takes."""
    return np.mean(scores) + rng.laplace(scale=1 / len(scores), size=size)


def split(scores, *, rng):
    """The split conformal threshold: no noise, and infinite where n is too small."""
    rank = int(np.ceil(0.9 * (len(scores) + 1)))
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else float("inf")


def low(scores, *, rng):
    return float(np.quantile(scores, 0.5))


def krr(value, *, rng):
    return int(rng.integers(4)) if rng.random() < 0.5 else value


def constant(scores, *, rng):
    return 0.5


def seeded(scores, *, rng):
    return float(np.mean(scores) + np.random.default_rng(7).laplace())


def nan(scores, *, rng):
    return float("nan")


def raises(scores, *, rng):
    raise RuntimeError("no such thing")


def pair(scores, *, rng):
    return 0.1, 0.2


def hangs(scores, *, rng):
    while True:
        pass


def two(a, b, *, rng):
    return 0.0


number = 3
'''
FEW = ["--draws", "2000", "--jobs", "1"]
QUANTILE = ["--kind", "quantile"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    try:
        code = main(["check", *arguments])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 99
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("target", "claims", "verdict"),
    [
        ("leaky", {"pure-dp": 1}, Verdict.REFUTED),
        (
            "private",
            {"pure-dp": 1, "vectorised": True, "draws": 20_000, "trace": False},
            Verdict.CONSISTENT,
        ),
        ("split", {"coverage-at-least": 0.9, "n": 50}, Verdict.PROVED),
        ("low", {"coverage-at-least": 0.9, "n": 50}, Verdict.REFUTED),
        ("krr", {"kind": "randomizer", "domain": 4, "local-dp": 1.7}, Verdict.PROVED),
        ("krr", {"kind": "randomizer", "domain": 4, "local-dp": 0.8}, Verdict.REFUTED),
        ("constant", {"pure-dp": 1}, Verdict.ERROR),
        ("seeded", {"pure-dp": 1}, Verdict.REFUTED),
        ("nan", {"pure-dp": 1}, Verdict.ERROR),
        ("raises", {"pure-dp": 1}, Verdict.ERROR),
        ("pair", {"pure-dp": 1}, Verdict.ERROR),
    ],
)
@pytest.mark.usefixtures("folder")
@pytest.mark.statistical(false_alarm=1e-9)
def test_verdicts(target: str, claims: dict[str, Any], verdict: Verdict) -> None:
    """A true claim is refuted with probability 1e-9; the false ones are far off."""
    data = {"target": f"mine.py:{target}", "kind": "quantile", "draws": 1000}
    spec = CheckSpec.from_data(data | claims)
    (row,) = rows_of_targets([spec])
    settings = RunSettings(suite="targets", targets=(spec,))
    assert check_row(row, settings, significance=1e-9).verdict is verdict


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "TARGET must be given"),
        (["mine.py:nan"], "kind is missing"),
        (["mine.py:leaky", *QUANTILE], "nothing is claimed"),
        (["mine.py", *QUANTILE, "--pure-dp", "1"], "target must be"),
        (["mine.py:leeky", *QUANTILE, "--pure-dp", "1"], "leaky"),
        (["other.py:f", *QUANTILE, "--pure-dp", "1"], "other.py"),
        (["no.such.module:f", *QUANTILE, "--pure-dp", "1"], "no module 'no'"),
        (["mine.py:number", *QUANTILE, "--pure-dp", "1"], "number"),
        (["mine.py:two", *QUANTILE, "--pure-dp", "1"], "two"),
        (["mine.py:krr", "--kind", "randomizer", "--local-dp", "1"], "domain must be given"),
        (
            ["mine.py:leaky", *QUANTILE, "--pure-dp", "1", "--neighbours", "one-label"],
            "a quantile has no labels",
        ),
        (
            ["mine.py:leaky", *QUANTILE, "--pure-dp", "1", "--config", "c.toml"],
            "--config cannot be combined",
        ),
        (["--config", "c.toml"], "c.toml: No such file"),
        (["--zcdp", "1"], "--zcdp needs a TARGET"),
        (["mine.py:leaky", "--command", "perl x.pl", *QUANTILE, "--pure-dp", "1"], "either"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_wrong_use_is_told_in_a_line_and_a_hint(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = check([*arguments, "--jobs", "1"], capsys)
    *_, said, hint = err.splitlines()
    assert code == 2, err
    assert not out
    assert said.startswith("dpcp-audit check: error: ")
    assert message in said + hint
    assert hint.startswith("hint: ")
    assert "Traceback" not in err


@pytest.mark.usefixtures("folder")
def test_what_a_target_did_is_told_in_the_results(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = ["--report", "json=r.json"]
    code, out, _ = check(["mine.py:seeded", *QUANTILE, "--pure-dp", "1", *FEW, *report], capsys)
    (finding,) = json.loads((folder / "r.json").read_text())["findings"]
    assert code == 1
    assert finding["verdict"] == "REFUTED"
    assert "it seeds itself by" in finding["witness"]["cause"]
    assert finding["note"].startswith(finding["witness"]["cause"])
    assert finding["location"] == {
        "file": "mine.py",
        "line": MINE.splitlines().index("def seeded(scores, *, rng):") + 2,
        "text": "return float(np.mean(scores) + np.random.default_rng(7).laplace())",
    }
    assert "seed" in out


def results(path: Path) -> dict[str, Any]:
    """Return a results document without its times and where it was made."""
    document: dict[str, Any] = json.loads(path.read_text())
    document.pop("wall_seconds")
    document.pop("provenance")
    for finding in document["findings"]:
        finding.pop("seconds")
    return document


def test_the_same_draws_and_seed_give_the_same_results_and_they_replay(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["mine.py:leaky", *QUANTILE, "--pure-dp", "1", "--seed", "5", "--draws", "2000"]
    for name, jobs in (("a.json", "1"), ("b.json", "2")):
        assert check([*arguments, "--jobs", jobs, "--report", f"json={name}"], capsys)[0] == 1
    assert results(folder / "a.json") == results(folder / "b.json")
    assert main(["replay", "mine.py:leaky[puredp:epsilon=1]", "a.json"]) == 0
    assert "reproduced" in capsys.readouterr().out


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a call take a tenth of a second, as it is told: ten minutes leave room for 2¹² calls."""
    found = {"seconds": 0.1, "rates": [0.1], "spent": 0.0}
    monkeypatch.setattr(planning, "_timed_apart", lambda *_, **__: found)


@pytest.mark.usefixtures("timed")
def test_a_budget_becomes_a_number_of_calls_that_the_results_hold(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["mine.py:leaky", *QUANTILE, "--pure-dp", "1", "--jobs", "1"]
    assert check([*arguments, "--budget", "10m", "--report", "json=a.json"], capsys)[0] == 1
    (target,) = results(folder / "a.json")["targets"]
    (calls,) = target["planned"]
    assert calls == 2**12
    assert target["budget"] == 600
    assert target["target"] == "mine.py:leaky"


def test_the_checks_of_a_pyproject_above_are_found(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pyproject.toml").write_text(
        """
        [[tool.dpcp-audit.check]]
        target = "mine.py:low"
        kind = "quantile"
        coverage-at-least = 0.9
        n = 50
        draws = 2000
        """
    )
    (folder / "src" / "inner").mkdir(parents=True)
    (folder / "src" / "pyproject.toml").write_text('[project]\nname = "another"\n')
    monkeypatch.chdir(folder / "src" / "inner")
    code, _, err = check(["--jobs", "1", "--report", "r.json"], capsys)
    assert code == 1, err
    document = json.loads((folder / "src/inner/r.json").read_text())
    (finding,) = document["findings"]
    assert (finding["id"], finding["verdict"]) == ("mine.py:low[coverage>=0.9]", "REFUTED")
    assert {"../../mine.py", "../../pyproject.toml"} <= document["provenance"]["code"].keys()


def test_the_checks_of_a_pyproject(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pyproject.toml").write_text(
        """
        [tool.dpcp-audit]
        seed = 3
        false-alarm = 1e-9
        [[tool.dpcp-audit.check]]
        target = "mine.py:private"
        kind = "quantile"
        vectorised = true
        pure-dp = 1.0
        draws = 20_000
        [[tool.dpcp-audit.check]]
        name = "too-low"
        target = "mine.py:low"
        kind = "quantile"
        coverage-at-least = 0.9
        n = 50
        draws = 2000
        """
    )
    code, _, err = check(["--jobs", "1", "--report", "json=r.json"], capsys)
    assert code == 1, err
    document = results(folder / "r.json")
    assert (document["seed"], document["false_alarm"]) == (3, 1e-9)
    verdicts = {finding["id"]: finding["verdict"] for finding in document["findings"]}
    assert verdicts == {
        "mine.py:private[puredp:epsilon=1]": "CONSISTENT",
        "too-low[coverage>=0.9]": "REFUTED",
    }


def test_keyword_options_reach_the_target(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "scaled.py").write_text(
        "def f(scores, *, rng, scale):\n"
        "    return float(scores.mean() + rng.laplace(scale=scale / len(scores)))\n"
    )
    arguments = ["scaled.py:f", *QUANTILE, "--pure-dp", "1", *FEW, "--false-alarm", "1e-9"]
    assert check([*arguments, "--option", "scale=1.0"], capsys)[0] == 0
    assert check([*arguments, "--option", "scale=0.1"], capsys)[0] == 1


def test_a_run_of_checks_is_resumed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["mine.py:leaky", *QUANTILE, "--pure-dp", "1", *FEW, "--journal", "j.ndjson"]
    assert check([*arguments, "--report", "json=a.json"], capsys)[0] == 1
    arguments[-2] = "--resume"
    code, _, err = check([*arguments, "--report", "json=b.json"], capsys)
    assert code == 1
    assert "1 checks finished" in err
    assert results(folder / "a.json") == results(folder / "b.json")


@pytest.mark.usefixtures("timed")
def test_a_run_whose_draws_were_planned_is_resumed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["mine.py:leaky", *QUANTILE, "--pure-dp", "1", "--budget", "10m"]
    begun = check([*arguments, "--journal", "j.ndjson"], capsys)[0]
    code, _, err = check([*arguments, "--resume", "j.ndjson"], capsys)
    assert code == begun != 2
    assert "1 checks finished" in err


def test_a_journal_runs_nothing_that_the_command_line_does_not_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A journal whose digests fit names a program; nothing starts it."""
    named = ["mine.py:leaky", *QUANTILE, "--pure-dp", "1", *FEW]
    assert check([*named, "--journal", "j.ndjson"], capsys)[0] == 1
    head, *_ = (folder / "j.ndjson").read_bytes().splitlines()
    entry = json.loads(head)["entry"]
    (target,) = entry["settings"]["targets"]
    del target["target"]
    target |= {"command": ["sh", "-c", f"touch {folder / 'taken'}"]}
    (folder / "j.ndjson").write_bytes(line_of(entry))
    for command in (["check", *named], ["check"], ["run"], ["selftest"], ["reproduce"]):
        assert main([*command, "--resume", "j.ndjson"]) == 2
        said = capsys.readouterr().err
        assert "name too" in said or "TARGET must be given" in said
    assert not (folder / "taken").exists()


def test_other_settings_than_the_journals_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ["mine.py:leaky", *QUANTILE, "--pure-dp", "1", *FEW]
    assert check([*named, "--journal", "j.ndjson"], capsys)[0] == 1
    for other, said in (
        ([*named, "--seed", "3"], "--seed: the resumed run was begun with 0, got 3"),
        ([*named, "--bounds", "0", "2"], "name too"),
        (["mine.py:leaky", *QUANTILE, "--pure-dp", "2", *FEW], "name too"),
    ):
        code, _, err = check([*other, "--resume", "j.ndjson"], capsys)
        assert (code, said in err) == (2, True), err


@pytest.mark.usefixtures("folder")
def test_a_target_that_hangs_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(planning, "_PATIENCE_SECONDS", 1.0)
    code, out, err = check(["mine.py:hangs", *QUANTILE, "--pure-dp", "1"], capsys)
    assert code == 3
    assert not out
    assert "mine.py:hangs, called a first few times: stopped after 1 s" in err


@pytest.mark.parametrize(
    ("effort", "seconds"),
    [({"budget": 8}, 8.0), ({"budget": 1}, 5.0), ({"budget": 999}, 60.0), ({"draws": 600}, 60.0)],
)
def test_a_first_few_calls_have_no_more_time_than_the_budget(
    effort: dict[str, Any], seconds: float
) -> None:
    """A target that hangs costs its budget, and no more than a minute."""
    given: list[float] = []

    class Cell:
        def run(self, task: Task, limits: Limits) -> Done:
            given.append(limits.seconds)
            return Done(id=task.context.name, index=0, error="stopped after it", stopped=True)

    spec = CheckSpec.from_data({"target": "a:b", "kind": "quantile", "pure-dp": 1} | effort)
    with pytest.raises(IncompleteError, match="called a first few times: stopped after it"):
        planning._timed(planning._Timing(spec=spec), cast("WorkerProcess", Cell()))
    assert given == [seconds]
