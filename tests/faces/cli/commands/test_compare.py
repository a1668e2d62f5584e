"""Comparing two results documents, and the command."""

from __future__ import annotations

import copy
import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from support.report_document import HOSTILE, document, evidence, finding

from dpcp_audit.engine.tasks import plain_data
from dpcp_audit.faces.cli.main import main
from dpcp_audit.reports.differences import (
    cells_of,
    comparison_data,
    headline,
    render_markdown,
    render_page,
    summary,
)
from dpcp_audit.reports.document import dump
from dpcp_audit.reports.two_runs import Change, Movement, RunDifferences, compare

if TYPE_CHECKING:
    from pathlib import Path

ALPHA = 1e-3
APART = ({"sample": None, "upper": 0.1}, {"sample": None, "lower": 0.2})


def rate(hits: int, trials: int = 20_000, **changes: Any) -> dict[str, Any]:
    return (
        evidence(
            kind="certified",
            quantity="failure",
            value=hits / trials,
            lower=0.0,
            upper=1.0,
            claimed=0.1,
            confidence=0.9999,
            n_samples=trials,
            sample={
                "measure": "rates",
                "counts": [{"of": "failures", "hits": hits, "trials": trials}],
            },
        )
        | changes
    )


def mean(value: float, variance: float = 0.001, trials: int = 20_000) -> dict[str, Any]:
    return evidence(
        kind="certified",
        quantity="coverage",
        value=value,
        lower=value - 0.01,
        upper=value + 0.01,
        claimed=0.9,
        confidence=0.9999,
        n_samples=trials,
        bound="at least",
        sample={"measure": "mean", "trials": trials, "variance": variance, "range": [0.0, 1.0]},
    )


def loss(p: int, q: int, trials: int = 10_000) -> dict[str, Any]:
    counts = [{"of": of, "hits": hits, "trials": trials} for of, hits in (("a", p), ("b", q))]
    return evidence(
        kind="certified",
        quantity="epsilon",
        value=1.0,
        lower=0.9,
        upper="inf",
        confidence=0.9999,
        n_samples=2 * trials,
        sample={"measure": "log-ratio", "counts": counts},
    )


def one(item: dict[str, Any] | None, verdict: str = "CONSISTENT", **changes: Any) -> dict[str, Any]:
    settings = {"witness": {"n": 100, "seed": 0, "trials": 9}, "evidence": item}
    changes = settings | changes
    return document(finding("f", verdict, "CONSISTENT") | changes, pools=[])


def compared(
    old: dict[str, Any], new: dict[str, Any], **options: Any
) -> tuple[Change, RunDifferences]:
    comparison = compare(old, new, false_alarm=ALPHA, **options)
    assert len(comparison.changes) == 1
    return comparison.changes[0], comparison


def test_the_same_twice_is_no_change() -> None:
    comparison = compare(document(), document(), false_alarm=ALPHA)
    assert not comparison.worsenings
    assert not any(change.changed for change in comparison.changes)
    assert comparison.complete


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        (rate(200), rate(400), Movement.WORSE),
        (rate(400), rate(200), Movement.BETTER),
        (rate(200), rate(215), Movement.NONE),
        (rate(200), rate(4, 200), Movement.NONE),
        (mean(0.95), mean(0.93), Movement.WORSE),
        (mean(0.93), mean(0.95), Movement.BETTER),
        (mean(0.95), mean(0.9495), Movement.NONE),
        (loss(2700, 1000), loss(5000, 680), Movement.WORSE),
        (loss(5000, 680), loss(2700, 1000), Movement.BETTER),
        (evidence(value=1.0, lower=1.0, upper=1.0), evidence(), Movement.WORSE),
        (evidence(), evidence(value=1.0, lower=1.0, upper=1.0), Movement.BETTER),
        (evidence(), evidence(value=2 + 1e-12, lower=2 + 1e-12, upper=3.0), Movement.NONE),
        (evidence(), evidence(value="inf", lower="inf", upper="inf"), Movement.WORSE),
        (evidence(value="inf", lower="inf", upper="inf"), evidence(), Movement.BETTER),
        (evidence(), evidence(value="nan"), Movement.UNTESTED),
        (evidence(), evidence(quantity="rho"), Movement.UNTESTED),
        (evidence(), evidence(kind="indicative", value=9.0, lower=9.0), Movement.UNTESTED),
        (evidence(), None, Movement.UNTESTED),
        (
            rate(200, sample=None, lower=0.0, upper=0.1),
            rate(9, sample=None, lower=0.2),
            Movement.WORSE,
        ),
        (rate(200, sample=None, upper=0.3), rate(9, sample=None, lower=0.2), Movement.NONE),
        (loss(1, 1) | {"sample": None}, loss(1, 1) | {"sample": None}, Movement.UNTESTED),
    ],
)
def test_numbers_move(old: Any, new: Any, moved: Movement) -> None:
    change, comparison = compared(one(old), one(new))
    assert change.number is moved
    assert comparison.counts(change) is (moved is Movement.WORSE)
    assert (change.p_value is None) is (moved is Movement.UNTESTED)
    assert bool(change.remark) is (moved is Movement.UNTESTED)


@pytest.mark.parametrize(
    ("was", "now", "expected", "moved"),
    [
        ("CONSISTENT", "REFUTED", "CONSISTENT", Movement.WORSE),
        ("INCONCLUSIVE", "REFUTED", None, Movement.WORSE),
        ("ERROR", "REFUTED", "PROVED", Movement.WORSE),
        ("CONSISTENT", "REFUTED", "REFUTED", Movement.NONE),
        ("REFUTED", "CONSISTENT", "CONSISTENT", Movement.BETTER),
        ("REFUTED", "INCONCLUSIVE", "CONSISTENT", Movement.NONE),
        ("PROVED", "CONSISTENT", "PROVED", Movement.NONE),
        ("REFUTED", "REFUTED", "CONSISTENT", Movement.NONE),
    ],
)
def test_verdicts_move(was: str, now: str, expected: Any, moved: Movement) -> None:
    old = one(evidence(), was, expected=expected)
    change, comparison = compared(old, one(evidence(), now, expected=expected))
    assert change.verdict is moved
    assert change.changed is (was != now)
    assert bool(comparison.worsenings) is (moved is Movement.WORSE)


def test_a_new_refutation_by_a_larger_sample_is_told_as_such() -> None:
    change, comparison = compared(one(rate(22, 200)), one(rate(2200, 20_000), "REFUTED"))
    assert comparison.worsenings == (change,)
    assert change.remark == "the number itself did not move significantly"


def test_seeds_and_sample_sizes_do_not_make_another_case() -> None:
    new = one(rate(40, 2000), witness={"n": 100, "seed": 9, "trials": 2000})
    change, comparison = compared(one(rate(200)), new)
    assert (change.differs, change.number) == ((), Movement.WORSE)
    assert comparison.worsenings


def test_another_case_counts_only_when_asked_for() -> None:
    new = one(rate(400), witness={"n": 200, "seed": 0, "trials": 9})
    for strict in (False, True):
        change, comparison = compared(one(rate(200)), new, strict=strict)
        assert change.differs == ("n",)
        assert change.number is Movement.WORSE
        assert bool(comparison.worsenings) is strict
        assert "another case: the numbers of scores differ" in change.remark


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({}, "the results hold too little for a test"),
        ({"value": [1.0], "event": [[0, 1]]}, "the two runs measured different inputs and events"),
        (
            {"value": [1.0], "event": [[0, 1]], "path_seed": 3},
            "the two runs measured different inputs, events and paths",
        ),
    ],
)
def test_without_a_p_value_the_reason_is_told(other: dict[str, Any], why: str) -> None:
    untested = loss(1, 1) | {"sample": None}
    old = one(untested, witness={"value": [0.0], "event": [[0, 2]], "path_seed": 1})
    new = one(untested, witness={"value": [0.0], "event": [[0, 2]], "path_seed": 1} | other)
    change = compared(old, new)[0]
    assert change.remark == f"no p-value: {why}; only the verdicts can be compared"


def test_what_was_proved_was_the_worst_case() -> None:
    """An exact number that covered every case cannot be exceeded by a luckier search."""
    low, high = evidence(value=1.0, lower=1.0, upper=1.0), evidence(value=1.5, lower=1.5)
    new = one(high, witness={"n": 7})
    assert not compared(one(low, "CONSISTENT"), new)[1].worsenings
    assert compared(one(low, "PROVED"), new)[1].worsenings
    better, _ = compared(new, one(low, "PROVED"))
    assert (better.number, better.differs) == (Movement.BETTER, ())


def test_a_changed_claim_is_named() -> None:
    change, _ = compared(one(rate(200)), one(rate(200, claimed=0.05)))
    assert change.remark == "the claim changed from 0.1 to 0.05"
    assert not change.changed


def test_new_and_gone_claims_are_told() -> None:
    good, bad = (
        finding("a", "PROVED", "PROVED"),
        finding("b", "REFUTED", "PROVED", contradicts=True),
    )
    comparison = compare(document(good), document(bad), false_alarm=ALPHA)
    assert [(c.id, c.remark) for c in comparison.changes] == [
        ("b", "a new claim"),
        ("a", "no longer checked"),
    ]
    assert [c.id for c in comparison.worsenings] == ["b"]
    assert not comparison.complete
    assert compare(document(good), document(good, bad), false_alarm=ALPHA).complete
    expected = finding("b", "REFUTED", "REFUTED")
    assert not compare(document(good), document(expected), false_alarm=ALPHA).worsenings


def test_what_could_not_be_checked_leaves_the_comparison_incomplete() -> None:
    broken = one(None, "ERROR", error="ValueError: x")
    change, comparison = compared(one(rate(200)), broken)
    assert not comparison.complete
    assert not comparison.worsenings
    assert "could not be checked: ValueError: x" in change.remark
    assert compared(broken, broken)[1].complete
    assert not compared(one(rate(2)), one(rate(2)) | {"complete": False})[1].complete


def many(hits: list[int]) -> dict[str, Any]:
    findings = [
        finding(f"f{i}", "CONSISTENT", "CONSISTENT", evidence=rate(k)) for i, k in enumerate(hits)
    ]
    return document(*findings, pools=[])


def test_one_level_is_shared_by_all_tests() -> None:
    """A p-value of 4e-4 is significant alone, and not among a hundred; exact numbers are free."""
    old, new = [200] * 100, [274] + [200] * 99
    alone = compare(many(old[:1]), many(new[:1]), false_alarm=ALPHA)
    assert alone.worsenings
    p_value = alone.changes[0].p_value
    assert p_value is not None
    crowd = compare(many(old), many(new), false_alarm=ALPHA)
    assert not crowd.worsenings
    assert crowd.changes[0].p_value == 1.0 or crowd.changes[0].p_value == pytest.approx(
        100 * p_value
    )
    exact = [finding(f"x{i}", "PROVED", "PROVED") for i in range(100)]
    with_exact = [document(*d["findings"], *exact) for d in (many(old[:1]), many(new[:1]))]
    assert compare(*with_exact, false_alarm=ALPHA).worsenings


@pytest.mark.parametrize("false_alarm", [0, 1, float("nan"), "x"])
def test_a_false_alarm_must_be_a_probability(false_alarm: Any) -> None:
    with pytest.raises(ValueError, match="false_alarm must"):
        compare(document(), document(), false_alarm=false_alarm)


HOSTILE_SAMPLES = [
    {"measure": "mean"},
    {"measure": "mean", "trials": 9, "variance": "inf"},
    {"measure": "mean", "trials": 9, "variance": -1.0},
    {"measure": "mean", "trials": 9, "range": [1.0, 0.0]},
    {"measure": "mean", "trials": 9, "range": ["-inf", "inf"]},
    {"measure": "rates", "counts": [{"of": "x", "hits": 5, "trials": 0}]},
    {"measure": "rates", "counts": [{"of": "x", "hits": 10**300, "trials": 10**300}]},
    {"measure": "log-ratio", "counts": [{"of": "x", "hits": 1, "trials": 9}]},
]


@pytest.mark.parametrize("sample", HOSTILE_SAMPLES)
def test_samples_that_make_no_sense_are_not_used(sample: dict[str, Any]) -> None:
    odd = loss(1, 1) | {"sample": sample}
    change, _ = compared(one(odd), one(odd))
    assert change.number is Movement.UNTESTED


def write(path: Path, results: dict[str, Any]) -> str:
    path.write_text(dump(results | {"pools": []}), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "command"),
    [
        (one(rate(200)), one(rate(210)), (0, [])),
        (one(rate(200)), one(rate(400)), (1, [])),
        (one(rate(200)), one(rate(280)), (0, ["--false-alarm", "1e-9"])),
        (one(rate(200)), one(rate(400), witness={}), (0, [])),
        (one(rate(200)), one(rate(400), witness={}), (1, ["--strict"])),
        (one(rate(200)), one(None, "ERROR"), (3, [])),
    ],
)
def test_the_exit_code_says_what_happened(
    old: Any, new: Any, command: tuple[int, list[str]], tmp_path: Path, capsys: Any
) -> None:
    files = [write(tmp_path / "old.json", old), write(tmp_path / "new.json", new)]
    code, options = command
    assert main(["compare", *files, *options]) == code
    assert "1 claim compared" in capsys.readouterr().out


def test_reports_go_where_they_are_told(tmp_path: Path, capsys: Any) -> None:
    files = [write(tmp_path / "o.json", one(rate(200))), write(tmp_path / "n.json", one(rate(400)))]
    reports = ["--report", "json=-", "--report", f"markdown={tmp_path / 'c.md'}"]
    assert main(["compare", *files, *reports]) == 1
    out, err = capsys.readouterr()
    data = json.loads(out, parse_constant=pytest.fail)
    assert data["worsenings"] == ["f"]
    assert data["changes"][0]["p_value"] < 1e-9
    assert data["changes"][0]["new"]["evidence"]["sample"]["counts"][0]["hits"] == 400
    assert data["summary"] in " ".join(err.split())
    assert (tmp_path / "c.md").read_text(encoding="utf-8").startswith("## 1 claim: 1 worse\n")


def test_other_formats_and_files_are_usage_errors(tmp_path: Path, capsys: Any) -> None:
    good = write(tmp_path / "o.json", one(rate(200)))
    assert main(["compare", good, good, "--report", "csv=x.csv"]) == 2
    assert "unknown format 'csv'\nhint: use one of html, json, markdown" in capsys.readouterr().err
    assert main(["compare", good, str(tmp_path / "none.json")]) == 2
    assert "none.json: No such file" in capsys.readouterr().err


def test_markdown_escapes_what_it_prints() -> None:
    old = finding(HOSTILE, "CONSISTENT", "CONSISTENT", evidence=rate(200, detail=HOSTILE))
    new = copy.deepcopy(old) | {"evidence": rate(400, detail=HOSTILE)}
    comparison = compare(document(old), document(new), false_alarm=ALPHA)
    data = plain_data(comparison_data(comparison))
    assert isinstance(data, dict)
    text = render_markdown(data)
    assert "<" not in text
    (row,) = (line for line in text.splitlines() if "worse |" in line)
    assert row.replace("\\|", "").count("|") == 8
    assert r"\`code\`" in row


def test_the_page_shows_what_got_worse_first_and_escapes_what_it_prints() -> None:
    old = finding(HOSTILE, "CONSISTENT", "CONSISTENT", evidence=rate(200, detail=HOSTILE))
    new = copy.deepcopy(old) | {"evidence": rate(400, detail=HOSTILE)}
    same = finding("steady", "CONSISTENT", "CONSISTENT", evidence=rate(200))
    comparison = compare(document(old, same), document(new, same), false_alarm=ALPHA)
    data = plain_data(comparison_data(comparison))
    assert isinstance(data, dict)
    page = render_page(data)
    assert "<h1>2 claims: 1 worse, 1 unchanged</h1>" in page
    assert page.index("<h2>Worse") < page.index("<h2>Without a significant difference")
    assert page.count('<tr><th scope="row">') == 2
    assert HOSTILE not in page
    assert "<script" not in page


def test_a_page_is_written_with_the_exit_code_of_the_comparison(tmp_path: Path) -> None:
    files = [write(tmp_path / "o.json", one(rate(200))), write(tmp_path / "n.json", one(rate(400)))]
    page = tmp_path / "c.html"
    assert main(["compare", *files, "--report", f"html={page}"]) == 1
    assert '<meta name="description" content="' in page.read_text("utf-8")
    text = page.read_text(encoding="utf-8")
    assert "<h1>1 claim: 1 worse</h1>" in text
    assert f"<h2><bdi>The new run: {files[1]}</bdi></h2>" in text


def test_the_summary_counts() -> None:
    _, comparison = compared(one(rate(200)), one(rate(400)))
    assert summary(comparison).startswith("1 claim compared: 1 worse. 1 number could")


def test_many_runs_are_a_trend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest and the newest are tested, those between are shown, in every format."""
    monkeypatch.setenv("COLUMNS", "200")
    hits = (200, 240, 220, 400)
    runs = [one(rate(each), "CONSISTENT" if each < 300 else "REFUTED") for each in hits]
    files = [tmp_path / f"{place}.json" for place in range(len(runs))]
    for file, run in zip(files, runs, strict=True):
        file.write_text(dump(run), "utf-8")
    page, markdown = tmp_path / "c.html", tmp_path / "c.md"
    reports = ["--report", f"html={page}", "--report", f"markdown={markdown}"]
    assert main(["compare", *map(str, files), *reports]) == 1
    said = capsys.readouterr().out
    assert "1 claim compared in 4 runs: 1 worse." in said
    for text in (said, page.read_text("utf-8"), markdown.read_text("utf-8")):
        assert "▁▂▂█ ↑ is worse" in text
        assert all(number in text for number in ("0.01", "0.012", "0.011", "0.02"))
    for text in (page.read_text("utf-8"), markdown.read_text("utf-8")):
        assert "Compared 20" in text
        for place, file in enumerate(files, start=1):
            assert f"Run {place}: {file}" in text.replace("\\_", "_")
            assert sha256(file.read_bytes()).hexdigest() in text
    assert "| run 1 | run 2 | run 3 | run 4 |".title() in markdown.read_text("utf-8")


def test_the_trend_of_a_claim_that_is_gone_ends_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, gone = one(rate(400), "REFUTED"), one(rate(400), "REFUTED") | {"findings": []}
    files = [tmp_path / f"{place}.json" for place in range(3)]
    for file, run in zip(files, (first, gone, gone), strict=True):
        file.write_text(dump(run), "utf-8")
    assert main(["compare", *map(str, files), "--report", f"markdown={tmp_path / 'c.md'}"]) == 3
    capsys.readouterr()
    assert "▁▁" not in (tmp_path / "c.md").read_text("utf-8")


def test_a_claim_that_came_and_went_between_is_shown() -> None:
    runs = one(rate(200)), one(rate(201), "REFUTED"), one(rate(200))
    (change,) = compare(*runs, false_alarm=ALPHA).changes
    assert change.changed
    assert change.verdict is Movement.NONE
    gone = document(pools=[])
    gone["findings"] = []
    (change,) = compare(gone, one(rate(200)), gone, false_alarm=ALPHA).changes
    assert change.changed
    comparison = compare(gone, one(rate(200)), gone, false_alarm=ALPHA)
    assert "f" in render_markdown(plain_data(comparison_data(comparison)))


def test_a_claim_that_is_mended_is_called_fixed() -> None:
    runs = one(loss(1, 1), "REFUTED"), one(loss(1, 1), "PROVED", assumptions="n is public")
    data = comparison_data(compare(*runs, false_alarm=ALPHA))
    assert headline(data) == "1 claim: none worse, 1 fixed"
    for text in (render_markdown(data), render_page(data)):
        assert "none worse, 1 fixed" in text
        assert "Assumes: n is public." in text


def test_what_was_measured_elsewhere_is_not_called_fixed() -> None:
    """The number at another pair, or not significantly better: nothing says that it is mended."""
    old = one(loss(2600, 1000), "REFUTED", witness={"n": 50})
    elsewhere = one(loss(2500, 1000), "CONSISTENT", witness={"n": 3})
    alike = one(loss(2590, 1000), "CONSISTENT", witness={"n": 50})
    for new in (elsewhere, alike):
        data = comparison_data(compare(old, new, false_alarm=ALPHA))
        assert headline(data) == "1 claim: none worse, 1 no longer refuted"
        assert "the number itself did not move significantly" in data["changes"][0]["remark"]
    mended = one(loss(1000, 1000), "CONSISTENT", witness={"n": 50})
    assert "1 fixed" in headline(comparison_data(compare(old, mended, false_alarm=ALPHA)))


def test_what_was_asked_otherwise_is_not_called_fixed() -> None:
    runs = one(loss(1, 1), "REFUTED"), one(loss(1, 1), "PROVED")
    for run, n in zip(runs, ([50], [60]), strict=True):
        run["findings"][0]["subject"] = "mine.py:f"
        run["targets"] = [{"name": "mine.py:f", "n": n, "draws": n[0], "location": {"line": n[0]}}]
    (change,) = compare(*runs, false_alarm=ALPHA).changes
    assert (change.asked, change.fixed) == (("n",), False)
    assert "asked with another n" in change.remark


def test_what_did_not_move_but_was_asked_otherwise_is_not_unchanged() -> None:
    runs = one(loss(1, 1), "PROVED"), one(loss(1, 1), "PROVED")
    for run, alpha in zip(runs, (0.1, 0.2), strict=True):
        run["findings"][0]["subject"] = "mine.py:f"
        run["targets"] = [{"name": "mine.py:f", "alpha": alpha}]
    data = comparison_data(compare(*runs, false_alarm=ALPHA))
    assert headline(data) == "1 claim: none worse, 1 asked otherwise"
    for text in (render_markdown(data), render_page(data)):
        assert "asked with another alpha" in text


def test_a_run_whose_number_is_of_another_case_or_kind_says_so() -> None:
    first = one(rate(200, detail="of uniform scores"))
    last = one(rate(400, detail="of tied scores", kind="indicative"), "REFUTED")
    (row,) = comparison_data(compare(first, last, false_alarm=ALPHA))["changes"]
    _, _, quantity, before, after, *_ = cells_of(row)
    assert "of tied scores" in quantity
    assert "of uniform scores)" in before
    assert "(an indication)" in after
    assert "tied" not in after
