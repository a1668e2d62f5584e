"""Results documents: plain data out, and nothing but well-formed results in."""

from __future__ import annotations

import copy
import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from flint import fmpq

from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.suites import select
from dpcp_audit.reports import document
from dpcp_audit.reports.document import dump, load, to_document
from dpcp_audit.reports.results_schema import SCHEMA_VERSION
from dpcp_audit.stats.enclosures import at_most
from dpcp_audit.words.errors import HINT, UsageError
from dpcp_audit.words.evidence import Computation, Computed
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Claim, Finding, ProofMethod, Source, Verdict

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = RunSettings(profile=Profile.SMOKE)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """A small real run: lines, a histogram, an error, an infinite value."""
    from dpcp_audit.engine.runner import run  # noqa: PLC0415
    from dpcp_audit.engine.tasks import RunFinished  # noqa: PLC0415

    *_, last = run(select(["ldpcp.krr", "pcoqs.remark-3", "pcoqs.epsilon*"]), SETTINGS)
    assert isinstance(last, RunFinished)
    claim = Claim(
        id="x.error",
        statement="s",
        source=Source(paper="P", section="1"),
        expected=Verdict.CONSISTENT,
    )
    broken = Finding(claim=claim, outcome=None, error="ValueError: planted (in f)")
    endless = Computed(lambda: Computation(quantity=Quantity.VALUE, value=math.inf, claimed=1.0))
    infinite = Finding(
        claim=Claim(id="x.infinite", statement="s", source=claim.source, expected=Verdict.REFUTED),
        outcome=endless(None),  # type: ignore[arg-type]
    )
    everything = [*last.findings, broken, infinite]
    return to_document(SETTINGS, everything, seconds=1.0, complete=True)


def write(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_more_findings_than_any_run_has_are_refused(
    results: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert document._MOST_FINDINGS == 10_000
    monkeypatch.setattr(document, "_MOST_FINDINGS", 100)
    many = results | {"findings": results["findings"][:1] * 101}
    with pytest.raises(UsageError, match="101 findings, this tool reads at most 100$"):
        load(write(tmp_path / "r.json", many))


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ({"schema_version": SCHEMA_VERSION}, "20000 findings, this tool reads at most 10000"),
        ({"schema_version": "1.0"}, "schema version 1.0, this tool reads"),
        ({}, "no schema_version"),
    ],
)
def test_a_file_of_stubs_is_refused_at_a_glance(
    head: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One of 88 MB took minutes: it was copied and written again before it was looked at."""
    monkeypatch.setattr("dpcp_audit.reports.document.plain_record", pytest.fail)
    stubs = head | {"findings": [{"id": "a", "verdict": "REFUTED"}] * 20_000}
    with pytest.raises(UsageError, match=message):
        load(write(tmp_path / "r.json", stubs))


def test_round_trip(results: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(dump(results), encoding="utf-8")
    assert load(path) == results
    assert json.loads(dump(results), parse_constant=pytest.fail) == results


def test_summary_counts_what_is_there(results: dict[str, Any]) -> None:
    verdicts = [finding["verdict"] for finding in results["findings"]]
    counts = {str(verdict): verdicts.count(verdict) for verdict in Verdict}
    assert results["summary"] == counts | {"contradictions": 0}
    assert results["findings"][-1]["evidence"]["value"] == "inf"
    assert results["findings"][-2]["evidence"] is None


def test_replay_commands_are_safe_to_paste(results: dict[str, Any]) -> None:
    command = next(f["replay"] for f in results["findings"] if f["id"] == "pcoqs.remark-3")
    assert command == "dpcp-audit replay pcoqs.remark-3 RESULTS.json"
    claim = Claim(
        id="a[b;rm]", statement="s", source=Source(paper="P", section="1"), expected=Verdict.PROVED
    )
    shown = to_document(SETTINGS, [Finding(claim=claim, outcome=None)], seconds=0, complete=True)
    assert shown["findings"][0]["replay"] == "dpcp-audit replay 'a[b;rm]' RESULTS.json"


HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "binary": bytes(range(256)),
    "zip": b"PK\x03\x04\x00\xff",
    "bom": b"\xef\xbb\xbf{}",
    "truncated": b'{"schema_version": "2.0", "findings": [',
    "two": b"{} {}",
    "deep": b"[" * 100_000,
    "deep-objects": b'{"schema_version":"1.0","findings":' + b'{"a":' * 500 + b"1" + b"}" * 501,
    "long-number": b'{"schema_version": "2.0", "seed": ' + b"9" * 5000 + b"}",
    "half-a-character": b'{"schema_version": "2.0", "seed": "\\ud800"}',
    "a-list": b"[1, 2]",
    "a-number": b"7",
    "null": b"null",
    "other-json": b'{"name": "x"}',
    "no-findings": b'{"schema_version": "2.0"}',
    "version-1": b'{"schema_version": "1.1", "findings": []}',
    "version-10": b'{"schema_version": "10.0", "findings": []}',
    "version-none": b'{"schema_version": null, "findings": []}',
    "version-list": b'{"schema_version": [1], "findings": []}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_other_files_are_refused_in_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(HOSTILE[name])
    with pytest.raises(UsageError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).partition(HINT)[0].splitlines()) == 1
    assert len(str(caught.value).splitlines()) <= 2


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load(tmp_path / "none.json")
    with pytest.raises(UsageError, match="Is a directory"):
        load(tmp_path)


def test_other_versions_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", {"schema_version": "1.1", "findings": []})
    with pytest.raises(UsageError, match="schema version 1.1, this tool reads 2"):
        load(path)


def test_text_that_is_not_unicode_is_refused(results: dict[str, Any], tmp_path: Path) -> None:
    """JSON can write half a surrogate pair, which no file or terminal can show."""
    broken = copy.deepcopy(results)
    broken["findings"][0]["note"] = "\ud800"
    with pytest.raises(UsageError, match="surrogates not allowed"):
        load(write(tmp_path / "r.json", broken))


def test_later_minor_versions_and_unknown_keys_are_read(
    results: dict[str, Any], tmp_path: Path
) -> None:
    later = results | {"schema_version": "2.7", "novelty": {"a": [1]}}
    assert load(write(tmp_path / "r.json", later)) == later


def test_numbers_that_json_lacks_are_normalised(results: dict[str, Any], tmp_path: Path) -> None:
    odd = copy.deepcopy(results)
    odd["findings"][0]["evidence"] |= {"value": math.nan, "lower": -math.inf}
    evidence = load(write(tmp_path / "r.json", odd))["findings"][0]["evidence"]
    assert (evidence["value"], evidence["lower"]) == ("nan", "-inf")


PLACES = [
    (["findings"], {}, "findings must be a valid array"),
    (["findings"], ["x"], r"findings\[0\] must be an object, got 'x'"),
    (["seed"], -1, "seed must be greater than or equal to 0"),
    (["seed"], True, "seed must be a valid integer"),
    (["seed"], "0", "seed must be a valid integer, got '0'"),
    (["profile"], None, "profile must be a valid string, got None"),
    (["false_alarm"], "much", "false_alarm must be a number, got 'much'"),
    (["complete"], 1, "complete must be a valid boolean"),
    (["summary"], [], "summary must be an object"),
    (["summary", "REFUTED"], -1, "summary.REFUTED must be greater than or equal to 0"),
    (["summary", "contradictions"], None, "summary.contradictions"),
    (["tool"], "dpcp-audit", "tool must be an object"),
    (["tool", "version"], 1, "tool.version must be a valid string"),
    (["findings", 0, "id"], 7, r"findings\[0\].id must be a valid string, got 7"),
    (["findings", 1, "id"], "ldpcp.krr", "ids of findings must be unique"),
    (["findings", 0, "verdict"], "MAYBE", r"findings\[0\].verdict must be 'REFUTED'"),
    (["findings", 0, "verdict"], [], r"findings\[0\].verdict must be 'REFUTED'"),
    (["findings", 0, "expected"], "refuted", r"findings\[0\].expected must be 'REFUTED'"),
    (["findings", 0, "contradicts"], "no", r"findings\[0\].contradicts must be a valid boolean"),
    (["findings", 0, "source"], "the paper", r"findings\[0\].source must be an object"),
    (["findings", 0, "source", "section"], None, r"source.section must be a valid string"),
    (["findings", 0, "evidence"], [], r"findings\[0\].evidence must be an object"),
    (["findings", 0, "evidence", "value"], "big", r"evidence.value must be a number, got 'big'"),
    (["findings", 0, "evidence", "value"], None, r"evidence.value must be a number"),
    (["findings", 0, "evidence", "value"], 10**400, r"evidence.value must be a number"),
    (["findings", 0, "evidence", "claimed"], "?", r"evidence.claimed must be a number"),
    (["findings", 0, "evidence", "n_samples"], 1.5, r"evidence.n_samples must be a valid integer"),
    (["findings", 0, "evidence", "kind"], "sure", r"evidence.kind must be 'exact'"),
    (["findings", 0, "witness"], None, r"findings\[0\].witness must be an object"),
    (["findings", 0, "figures"], None, r"findings\[0\].figures must be a valid array"),
    (["findings", 0, "figures"], [3], r"findings\[0\].figures\[0\] must be an object"),
    (["findings", 0, "figures", 0, "kind"], "pie", r"figures\[0\].kind must be 'lines'"),
    (["findings", 0, "figures", 0, "marks"], {"a": "b"}, r"marks\.a must be a number"),
    (
        ["findings", 0, "figures", 0, "series", 0, "x"],
        [1, "2"],
        r"series\[0\].x\[1\] must be a number",
    ),
    (["findings", 0, "figures", 0, "series", 0, "x"], [1], r"x and .y must match in length"),
    (["findings", 0, "seconds"], "1 s", r"findings\[0\].seconds must be a number"),
]


@pytest.mark.parametrize(("place", "value", "message"), PLACES)
def test_wrong_types_are_named_with_their_place(
    results: dict[str, Any], tmp_path: Path, place: list[Any], value: object, message: str
) -> None:
    broken = copy.deepcopy(results)
    inner: Any = broken
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(UsageError, match=message):
        load(write(tmp_path / "r.json", broken))


DEFAULTS = {"claimed", "n_samples", "marks"}
NEEDED = [place for place, *_ in PLACES if isinstance(place[-1], str) and place[-1] not in DEFAULTS]


@pytest.mark.parametrize("place", NEEDED)
def test_missing_keys_are_named(results: dict[str, Any], tmp_path: Path, place: list[Any]) -> None:
    broken = copy.deepcopy(results)
    inner: Any = broken
    for key in place[:-1]:
        inner = inner[key]
    del inner[place[-1]]
    with pytest.raises(UsageError, match=f"{place[-1]} is missing"):
        load(write(tmp_path / "r.json", broken))


def test_what_is_proved_lists_its_assumptions(results: dict[str, Any]) -> None:
    """Those of the claim and of the proof; "none" where there are none, and "" of no proof."""
    proved, *others = results["findings"]
    assert (proved["verdict"], proved["assumptions"]) == ("PROVED", "none")
    assert "none" not in {each["assumptions"] for each in others}
    assert other_assumptions("a fact", ["a rule", "another"]) == "a fact; a rule; another"
    assert other_assumptions("", ["a rule"]) == "a rule"


def other_assumptions(claimed: str, of_proof: list[str]) -> str:
    """Return the assumptions of a proved finding, in its results document."""
    compared = at_most("0 ≤ 1", fmpq(0), fmpq(1))
    computed = Computation(quantity=Quantity.VALUE, value=0.0, claimed=1.0).between(
        compared,
        method=ProofMethod.ARGUMENT,
        argument="It is.",
        parameters={"assumptions": of_proof},
    )
    claim = Claim(
        id="x.proved",
        statement="s",
        source=Source(paper="P", section="1"),
        expected=Verdict.PROVED,
        assumptions=claimed,
    )
    finding = Finding(claim=claim, outcome=Computed(lambda: computed)(None))  # type: ignore[arg-type]
    (entry,) = to_document(SETTINGS, [finding], seconds=1.0, complete=True)["findings"]
    said: str = entry["assumptions"]
    return said
