"""The loss of each notion: its bounds from counts are right, and no other module asks for it."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import norm

import dpcp_audit
import dpcp_ledger
from dpcp_audit.audits.certificates import Hits, Judgement, certify
from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.laws.losses import bernoulli_renyi, loss_of
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    PrivacyGuarantee,
    PureDP,
    RenyiDP,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import FloatArray

P, Q, TRIALS = 0.7, 0.3, 10**6
HITS = Hits(round(P * TRIALS), round(Q * TRIALS), TRIALS)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 10.0, 100.0])
def test_bernoulli_divergences_are_those_of_the_pair(alpha: float) -> None:
    laws = [FiniteLaw.from_mass(np.array([p, 1 - p])) for p in (P, 0.1)]
    exact = FinitePair(*laws).renyi(alpha)
    assert bernoulli_renyi(P, 0.1, alpha) == pytest.approx(exact, rel=1e-10)


def test_degenerate_rates() -> None:
    assert bernoulli_renyi(0.5, 0.0, 2.0) == math.inf
    assert bernoulli_renyi(0.5, 1.0, 2.0) == math.inf
    assert bernoulli_renyi(0.0, 0.5, 2.0) == pytest.approx(math.log(2))
    assert bernoulli_renyi(1.0, 1.0, 2.0) == 0


def judged(guarantee: PrivacyGuarantee, hits: Hits, significance: float = 0.05) -> Judgement:
    return certify(guarantee, hits, significance=significance)


@pytest.mark.parametrize(
    ("guarantee", "quantity", "truth"),
    [
        (PureDP(9.0), "epsilon", math.log(P / Q)),
        (ApproxDP(9.0, 0.1), "epsilon", math.log((P - 0.1) / Q)),
        (ZCDP(9.0), "rho", max(bernoulli_renyi(P, Q, a) / a for a in np.linspace(1, 3, 400))),
        (RenyiDP(2.0, 9.0), "renyi-divergence", float(bernoulli_renyi(P, Q, 2))),
        (GaussianDP(9.0), "mu", float(norm.ppf(P) - norm.ppf(Q))),
    ],
)
def test_the_loss_is_in_the_claims_unit_and_close_to_the_truth_from_below(
    guarantee: PrivacyGuarantee, quantity: str, truth: float
) -> None:
    found = judged(guarantee, HITS).evidence
    assert found.quantity == quantity
    assert 0.98 * truth < found.lower < truth
    assert found.value == pytest.approx(truth, rel=1e-3)
    assert found.confidence == 0.95


def test_any_trade_off_is_measured_by_the_gaussian_loss_that_it_allows() -> None:
    """Where the event exceeds the trade-off, the loss exceeds the one that is allowed."""

    class Half(PrivacyGuarantee):
        """A trade-off that has no measure of its own."""

        @property
        def parameters(self) -> dict[str, float]:
            return {}

        def power(self, fpr: ArrayLike) -> FloatArray:
            return PureDP(0.5).power(fpr)

    loss = loss_of(Half())
    assert loss.of_event(P, Q) == pytest.approx(norm.ppf(P) - norm.ppf(Q))
    assert (loss.of_event(P, Q) > loss.claimed_at(Q)) == (float(Half().power(Q)) < P)
    assert (loss.of_event(0.4, Q) > loss.claimed_at(Q)) == (float(Half().power(Q)) < 0.4)


@pytest.mark.parametrize("hits", [Hits(160, 60, 200), Hits(200, 100, 200), Hits(90, 0, 200)])
def test_a_bound_is_the_parameter_that_the_region_refutes(hits: Hits) -> None:
    """The claim with a parameter 1 % below the bound is refuted, one 2 % above it is not."""
    rho = judged(ZCDP(1e3), hits, 0.01).evidence.lower
    renyi = judged(RenyiDP(3.0, 1e3), hits, 0.01).evidence.lower
    for guarantee, refuted in (
        (ZCDP(0.99 * rho), True),
        (ZCDP(1.02 * rho), False),
        (RenyiDP(3.0, 0.99 * renyi), True),
        (RenyiDP(3.0, 1.02 * renyi), False),
    ):
        found = judged(guarantee, hits, 0.01)
        assert found.refuted is refuted, guarantee
        assert found.evidence.claimed is not None
        assert (found.evidence.lower > found.evidence.claimed) is refuted


def test_a_gaussian_threshold_shows_its_mu_and_half_the_square_of_it_at_most() -> None:
    hits = Hits(round(TRIALS * norm.sf(-0.5)), round(TRIALS * norm.sf(0.5)), TRIALS)
    assert 0.99 < judged(GaussianDP(9.0), hits).evidence.lower < 1
    assert 0.25 < judged(ZCDP(9.0), hits).evidence.lower < 0.5


def test_rates_that_do_not_part_show_nothing() -> None:
    for hits in (Hits(50, 50, 100), Hits(20, 80, 100), Hits(51, 50, 100), Hits(0, 0, 100)):
        assert judged(ZCDP(9.0), hits).evidence.lower == 0
        assert judged(GaussianDP(9.0), hits).evidence.lower == 0
        assert judged(PureDP(9.0), hits).evidence.lower == 0


def test_bad_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="orders must be >= 1"):
        bernoulli_renyi(0.5, 0.5, 0.5)


@pytest.mark.parametrize("q", [0.0, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("mu", [0.5, 6.0, 40.0])
def test_what_a_gaussian_claim_allows_is_its_own_parameter(mu: float, q: float) -> None:
    """Not the difference of two quantiles near 1, which is 0 or infinite."""
    assert loss_of(GaussianDP(mu)).claimed_at(q) == mu


NOTIONS = {"PureDP", "LocalDP", "ApproxDP", "ZCDP", "RenyiDP", "GaussianDP"}
ROOT = Path(dpcp_audit.__file__).parent.parent
MODULES = sorted(
    path
    for package in (dpcp_audit, dpcp_ledger)
    for path in Path(str(package.__file__)).parent.rglob("*.py")
)


def branches(source: str) -> list[int]:
    """Return the lines that ask of which notion a guarantee is."""
    if not any(notion in source for notion in NOTIONS):
        return []
    return [
        node.lineno
        for node, asked in _asked(ast.parse(source))
        if any(
            getattr(part, "id", getattr(part, "attr", "")) in NOTIONS
            for each in asked
            for part in ast.walk(each)
        )
    ]


def _asked(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.pattern, list[ast.expr]]]:
    """Return the places that tell classes apart, with the classes that they name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called in {"isinstance", "issubclass", "register"}:
                yield node, node.args[-1:]
        elif isinstance(node, ast.MatchClass):
            yield node, [node.cls]
        elif isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            yield node, [each for each in sides if not isinstance(each, ast.Call | ast.Compare)]
        elif isinstance(node, ast.Dict):
            yield node, [each for each in node.keys if isinstance(each, ast.Name | ast.Tuple)]


def test_one_module_alone_asks_of_which_notion_a_guarantee_is() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): branches(path.read_text(encoding="utf-8"))
        for path in MODULES
    }
    assert [path for path, lines in found.items() if lines] == ["dpcp_audit/laws/losses.py"], found


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "line",
    [
        "isinstance(claim, ZCDP)",
        "isinstance(claim, guarantees.PureDP | ApproxDP)",
        "issubclass(kind, (PureDP, RenyiDP))",
        "measure.register(GaussianDP)",
        "type(claim) is LocalDP",
        "kind is ZCDP",
        "{(RenyiDP, 'laplace'): 1}",
        "{ApproxDP: 2.0}",
        "match claim:\n    case ZCDP(rho=rho): pass",
    ],
)
def test_a_branch_on_the_notion_is_found(line: str) -> None:
    assert branches(line)
    assert not branches("isinstance(claim, PrivacyGuarantee)\nclaims = {'zcdp': ZCDP}")
    assert not branches("ZCDP(0.5).delta_at(1.0) <= 0.1")
