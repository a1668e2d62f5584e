"""The command line in hostile hands: one clear line, the documented exit code, no traceback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.waiting import PATIENCE

from dpcp_audit import __version__
from dpcp_audit.engine.suites import suite
from dpcp_audit.faces.cli.main import TRACEBACK, main
from dpcp_audit.proving.proof_result import card
from dpcp_audit.proving.prover import prove
from dpcp_audit.words.guarantees import PureDP

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

QUICK = ["--profile", "smoke", "--jobs", "1"]


def outcome(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Return the exit code, stdout and stderr of a command."""
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 99
    captured = capsys.readouterr()
    return code, captured.out, captured.err


LISTS = "lists the arguments"


def refused(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the line that says what was wrong, and its hint."""
    code, out, err = outcome(arguments, capsys)
    assert code == 2, err
    assert not out
    line, hint, said = err.rstrip("\n").partition("\nhint: ")
    assert "\n" not in line + said
    assert line.startswith("dpcp-audit")
    assert "error: " in line
    return f"{line}{hint}{said}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "r.json"
    only = ["ldpcp.krr", "pcoqs.remark-3", "ldpcp.blocks"]
    code = main(["run", *QUICK, *(f"--only={id_}" for id_ in only), "--report", f"json={path}"])
    assert code == 0
    return path


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "COMMAND"),
        (["audit"], "'audit'"),
        (["run", "--nope"], "--nope"),
        (["run", "--prof", "smoke"], "--prof"),
        (["run", "extra"], "extra"),
        (["run", "--profile", "huge"], "'huge'"),
        (["run", "--profile", ""], "''"),
        (["run", "--suite", "mine"], "'mine'"),
        (["run", "--report", "yaml=x"], "'yaml'"),
        (["run", "--report", "=x"], "''"),
        (["run", "--report", "json="], "FORMAT=PATH"),
        (["run", "--report", "json"], "--report must end in"),
        (["run", "--report", ""], "--report must end in"),
        (["run", "--report", "json=-", "--report", "json=-"], "stdout is named more than once"),
        (["run", "--only", "nope"], "no claim matches 'nope'"),
        (["run", "--only", ""], "no claim matches ''"),
        (["list", "--only", "nope"], "no claim matches 'nope'"),
        (["run", "--suite", "targets"], "'dpcp-audit check' tests those"),
        (["list", "--suite", "theorem-case"], "'dpcp-audit theorem' tests those"),
        (["report"], "RESULTS.json"),
        (["replay", "ldpcp.krr"], "RESULTS.json"),
        (["report", "r.json"], "--report"),
    ],
)
def test_bad_commands_are_refused(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert named in refused(arguments, capsys)


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--seed", ["-1", "1.5", "", "nan", "inf", "x", "1e-3", "9" * 5000]),
        ("--jobs", ["0", "-1", "1.5", "", "nan", "all", "9" * 20, "9" * 5000]),
        ("--false-alarm", ["nan", "inf", "-inf", "-1", "0", "1", "", "1e400", "1e-400", "5%"]),
        ("--false-alarm", ["1e-300", "1e-320"]),
    ],
)
def test_bad_numbers_are_refused(
    option: str, values: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for value in values:
        line = refused(["run", *QUICK, f"{option}={value}"], capsys)
        assert f"argument {option}: must " in line
        assert ", got " in line


def test_report_paths_that_cannot_be_written_are_refused_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    for target, named in (
        (tmp_path / "none" / "r.json", "does not exist"),
        (tmp_path, "is a folder"),
        (tmp_path / "file" / "r.json", "does not exist"),
        (tmp_path / ("a" * 300), "name too long"),
    ):
        line = refused(["run", *QUICK, "--report", f"json={target}"], capsys)
        assert named in line
    twice = [f"--report=json={tmp_path / 'a'}", f"--report=markdown={tmp_path / 'a'}"]
    assert "more than once" in refused(["run", *QUICK, *twice], capsys)


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff", b"{", b"[]", b'{"schema_version": "9.0"}', b"[" * 100_000]
)
@pytest.mark.parametrize("command", ["report", "replay"])
def test_what_is_no_results_file_is_refused(
    command: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(content)
    more = ["--report", "json=-"] if command == "report" else []
    ids = ["ldpcp.krr"] if command == "replay" else []
    assert str(path) in refused([command, *ids, str(path), *more], capsys)
    missing = str(tmp_path / "none.json")
    assert "No such file" in refused([command, *ids, missing, *more], capsys)
    assert "directory" in refused([command, *ids, str(tmp_path), *more], capsys)


def test_list_has_an_aligned_line_a_claim(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(["list"], capsys)
    assert (code, err) == (0, "")
    claims = [row.claim for row in suite()]
    head, *lines = out.splitlines()
    assert head.split() == ["claim", "expected", "standing", "source", "statement"]
    assert [line.split()[0] for line in lines] == [claim.id for claim in claims]
    places = {line.index(claim.statement) for line, claim in zip(lines, claims, strict=True)}
    assert len(places) == 1


def test_list_is_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(["list", "--json", "--only", "ldpcp.krr"], capsys)
    assert code == 0
    (claim,) = json.loads(out)
    assert claim["claim"] == "ldpcp.krr"
    assert claim["parameters"] == {"epsilon": 2.0, "k": 10}
    _, suites, _ = outcome(["list", "--json", "--suites"], capsys)
    assert "papers" in [each["suite"] for each in json.loads(suites)]


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(["--version"], capsys)[:2] == (0, f"dpcp-audit {__version__}\n")
    code, out, _ = outcome(["run", "--help"], capsys)
    assert code == 0
    assert "exit codes:" in out


def test_json_on_stdout_is_json_alone(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", *QUICK, "--only", "ldpcp.krr", "--report", "json=-"]
    code, out, err = outcome(arguments, capsys)
    assert code == 0
    assert json.loads(out)["findings"][0]["id"] == "ldpcp.krr"
    assert "1 proved" in err


def test_the_summary_stands_on_stdout_and_talk_on_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = outcome(["run", *QUICK, "--only", "ldpcp.krr"], capsys)
    assert code == 0
    assert "no verdict contradicts" in out
    assert err.startswith("[1/1] ldpcp.krr: PROVED (")


def test_a_report_that_cannot_be_written_after_all(capsys: pytest.CaptureFixture[str]) -> None:
    """The run's summary is still shown, and the exit code is 3."""
    arguments = ["run", *QUICK, "--only", "ldpcp.krr", "--report", "json=/dev/full"]
    code, out, err = outcome(arguments, capsys)
    assert code == 3
    assert "1 proved" in out
    last = err.splitlines()[-1]
    assert last == "dpcp-audit run: error: --report: /dev/full: No space left on device"


def test_report_from_results_is_the_results(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = outcome(["report", str(recorded), "--report", "json=-"], capsys)
    assert (code, err) == (0, "")
    assert out == recorded.read_text(encoding="utf-8")


@pytest.mark.parametrize("id_", ["ldpcp.krr", "pcoqs.remark-3", "ldpcp.blocks"])
def test_a_recorded_finding_replays(
    id_: str, recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = outcome(["replay", id_, str(recorded)], capsys)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "reproduced"


def edited(recorded: Path, tmp_path: Path, id_: str, **changes: Any) -> str:
    """Return the path of a copy in which the finding's evidence, or the run, is changed."""
    results = json.loads(recorded.read_text(encoding="utf-8"))
    (finding,) = (f for f in results["findings"] if f["id"] == id_)
    for key, value in changes.items():
        target = results if key in results else finding
        inner = finding["evidence"] if key not in target else target
        inner[key] = value
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(results), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "change",
    [
        {"value": 0.25},
        {"value": "inf"},
        {"value": "nan"},
        {"upper": "inf"},
        {"lower": -1.0},
        {"claimed": 0.5},
        {"claimed": None},
        {"n_samples": 1},
        {"confidence": 0.5},
        {"kind": "exact"},
        {"quantity": "count"},
        {"verdict": "REFUTED"},
        {"witness": {}},
        {"evidence": None},
        {"seed": 1},
        {"profile": "ci"},
        {"false_alarm": 0.5},
    ],
    ids=str,
)
def test_an_edited_finding_does_not_replay(
    change: dict[str, Any], recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = edited(recorded, tmp_path, "pcoqs.remark-3", **change)
    code, out, err = outcome(["replay", "pcoqs.remark-3", path], capsys)
    assert (code, err) == (1, "")
    assert out.splitlines()[-1] == "not reproduced"


@pytest.mark.parametrize("change", [{"profile": "turbo"}, {"false_alarm": 2.0}])
def test_settings_that_cannot_be_are_refused(
    change: dict[str, Any], recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = edited(recorded, tmp_path, "ldpcp.krr", **change)
    line = refused(["replay", "ldpcp.krr", path], capsys)
    assert "does not say how it was run" in line


def test_results_of_a_suite_that_is_not_installed_are_refused(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = edited(recorded, tmp_path, "ldpcp.krr", suite="x")
    assert "got 'x'" in refused(["replay", "ldpcp.krr", path], capsys)


def test_replay_of_what_is_not_there(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(["replay", "ldpcp.shuffle[n=2452]", str(recorded)], capsys)
    assert "hold no finding 'ldpcp.shuffle[n=2452]'" in line
    path = edited(recorded, tmp_path, "ldpcp.krr", id="ldpcp.gone")
    assert "no claim has the id 'ldpcp.gone'" in refused(["replay", "ldpcp.gone", path], capsys)


def test_an_infinite_finding_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No log-ratio is excluded by sampling: the upper end of a pure claim's interval is inf."""
    path, id_ = tmp_path / "r.json", "histlap.privacy[scale=1/epsilon,release=quantile]"
    assert main(["run", *QUICK, "--only", id_, "--report", f"json={path}"]) == 0
    evidence = json.loads(path.read_text())["findings"][0]["evidence"]
    assert evidence["upper"] == "inf"
    capsys.readouterr()
    assert outcome(["replay", id_, str(path)], capsys)[0] == 0


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in which ``dpcp-audit`` is this interpreter's."""
    return subprocess.run(
        ["/bin/bash", "-c", command.replace("dpcp-audit", f"'{sys.executable}' -m dpcp_audit")],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        timeout=PATIENCE,
    )


def test_a_reader_that_leaves_is_met_with_silence() -> None:
    done = shell("dpcp-audit list --json | head -1; echo ${PIPESTATUS[0]}")
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in {"0", "3"}  # 0 where all went into the pipe in time


def test_a_reader_that_leaves_before_the_first_line_is_no_error_of_ours() -> None:
    done = shell(
        "dpcp-audit run --profile smoke --jobs 1 --only ldpcp.krr | exec <&-; echo ${PIPESTATUS[0]}"
    )
    assert done.stdout == "3\n"
    assert "error" not in done.stderr


@pytest.mark.parametrize(
    ("command", "code", "error"),
    [
        ("dpcp-audit list > /dev/full", 3, "No space left on device"),
        ("dpcp-audit run --profile smoke --jobs 1 --only ldpcp.krr 2> /dev/full", 0, ""),
        ("dpcp-audit run --profil smoke 2> /dev/full", 2, ""),
        ("dpcp-audit run --profile smoke --jobs 1 --only ldpcp.krr <&- >&- 2>&-", 0, ""),
        (
            "dpcp-audit run --profile smoke --jobs 1 --only ldpcp.krr --report json=- >&-",
            3,
            "closed",
        ),
    ],
)
def test_outputs_that_are_full_or_closed(command: str, code: int, error: str) -> None:
    done = shell(command)
    assert done.returncode == code, done.stderr
    assert error in (done.stderr.splitlines() or [""])[-1]
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_terminals_without_greek_get_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", terminal)
    assert main(["list", "--only", "ldpcp.krr"]) == 0
    terminal.flush()
    assert rb"\u03b2 = k/(k" in terminal.buffer.getvalue()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["run", "--buget", "3s"], "--buget 3s\nhint: did you mean --budget?"),
        (["run", "--profil=ci"], "--profil=ci\nhint: did you mean --profile?"),
        (
            ["check", "a:b", "--sequential"],
            "--sequential\nhint: leave it out: a search stops as soon as a claim is refuted",
        ),
        (["check", "a:b", "--tradeoff=c.csv"], "--approx-dp, several times"),
        (["compare-calibrators", "--output=x"], "tables= the tables, cells= the numbers"),
        (["check", "a:b", "--coverage", "0.9"], "\nhint: did you mean --coverage-at-least?"),
        (["check", "a:b", "--zcpd", "1", "--vectorized"], "mean --zcdp and --vectorised?"),
        (
            ["replay", "a", "b", "--xyzzy"],
            f"--xyzzy\nhint: 'dpcp-audit replay --help' {LISTS}",
        ),
        (
            ["report", "a.json", "b.json", "--report", "csv=-"],
            f"b.json\nhint: 'dpcp-audit report --help' {LISTS}",
        ),
    ],
)
def test_a_misspelt_option_is_told_with_the_nearest(
    arguments: Sequence[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    *_, line, advice = capsys.readouterr().err.splitlines()
    assert f"{line}\n{advice}".endswith(hint)
    assert line.startswith(f"dpcp-audit {arguments[0]}: error: ")


@pytest.mark.parametrize("raised", [RuntimeError("two\nlines"), SystemExit(0), SystemExit(1)])
def test_an_error_that_nothing_expects_is_no_verdict(
    raised: BaseException, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit codes 0 and 1 are verdicts; the traceback is shown on request alone."""

    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("dpcp_audit.engine.suites.select", fail)
    monkeypatch.delenv(TRACEBACK, raising=False)
    code, out, err = outcome(["run", *QUICK], capsys)
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert err.startswith(f"dpcp-audit run: error: unexpected {type(raised).__name__}: ")
    assert err.endswith("/issues\n")
    monkeypatch.setenv(TRACEBACK, "1")
    code, _, err = outcome(["run", *QUICK], capsys)
    assert code == 3
    assert err.startswith("Traceback (most recent call last)")


def test_an_error_while_arguments_are_parsed_is_no_verdict(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpcp_audit.faces.cli.run_commands.add_run", None)
    code, _, err = outcome(["run"], capsys)
    assert (code, err.count("\n")) == (3, 1)
    assert err.startswith("dpcp-audit: error: unexpected TypeError: ")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [(["chekc"], "check"), (["run", "--profile", "smok"], "smoke"), (["selftset"], "selftest")],
)
def test_a_misspelt_word_of_a_choice_is_told_with_the_nearest(
    arguments: Sequence[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert capsys.readouterr().err.splitlines()[-1] == f"hint: did you mean {meant!r}?"


def test_a_proof_fits_the_terminal() -> None:
    def noisy_mean(scores, *, rng) -> float:
        return np.mean(scores) + rng.laplace(scale=0.1)

    proof = prove(noisy_mean, PureDP(1.0), n=20)
    whole, folded = card(proof), card(proof, 60)
    (code,) = [line for line in folded.splitlines() if "return np.mean" in line]
    assert code.endswith("return np.mean(scores) + rng.laplace(scale=0.1)")
    assert all(len(line) <= 60 for line in folded.splitlines() if line != code)
    assert max(map(len, whole.splitlines())) > 80
    assert folded.replace("#", "").split() == whole.replace("#", "").split()
