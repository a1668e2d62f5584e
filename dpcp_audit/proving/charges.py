"""The account: each use of noise with its cost, and its total in the currency of a claim.

What is released on a path through the program is one mechanism after the other, each chosen by
what was released before. The account keeps every path that is not contained in another one. Totals
are upper bounds. δ(ε) is found by composing the distributions of the privacy losses.

What is released of a sample, which holds a record with probability q, is one mechanism: its
hockey-stick divergence at 1 + q·(α - 1) is at most q times that of the same releases of all records
at α >= 1, in both directions: where neighbours differ in an added record that a Poisson sample has
by a draw of its own, too. That curve is the loss distribution of the sample's releases. Where a
release is not of one known sample, all count in full: it may depend on a sample in another way.

References
----------
ε adds up over adaptively chosen mechanisms (Dwork and Roth 2014, Theorem 3.16); so do ρ and the
Rényi divergences (Bun and Steinke 2016, Lemma 2.3), also where the next budget depends on the
outcome (Feldman and Zrnic 2021, Theorem 4.3), and the squared μ (Smith and Thakurta 2022).
ε-DP is ε·tanh(ε/2)-zCDP, a Laplace mechanism (ε + e^-ε - 1)-zCDP (Harrison and Manurangsi 2025);
what bounds the range of the loss by ε is ε²/8-zCDP (Cesar and Rogers 2021, Lemma 3.2).
Distributions of the loss: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "Connect the dots".
Samples: Balle, Barthe and Gaboardi 2018, "Privacy amplification by subsampling", Theorems 2, 8 and
9; their curves compose: Zhu, Dong and Wang 2022, "Optimal accounting of differential privacy via
characteristic function", Theorem 10. Samples that are used in turn: Vadhan and Zhang 2023,
"Concurrent composition theorems for differential privacy".
Rényi divergences of Poisson samples, of an added record: Mironov, Talwar and Zhang 2019, "Rényi
differential privacy of the sampled Gaussian mechanism", Theorems 4 and 5 and section 3.3. A
function of several Gaussian draws is post-processing of one (Dong, Roth and Su 2022, Corollary 2).
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, ctx

from dpcp_audit.proving.distances import Refusal, disjoint, moved_together
from dpcp_audit.proving.exact_numbers import root_above
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
    from collections.abc import Callable, Iterable

    from dpcp_audit.proving.distances import Cell, Part, Subsample


_BITS = 192
SQUARED = frozenset({"gaussian", "concentrated"})
"""Laws of which the size falls with the square of the noise: it is twice ρ."""
_MOST_PATHS = 12
"""Accounts of different paths that are kept apart; more are covered by one that contains all."""


MECHANISMS = {
    "normal noise": "Gaussian noise: Bun and Steinke 2016, Proposition 1.6",
    "laplace noise": "Laplace noise: Dwork, McSherry, Nissim and Smith 2006, Proposition 1",
    "geometric noise": "geometric noise: Ghosh, Roughgarden and Sundararajan 2012",
    "exponential mechanism": "exponential mechanism: McSherry and Talwar 2007",
    "discrete Gaussian": "discrete Gaussian noise: Canonne, Kamath and Steinke 2020, Theorem 4",
    "staircase noise": "staircase noise: Geng, Kairouz, Oh and Viswanath 2015",
}
"""The source of each mechanism, by a part of its words in a charge."""


class Rules(dict[str, None]):
    """The rules that a proof rests on, in the order of their first uses."""

    def add(self, said: str) -> None:
        """Keep a rule."""
        self[said] = None


@dataclass(frozen=True, slots=True)
class Charge:
    """One use of noise.

    Parameters
    ----------
    law : str
        "gaussian", of which ``size`` is the squared l2 distance over σ²; "concentrated", of which
        it is twice the ρ, and nothing else is known; "laplace", of one number,
        "pure" or "range" (a bound of the loss, of the range of the loss), or "aligned" (a part of a
        bound of the loss of the whole function): ``size`` is ε; or "rare" (an event): δ.
    size : Fraction
        An upper bound.
    line : int
        The line that puts the noise on.
    says : str
        The mechanism, in words.
    part : Part or None
        The vector of which one number is used, with ``rate`` the factor over the scale.
    scale : float
        The noise's scale, for people.
    where : int
        The records that it may depend on, as bits: 1 << place. The two inputs differ in one.
    sample : Subsample or None
        The sample of the records of which the value is a statistic, and which nothing else shows.
    exponent : int
        The line of the weights that an exponential mechanism chooses by; 0 of other noise.
    cell : Cell or None
        The cell that the records lie in that it depends on.
    """

    law: str
    size: Fraction
    line: int
    says: str
    part: Part | None = None
    rate: Fraction = Fraction(0)
    scale: float = 0.0
    where: int = -1
    sample: Subsample | None = None
    exponent: int = 0
    cell: Cell | None = None

    def of_vector(self, layers: int, rate: Fraction) -> Charge:
        """Return the charge for every number of the part's vector, ``layers`` times."""
        if self.part is None:
            return self
        if self.law in SQUARED:
            return replace(self, size=layers * self.part.l2_squared * rate * rate, part=None)
        if self.law == "rare":
            return replace(self, size=layers * math.floor(self.part.l1) * rate, part=None)
        return replace(self, law="pure", size=layers * self.part.l1 * rate, part=None)

    def with_noise(self, times: Fraction) -> Charge:
        """Return the charge for so many times the noise."""
        if self.law == "rare":
            return self  # more noise makes it no rarer
        power = 2 if self.law in SQUARED else 1
        rate, scale = self.rate / times, self.scale * float(times)
        return replace(self, size=self.size / times**power, rate=rate, scale=scale)


Account = Counter[Charge]


def _rational(number: Callable[[], arb]) -> Fraction:
    """Return a rational at or above a computed ball."""
    with ctx.workprec(_BITS):
        return Fraction(upper(number()))


def pure_epsilon(charge: Charge) -> Fraction | None:
    """Return ε; None where there is none."""
    return None if charge.law in {*SQUARED, "rare"} else charge.size


def amplified(epsilon: Fraction, share: Fraction) -> Fraction:
    """Return ε of what is ε-DP of a sample without replacement, of all records.

    Reference: Balle, Barthe and Gaboardi 2018, Theorem 9. The samples that do not hold the replaced
    record are those of both inputs; each other one is compared with the same sample of the other
    input, and with those that hold a further record in its place.
    """

    def whole() -> arb:
        return (1 + ball(share) * (ball(epsilon).exp() - 1)).log()

    return min(epsilon, _rational(whole))


def rho(charge: Charge) -> Fraction | None:
    """Return ρ of zCDP, as tight as it is known; None where there is none."""
    if charge.law == "rare":
        return None
    if charge.law in SQUARED:
        return charge.size / 2
    epsilon = charge.size
    if charge.law == "laplace":
        return _rational(lambda: ball(epsilon) + (-ball(epsilon)).exp() - 1)
    tight = _rational(lambda: ball(epsilon) * (ball(epsilon) / 2).tanh())
    return min(tight, epsilon * epsilon / 8) if charge.law == "range" else tight


def _moment(alpha: arb, epsilon: arb) -> arb:
    """Return D_α between the two laws of randomised response, which dominate ε-DP."""
    p = 1 / (1 + (-epsilon).exp())
    q = 1 - p
    return (p**alpha * q ** (1 - alpha) + q**alpha * p ** (1 - alpha)).log() / (alpha - 1)


def _laplace_moment(alpha: arb, epsilon: arb) -> arb:
    """Return D_α of a Laplace mechanism (Mironov 2017, Proposition 6)."""
    near = alpha / (2 * alpha - 1) * ((alpha - 1) * epsilon).exp()
    far = (alpha - 1) / (2 * alpha - 1) * (-alpha * epsilon).exp()
    return (near + far).log() / (alpha - 1)


def renyi(charge: Charge, order: Fraction) -> Fraction | None:
    """Return a bound of the Rényi divergence of order α; None where there is none."""
    if charge.law in SQUARED:
        return order * charge.size / 2
    if not charge.size or charge.law == "rare":
        return None if charge.size else Fraction(0)
    formula = _laplace_moment if charge.law == "laplace" else _moment
    found = _rational(lambda: formula(ball(order), ball(charge.size)))
    known = rho(charge)
    return found if known is None else min(found, order * known)


_MOST_MOMENTS = 256
"""Order of a Rényi divergence up to which that of a sample is added up."""


def sampled_moment(squares: Fraction, share: Fraction, order: Fraction) -> Fraction:
    """Return D_α of Gaussian noise on a Poisson sample, of a record that is added, from above.

    Of the next whole order, as D_α rises with α: the sum over k of C(α, k)·(1 - q)^(α - k)·q^k·
    exp(k(k - 1)·μ²/2), its logarithm over α - 1.
    """
    whole = math.ceil(order)

    def moment() -> arb:
        q, half = ball(share), ball(squares) / 2
        terms = (
            math.comb(whole, k) * (1 - q) ** (whole - k) * q**k * (k * (k - 1) * half).exp()
            for k in range(whole + 1)
        )
        return sum(terms, arb(0)).log() / (whole - 1)

    return _rational(moment)


def mu_squared(charge: Charge) -> Fraction | None:
    """Return μ² of Gaussian DP; None where there is none.

    ε-DP is μ-GDP with Φ(μ/2) = e^ε/(1 + e^ε): its trade-off function consists of chords of the
    Gaussian one.
    """
    if charge.law in {*SQUARED, "rare"}:
        return charge.size if charge.law == "gaussian" else None
    from scipy.special import expit, ndtri

    guess = Fraction(2 * float(ndtri(expit(float(charge.size)))))
    for _ in range(60):
        guess += guess / 2**48 + Fraction(1, 2**60)
        if _covers(guess, charge.size):
            return guess * guess
    raise OverflowError("ε is too large to be turned into μ")


def _covers(mu: Fraction, epsilon: Fraction) -> bool:
    with ctx.workprec(_BITS):
        normal = (-ball(mu) / 2 / arb(2).sqrt()).erfc() / 2
        return bool(normal >= 1 / (1 + (-ball(epsilon)).exp()))


class Ledger:
    """The accounts of the paths that lead to one point of the program; immutable."""

    __slots__ = ("paths",)

    def __init__(self, paths: Iterable[Account] = (Counter(),)) -> None:
        self.paths: tuple[Account, ...] = tuple(paths)

    def add(self, charge: Charge) -> Ledger:
        """Return the ledger with a charge on every path."""
        return Ledger(path + Counter([charge]) for path in self.paths)

    def join(self, other: Ledger) -> Ledger:
        """Return the ledger of paths from either; what another one contains is left out."""
        kept: list[Account] = []
        for path in sorted((*self.paths, *other.paths), key=lambda each: -each.total()):
            if not any(path <= each for each in kept):
                kept.append(path)
        if len(kept) > _MOST_PATHS:
            kept = [union(kept)]
        return Ledger(kept)

    def with_noise(self, which: set[Charge], times: Fraction) -> Ledger:
        """Return the ledger with so many times the noise in some of its charges."""
        cheaper = {each: each.with_noise(times) for each in which}
        paths: list[Account] = []
        for path in self.paths:
            paths.append(Counter())
            for each, count in path.items():
                paths[-1][cheaper.get(each, each)] += count
        return Ledger(paths)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ledger):
            return NotImplemented
        mine, theirs = self.paths, other.paths
        return len(mine) == len(theirs) and all(path in theirs for path in mine)

    __hash__ = None  # type: ignore[assignment]

    def accounts(self) -> list[Account]:
        """Return the account of each path and record, numbers of one vector taken together."""
        return [settled(each) for path in self.paths for each in _by_record(path)]


def _by_record(path: Account) -> list[Account]:
    """Return one account for each set of records that are charged alike."""
    charges = list(path)
    found: dict[frozenset[tuple[Charge, int]], Account] = {}
    for some in moved_together([each.cell for each in charges]):
        for records in disjoint(each.where for each in path):
            account: Account = Counter()
            for each in (charges[place] for place in some):
                if each.where & records:
                    account[replace(each, cell=None)] += path[each]
            found[frozenset(account.items())] = account
    return list(found.values())


def union(paths: Iterable[Account]) -> Account:
    """Return the smallest account that contains all of these."""
    found: Account = Counter()
    for path in paths:
        found |= path
    return found


def settled(path: Account) -> Account:
    """Return an account without parts: the numbers of one vector cost what the vector costs.

    Each number's own distance adds up to the vector's l1 (or squared l2) distance as long as no
    number is used twice; a number used again is another layer.
    """
    whole: Account = Counter({each: count for each, count in path.items() if each.part is None})
    groups: dict[tuple[int, str], list[Charge]] = defaultdict(list)
    for charge in path:
        if charge.part is not None:
            groups[charge.part.vector, charge.law].append(charge)
    for charges in groups.values():
        uses: Counter[tuple[int, ...]] = Counter()
        for charge in charges:
            if charge.part is not None:
                uses[charge.part.index] += path[charge]
        together = charges[0].of_vector(max(uses.values()), max(each.rate for each in charges))
        alone = sum(each.size * path[each] for each in charges)
        if together.size < alone:
            whole[together] += 1
        else:
            for each in charges:
                whole[replace(each, part=None)] += path[each]
    return whole


NOISE_UNITS: dict[type[PrivacyGuarantee], str] = {ZCDP: "ρ", GaussianDP: "μ"}
"""Claims for which Gaussian noise is the remedy, and the unit that it is told in."""
PROVABLE = (PureDP, LocalDP, ZCDP, RenyiDP, GaussianDP, ApproxDP)
"""The claims that are summed."""


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
        return _renyi(ledger, order, decimal(claim.epsilon))
    if isinstance(claim, GaussianDP):
        squared = _sum(ledger, mu_squared, "μ", decimal(claim.mu) ** 2)
        value = None if squared.value is None else squared.value
        return Total("μ²", value, squared.limit, squared.shares)
    assert isinstance(claim, ApproxDP)  # noqa: S101  (it is provable)
    return _delta(ledger, claim)


def of_group(ledger: Ledger, claim: PrivacyGuarantee, persons: int) -> Total:
    """Return the cost where the records of k persons differ, from above.

    Each of k changes of one record costs what one does: ε and μ are multiplied by k, and ρ by k²; δ
    at ε is that of one record at ε/k, times 1 + e^(ε/k) + ... + e^((k-1)ε/k).
    """
    if persons == 1:
        return total(ledger, claim)
    if isinstance(claim, ApproxDP):
        return _delta_of_group(ledger, claim, persons)
    power = 1 if isinstance(claim, PureDP) else 2
    factor = Fraction(persons) ** power
    one = total(ledger, ZCDP(1.0) if isinstance(claim, RenyiDP) else claim)
    unit, limit = one.unit, one.limit
    if isinstance(claim, RenyiDP):
        factor, unit, limit = factor * decimal(claim.alpha), "D", decimal(claim.epsilon)
    value = None if one.value is None else one.value * factor
    return Total(unit, value, limit, _times(one.shares, float(factor)))


def _times(shares: dict[int, float], factor: float) -> dict[int, float]:
    return {line: share * factor for line, share in shares.items()}


def _delta_of_group(ledger: Ledger, claim: ApproxDP, persons: int) -> Total:
    epsilon, limit = decimal(claim.epsilon), decimal(claim.delta)
    pure = _pure(ledger, epsilon)
    shares = _times(pure.shares, float(persons))
    if pure.value is not None and persons * pure.value <= epsilon:
        return Total("δ", Fraction(0), limit, shares)
    below = math.nextafter(float(epsilon / persons), 0.0)
    one = total(ledger, ApproxDP(below, 1.0))

    def terms() -> arb:
        return sum(((ball(epsilon) * each / persons).exp() for each in range(persons)), arb(0))

    found = None if one.value is None else min(Fraction(1), one.value * _rational(terms))
    squares = _sum(ledger, _gaussian_square, "μ²", Fraction(0)).value
    if squares is not None:
        known = _gaussian_delta(squares * persons**2, epsilon)
        found = known if found is None else min(found, known)
    return Total("δ", found, limit, one.shares)


def of_shuffled(ledger: Ledger, claim: PrivacyGuarantee, users: int, group: int) -> Total:
    """Return the cost of the shuffled reports of so many users, of the account of one report.

    Reference: Feldman, McMillan and Talwar 2021, "Hiding among the clones", Theorem 3.1, solved for
    δ. Shuffling is post-processing: what holds of one report holds of all in any order.
    """
    plain = of_group(ledger, claim, group)
    if not isinstance(claim, ApproxDP) or group > 1 or plain.within:
        return plain
    report = _pure(ledger, decimal(claim.epsilon)).value
    if report is None:
        return plain

    def delta() -> arb:
        epsilon, one = ball(decimal(claim.epsilon)), ball(report)
        rest = (epsilon.exp() - 1) * (one.exp() + 1) / (one.exp() - 1) / 8 - one.exp() / users
        if not rest > 0:
            return arb(1)
        hidden = 4 * (-rest * rest * users / one.exp()).exp()
        return hidden.max(2 * (-users / (16 * one.exp())).exp())

    found = min(Fraction(1), _rational(delta))
    shares = plain.shares
    best = found if plain.value is None else min(found, plain.value)
    return Total("δ", best, plain.limit, shares)


_OF_GROUPS: dict[type, str] = {
    PureDP: "a group of k: kε, Dwork and Roth 2014, Theorem 2.2",
    ZCDP: "a group of k: k²ρ, Bun and Steinke 2016, Proposition 1.9",
    RenyiDP: "a group of k: k²ρ, Bun and Steinke 2016, Proposition 1.9",
    GaussianDP: "a group of k: kμ, Dong, Roth and Su 2022, Theorem 2",
    ApproxDP: "a group of k: (kε, (1 + e^ε + ... + e^((k-1)ε))δ), Vadhan 2017, Lemma 2.2",
}
_SHUFFLED = "shuffled reports: Feldman, McMillan and Talwar 2021, Theorem 3.1"


def group_rules(claim: PrivacyGuarantee, persons: int, *, shuffled: bool) -> list[str]:
    """Return the rules by which the cost of one record becomes that of a group, or of shuffling."""
    kind = PureDP if isinstance(claim, PureDP) else type(claim)
    return [_OF_GROUPS[kind]] * (persons > 1) + [_SHUFFLED] * (shuffled and kind is ApproxDP)


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
    (
        RenyiDP,
        "moment",
    ): "D_α of Gaussian noise on a Poisson sample: Mironov, Talwar and Zhang "
    "2019, Theorems 4 and 5",
    (RenyiDP, "pure"): "randomised response dominates ε-DP: Kairouz, Oh and Viswanath 2015",
    (GaussianDP, "laplace"): "ε-DP is μ-GDP with Φ(μ/2) = e^ε/(1 + e^ε)",
    (ApproxDP, "concentrated"): "δ(ε) of ρ-zCDP: Canonne, Kamath and Steinke 2020, Proposition 12",
    (ApproxDP, "gaussian"): "δ(ε) of Gaussian noise: Balle and Wang 2018, Theorem 8",
}


def account_rules(ledger: Ledger, claim: PrivacyGuarantee) -> list[str]:
    """Return the rules, with references, by which uses of noise become one number of a claim."""
    kind = PureDP if isinstance(claim, PureDP) else type(claim)
    accounts = ledger.accounts() if kind is PureDP else _whole(ledger).accounts()
    if isinstance(claim, RenyiDP):
        accounts = [_moments(each, decimal(claim.alpha)) for each in accounts]
    laws = {each.law for account in accounts for each in account}
    if isinstance(claim, ApproxDP):
        if _pure(ledger, decimal(claim.epsilon)).within:
            return account_rules(ledger, PureDP(claim.epsilon))
        sampled = all(each.sample is not None for account in accounts for each in account)
        added = _SUMS[GaussianDP] if laws == {"gaussian"} and not sampled else _CONVOLVED
        added = _SUMS[ZCDP] if "concentrated" in laws else added
        laws -= {"gaussian"} if "concentrated" in laws else set()
    else:
        added = _SUMS[kind]
    several = [added] * any(
        sum(count for each, count in account.items() if each.law != "aligned") > 1
        for account in accounts
    )
    if kind is GaussianDP and laws - {"gaussian"}:
        laws |= {"laplace"}
    if any(len(moved_together([each.cell for each in path])) > 1 for path in ledger.paths):
        several.append("disjoint parts of the records: McSherry 2009, Theorem 4")
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


def _renyi(ledger: Ledger, order: Fraction, limit: Fraction) -> Total:
    """Add up D_α over each path, that of Gaussian noise on Poisson samples amplified."""

    def cost(charge: Charge) -> Fraction | None:
        return charge.size if charge.law == "moment" else renyi(charge, order)

    return _sum(Ledger(_moments(each, order) for each in ledger.accounts()), cost, "D", limit)


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
        found[Charge("moment", size, uses[0].line, "noise on a sample")] += 1
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
    """Return δ at the claim's ε: the chances of rare events add to the δ of all else."""
    accounts = ledger.accounts()
    rare = max(sum(e.size * k for e, k in each.items() if e.law == "rare") for each in accounts)
    if rare:
        others = [Counter({e: k for e, k in a.items() if e.law != "rare"}) for a in accounts]
        rest = _delta(Ledger(others), claim)
        return replace(rest, value=None if rest.value is None else rest.value + rare)
    epsilon = decimal(claim.epsilon)
    pure = _pure(ledger, epsilon)
    if pure.within:
        return Total("δ", Fraction(0), decimal(claim.delta), pure.shares)
    whole = _sum(ledger, rho, "ρ", Fraction(0))
    if any(each.law == "concentrated" for account in accounts for each in account):
        found = None if whole.value is None else delta_of_rho(whole.value, epsilon)
        return Total("δ", found, decimal(claim.delta), whole.shares)
    whole_paths = [settled(each) for each in _by_record(union(ledger.paths))]
    squares = _sum(ledger, _gaussian_square, "μ²", Fraction(0)).value
    found = None if squares is None else _gaussian_delta(squares, epsilon)
    if found is None or all(each.sample is not None for some in whole_paths for each in some):
        composed = max(delta_of(each, claim.epsilon) for each in whole_paths)
        found = composed if found is None else min(found, composed)
    return Total("δ", found, decimal(claim.delta), whole.shares)


def delta_of_rho(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return δ at ε of what is ρ-zCDP, from above, at an order α near the best one.

    Of D_α ≤ αρ it is exp((α - 1)(αρ - ε))·(1 - 1/α)^α/(α - 1) (Canonne, Kamath and Steinke 2020,
    Proposition 12).
    """
    if not rho:
        return Fraction(0)

    def logarithm(order: float) -> float:
        above = (order - 1) * (order * float(rho) - float(epsilon))
        return above + order * math.log1p(-1 / order) - math.log(order - 1)

    middle = max(1.0, float(epsilon / rho + 1) / 2)
    orders = [1 + middle * 2 ** (step / 128) for step in range(-640, 256)]
    best = Fraction(min(orders, key=logarithm))

    def delta() -> arb:
        order = ball(best)
        above = (order - 1) * (order * ball(rho) - ball(epsilon))
        return (above + order * (1 - 1 / order).log()).exp() / (order - 1)

    return min(Fraction(1), _rational(delta))


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


_GRID = 1e-4
"""Width of the grid of losses on which mechanisms are composed; of samples, which take longer, 5
times as wide."""
_ROUNDING = 1e-12
"""A bound on the rounding error of that composition's transforms, added to δ."""
_FARTHEST = 8.0
"""Loss of a sample's releases beyond which it counts as infinite."""
_RARE = 1e-15
_DEAR = 50
"""ρ of uses of noise beyond ε from which their δ counts as 1 and is not composed.

Of Gaussian and Laplace noise and of randomised response, E[e^(-L/2)] is at most e^(-ρ/4) for the
loss L, and so is the product of several. 1 - δ is at most e^(ε/2) times that: e^(ε/4 - 12.5).
"""

_Uses = frozenset[tuple[str, Fraction, int]]
"""Laws, their sizes, and how often each is used."""
_Block = tuple[Fraction | None, _Uses]
"""The share of a sample, and the uses of noise on it; of all records the share is None."""


def delta_of(account: Account, epsilon: float) -> Fraction:
    """Return δ(ε) of an account without parts, from above."""
    in_full = any(each.sample is None for each in account)
    uses: dict[Subsample | None, Counter[tuple[str, Fraction]]] = defaultdict(Counter)
    spent: dict[Subsample | None, Fraction] = defaultdict(Fraction)
    for charge, count in account.items():
        if charge.size:
            sample = None if in_full else charge.sample
            uses[sample][charge.law, charge.size] += count
            spent[sample] += count * (rho(charge) or Fraction(0))
    if any(each > decimal(epsilon) + _DEAR for each in spent.values()):
        return Fraction(1)
    blocks: Counter[_Block] = Counter()
    for sample, counts in uses.items():
        each = frozenset((law, size, count) for (law, size), count in counts.items())
        blocks[None if sample is None else sample.share, each] += 1
    return _delta_of_blocks(frozenset(blocks.items()), epsilon)


@lru_cache(maxsize=64)
def _delta_of_blocks(blocks: frozenset[tuple[_Block, int]], epsilon: float) -> Fraction:
    grid = _GRID if all(share is None for (share, _), _ in blocks) else 5 * _GRID
    whole: Any = None
    for (share, uses), times in blocks:
        one = _of_uses(uses, grid)
        one = one if share is None else _of_sample(one, float(share), grid)
        composed = one.self_compose(times) if times > 1 else one
        whole = composed if whole is None else whole.compose(composed)
    found = 0.0 if whole is None else float(whole.get_delta_for_epsilon(epsilon))
    return min(Fraction(1), Fraction(found) + Fraction(_ROUNDING))


def _of_uses(uses: _Uses, grid: float) -> Any:
    """Return the loss distribution of several uses of noise, pessimistically rounded."""
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    found: list[Any] = []
    squares = sum((size * count for law, size, count in uses if law == "gaussian"), Fraction(0))
    if squares:
        sigma = math.nextafter(1 / float(root_above(squares)), 0)
        found.append(pld.from_gaussian_mechanism(sigma, value_discretization_interval=grid))
    for law, size, count in uses:
        if law == "gaussian":
            continue
        if law == "laplace":
            scale = math.nextafter(1 / float(size), 0)
            one = pld.from_laplace_mechanism(scale, value_discretization_interval=grid)
        else:
            pure = DifferentialPrivacyParameters(math.nextafter(float(size), math.inf), 0.0)
            one = pld.from_privacy_parameters(pure, value_discretization_interval=grid)
        found.append(one.self_compose(count) if count > 1 else one)
    whole = found[0]
    for one in found[1:]:
        whole = whole.compose(one)
    return whole


def _of_sample(one: Any, share: float, grid: float) -> Any:
    """Return the loss distribution of what has this one for all records, of a sample."""
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    share = math.nextafter(share, 2)

    def delta(epsilons: Any) -> Any:
        inner = np.log1p(np.expm1(epsilons) / share)
        deltas = np.asarray(one.get_delta_for_epsilon(inner))
        return np.minimum(share * deltas * (1 + 1e-9), 1.0)

    farthest = 1.0
    while farthest < _FARTHEST and delta(np.array([farthest]))[0] > _RARE:
        farthest *= 2
    steps = np.arange(round(farthest / grid) + 1)
    above = np.minimum.accumulate(delta(steps * grid))
    ratios = np.exp(-steps * grid)
    below = 1 - ratios + ratios * above  # of the other direction, which has the same curve
    return pld.PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots(
            grid,
            np.arange(-steps[-1], steps[-1] + 1),
            np.concatenate([below[:0:-1], above]).clip(0, 1),
        )
    )
