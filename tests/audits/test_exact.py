"""Exact checks: what a computation settles, and guarantees against exact law pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.proofs import PROOF
from support.samplers import context

from dpcp_audit.audits.exact import (
    _between,
    _method,
    exact_outcome,
    profile_figure,
)
from dpcp_audit.laws.laws import FiniteLaw, FinitePair, GaussianPair, LaplacePair
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.words.evidence import Computation, Computed
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    Coverage,
    LocalDP,
    PrivacyGuarantee,
    PureDP,
    RenyiDP,
)
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import EvidenceKind, ProofMethod, Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.results import Proof

ARGUMENT = "They are all there are."


def computation(value: float, claimed: float = 1.0, **more: object) -> Computation:
    return Computation(quantity=Quantity.VALUE, value=value, claimed=claimed, **more)  # type: ignore[arg-type]


def pruned_pair(p: list[float], q: list[float], slack: float) -> FinitePair:
    laws = [FiniteLaw(np.log(mass), np.zeros(len(mass)), slack) for mass in (p, q)]
    return FinitePair(*laws)


@pytest.mark.parametrize(
    ("value", "slack", "proof", "verdict"),
    [
        (0.9, 0.0, PROOF, Verdict.PROVED),
        (1.0, 0.0, PROOF, Verdict.CONSISTENT),
        (1 + 1e-12, 0.0, PROOF, Verdict.CONSISTENT),
        (1 + 1e-6, 0.0, PROOF, Verdict.REFUTED),
        (0.9, 0.0, None, Verdict.CONSISTENT),
        (0.9, 0.2, PROOF, Verdict.CONSISTENT),
        (0.9, 0.0999, PROOF, Verdict.PROVED),
        (1.1, 5.0, PROOF, Verdict.REFUTED),
        (math.inf, 0.0, PROOF, Verdict.REFUTED),
    ],
)
def test_verdict_of_a_computation(
    value: float, slack: float, proof: Proof | None, verdict: Verdict
) -> None:
    assert computation(value, slack=slack, proof=proof).verdict is verdict


def test_ends_that_are_given_take_the_place_of_the_numerical_error() -> None:
    within = computation(1 + 1e-12, lower=0.9, upper=1.0, proof=PROOF)
    assert (within.verdict, within.evidence.value) == (Verdict.PROVED, 1.0)
    assert computation(1.0, lower=math.nextafter(1.0, 2.0), upper=1.5).verdict is Verdict.REFUTED
    assert computation(0.5, upper=1.2, proof=PROOF).verdict is Verdict.CONSISTENT


def test_tiny_claims_are_not_drowned_in_rounding() -> None:
    assert computation(2e-12, 1e-12).verdict is Verdict.REFUTED
    assert computation(1e-14, 0.0).verdict is Verdict.REFUTED


@pytest.mark.parametrize("field", ["value", "claimed"])
def test_nan_is_no_evidence(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} must be a number, got nan"):
        computation(**({"value": 0.5, "claimed": 1.0} | {field: math.nan}))


def test_slack_is_not_negative() -> None:
    with pytest.raises(ValueError, match="slack"):
        computation(0.5, slack=-0.1)


def test_computed_hands_over_the_computation() -> None:
    found = computation(0.5, slack=0.1, proof=PROOF, witness={"n": 3})
    outcome = Computed(lambda: found)(context(0))
    evidence = outcome.evidence
    assert (evidence.kind, evidence.confidence, evidence.n_samples) == (EvidenceKind.EXACT, 1, None)
    assert (evidence.lower, evidence.upper) == pytest.approx((0.5, 0.6), rel=1e-8)
    assert evidence.claimed == 1.0
    assert outcome.witness == {"n": 3}
    assert (outcome.verdict, outcome.proof) == (Verdict.PROVED, PROOF)
    open_ = Computed(lambda: computation(0.5, slack=0.6, proof=PROOF))(context(0))
    assert (open_.verdict, open_.proof) == (Verdict.CONSISTENT, None)


GAUSSIAN, LAPLACE = GaussianPair(1.0), LaplacePair((1.0,))
DELTA = GAUSSIAN.delta_at(1.0)


@pytest.mark.parametrize(
    ("tight", "broken", "pair"),
    [
        (PureDP(1.0), PureDP(0.99), LAPLACE),
        (LocalDP(1.0), LocalDP(0.99), LAPLACE),
        (ApproxDP(1.0, DELTA * (1 + 1e-12)), ApproxDP(1.0, 0.99 * DELTA), GAUSSIAN),
        (ZCDP(0.5), ZCDP(0.49), GAUSSIAN),
        (RenyiDP(2.0, 1.0), RenyiDP(2.0, 0.99), GAUSSIAN),
    ],
)
def test_every_guarantee_at_and_below_what_holds(
    tight: PrivacyGuarantee, broken: PrivacyGuarantee, pair: GaussianPair
) -> None:
    assert exact_outcome(tight, [pair], argument=ARGUMENT).verdict is Verdict.PROVED
    assert exact_outcome(tight, [pair]).verdict is Verdict.CONSISTENT
    assert exact_outcome(tight, [pair]).proof is None
    refuted = exact_outcome(broken, [pair], argument=ARGUMENT)
    assert refuted.verdict is Verdict.REFUTED
    assert refuted.witness["guarantee"] == str(broken)


def test_pure_dp_of_a_gaussian_is_refuted_without_bound() -> None:
    result = exact_outcome(PureDP(5.0), [GAUSSIAN], argument=ARGUMENT)
    assert result.value == math.inf
    assert result.verdict is Verdict.REFUTED
    assert f"{GAUSSIAN.delta_at(5.0):.3g}, not 0" in result.note


def test_slack_of_a_better_pair_can_be_the_worse() -> None:
    """The pair of largest δ may be exact while another one's pruned mass reaches further."""
    exact = FinitePair(FiniteLaw.from_mass([0.6, 0.4]), FiniteLaw.from_mass([0.5, 0.5]))
    pruned = pruned_pair([0.59, 0.41], [0.5, 0.5], 0.05)
    result = exact_outcome(ApproxDP(0.0, 0.12), [exact, pruned], argument=ARGUMENT)
    assert result.value == pytest.approx(0.1)
    assert result.value + result.slack == pytest.approx(0.14)
    assert result.verdict is Verdict.CONSISTENT
    small = pruned_pair([0.59, 0.41], [0.5, 0.5], 0.005)
    assert exact_outcome(ApproxDP(0.0, 0.12), [exact, small], argument=ARGUMENT).verdict is (
        Verdict.PROVED
    )


@pytest.mark.parametrize("guarantee", [PureDP(1.0), ZCDP(1.0), RenyiDP(2.0, 1.0)])
def test_no_divergence_is_proved_from_pruned_laws(guarantee: PrivacyGuarantee) -> None:
    """A pruned outcome may hide any log-ratio, whichever pair it belongs to."""
    exact = FinitePair(FiniteLaw.from_mass([0.6, 0.4]), FiniteLaw.from_mass([0.5, 0.5]))
    pruned = pruned_pair([0.55, 0.45], [0.5, 0.5], 1e-15)
    result = exact_outcome(guarantee, [exact, pruned], argument=ARGUMENT)
    assert (result.verdict, result.slack, result.proof) == (Verdict.CONSISTENT, 0.0, None)
    assert exact_outcome(guarantee, [exact], argument=ARGUMENT).verdict is Verdict.PROVED


def test_claims_of_nothing() -> None:
    """Two equal laws spend nothing; (0, 0)-DP claims exactly that, but for rounded masses."""
    law = FiniteLaw.from_mass([0.5, 0.5])
    result = exact_outcome(ApproxDP(0.0, 0.0), [FinitePair(law, law)], argument=ARGUMENT)
    assert result.verdict is Verdict.CONSISTENT
    assert "inf" not in result.note
    figure, _ = result.figures
    assert figure.series[0].x[-1] > 0


def test_unknown_guarantees_and_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="pairs must hold at least one"):
        exact_outcome(PureDP(1.0), [])
    with pytest.raises(ValueError, match="guarantee must be PureDP"):
        loss_of(Coverage(at_least=0.9)).measured(GAUSSIAN)  # type: ignore[arg-type]


@pytest.mark.parametrize("guarantee", [PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 0.2)])
def test_profile_figure_shows_a_claim_that_holds_above_what_is_measured(
    guarantee: PrivacyGuarantee,
) -> None:
    pair = LAPLACE if isinstance(guarantee, PureDP) else GAUSSIAN
    claimed, exact = profile_figure(guarantee, pair).series
    assert claimed.x == exact.x
    assert all(allowed >= found - 1e-9 for allowed, found in zip(claimed.y, exact.y, strict=True))


def test_slack_that_may_hide_a_violation_of_twice_the_claim_settles_nothing() -> None:
    found = Computation(quantity=Quantity.EPSILON, value=0.5, claimed=1.0, slack=10.0)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.power.smallest == pytest.approx(11.0)


def test_a_sum_over_tables_is_an_enumeration_and_formulas_are_not() -> None:
    law = FiniteLaw.from_mass([0.5, 0.5])
    assert _method([LAPLACE, FinitePair(law, law)]) is ProofMethod.ENUMERATION
    assert _method([LAPLACE, GAUSSIAN]) is ProofMethod.CLOSED_FORM


def test_the_lower_end_leaves_room_for_the_rounding_of_the_laws_parameters() -> None:
    assert _between(computation(0.75, error=0.5), [0.75]).lower == 0.75 * (1 - 2.0**-50)
