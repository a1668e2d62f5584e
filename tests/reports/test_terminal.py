"""What a terminal shows: the summary, the findings at any width, and the progress."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import check
from dpcp_audit.engine.tasks import CallsMade, CheckFinished, RunStarted, StillRunning
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.terminal import Display, Progress, print_summary, summary_line
from dpcp_audit.words.results import Claim, Finding, Source, Verdict

IDS = ("ldpcp.shuffle[n=2452]", "ldpcp.krr", "histlap.privacy[scale=1/epsilon]")
LONG = "histlap.privacy[scale=1/epsilon,neighbours=add-remove]"


def failed(id_: str, error: str = "ValueError: planted") -> Finding:
    claim = Claim(
        id=id_, statement="s", source=Source(paper="P", section="1"), expected=Verdict.PROVED
    )
    return Finding(claim=claim, outcome=None, error=error)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    settings = RunSettings()
    found = [*(check(id_, settings) for id_ in IDS), failed("a.error")]
    return to_document(settings, found, seconds=1.0, complete=True)


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def computed() -> dict[str, Any]:
    """The document of three claims of long ids, one of them proved."""
    findings = [check(id_, RunSettings()) for id_ in (*IDS[1:], LONG)]
    return to_document(RunSettings(), findings, seconds=1.0, complete=True)


def test_summary_is_worst_first(document: dict[str, Any]) -> None:
    stream = io.StringIO()
    print_summary(document, stream=stream)
    lines = stream.getvalue().splitlines()
    verdicts = [line.split()[0] for line in lines[:-1] if line.split()[0].isupper()]
    assert verdicts == ["REFUTED", "REFUTED", "ERROR", "PROVED"]
    assert all(any(id_ in line for line in lines) for id_ in IDS)
    refuted = [line.split()[-1] for line in lines if line.startswith("REFUTED")]
    assert refuted == ["ldpcp.shuffle[n=2452]", "histlap.privacy[scale=1/epsilon]"]
    assert "4 claims: 2 refuted, 1 error, 1 proved; no verdict contradicts" in " ".join(lines[-2:])


def test_contradictions_come_first_and_are_said(document: dict[str, Any]) -> None:
    surprised = document | {
        "findings": [f | {"contradicts": f["id"] == "ldpcp.krr"} for f in document["findings"]],
        "summary": document["summary"] | {"contradictions": 1},
    }
    stream = io.StringIO()
    print_summary(surprised, stream=stream)
    assert stream.getvalue().splitlines()[0].startswith("PROVED (unexpected)")
    assert "1 verdict contradicts what was expected" in summary_line(surprised)
    for suite in ("targets", "traces", "estimates"):
        assert "contradict" not in summary_line(surprised | {"suite": suite})


def test_markup_in_a_document_is_text(document: dict[str, Any]) -> None:
    finding = document["findings"][1] | {"id": "a[bold]b[/]"}
    stream = io.StringIO()
    print_summary(document | {"findings": [finding]}, stream=stream)
    assert "a[bold]b[/]" in stream.getvalue()


def summary(document: dict[str, Any], results: Path | None = None, **display: Any) -> str:
    stream = io.StringIO()
    print_summary(document, stream=stream, results=results, display=Display(**display))
    return stream.getvalue()


def test_a_refuted_claim_has_a_witness_and_a_replay(document: dict[str, Any]) -> None:
    text = summary(document, Path("my results.json"))
    told = text[text.index("REFUTED histlap.privacy[scale=1/epsilon]") :].splitlines()
    assert told[1] == "    Practice. Found ε = 2 (exact); promised ε ≤ 1."
    assert (
        "  replay:  dpcp-audit replay 'histlap.privacy[scale=1/epsilon]' 'my results.json'"
    ) in told
    assert "witness: " not in text
    assert "  witness: " in summary(document, Path("r.json"), verbose=True)
    assert "add --report json=results.json" in summary(document)


def test_of_many_refuted_claims_the_unexpected_are_told(
    document: dict[str, Any],
) -> None:
    refuted = next(f for f in document["findings"] if f["verdict"] == "REFUTED")
    many = [refuted | {"id": f"f{i}", "contradicts": i == 7} for i in range(8)]
    text = summary(document | {"findings": many}, Path("r.json"))
    assert [line.split()[-1] for line in text.splitlines() if line.startswith("REFUTED")] == ["f7"]
    assert "... and 7 more claims; -v shows them all" in text


def test_a_clean_run_prints_about_ten_lines(document: dict[str, Any]) -> None:
    sound = next(f for f in document["findings"] if f["verdict"] == "PROVED")
    many = [sound | {"id": f"f{i}"} for i in range(200)]
    text = summary(document | {"findings": many}, Path("r.json"))
    assert len(text.splitlines()) <= 11
    assert all(f"f{i}" in summary(document | {"findings": many}, verbose=True) for i in (0, 199))


def test_what_a_target_is_called_moves_no_cursor(document: dict[str, Any]) -> None:
    """Escape sequences and line breaks in ids, quantities, errors and reasons are shown as text."""
    hostile = "a\x1b[2J\x1b]0;t\x07b\r\nREFUTED c"
    refuted = next(f for f in document["findings"] if f["verdict"] == "REFUTED")
    evidence = refuted["evidence"] | {"detail": hostile}
    findings = [
        refuted | {"id": hostile, "evidence": evidence, "witness": {hostile: hostile}},
        refuted | {"id": "e", "verdict": "ERROR", "evidence": None, "error": hostile},
    ]
    skipped = [{"name": hostile, "reason": hostile}]
    text = summary(document | {"findings": findings, "skipped": skipped}, Path("r.json"))
    assert text.replace("\n", "").isprintable()
    assert "a\ufffd[2J\ufffd]0;t\ufffdb REFUTED c" in text
    assert not any(line.startswith("REFUTED c") for line in text.splitlines())


def shown(document: dict[str, Any], stream: io.StringIO, **display: Any) -> str:
    print_summary(document, stream=stream, display=Display(**display))
    return stream.getvalue()


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_an_id_is_whole_at_every_width(
    computed: dict[str, Any], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "dumb")
    for text in (shown(computed, Terminal()), shown(computed, io.StringIO())):
        assert all(id_ in text for id_ in (*IDS[1:], LONG))


def test_quiet_is_the_sum_alone(computed: dict[str, Any]) -> None:
    lines = shown(computed, io.StringIO(), quiet=True).splitlines()
    assert lines[0].startswith("The three papers make ")
    assert " ".join(lines).endswith(f" {summary_line(computed)}")
    assert max(map(len, lines)) <= 140


def test_verbose_tells_statements_and_notes(computed: dict[str, Any]) -> None:
    text = " ".join(shown(computed, io.StringIO(), verbose=True).split())
    for finding in computed["findings"]:
        assert finding["statement"] in text
        assert finding["note"] in text


def test_show_selects_verdicts_and_counts_the_others(computed: dict[str, Any]) -> None:
    text = shown(computed, io.StringIO(), show=("REFUTED",))
    assert "ldpcp.krr" not in text
    assert "REFUTED histlap.privacy[scale=1/epsilon]" in text
    assert "... and 2 claims of other verdicts" in text
    assert "no claim is error or inconclusive" in shown(
        computed, io.StringIO(), show=("ERROR", "INCONCLUSIVE")
    )


def show(id_: str) -> None:
    with Progress() as progress:
        progress.show(RunStarted(ids=(id_,)))
        progress.show(CheckFinished(finding=failed(id_)))


@pytest.mark.parametrize("id_", [*IDS, "a[/b]"])
def test_a_bar_shows_ids_with_their_brackets(id_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("NO_COLOR", "CI", "TTY_COMPATIBLE", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    with contextlib.redirect_stderr(Terminal()) as terminal:
        show(id_)
    assert id_ in terminal.getvalue()
    assert "1/1" in terminal.getvalue()


def test_lines_stand_for_the_bar_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    show(IDS[0])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"[1/1] {IDS[0]}: ERROR (0.0 s)\n"


def test_a_long_check_is_not_silent_where_there_is_no_bar(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Progress(seconds=0) as progress:
        progress.show(RunStarted(ids=IDS))
        progress.show(CallsMade(id=IDS[0], made=1500, planned=2000))
        progress.show(CallsMade(id=IDS[1], made=2500, planned=2000))
        progress.show(CallsMade(id=IDS[2], made=7))
        progress.show(StillRunning(ids=tuple("abcdef"), seconds=20.2))
    assert capsys.readouterr().err.splitlines() == [
        f"{IDS[0]}: 1,500 of 2,000 calls made, 500 left",
        f"{IDS[1]}: 2,000 of 2,000 calls made, 0 left",
        f"{IDS[2]}: 7 calls made",
        "still running after 20 s: a, b, c, d and 2 more",
    ]


def test_a_quiet_run_says_nothing_of_calls(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(Display(quiet=True), seconds=0) as progress:
        progress.show(CallsMade(id=IDS[0], made=1, planned=2))
        progress.show(StillRunning(ids=IDS, seconds=20.0))
    assert not capsys.readouterr().err
