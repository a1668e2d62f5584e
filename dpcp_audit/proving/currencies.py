"""Totals of an account in the currency of a claim, as upper bounds."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb, ctx

from dpcp_audit.proving.charges import (
    Account,
    Charge,
    Ledger,
    amplified,
    mu_squared,
    pure_epsilon,
    renyi,
    rho,
    settled,
    union,
)
from dpcp_audit.proving.distances import Refusal
from dpcp_audit.proving.exact_numbers import root_above
from dpcp_audit.proving.loss_distributions import delta_of
from dpcp_audit.stats.enclosures import ball, upper
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    LocalDP,
    PrivacyGuarantee,
    PureDP,
    RenyiDP,
)

if TYPE_CHECKING:
    from collections.abc import Callable

PROVABLE = (PureDP, LocalDP, ZCDP, RenyiDP, GaussianDP, ApproxDP)
"""The claims that are summed."""
_BITS = 192


@dataclass(frozen=True, slots=True)
class Total:
    """The cost of a whole function in a claim's unit, from above, beside the claim.

    Parameters
    ----------
    unit : str
        "ε", "ρ", "δ", "μ" or "D".
    value : Fraction or None
        None where no bound is known.
    limit : Fraction
        The claim's own number.
    shares : dict
        The cost of each line, of the dearest path; they add up to the value where costs add up.
    """

    unit: str
    value: Fraction | None
    limit: Fraction
    shares: dict[int, float]

    @property
    def within(self) -> bool:
        """Return True if the cost is certainly at most the claim."""
        return self.value is not None and self.value <= self.limit


def decimal(value: float) -> Fraction:
    """Return the decimal number that a float is written as."""
    return Fraction(repr(float(value)))


def total(ledger: Ledger, claim: PrivacyGuarantee) -> Total:
    """Return the cost of the dearest path, in the unit of one of the ``PROVABLE`` claims."""
    kind = type(claim)
    if not isinstance(claim, PureDP):
        ledger = _whole(ledger)
    if isinstance(claim, PureDP):
        return _pure(ledger, decimal(claim.parameters["epsilon"]))
    if kind is ZCDP:
        return _sum(ledger, rho, "ρ", decimal(claim.parameters["rho"]))
    if isinstance(claim, RenyiDP):
        order = decimal(claim.alpha)
        return _sum(ledger, lambda each: renyi(each, order), "D", decimal(claim.epsilon))
    if isinstance(claim, GaussianDP):
        squared = _sum(ledger, mu_squared, "μ", decimal(claim.mu) ** 2)
        value = None if squared.value is None else squared.value
        return Total("μ²", value, squared.limit, squared.shares)
    assert isinstance(claim, ApproxDP)  # noqa: S101  (it is provable)
    return _delta(ledger, claim)


_SUMS: dict[type, str] = {
    PureDP: "ε adds up: Dwork and Roth 2014, Theorem 3.16",
    ZCDP: "ρ adds up: Bun and Steinke 2016, Lemma 2.3; with budgets that depend on outcomes, "
    "Feldman and Zrnic 2021, Theorem 4.3",
    RenyiDP: "Rényi divergences add up: Mironov 2017, Proposition 1; with budgets that depend on "
    "outcomes, Feldman and Zrnic 2021, Theorem 4.3",
    GaussianDP: "μ² adds up: Dong, Roth and Su 2022, Corollary 2; with budgets that depend on "
    "outcomes, Smith and Thakurta 2022",
}
_CONVOLVED = (
    "loss distributions are convolved: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022"
)
_CONVERTED = {
    (ZCDP, "laplace"): "Laplace noise is (ε + e^-ε − 1)-zCDP: Harrison and Manurangsi 2025",
    (ZCDP, "pure"): "ε-DP is ε·tanh(ε/2)-zCDP: Harrison and Manurangsi 2025",
    (ZCDP, "range"): "a loss within a range of ε is ε²/8-zCDP: Cesar and Rogers 2021, Lemma 3.2",
    (RenyiDP, "laplace"): "D_α of Laplace noise: Mironov 2017, Proposition 6",
    (RenyiDP, "pure"): "randomised response dominates ε-DP: Kairouz, Oh and Viswanath 2015",
    (GaussianDP, "laplace"): "ε-DP is μ-GDP with Φ(μ/2) = e^ε/(1 + e^ε)",
    (ApproxDP, "gaussian"): "δ(ε) of Gaussian noise: Balle and Wang 2018, Theorem 8",
}


def account_rules(ledger: Ledger, claim: PrivacyGuarantee) -> list[str]:
    """Return the rules, with references, by which uses of noise become one number of a claim."""
    kind = PureDP if isinstance(claim, PureDP) else type(claim)
    accounts = ledger.accounts() if kind is PureDP else _whole(ledger).accounts()
    laws = {each.law for account in accounts for each in account}
    if isinstance(claim, ApproxDP):
        if _pure(ledger, decimal(claim.epsilon)).within:
            return account_rules(ledger, PureDP(claim.epsilon))
        sampled = all(each.sample is not None for account in accounts for each in account)
        added = _SUMS[GaussianDP] if laws == {"gaussian"} and not sampled else _CONVOLVED
    else:
        added = _SUMS[kind]
    several = [added] * any(
        sum(count for each, count in account.items() if each.law != "aligned") > 1
        for account in accounts
    )
    if kind is GaussianDP and laws - {"gaussian"}:
        laws |= {"laplace"}
    return several + [said for (of, law), said in _CONVERTED.items() if of is kind and law in laws]


def _whole(ledger: Ledger) -> Ledger:
    """Return a ledger without shifts of noise that paths share: as one ε of the whole function.

    A shift's cost bounds a loss that adds up along a path; it is no mechanism of its own.
    """
    if not any(each.law == "aligned" for path in ledger.paths for each in path):
        return ledger
    whole = _sum(ledger, pure_epsilon, "ε", Fraction(0))
    if whole.value is None:
        raise Refusal(0, "a noisy threshold beside Gaussian noise", "use Laplace noise throughout")
    line = max(whole.shares, key=lambda each: whole.shares[each])
    return Ledger([Counter([Charge("pure", whole.value, line, "noisy thresholds")])])


def _pure(ledger: Ledger, limit: Fraction) -> Total:
    """Add up ε over each path, that of each sample of the records amplified."""
    return _sum(
        Ledger(_of_all_records(each) for each in ledger.accounts()), pure_epsilon, "ε", limit
    )


def _of_all_records(account: Account) -> Account:
    """Return an account in which a sample's charges are one of all records."""
    found = Counter({each: k for each, k in account.items() if each.sample is None})
    for sample in {each.sample for each in account if each.sample is not None}:
        spent, dearest = Fraction(0), Fraction(0)
        line = 0
        for each in account:
            if each.sample == sample:
                epsilon = pure_epsilon(each)
                if epsilon is None:
                    return account
                spent += account[each] * epsilon
                line = each.line if epsilon >= dearest else line
                dearest = max(dearest, epsilon)
        found[Charge("pure", amplified(spent, sample.share), line, "noise on a sample")] += 1
    return found


def _sum(
    ledger: Ledger, cost: Callable[[Charge], Fraction | None], unit: str, limit: Fraction
) -> Total:
    """Add up over each path; the dearest counts."""
    dearest = Total(unit, Fraction(0), limit, {})
    for account in ledger.accounts():
        value: Fraction = Fraction(0)
        lines: Counter[int] = Counter()
        for charge, count in account.items():
            each = cost(charge)
            if each is None:
                return Total(unit, None, limit, {charge.line: math.inf})
            value += count * each
            lines[charge.line] += float(count * each)  # type: ignore[assignment]
        if dearest.value is not None and value > dearest.value:
            dearest = Total(unit, value, limit, dict(lines))
    return dearest


def _delta(ledger: Ledger, claim: ApproxDP) -> Total:
    """Return δ at the claim's ε."""
    pure = _pure(ledger, decimal(claim.epsilon))
    if pure.within:
        return Total("δ", Fraction(0), decimal(claim.delta), pure.shares)
    shares = _sum(ledger, rho, "ρ", Fraction(0)).shares
    squares = _sum(ledger, _gaussian_square, "μ²", Fraction(0)).value
    found = None if squares is None else _gaussian_delta(squares, decimal(claim.epsilon))
    account = settled(union(ledger.accounts()))
    if found is None or all(each.sample is not None for each in account):
        composed = delta_of(account, claim.epsilon)
        found = composed if found is None else min(found, composed)
    return Total("δ", found, decimal(claim.delta), shares)


def _gaussian_square(charge: Charge) -> Fraction | None:
    return charge.size if charge.law == "gaussian" else None


def _gaussian_delta(squares: Fraction, epsilon: Fraction) -> Fraction:
    """Return Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ) (Balle and Wang 2018, Theorem 8), from above."""
    if not squares:
        return Fraction(0)
    mu = root_above(squares)
    with ctx.workprec(_BITS):
        shift, half = ball(epsilon) / ball(mu), ball(mu) / 2

        def normal(x: arb) -> arb:
            return (-x / arb(2).sqrt()).erfc() / 2

        delta = normal(half - shift) - ball(epsilon).exp() * normal(-half - shift)
        return max(Fraction(0), Fraction(upper(delta)))
