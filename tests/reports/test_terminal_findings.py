"""The findings on a terminal: no width breaks an id, and options say how much is shown."""

from __future__ import annotations

import io
from typing import Any

import pytest

from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import check
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.terminal import Display, print_summary, summary_line

IDS = (
    "ldpcp.krr",
    "histlap.privacy[scale=1/epsilon]",
    "histlap.privacy[scale=1/epsilon,neighbours=add-remove]",
)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    findings = [check(id_, RunSettings()) for id_ in IDS]
    return to_document(RunSettings(), findings, seconds=1.0, complete=True)


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(document: dict[str, Any], stream: io.StringIO, **display: Any) -> str:
    print_summary(document, stream=stream, display=Display(**display))
    return stream.getvalue()


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_an_id_is_whole_at_every_width(
    document: dict[str, Any], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "dumb")
    for text in (shown(document, Terminal()), shown(document, io.StringIO())):
        assert all(id_ in text for id_ in IDS)


def test_where_no_table_fits_a_finding_has_its_own_lines(
    document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    lines = shown(document, Terminal()).splitlines()
    place = lines.index("REFUTED histlap.privacy[scale=1/epsilon]")
    assert lines[place + 1] == "    Practice. Found ε = 2 (exact); promised ε ≤ 1."


def test_a_long_id_is_whole_in_a_file(document: dict[str, Any]) -> None:
    finding = document["findings"][0] | {"id": "x" * 200}
    lines = shown(document | {"findings": [finding]}, io.StringIO()).splitlines()
    assert lines[0].split()[:2] == ["PROVED", "x" * 200]
    assert lines[1].endswith("Proved for every case, by closed form.")


def test_quiet_is_the_sum_alone(document: dict[str, Any]) -> None:
    statements, claims = shown(document, io.StringIO(), quiet=True).splitlines()
    assert statements.startswith("Of 136 statements of the three papers")
    assert claims == summary_line(document)


def test_verbose_tells_statements_and_notes(document: dict[str, Any]) -> None:
    text = " ".join(shown(document, io.StringIO(), verbose=True).split())
    for finding in document["findings"]:
        assert finding["statement"] in text
        assert finding["note"] in text


def test_show_selects_verdicts_and_counts_the_others(document: dict[str, Any]) -> None:
    text = shown(document, io.StringIO(), show=("REFUTED",))
    assert "ldpcp.krr" not in text
    assert "REFUTED histlap.privacy[scale=1/epsilon]" in text
    assert "... and 2 claims of other verdicts" in text
    assert "no claim is error or inconclusive" in shown(
        document, io.StringIO(), show=("ERROR", "INCONCLUSIVE")
    )
