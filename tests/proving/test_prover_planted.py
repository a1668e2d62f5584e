"""A rule whose constant is a tenth too small is noticed by the random programs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from proving.random_programs import PAIRS, N, Writer

import dpcp_audit as dp
from dpcp_audit.proving import arithmetic, distances, gaps, gathering, known_calls
from dpcp_audit.proving.distances import Records, Statistic
from dpcp_audit.proving.interpreter import Reader
from dpcp_audit.targets.loading import load

if TYPE_CHECKING:
    from collections.abc import Callable

LESS = Fraction(9, 10)
PROGRAMS = 250
RULES = (
    "sum", "np.sum", "np.count_nonzero", "np.mean", "np.max", "np.maximum", "np.clip",
    "np.abs", "abs", "np.where", "np.searchsorted", "np.histogram", "int",
)  # fmt: skip
CHARGES = {
    "Laplace noise: Dwork, McSherry, Nissim and Smith 2006, Proposition 1": Writer.KINDS,
    "exponential mechanism: McSherry and Talwar 2007": ("grid",),
    "exponential mechanism over gaps: Smith 2011, Algorithm 2": ("gaps",),
    "noisy threshold: Lyu, Su and Li 2017, Algorithm 1; Zhang and Kifer 2017": ("threshold",),
}
"""The mechanisms that are charged for, by their rules, and the programs that have them."""


def less(value) -> Any:
    """Return a value with distances that are a tenth too small."""
    if isinstance(value, Statistic):
        return replace(
            value,
            l1=value.l1 * LESS,
            l2_squared=value.l2_squared * LESS**2,
            linf=value.linf * LESS,
            span=value.span * LESS,
        )
    if isinstance(value, Records):
        return replace(value, high=value.low + value.width * LESS)
    if isinstance(value, tuple):
        return tuple(map(less, value))
    return value


def shrunk(function) -> Any:
    """Return a function whose result is a tenth too small."""
    return lambda *args, **kw: less(function(*args, **kw))


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Callable[[int, tuple[str, ...]], tuple[Any, float]]:
    """Return a function that gives a program and its largest exact loss, each made once."""
    folder = tmp_path_factory.mktemp("planted")

    @cache
    def program(seed: int, kinds: tuple[str, ...]) -> tuple[Any, float]:
        writer = Writer(seed, kinds)
        path = folder / f"planted_{seed}_{len(kinds)}.py"
        path.write_text(writer.text)
        return load(f"{path}:program"), max(writer.loss(a, b) for a, b in PAIRS)

    return program


def noticed(programs, kinds=Writer.KINDS) -> bool:
    """Tell whether an exact loss of some program is larger than what is proved of it."""
    for seed in range(PROGRAMS):
        function, exact = programs(seed, kinds)
        proof = dp.prove(function, dp.PureDP(1000.0), n=N)
        if proof.proved and exact > proof.total * (1 + 1e-6):
            return True
    return False


@pytest.mark.parametrize("name", RULES)
def test_a_rule_that_is_a_tenth_too_small_is_noticed(name, monkeypatch, programs) -> None:
    table = {
        target: replace(rule, apply=shrunk(rule.apply)) if rule.name == name else rule
        for target, rule in known_calls._table().items()
    }
    monkeypatch.setattr(known_calls, "_table", lambda: table)
    assert noticed(programs)


@pytest.mark.parametrize("rule", CHARGES)
def test_a_charge_that_is_a_tenth_too_small_is_noticed(rule, monkeypatch, programs) -> None:
    charged = Reader.charge

    def charge(self, one) -> None:
        charged(self, replace(one, size=one.size * LESS) if one.rule == rule else one)

    monkeypatch.setattr(Reader, "charge", charge)
    assert noticed(programs, CHARGES[rule])


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Statistic, "plus"), (Statistic, "times"), (Records, "vector"), (arithmetic, "_bounded"),
        (gathering, "_vector"), (gathering, "_coordinate"), (distances, "larger_of"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)  # fmt: skip
def test_a_distance_that_is_a_tenth_too_small_is_noticed(
    owner, name, monkeypatch, programs
) -> None:
    monkeypatch.setattr(owner, name, shrunk(getattr(owner, name)))
    assert noticed(programs)


def test_a_gap_that_a_record_is_not_counted_in_is_noticed(monkeypatch, programs) -> None:
    span = gaps.Gaps.span.fget
    monkeypatch.setattr(gaps.Gaps, "span", property(lambda self: span(self) * LESS))
    assert noticed(programs)


@pytest.mark.parametrize("kinds", [("grid",), ("gaps",)])
def test_the_programs_notice_nothing_in_the_rules_as_they_are(kinds, programs) -> None:
    assert not noticed(programs, kinds)
