"""The bounds that an account of noise sets on the divergences of neighbours, with their rules.

``total`` compares them with a claim: its ``Loss`` says which of them decides it, as it does of the
divergences of exact laws. Totals are upper bounds.

References
----------
ε adds up over adaptively chosen mechanisms (Dwork and Roth 2014, Theorem 3.16); so do ρ and the
Rényi divergences (Bun and Steinke 2016, Lemma 2.3), also where the next budget depends on the
outcome (Feldman and Zrnic 2021, Theorem 4.3), and the squared μ (Smith and Thakurta 2022). A
function of several Gaussian draws is post-processing of one (Dong, Roth and Su 2022, Corollary 2).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from dpcp_audit.laws.losses import loss_of
from dpcp_audit.proving.charges import (
    Account,
    Charge,
    Ledger,
    amplified,
    decimal,
    mu_squared,
    pure_epsilon,
    rational_above,
    renyi,
    rho,
    sampled_moment,
    union,
)
from dpcp_audit.proving.distances import Refusal, moved_together
from dpcp_audit.proving.exact_numbers import root_above
from dpcp_audit.proving.loss_distributions import delta_of, delta_of_rho, gaussian_delta_above
from dpcp_audit.stats.enclosures import ball, upper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dpcp_audit.words.guarantees import PrivacyGuarantee


@dataclass(frozen=True, slots=True)
class Total:
    """The cost of a whole function in a claim's unit, from above, beside the claim.

    Parameters
    ----------
    unit : str
        The symbol of what is bounded, such as "ε" or "μ²"; of coverage, a noun.
    value : Fraction or None
        None where no bound is known.
    limit : Fraction
        The claim's own number, to the power ``power``; 0 before there is a claim.
    shares : dict
        The cost of each line, of the dearest path; they add up to the value where costs add up.
    growth : int
        The power of 1 over the noise's scale by which costs grow; 0 where they do not add up.
    rules : tuple of str
        The rules by which the uses of noise become this number, with their references.
    power : int
        The power of the claim's own number that this is: 2 of μ².
    """

    unit: str
    value: Fraction | None
    limit: Fraction
    shares: dict[int, float]
    growth: int = 0
    rules: tuple[str, ...] = ()
    power: int = 1

    @property
    def within(self) -> bool:
        """Return True if the cost is certainly at most the claim."""
        return self.value is not None and self.value <= self.limit

    @property
    def number(self) -> float | None:
        """The cost as the claim's own number, rounded upwards; None where there is none."""
        if self.value is None:
            return None
        return upper(ball(self.value if self.power == 1 else root_above(self.value)))

    def times(self, factor: Fraction, rule: str) -> Total:
        """Return so many times the cost, by a further rule."""
        value = None if self.value is None else self.value * factor
        shares = {line: share * float(factor) for line, share in self.shares.items()}
        return replace(self, value=value, shares=shares, rules=(*self.rules, rule))


def total(spending: Spending, claim: PrivacyGuarantee) -> Total:
    """Return the cost of the dearest path, in the unit of a claim, beside it."""
    loss = loss_of(claim)
    found = loss.bound_by(spending)
    paths = spending.ledger.paths
    parts = any(len(moved_together([each.cell for each in path])) > 1 for path in paths)
    limit = decimal(loss.decided.claimed) ** found.power
    return replace(found, limit=limit, rules=(*found.rules, *((_DISJOINT,) if parts else ())))


_ADAPTIVE = "with budgets that depend on outcomes"
_PURE = "ε adds up: Dwork and Roth 2014, Theorem 3.16"
_RHO = (
    f"ρ adds up: Bun and Steinke 2016, Lemma 2.3; {_ADAPTIVE}, Feldman and Zrnic 2021, Theorem 4.3"
)
_RENYI = (
    f"Rényi divergences add up: Mironov 2017, Proposition 1; {_ADAPTIVE}, Feldman and Zrnic 2021, "
    "Theorem 4.3"
)
_MU = f"μ² adds up: Dong, Roth and Su 2022, Corollary 2; {_ADAPTIVE}, Smith and Thakurta 2022"
_CONVOLVED = (
    "loss distributions are convolved: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022"
)
_DISJOINT = "disjoint parts of the records: McSherry 2009, Theorem 4"
_SHUFFLED = "shuffled reports: Feldman, McMillan and Talwar 2021, Theorem 3.1"
_AS_RHO = {
    "laplace": "Laplace noise is (ε + e^-ε − 1)-zCDP: Harrison and Manurangsi 2025",
    "pure": "ε-DP is ε·tanh(ε/2)-zCDP: Harrison and Manurangsi 2025",
    "range": "a loss within a range of ε is ε²/8-zCDP: Cesar and Rogers 2021, Lemma 3.2",
}
_AS_RENYI = {
    "laplace": "D_α of Laplace noise: Mironov 2017, Proposition 6",
    "moment": "D_α of Gaussian noise on a Poisson sample: Mironov, Talwar and Zhang 2019, "
    "Theorems 4 and 5",
    "pure": "randomised response dominates ε-DP: Kairouz, Oh and Viswanath 2015",
}
_AS_MU: dict[str, str] = dict.fromkeys(
    ("laplace", "pure", "range"), "ε-DP is μ-GDP with Φ(μ/2) = e^ε/(1 + e^ε)"
)
_AS_DELTA = {"gaussian": "δ(ε) of Gaussian noise: Balle and Wang 2018, Theorem 8"}
_OF_RHO = {"concentrated": "δ(ε) of ρ-zCDP: Canonne, Kamath and Steinke 2020, Proposition 12"}


@dataclass(frozen=True, slots=True)
class Spending:
    """What a ledger's uses of noise spend between neighbours that differ in one record.

    Its methods are those of two laws whose divergences are known: bounds of these.
    """

    ledger: Ledger

    def max_divergence(self) -> Total:
        """Return ε: that of each sample of the records amplified, and added up."""
        accounts = map(_of_all_records, self.ledger.accounts())
        return _sum("ε", accounts, pure_epsilon, 1, added=_PURE)

    def rho(self) -> Total:
        """Return ρ, added up."""
        return _sum("ρ", self._whole().accounts(), rho, 2, added=_RHO, converted=_AS_RHO)

    def renyi(self, alpha: float) -> Total:
        """Return D_α, added up; that of Gaussian noise on Poisson samples amplified."""
        order = decimal(alpha)

        def cost(charge: Charge) -> Fraction | None:
            return charge.size if charge.law == "moment" else renyi(charge, order)

        accounts = [_moments(each, order) for each in self._whole().accounts()]
        return _sum("D", accounts, cost, 2, added=_RENYI, converted=_AS_RENYI)

    def mu(self) -> Total:
        """Return μ², added up."""
        accounts = self._whole().accounts()
        found = _sum("μ²", accounts, mu_squared, 2, added=_MU, converted=_AS_MU)
        return replace(found, power=2)

    def delta_at(self, epsilon: float) -> Total:
        """Return δ: the chances of rare events add to that of all else, which is composed."""
        return _delta(self._whole(), epsilon)

    def _whole(self) -> Ledger:
        """Return the ledger without shifts of noise that paths share: as one ε of the function.

        A shift's cost bounds a loss that adds up along a path; it is no mechanism of its own.
        """
        if not any(each.law == "aligned" for path in self.ledger.paths for each in path):
            return self.ledger
        whole = _sum("ε", self.ledger.accounts(), pure_epsilon, 1, added=_PURE)
        if whole.value is None:
            raise Refusal(
                0, "a noisy threshold beside Gaussian noise", "use Laplace noise throughout"
            )
        line = max(whole.shares, key=lambda each: whole.shares[each])
        return Ledger([Counter([Charge("pure", whole.value, line)])])


@dataclass(frozen=True, slots=True)
class GroupSpending(Spending):
    """The same where the records of several persons differ.

    Each of k changes of one record costs what one does: ε and μ are multiplied by k, and ρ by k²; δ
    at ε is that of one record at ε/k, times 1 + e^(ε/k) + ... + e^((k-1)ε/k).
    """

    persons: int

    def max_divergence(self) -> Total:
        """Return k times ε."""
        rule = "a group of k: kε, Dwork and Roth 2014, Theorem 2.2"
        return Spending.max_divergence(self).times(Fraction(self.persons), rule)

    def rho(self) -> Total:
        """Return k² times ρ."""
        rule = "a group of k: k²ρ, Bun and Steinke 2016, Proposition 1.9"
        return Spending.rho(self).times(Fraction(self.persons) ** 2, rule)

    def renyi(self, alpha: float) -> Total:
        """Return αρ, of the ρ of the group."""
        found = self.rho()
        return replace(found.times(decimal(alpha), "ρ-zCDP bounds D_α by αρ"), unit="D")

    def mu(self) -> Total:
        """Return k² times μ²."""
        rule = "a group of k: kμ, Dong, Roth and Su 2022, Theorem 2"
        return Spending.mu(self).times(Fraction(self.persons) ** 2, rule)

    def delta_at(self, epsilon: float) -> Total:
        """Return δ by that of one record at ε/k, or of Gaussian noise by that of all k."""
        pure, claimed = self.max_divergence(), decimal(epsilon)
        if pure.value is not None and pure.value <= claimed:
            return replace(pure, unit="δ", value=Fraction(0), growth=0)
        one = Spending.delta_at(self, math.nextafter(float(claimed / self.persons), 0.0))

        def terms() -> arb:
            steps = range(self.persons)
            return sum(((ball(claimed) * each / self.persons).exp() for each in steps), arb(0))

        found = None if one.value is None else min(Fraction(1), one.value * rational_above(terms))
        squares = _gaussian_squares(self.ledger.accounts())
        if squares is not None:
            known = gaussian_delta_above(squares * self.persons**2, claimed)
            found = known if found is None else min(found, known)
        apart = self._delta_apart(epsilon)
        if apart is not None:
            found = apart if found is None else min(found, apart)
        rule = "a group of k: (kε, (1 + e^ε + ... + e^((k-1)ε))δ), Vadhan 2017, Lemma 2.2"
        return replace(one, value=found, rules=(*one.rules, rule))

    def _delta_apart(self, epsilon: float) -> Fraction | None:
        """Return δ of a group where rare events are told apart from all else; None without any.

        Counts of bins that one side alone has move by whole numbers, in all by k times what one
        record moves them. The chance of such a bin is largest for each whole number where it is
        added to all.
        """
        accounts = self.ledger.accounts()
        rare = Fraction(0)
        for account in accounts:
            whole = Fraction(0)
            for each, count in account.items():
                if each.law == "rare" and each.size:
                    chance = None if each.tail is None else each.tail.of_group(self.persons)
                    if chance is None or not each.rate:
                        return None
                    whole += count * self.persons * each.size / each.rate * chance
            rare = max(rare, whole)
        if not rare:
            return None
        others = [Counter({e: k for e, k in a.items() if e.law != "rare"}) for a in accounts]
        rest = GroupSpending(Ledger(others), self.persons).delta_at(epsilon).value
        return None if rest is None else min(Fraction(1), rest + rare)


@dataclass(frozen=True, slots=True)
class ShuffledSpending(Spending):
    """The same of the shuffled reports of so many users, of the ledger of one report.

    Reference: Feldman, McMillan and Talwar 2021, "Hiding among the clones", Theorem 3.1, solved for
    δ. Shuffling is post-processing: what holds of one report holds of all in any order.
    """

    users: int

    def delta_at(self, epsilon: float) -> Total:
        """Return δ of one report, or of its clones where that is less."""
        plain, report = Spending.delta_at(self, epsilon), self.max_divergence().value
        if not plain.value or report is None:
            return plain

        def delta() -> arb:
            factor, one = ball(decimal(epsilon)).exp(), ball(report).exp()
            rest = (factor - 1) * (one + 1) / (one - 1) / 8 - one / self.users
            if not rest > 0:
                return arb(1)
            hidden = 4 * (-rest * rest * self.users / one).exp()
            return hidden.max(2 * (-self.users / (16 * one)).exp())

        found = rational_above(delta)
        if found >= plain.value:
            return plain
        return replace(plain, value=found, rules=(*plain.rules, _SHUFFLED))


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
        found[Charge("pure", amplified(spent, sample.share), line)] += 1
    return found


_MOST_MOMENTS = 256
"""Order of a Rényi divergence up to which that of a sample is added up."""


def _moments(account: Account, order: Fraction) -> Account:
    """Return an account in which each Poisson sample's Gaussian noise is one of all records."""
    samples = [each.sample for each in account if each.sample is not None and each.sample.added]
    gaussian = all(each.law == "gaussian" for each in account)
    if len(samples) < len(account) or not gaussian or order > _MOST_MOMENTS:
        return account
    found: Account = Counter()
    for sample in set(samples):
        uses = [each for each in account if each.sample == sample]
        squares = sum((each.size * account[each] for each in uses), Fraction(0))
        in_full = order * squares / 2
        size = min(in_full, sampled_moment(squares, sample.share, order))
        found[Charge("moment", size, uses[0].line)] += 1
    return found


def _sum(
    unit: str,
    accounts: Iterable[Account],
    cost: Callable[[Charge], Fraction | None],
    growth: int,
    *,
    added: str,
    converted: Mapping[str, str] | None = None,
) -> Total:
    """Add up over each path; the dearest counts."""
    accounts = list(accounts)
    dearest = Total(unit, Fraction(0), Fraction(0), {}, growth, _rules(accounts, added, converted))
    for account in accounts:
        value: Fraction = Fraction(0)
        lines: dict[int, float] = {}
        for charge, count in account.items():
            each = cost(charge)
            if each is None:
                return replace(dearest, value=None, shares={charge.line: math.inf})
            value += count * each
            lines[charge.line] = lines.get(charge.line, 0.0) + float(count * each)
        if dearest.value is not None and value > dearest.value:
            dearest = replace(dearest, value=value, shares=lines)
    return dearest


def _rules(
    accounts: list[Account], added: str, converted: Mapping[str, str] | None
) -> tuple[str, ...]:
    """Return the rules of adding up several uses, and of the laws that are converted."""
    uses = [Counter({e: k for e, k in each.items() if e.law != "aligned"}) for each in accounts]
    several = any(each.total() > 1 for each in uses)
    laws = {each.law for account in accounts for each in account}
    said = [each for law, each in (converted or {}).items() if law in laws]
    return ((added,) if several else ()) + tuple(dict.fromkeys(said))


def _delta(ledger: Ledger, epsilon: float) -> Total:
    """Return δ at ε of a ledger in which no shifts are left."""
    accounts = ledger.accounts()
    rare = max(sum(e.size * k for e, k in each.items() if e.law == "rare") for each in accounts)
    if rare:
        others = [Counter({e: k for e, k in a.items() if e.law != "rare"}) for a in accounts]
        rest = _delta(Ledger(others), epsilon)
        return replace(rest, value=None if rest.value is None else rest.value + rare)
    claimed, pure = decimal(epsilon), Spending(ledger).max_divergence()
    if pure.value is not None and pure.value <= claimed:
        return replace(pure, unit="δ", value=Fraction(0), growth=0)
    whole = _sum("ρ", accounts, rho, 2, added=_RHO, converted=_OF_RHO)
    if any(each.law == "concentrated" for account in accounts for each in account):
        found = None if whole.value is None else delta_of_rho(whole.value, claimed)
        return replace(whole, unit="δ", value=found, growth=0)
    together, squares = Ledger([union(ledger.paths)]).accounts(), _gaussian_squares(accounts)
    found = None if squares is None else gaussian_delta_above(squares, claimed)
    sampled = all(each.sample is not None for some in together for each in some)
    if found is None or sampled:
        composed = max(delta_of(each, epsilon) for each in together)
        found = composed if found is None else min(found, composed)
    added = _MU if squares is not None and not sampled else _CONVOLVED
    rules = _rules(accounts, added, _AS_DELTA)
    return replace(whole, unit="δ", value=found, growth=0, rules=rules)


def _gaussian_squares(accounts: list[Account]) -> Fraction | None:
    """Return the squared μ of Gaussian noise that is added up; None beside other noise."""

    def square(charge: Charge) -> Fraction | None:
        return charge.size if charge.law == "gaussian" else None

    return _sum("μ²", accounts, square, 2, added=_MU).value
