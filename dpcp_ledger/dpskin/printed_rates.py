"""Printed rates: whether so many digits can be a share of so many cases (GRIM).

A share of N cases is one of N + 1 numbers. Printed to d decimals it must be one of those, rounded
or cut off; where the shares lie closer than the digits, any digits pass and nothing is tested.
Brown and Heathers (2017), "The GRIM test", Social Psychological and Personality Science 8(4).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedRate:
    """A rate as it is printed, digit for digit.

    Parameters
    ----------
    digits : str
        As printed, as "59.83" or "0.9005".
    whole : int
        What the printed number is at a rate of 1: 100 where it is in percent.

    Examples
    --------
    >>> rate = PrintedRate(digits="60.12", whole=100)
    >>> rate.counts(1512), rate.tested(1512)
    ((909,), True)
    >>> PrintedRate(digits="59.83", whole=100).counts(1512)
    ()
    """

    digits: str
    whole: int = 1

    def __post_init__(self) -> None:
        _validate.integer(whole=self.whole, at_least=1)
        try:
            value = Fraction(self.digits)
        except ValueError:
            raise ValueError(f"digits must be a decimal number, got {self.digits!r}") from None
        if not 0 <= value <= self.whole:
            raise ValueError(f"digits must lie in [0, {self.whole}], got {self.digits!r}")

    @property
    def rate(self) -> Fraction:
        """The rate, from 0 to 1, as the exact decimal."""
        return Fraction(self.digits) / self.whole

    @property
    def unit(self) -> Fraction:
        """A unit of the last digit, as a rate."""
        return Fraction(1, self.whole * 10 ** len(self.digits.partition(".")[2]))

    def tested(self, cases: int) -> bool:
        """Tell whether some digits cannot be printed of so many cases.

        What rounds or is cut off to given digits lies within 3/2 units.
        """
        _validate.integer(cases=cases, at_least=1)
        return Fraction(1, cases) > 3 * self.unit / 2

    def counts(self, cases: int) -> tuple[int, ...]:
        """Return every count of so many cases that is printed so, rounded or cut off."""
        _validate.integer(cases=cases, at_least=1)
        low = (self.rate - self.unit / 2) * cases
        high = (self.rate + self.unit) * cases
        first = max(0, -(-low.numerator // low.denominator))
        return tuple(k for k in range(first, min(cases, int(high)) + 1) if k < high)


def impossible(rates: Iterable[PrintedRate], cases: int) -> tuple[str, ...]:
    """Return the digits that are no share of so many cases, in the order of the rates.

    Examples
    --------
    >>> impossible([PrintedRate(digits="0.5"), PrintedRate(digits="0.4")], 2)
    ('0.4',)
    """
    return tuple(rate.digits for rate in rates if not rate.counts(cases))


def constant_rate(classes: Mapping[str, int]) -> Fraction:
    """Return the accuracy of the best constant classifier: the share of the largest class.

    Examples
    --------
    >>> constant_rate({"yes": 3, "no": 1})
    Fraction(3, 4)
    """
    if not classes:
        raise ValueError("classes must hold at least one class, got none")
    for name, count in classes.items():
        _validate.integer(count=count, at_least=0)
        if not name:
            raise ValueError("classes must have names, got an empty one")
    _validate.integer(cases=sum(classes.values()), at_least=1)
    return Fraction(max(classes.values()), sum(classes.values()))
