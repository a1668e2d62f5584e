"""Claims of neighbouring works: each comes out as it is recorded, and a false one is refuted."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from dpcp_audit.engine import suites
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Standing, Verdict
from dpcp_ledger.related import related_works

ROWS = {row.claim.id: row for row in suites.suite("related")}
COMPUTED = sorted(id_ for id_, row in ROWS.items() if not row.check.sampled)


def verdict(check) -> Verdict:
    return check(Context(seed=0, name="x", significance=1e-6)).verdict


@pytest.mark.parametrize("id_", sorted(ROWS))
def test_each_says_what_was_read_and_over_what_it_speaks(id_) -> None:
    claim = ROWS[id_].claim
    assert claim.statement.startswith("“")
    assert "quantifier: " in claim.assumptions
    assert "read: " in claim.assumptions
    derived = claim.standing is Standing.READING
    assert derived or claim.assumptions.partition("read: ")[2].startswith("the abstract")


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "false",
    [
        related_works.new_record(0.9, 1.0, records=200_000, labels=1_000_000),
        related_works.releases_of_one_record(3, 0.5, claimed=1.4),
        related_works.sets_against_confidence([0.5, 0.4, 0.1], [0.5, 0.25, 0.25], 0.65),
    ],
)
def test_a_false_claim_is_refuted(false) -> None:
    assert verdict(false) is Verdict.REFUTED


def test_equal_sets_tell_nothing() -> None:
    check = related_works.sets_against_confidence([0.6, 0.4], [0.6, 0.4], 0.65)
    assert verdict(check) is not Verdict.REFUTED


def test_releases_compose_as_all_their_answers_do() -> None:
    kept = 1 / (1 + math.exp(-0.5))
    mass: Counter[tuple[int, ...]] = Counter()
    for answers in product((0, 1), repeat=3):
        mass[answers] = math.prod(kept if each else 1 - kept for each in answers)
    largest = max(math.log(mass[each] / mass[tuple(1 - a for a in each)]) for each in mass)
    assert related_works._composed(3, 0.5, 2.0).value == pytest.approx(largest)


@pytest.mark.parametrize("local", [1, 3, 5])
def test_the_quantile_of_one_agent_covers_as_its_order_statistic(local) -> None:
    assert related_works._covered(1, 5, local, 1) == Fraction(local, 6)


def test_the_largest_of_all_covers_as_that_of_pooled_scores() -> None:
    assert related_works._covered(4, 5, 5, 4) == Fraction(20, 21)


@pytest.mark.known_bad
def test_a_search_that_ends_one_further_is_refuted(monkeypatch) -> None:
    searched = related_works._searched
    monkeypatch.setattr(related_works, "_searched", lambda *case: searched(*case) + 1)
    assert verdict(related_works.integer_search(4, 2)) is Verdict.REFUTED
