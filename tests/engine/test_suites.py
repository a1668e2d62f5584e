"""The suite as data: ids, sources, selection, and the truth of each check's ``sampled`` flag."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from support.row_outcomes import least_effort

from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import share
from dpcp_audit.engine.suites import built_in, find, row_of, select, suite
from dpcp_audit.words.checks import Check, Context
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.evidence import Computed, Simulated
from dpcp_audit.words.results import EvidenceKind, Verdict
from dpcp_ledger.ldpcp.ldpcp_theorems import DistributionSearch

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Row

ASKED_FOR = (
    "ldpcp.krr",
    "ldpcp.rr-debias",
    "ldpcp.theorem-4",
    "ldpcp.aps-range",
    "ldpcp.shuffle",
    "ldpcp.figure-5",
    "pcoqs.proposition-1.zcdp",
    "pcoqs.epsilon-equivalence",
    "pcoqs.remark-2",
    "pcoqs.remark-7",
    "pcoqs.theorem-1",
    "pcoqs.corollary-1",
    "exponq.privacy",
    "histlap.privacy",
    "dpskin.gaussian-classic",
)
ROWS = {row.claim.id: row for row in suite()}


def bare(id_: str) -> str:
    return id_.split("[", 1)[0]


def test_ids_are_unique_and_enough() -> None:
    assert len(ROWS) == len(suite()) >= 20


@pytest.mark.parametrize("id_", ASKED_FOR)
def test_every_core_claim_is_there(id_: str) -> None:
    assert id_ in set(map(bare, ROWS))


@pytest.mark.parametrize("id_", ["exponq.privacy", "histlap.privacy", "ldpcp.aps-range"])
def test_both_forms_are_there(id_: str) -> None:
    """One form that holds beside one that does not."""
    expected = {str(row.claim.expected) for name, row in ROWS.items() if bare(name) == id_}
    assert "REFUTED" in expected
    assert expected - {"REFUTED"}


@pytest.mark.parametrize("which", list(built_in()))
def test_every_row_says_what_it_is(which: str) -> None:
    for row in suite(which):
        claim = row.claim
        assert re.fullmatch(r"[a-z0-9.-]+(\[\S+\])?", claim.id)
        said = (claim.statement, claim.source.paper, claim.source.section)
        assert all(text.strip() for text in said), claim.id
        assert isinstance(row.check, Check), claim.id
        assert claim.expected in {
            None,
            Verdict.REFUTED,
            Verdict.PROVED,
            Verdict.CONSISTENT,
            Verdict.VACUOUS,
        }


@pytest.mark.parametrize("which", ["papers", "training", "tables"])
def test_the_longest_checks_are_the_suites_own(which: str) -> None:
    longest = find(which).longest
    assert longest
    assert set(longest) <= {row.claim.id for row in suite(which)}


def test_every_claim_of_the_papers_has_an_expectation() -> None:
    assert not [id_ for id_, row in ROWS.items() if row.claim.expected is None]


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS.values() if not isinstance(row.check, Computed)],
    ids=lambda row: row.claim.id,
)
def test_a_check_is_sampled_exactly_where_its_evidence_is(row: Row) -> None:
    """A search may draw what it tries, and still compute what it says of it.

    What is computed never draws: ``tests/ledger/claims/test_papers_suite.py`` looks at it.
    """
    found = least_effort("papers", row.claim.id)
    evidence = found.outcome.evidence
    assert (evidence.kind is EvidenceKind.CERTIFIED) == row.check.sampled
    assert (evidence.n_samples is not None) == row.check.sampled
    assert (evidence.confidence < 1) == row.check.sampled
    published_seeds = isinstance(row.check, Simulated)
    assert found.drew or not row.check.sampled or published_seeds
    assert not found.drew or row.check.sampled or isinstance(row.check, DistributionSearch)


@pytest.mark.parametrize(
    "id_", ["ldpcp.krr", "pcoqs.theorem-1[coverage=conditional]", "pcoqs.remark-3"]
)
def test_the_seed_matters_to_sampled_checks_alone(id_: str) -> None:
    first, second = (
        row_of(id_).check(Context(seed=seed, name=id_, significance=1e-3, effort=0.01))
        for seed in (0, 1)
    )
    differs = first.evidence != second.evidence or first.witness != second.witness
    assert differs == row_of(id_).check.sampled


def test_no_pattern_selects_everything() -> None:
    for which in built_in():
        if not find(which).given_by:
            assert [row.claim.id for row in select([], which)] == [r.claim.id for r in suite(which)]


@pytest.mark.parametrize(
    ("which", "command"),
    [
        ("targets", "check"),
        ("traces", "trace"),
        ("estimates", "estimate"),
        ("theorem-case", "theorem"),
    ],
)
def test_a_suite_without_claims_is_refused_and_names_who_gives_it_some(which, command) -> None:
    with pytest.raises(
        UsageError, match=f"^suite {which} has no claims.*\nhint: 'dpcp-audit {command}'"
    ):
        select([], which)


def test_a_suite_without_claims_says_who_gives_it_some() -> None:
    assert {each for each in built_in() if not suite(each)} <= {
        each for each in built_in() if find(each).given_by or find(each).skipped()
    }


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["ldpcp.krr"], {"ldpcp.krr"}),
        (["ldpcp.krr", "ldpcp.krr"], {"ldpcp.krr"}),
        (["ldpcp.shuffle[n=2452]"], {"ldpcp.shuffle[n=2452]"}),
        (["ldpcp.shuffle[n=*]"], {"ldpcp.shuffle[n=2452]", "ldpcp.shuffle[n=11080]"}),
        (["*.krr", "pcoqs.remark-3"], {"ldpcp.krr", "pcoqs.remark-3"}),
        (["ldpcp.k?r"], {"ldpcp.krr"}),
        (["?dpcp.krr"], {"ldpcp.krr"}),
    ],
)
def test_selection(patterns: list[str], expected: set[str]) -> None:
    assert {row.claim.id for row in select(patterns)} == expected


@pytest.mark.parametrize("pattern", ["nope", "", "ldpcp.kr", "LDPCP.KRR", "ldpcp.[k]rr", "[!x]*"])
def test_what_matches_nothing_is_refused(pattern: str) -> None:
    """Brackets are no character classes, and letters keep their case."""
    with pytest.raises(UsageError, match="no claim matches"):
        select([pattern])
    with pytest.raises(UsageError, match="no claim matches"):
        select(["ldpcp.krr", pattern])


def test_selection_keeps_the_order_of_the_suite() -> None:
    picked = [row.claim.id for row in select(["pcoqs.*", "ldpcp.*"])]
    assert picked == [id_ for id_ in ROWS if id_.startswith(("pcoqs.", "ldpcp."))]


def test_unknown_ids_have_no_row() -> None:
    with pytest.raises(UsageError, match="no claim has the id 'nope'"):
        row_of("nope")


@pytest.mark.parametrize("false_alarm", [1e-3, 0.5, 1e-100])
@pytest.mark.parametrize("which", list(built_in()))
def test_shares_add_up_to_no_more_than_the_whole(which: str, false_alarm: float) -> None:
    settings = RunSettings(false_alarm=false_alarm, suite=which)
    rows = [row for row in suite(which) if row.check.sampled]
    assert len(rows) * share(settings) <= false_alarm * (1 + 1e-12)
    assert len(rows) * 2 * share(settings, rows * 2) <= false_alarm * (1 + 1e-12)
    assert share(settings, rows[:1]) == share(settings)
