"""Differences of runs on a terminal, and how numbers are adjusted."""

from __future__ import annotations

import io

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from support.report_document import document, evidence, finding

from dpcp_audit.reports.differences import print_comparison
from dpcp_audit.reports.two_runs import _adjust, _ShiftTest, compare
from dpcp_audit.stats.samples import Shift


def test_numbers_of_the_same_cases_and_of_others_are_adjusted_by_holm_apart() -> None:
    rng = np.random.default_rng(0)
    shifts = [Shift(higher=p, lower=1.0) for p in [*(rng.random(40) ** 4).tolist(), 0.25, 0.25]]
    tested = {
        f"{i}": _ShiftTest(shift=shift, differs=("n",) if i % 3 == 0 else ())
        for i, shift in enumerate(shifts)
    }
    tested |= {"untested": _ShiftTest(), "exact": _ShiftTest(shift=shifts[0], certain=True)}
    adjusted = _adjust(tested)
    assert adjusted.pop("exact") == shifts[0].p_value
    assert len(adjusted) == len(shifts)
    for family in ([i for i in range(42) if i % 3], range(0, 42, 3)):
        expected = multipletests([shifts[i].p_value for i in family], method="holm")[1]
        assert [adjusted[f"{i}"] for i in family] == pytest.approx(expected.tolist())


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
    assert "2 claims compared: 1 worse, 1 unchanged" in said


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
