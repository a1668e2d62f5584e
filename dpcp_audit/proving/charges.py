"""The account: each use of noise, with its price in ε, ρ, D_α and μ².

What is released on a path through the program is one mechanism after the other, each chosen by
what was released before. The ledger keeps the account of every path that is not contained in
another one.

References
----------
ε-DP is ε·tanh(ε/2)-zCDP, a Laplace mechanism (ε + e^-ε - 1)-zCDP (Harrison and Manurangsi 2025);
what bounds the range of the loss by ε is ε²/8-zCDP (Cesar and Rogers 2021, Lemma 3.2).
Rényi divergences of Poisson samples, of an added record: Mironov, Talwar and Zhang 2019, "Rényi
differential privacy of the sampled Gaussian mechanism", Theorems 4 and 5 and section 3.3.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb, ctx

from dpcp_audit.proving.distances import disjoint, moved_together
from dpcp_audit.stats.enclosures import ball, upper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpcp_audit.proving.distances import Cell, Part, Subsample


BITS = 192
"""Precision of balls."""
SQUARED = frozenset({"gaussian", "concentrated"})
"""Laws of which the size falls with the square of the noise: it is twice ρ."""
_MOST_PATHS = 12
"""Accounts of different paths that are kept apart; more are covered by one that contains all."""


class Rules(dict[str, None]):
    """The rules that a proof rests on, in the order of their first uses."""

    def add(self, said: str) -> None:
        """Keep a rule."""
        self[said] = None


@dataclass(frozen=True, slots=True)
class Tail:
    """The event that noise on a count that one side alone has is above a level.

    Parameters
    ----------
    law : str
        "laplace" or "normal".
    room : Fraction
        The level, less the number that the count is not above on the other side.
    scale : Fraction
        A bound of the noise's scale from above.
    linf : Fraction
        The largest change of a count.
    """

    law: str
    room: Fraction
    scale: Fraction
    linf: Fraction

    def chance(self, moved: Fraction | int) -> Fraction:
        """Return the chance, from above, on a count that has moved so far."""
        if moved > self.room:
            return Fraction(1)

        def tail() -> arb:
            far = ball(self.room - moved) / ball(self.scale)
            return ((-far).exp() if self.law == "laplace" else (far / arb(2).sqrt()).erfc()) / 2

        return rational_above(tail)

    def of_group(self, persons: int) -> Fraction | None:
        """Return the chance for each whole number by which counts move in all; None if it is 1."""
        most = math.floor(persons * self.linf)
        if most > self.room or most > _MOST_MOVED:
            return None
        return max((self.chance(moved) / moved for moved in range(1, most + 1)), default=None)


_MOST_MOVED = 2_000
"""Whole numbers by which a group may move a count, of which each is tried."""


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
    rule : str
        The mechanism, with its reference; "" where a rule of the reading names it.
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
    tail : Tail or None
        The event of a "rare" charge, of which ``rate`` is the chance for one record.
    """

    law: str
    size: Fraction
    line: int
    rule: str = ""
    part: Part | None = None
    rate: Fraction = Fraction(0)
    scale: float = 0.0
    where: int = -1
    sample: Subsample | None = None
    exponent: int = 0
    cell: Cell | None = None
    tail: Tail | None = None

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
GEOMETRIC = "geometric noise: Ghosh, Roughgarden and Sundararajan 2012"
EXPONENTIAL = "exponential mechanism: McSherry and Talwar 2007"


def rational_above(number: Callable[[], arb]) -> Fraction:
    """Return a rational at or above a computed ball."""
    with ctx.workprec(BITS):
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

    return min(epsilon, rational_above(whole))


def rho(charge: Charge) -> Fraction | None:
    """Return ρ of zCDP, as tight as it is known; None where there is none."""
    if charge.law == "rare":
        return None
    if charge.law in SQUARED:
        return charge.size / 2
    epsilon = charge.size
    if charge.law == "laplace":
        return rational_above(lambda: ball(epsilon) + (-ball(epsilon)).exp() - 1)
    tight = rational_above(lambda: ball(epsilon) * (ball(epsilon) / 2).tanh())
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
    found = rational_above(lambda: formula(ball(order), ball(charge.size)))
    known = rho(charge)
    return found if known is None else min(found, order * known)


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

    return rational_above(moment)


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
    with ctx.workprec(BITS):
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

    def without(self, charge: Charge) -> Ledger:
        """Return the ledger with one such charge less on every path that has it."""
        return Ledger(path - Counter([charge]) for path in self.paths)

    def join(self, other: Ledger) -> Ledger:
        """Return the ledger of paths from either; what another one contains is left out."""
        kept = _uncontained([*self.paths, *other.paths])
        if len(kept) > _MOST_PATHS:
            alike = _uncontained(map(_by_itself, kept))
            kept = alike if len(alike) <= _MOST_PATHS else [union(kept)]
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


def _uncontained(paths: Iterable[Account]) -> list[Account]:
    """Return the accounts that no other one contains."""
    kept: list[Account] = []
    for path in sorted(paths, key=lambda each: -each.total()):
        if not any(path <= each for each in kept):
            kept.append(path)
    return kept


def _by_itself(path: Account) -> Account:
    """Return an account from above, the same whichever statistic of many is used on the path.

    The only number used of a vector costs what it costs alone, and each charge is of any record.
    """
    uses: Counter[int] = Counter()
    for each, count in path.items():
        uses[0 if each.part is None else each.part.vector] += count
    found: Account = Counter()
    for each, count in path.items():
        single = each.part is not None and uses[each.part.vector] == 1
        found[replace(each, part=None if single else each.part, cell=None)] += count
    return found


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
        if len({each.tail for each in charges}) > 1:
            together = replace(together, tail=None)
        alone = sum(each.size * path[each] for each in charges)
        if together.size < alone:
            whole[together] += 1
        else:
            for each in charges:
                whole[replace(each, part=None)] += path[each]
    return whole


def decimal(value: float) -> Fraction:
    """Return the decimal number that a float is written as."""
    return Fraction(repr(float(value)))
