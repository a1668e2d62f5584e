"""One rule makes every verdict."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.proofs import BROKEN, PROOF

import dpcp_audit
from dpcp_audit.words.evidence import (
    conclude,
    decide,
    exact_power,
    noise_factor,
    reaches,
    refutes,
    settled,
    violation_by,
)
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Evidence, EvidenceKind, Power, Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.results import Proof

PACKAGE = Path(dpcp_audit.__file__).parent
MADE = {"verdict"}
"""The keyword by which outcomes get their verdicts."""


def seen(
    lower: float,
    upper: float,
    *,
    quantity: Quantity = Quantity.FAILURE,
    bound: Bound = Bound.AT_MOST,
    kind: EvidenceKind = EvidenceKind.CERTIFIED,
    claimed: float | None = 0.5,
) -> Evidence:
    return Evidence(
        kind=kind,
        quantity=quantity,
        value=lower,
        lower=lower,
        upper=upper,
        claimed=claimed,
        bound=bound,
    )


def power(
    smallest: float,
    *,
    claimed: float = 0.5,
    quantity: Quantity = Quantity.FAILURE,
    bound: Bound = Bound.AT_MOST,
) -> Power:
    return Power(quantity=quantity, smallest=smallest, claimed=claimed, bound=bound)


@pytest.mark.parametrize(
    ("lower", "upper", "bound", "verdict"),
    [
        (0.51, 0.6, Bound.AT_MOST, Verdict.REFUTED),
        (0.5, 0.6, Bound.AT_MOST, Verdict.INCONCLUSIVE),
        (0.4, 0.5, Bound.AT_MOST, Verdict.INCONCLUSIVE),
        (0.4, 0.49, Bound.AT_LEAST, Verdict.REFUTED),
        (0.4, 0.5, Bound.AT_LEAST, Verdict.INCONCLUSIVE),
        (0.5, 0.6, Bound.AT_LEAST, Verdict.INCONCLUSIVE),
        (0.0, math.inf, Bound.AT_MOST, Verdict.INCONCLUSIVE),
    ],
)
def test_an_interval_alone_refutes_or_leaves_open(
    lower: float, upper: float, bound: Bound, verdict: Verdict
) -> None:
    evidence = seen(lower, upper, bound=bound)
    assert decide(evidence) is verdict
    assert refutes(evidence) == (verdict is Verdict.REFUTED)
    assert decide(evidence, proof=PROOF) is verdict  # a sample proves nothing


@pytest.mark.parametrize(
    ("smallest", "detect", "verdict"),
    [
        (1.0, 2.0, Verdict.CONSISTENT),
        (1.01, 2.0, Verdict.INCONCLUSIVE),
        (1.01, 3.0, Verdict.CONSISTENT),
        (math.inf, math.inf, Verdict.INCONCLUSIVE),
        (1e9, math.inf, Verdict.CONSISTENT),
    ],
)
def test_the_power_decides_elsewhere(smallest: float, detect: float, verdict: Verdict) -> None:
    assert decide(seen(0.1, 0.9), power=power(smallest), detect=detect) is verdict
    assert decide(seen(0.6, 0.9), power=power(smallest), detect=detect) is Verdict.REFUTED


def test_of_a_negative_number_the_distance_counts() -> None:
    assert reaches(power(-0.1, claimed=-0.5, quantity=Quantity.VALUE))
    assert not reaches(power(0.1, claimed=-0.5, quantity=Quantity.VALUE))


def test_half_of_the_noise_is_four_times_the_rho() -> None:
    for quantity in (Quantity.RHO, Quantity.RENYI_DIVERGENCE):
        assert reaches(power(2.0, quantity=quantity))
        assert not reaches(power(2.01, quantity=quantity))
    assert not reaches(power(2.0, quantity=Quantity.EPSILON))


def test_of_a_claim_that_nothing_is_lost_a_tenth_is_twice() -> None:
    assert reaches(power(0.1, claimed=0.0, quantity=Quantity.EPSILON))
    assert not reaches(power(0.11, claimed=0.0, quantity=Quantity.EPSILON))


def test_a_coverage_is_twice_as_bad_where_twice_as_much_is_left_out() -> None:
    sides = {"claimed": 0.9, "quantity": Quantity.COVERAGE, "bound": Bound.AT_LEAST}
    assert reaches(power(0.81, **sides))  # type: ignore[arg-type]
    assert not reaches(power(0.79, **sides))  # type: ignore[arg-type]
    assert not reaches(power(-math.inf, **sides))  # type: ignore[arg-type]


def test_an_interval_within_the_claim_stops_the_trials_and_is_not_consistent_by_itself() -> None:
    within = seen(0.1, 0.2)
    assert settled(within)
    assert settled(seen(0.6, 0.7))
    assert not settled(seen(0.4, 0.6))
    assert decide(within) is Verdict.INCONCLUSIVE
    assert decide(within, power=power(1.01)) is Verdict.INCONCLUSIVE
    assert decide(within, power=power(1.0)) is Verdict.CONSISTENT


def test_a_computed_number_refutes_whatever_lies_beyond_its_error() -> None:
    evidence = Evidence.exact(Quantity.EPSILON, 0.4, claimed=0.5, error=1e-9)
    able = exact_power(evidence)
    assert able is not None
    assert able.detection == 1.0
    assert 0.5 < able.smallest < 0.5 + 1e-8
    assert decide(evidence, power=able) is Verdict.CONSISTENT
    assert exact_power(seen(0.1, 0.2)) is None


@pytest.mark.parametrize(
    ("value", "error", "proof", "verdict"),
    [
        (0.4, 1e-9, PROOF, Verdict.PROVED),
        (0.4, 1e-9, None, Verdict.CONSISTENT),
        (0.4, 1e-9, BROKEN, Verdict.CONSISTENT),
        (0.5, 0.0, PROOF, Verdict.PROVED),
        (0.5, 1e-9, PROOF, Verdict.CONSISTENT),
        (math.nextafter(0.5, 1), 0.0, PROOF, Verdict.REFUTED),
        (0.5 * (1 + 1e-10), 1e-9, PROOF, Verdict.CONSISTENT),
        (0.5 * (1 + 1e-8), 1e-9, PROOF, Verdict.REFUTED),
    ],
)
def test_computed_numbers(
    value: float, error: float, proof: Proof | None, verdict: Verdict
) -> None:
    evidence = Evidence.exact(Quantity.EPSILON, value, claimed=0.5, error=error)
    certain = power(0.5, quantity=Quantity.EPSILON)
    assert decide(evidence, power=certain, proof=proof) is verdict


def test_slack_that_reaches_beyond_the_claim_proves_nothing() -> None:
    evidence = Evidence.exact(Quantity.DELTA, 0.4, claimed=0.5, slack=0.2)
    certain = power(0.5, quantity=Quantity.DELTA)
    assert decide(evidence, power=certain, proof=PROOF) is Verdict.CONSISTENT


def test_without_a_claim_nothing_is_decided() -> None:
    assert decide(seen(0.1, 0.2, claimed=None), power=power(0.1)) is Verdict.INCONCLUSIVE


def test_power_is_asked_for_only_where_nothing_is_refuted() -> None:
    def never() -> Power:
        raise AssertionError

    refuted = conclude(seen(0.6, 0.7), never, witness={}, note="")
    assert (refuted.verdict, refuted.power) == (Verdict.REFUTED, None)
    kept = conclude(seen(0.1, 0.7), lambda: power(0.9), witness={"n": 1}, note="Said.")
    assert (kept.verdict, kept.power) == (Verdict.CONSISTENT, power(0.9))
    assert (kept.witness, kept.note) == ({"n": 1}, "Said.")


def test_a_conclusion_hands_the_rules_settings_on() -> None:
    wide, narrow = seen(0.1, 0.7), seen(0.1, 0.2)
    strict = conclude(wide, lambda: power(0.9), witness={}, note="", detect=1.5)
    blunt = conclude(narrow, lambda: power(math.inf), witness={}, note="")
    assert strict.verdict is blunt.verdict is Verdict.INCONCLUSIVE


def verdicts_made(tree: ast.AST) -> list[int]:
    """Return the lines on which an outcome is given a verdict by name, or by a choice of names."""
    return [
        keyword.value.lineno
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg in MADE
        and any(
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "Verdict"
            for node in ast.walk(keyword.value)
        )
    ] + [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Return)
        and isinstance(node.value, ast.Attribute)
        and isinstance(node.value.value, ast.Name)
        and node.value.value.id == "Verdict"
    ]


def test_the_search_for_verdicts_finds_a_planted_one() -> None:
    planted = "def f(self):\n    if self.low > 1:\n        return Verdict.REFUTED\n"
    assert verdicts_made(ast.parse(planted)) == [3]
    choice = "Outcome(verdict=Verdict.CONSISTENT if able else Verdict.INCONCLUSIVE)"
    assert verdicts_made(ast.parse(choice)) == [1]


def test_no_other_place_makes_a_verdict() -> None:
    made = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "Verdict." in (source := path.read_text(encoding="utf-8"))
        and verdicts_made(ast.parse(source))
    }
    assert made == {"words/evidence.py", "target_checks/source_proofs.py"}


@pytest.mark.parametrize("quantity", [Quantity.EPSILON, Quantity.RHO])
@pytest.mark.parametrize("claimed", [0.0, 0.5])
def test_the_factor_of_the_noise_undoes_the_violation(quantity, claimed) -> None:
    violation = violation_by(3.0, quantity, claimed, Bound.AT_MOST)
    assert noise_factor(violation, quantity, claimed) == pytest.approx(3.0)


@pytest.mark.parametrize("bound", list(Bound))
@pytest.mark.parametrize("kind", [EvidenceKind.EXACT, EvidenceKind.CERTIFIED])
def test_what_is_not_a_number_meets_no_claim(bound: Bound, kind: EvidenceKind) -> None:
    """Neither a proof nor power makes up for it."""
    found = seen(math.nan, math.nan, bound=bound, kind=kind)
    able = power(0.5001, bound=bound)
    assert decide(found, power=able, proof=PROOF) is Verdict.INCONCLUSIVE
