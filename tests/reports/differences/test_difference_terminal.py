"""What changed between two runs, on a terminal: no width breaks an id."""

from __future__ import annotations

import io

import pytest
from support.report_document import document, evidence, finding

from dpcp_audit.reports.differences import print_comparison
from dpcp_audit.reports.two_runs import compare

LONG = "mine.py:a_quantile_of_a_long_name[coverage:alpha=0.1,n=2400,rho=0.5,neighbours=add-remove]"


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO) -> str:
    old = finding(LONG, "PROVED", "PROVED", evidence=evidence(value=0.5, lower=0.5, upper=0.5))
    new = finding(LONG, "REFUTED", "PROVED", evidence=evidence(value=2.0, lower=2.0, upper=2.0))
    short = finding("b", "PROVED", "PROVED")
    runs = document(old, short), document(new, short)
    print_comparison(compare(*runs, false_alarm=1e-3), stream=stream)
    return stream.getvalue()


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_an_id_is_whole_at_every_width(
    stream: type[io.StringIO], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "dumb")
    said = shown(stream())
    assert f"{LONG} " in said.replace("\n", " \n")
    assert "2 claims compared, 1 changed" in said


def test_a_file_has_the_summary_on_one_line() -> None:
    last = shown(io.StringIO()).splitlines()[-1]
    assert last.startswith("2 claims compared")
    assert last.endswith("0.001.")


def test_where_no_table_fits_a_change_has_its_own_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    first, second, *_ = shown(Terminal()).splitlines()
    assert first == f"worse {LONG}"
    assert second.startswith("    privacy loss ε, largest log-ratio: PROVED 0.5 -> REFUTED 2")
