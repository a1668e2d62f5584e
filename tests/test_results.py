from __future__ import annotations

import dataclasses
import math

import pytest

from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import (
    Claim,
    Evidence,
    EvidenceKind,
    Finding,
    Outcome,
    Premise,
    Proof,
    ProofMethod,
    Source,
    Verdict,
)

REFUTED, PROVED, CONSISTENT, VACUOUS, INCONCLUSIVE, ERROR = Verdict
CLAIM = Claim(
    id="x.y[z=1]",
    statement="It holds.",
    source=Source(paper="P", section="Theorem 1"),
    expected=PROVED,
)


def test_a_verdict_has_no_truth_value() -> None:
    for verdict in Verdict:
        with pytest.raises(TypeError, match="no truth value"):
            bool(verdict)


@pytest.mark.parametrize(
    ("verdict", "expected", "contradicts"),
    [
        (REFUTED, REFUTED, False),
        (REFUTED, PROVED, True),
        (REFUTED, CONSISTENT, True),
        (PROVED, CONSISTENT, False),
        (CONSISTENT, PROVED, False),
        (CONSISTENT, REFUTED, True),
        (PROVED, REFUTED, True),
        (ERROR, REFUTED, False),
        (ERROR, PROVED, False),
        (INCONCLUSIVE, PROVED, False),
        (INCONCLUSIVE, REFUTED, False),
        (VACUOUS, PROVED, False),
        (VACUOUS, REFUTED, True),
    ],
)
def test_contradiction(verdict, expected, contradicts) -> None:
    assert verdict.contradicts(expected) is contradicts


def test_inconclusive_contradicts_only_when_strict() -> None:
    assert INCONCLUSIVE.contradicts(PROVED, strict=True)
    assert not ERROR.contradicts(PROVED, strict=True)
    assert not PROVED.contradicts(CONSISTENT, strict=True)


def test_exact_evidence_carries_its_slack() -> None:
    evidence = Evidence.exact(Quantity.DELTA, 0.25, claimed=0.2, slack=1e-9, error=0.0)
    assert evidence.kind is EvidenceKind.EXACT
    assert (evidence.lower, evidence.value, evidence.upper) == (0.25, 0.25, 0.25 + 1e-9)
    assert (evidence.claimed, evidence.confidence, evidence.n_samples) == (0.2, 1.0, None)


@pytest.mark.parametrize(
    ("value", "lower", "upper"),
    [
        (4.0, 4.0 - 4e-9, 4.0 + 4e-9),
        (0.0, 0.0, 1e-15),
        (-2.0, -2.0 - 2e-9, -2.0 + 2e-9),
        (math.inf, math.inf, math.inf),
    ],
)
def test_a_number_that_is_not_enclosed_has_a_numerical_error(
    value: float, lower: float, upper: float
) -> None:
    evidence = Evidence.exact(Quantity.VALUE, value)
    assert (evidence.lower, evidence.upper) == pytest.approx((lower, upper), rel=1e-14)


def test_a_premise_cannot_hold_against_its_ends() -> None:
    with pytest.raises(ValueError, match="does not hold"):
        Premise(says="2 ≤ 1", left=(2.0, 2.0), right=(1.0, 1.0), holds=True)
    with pytest.raises(ValueError, match="left must be a lower and an upper end"):
        Premise(says="", left=(2.0, 1.0), right=(1.0, 1.0), holds=False)


def test_a_proof_holds_where_every_premise_does() -> None:
    good, bad = (
        Premise(says="", left=(1.0, 1.0), right=(2.0, 2.0), holds=holds) for holds in (True, False)
    )

    def proof(*premises: Premise) -> Proof:
        return Proof(method=ProofMethod.ARGUMENT, argument="So it is.", premises=premises)

    assert proof(good).holds
    assert not proof(good, bad).holds
    with pytest.raises(ValueError, match="at least one premise"):
        proof()


def test_a_finding_without_outcome_is_an_error() -> None:
    outcome = Outcome(verdict=REFUTED, evidence=Evidence.exact(Quantity.DELTA, 1.0))
    assert Finding(claim=CLAIM, outcome=None, error="boom").verdict is ERROR
    assert Finding(claim=CLAIM, outcome=outcome).verdict is REFUTED


def test_results_are_frozen_and_do_not_share_their_witness() -> None:
    first, second = (
        Outcome(verdict=REFUTED, evidence=Evidence.exact(Quantity.DELTA, 1.0)) for _ in "ab"
    )
    first.witness["n"] = 3
    assert second.witness == {}
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.note = "x"


def test_a_source_reads_as_a_citation() -> None:
    assert str(CLAIM.source) == "P, Theorem 1"


def test_bad_claims_are_refused() -> None:
    with pytest.raises(ValueError, match="^id must be a non-empty word"):
        dataclasses.replace(CLAIM, id="two words")
    with pytest.raises(ValueError, match="^id must be a non-empty word"):
        dataclasses.replace(CLAIM, id="")
    with pytest.raises(ValueError, match="^expected must be a Verdict"):
        dataclasses.replace(CLAIM, expected="REFUTED")


@pytest.mark.parametrize(
    ("verdict", "shown"),
    [(PROVED, VACUOUS), (CONSISTENT, VACUOUS), (INCONCLUSIVE, VACUOUS), (REFUTED, REFUTED)],
)
def test_a_claim_that_promises_nothing_is_vacuous_unless_it_is_refuted(verdict, shown) -> None:
    evidence = Evidence.exact(Quantity.COVERAGE_FAILURE, 0.0, claimed=0.1)
    finding = Finding(
        claim=dataclasses.replace(CLAIM, vacuous="Vacuous: it promises coverage ≥ 0."),
        outcome=Outcome(verdict=verdict, evidence=evidence),
    )
    assert finding.verdict is shown
    assert dataclasses.replace(finding, claim=CLAIM).verdict is verdict
