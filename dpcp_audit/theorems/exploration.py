"""A coverage theorem's bound over a grid of parameters, beside the level that is reached."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import binom

from dpcp_audit.theorems.admission import admission
from dpcp_audit.theorems.catalogue import CATALOGUE, named_theorem
from dpcp_audit.theorems.ldpcp_coverage import LabelTheorem
from dpcp_audit.theorems.ldpcp_scores import ScoreTheorem, coverage_law
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem
from dpcp_audit.theorems.statement import promises_nothing
from dpcp_audit.theorems.theorem_case import SOURCES, TheoremCase
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.options import MOST_USERS, dashed, plain, read, require_known
from dpcp_audit.words.values import Numeric, Several

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dpcp_audit.theorems.catalogue import NamedTheorem, ScoreLaw
    from dpcp_audit.theorems.statement import Statement
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.options import Option, Spelling

MOST_CELLS = 1_440
"""Cells of a grid; as many as a heat map holds."""
_TRIALS, _SLOW_TRIALS = 1_000, 200
"""Trials of a cell that is sampled: in the marginal reading of P-COQS, one takes O(√n)."""
CONFIDENCE = 0.99
"""The confidence of the interval of a sampled cell."""
_KINDS = (LabelTheorem, ScoreTheorem, CoverageTheorem)


class Reached(NamedTuple):
    """The coverage that is exceeded with probability 1−δ, and an interval for it if sampled."""

    value: float
    low: float
    high: float
    sampled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """The bound of a theorem in one case, and the level that is reached there.

    Parameters
    ----------
    case : dict
        The parameters, by name.
    name : str
        The level that is promised, as a formula: "1−α−Δ_S".
    level : float
        Its value.
    reached : Reached
        The coverage that is exceeded with probability 1−δ.
    vacuous : bool
        True if the theorem promises nothing there.
    least_n : int or None
        The smallest n at which it promises something, the other parameters being what they are;
        None where there is none up to 10¹⁵.
    unmet : str
        Which hypothesis the scores do not meet; empty where they meet all.
    """

    case: Mapping[str, Any]
    name: str
    level: float
    reached: Reached
    vacuous: bool
    least_n: int | None
    unmet: str

    @property
    def slack(self) -> float:
        """The excess of the coverage over the level; below 0 if the level is not reached."""
        return self.reached.value - self.level


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TheoremGrid:
    """A theorem over all combinations of its parameters' values.

    Parameters
    ----------
    named : NamedTheorem
        The theorem.
    law : ScoreLaw or None
        Of the scores, where the array that it comes from is at hand.
    values : dict
        One value or several of each parameter, and of where the scores come from.
    """

    named: NamedTheorem
    law: ScoreLaw | None
    values: Mapping[str, tuple[Any, ...]]

    @classmethod
    def of(
        cls,
        theorem: object,
        given: Mapping[str, object],
        *,
        law: ScoreLaw | None = None,
        spell: Spelling = plain,
    ) -> TheoremGrid:
        """Return the grid that was asked for.

        Parameters that have to be given, and are not, have typical values; scores are uniform.

        Raises
        ------
        UsageError
            Naming the argument.
        """
        named = named_theorem(theorem)
        if named.kind not in _KINDS:
            able = ", ".join(each.name for each in CATALOGUE if each.kind in _KINDS)
            raise UsageError(
                f"{named.name} has no level that depends on n: explore one of {able}",
                hint="give one value of each parameter to test it",
            )
        options = several((*SOURCES, *named.parameters))
        require_known(given, [spell(each.name) for each in options])
        found = {
            each.name: value if isinstance(each.value, Several) else (value,)
            for each in options
            for value in read([each], given, spell).values()
        }
        typical = named.example | (
            {} if law or {"pool", "scores", "k"} & found.keys() else {"scores": "uniform"}
        )
        if named.needs_probabilities and "scores" in typical:
            raise UsageError(
                f"{spell('k')} must be given for {named.name}, or a pool",
                hint=f"such as {spell('k')} = 10",
            )
        single = {name: (value,) for name, value in typical.items()}
        grid = cls(named=named, law=law, values=single | found)
        if grid.size > MOST_CELLS:
            raise UsageError(
                f"the grid must have at most {MOST_CELLS:,} cells, got {grid.size:,}",
                hint="give fewer values",
            )
        return grid

    @property
    def size(self) -> int:
        """The number of cases."""
        return math.prod(map(len, self.values.values()))

    @property
    def varied(self) -> tuple[str, ...]:
        """The parameters with several values, n last; n where there are none."""
        names = [name for name, each in self.values.items() if len(each) > 1] or ["n"]
        return tuple(sorted(names, key=lambda name: name == "n"))

    @property
    def fixed(self) -> dict[str, Any]:
        """The parameters with one value, defaults too, as plain data."""
        defaults = {each.name: each.default for each in self.named.parameters if not each.required}
        if self.named.kind is CoverageTheorem:
            del defaults["window_count"]
        given = {name: each[0] for name, each in self.values.items()}
        held = {k: v for k, v in (defaults | given).items() if k not in self.varied}
        named = held.pop("pool", None) or held.pop("scores", None)
        law = named if self.law is None else self.law.name
        return ({"population": law} if law else {}) | _as_data(self.named, held)

    def promises(self, *, seed: int = 0) -> Iterator[GridCell]:
        """Yield what is promised and reached in each case, n varying fastest.

        What is sampled depends on the case and the seed, and not on the rest of the grid.
        """
        least: dict[tuple[Any, ...], int | None] = {}
        for chosen in product(*(self.values[name] for name in self.varied)):
            case = dict(zip(self.varied, chosen, strict=True))
            others = tuple(value for name, value in case.items() if name != "n")
            if others not in least:
                least[others] = self._least_n(case)
            yield self._promise(case, np.random.default_rng(seed), least[others])

    @property
    def words(self) -> str:
        """The theorem's statement, in words."""
        says: Statement = self._at({name: self.values[name][0] for name in self.varied}).says
        return says.words

    def _promise(
        self, case: dict[str, Any], rng: np.random.Generator, least_n: int | None
    ) -> GridCell:
        theorem = self._at(case)
        name, level = promised(theorem)
        return GridCell(
            case=case,
            name=name,
            level=level,
            reached=reached(theorem, rng=rng),
            vacuous=bool(promises_nothing(theorem)),
            least_n=least_n,
            unmet=admission(theorem).reason,
        )

    def _at(self, case: Mapping[str, Any]) -> Any:
        """Return the theorem object of a case."""
        given = {name: each[0] for name, each in self.values.items()} | dict(case)
        asked = TheoremCase.of(self.named.name, _as_data(self.named, given), law=self.law)
        return asked.theorem()

    def _least_n(self, case: dict[str, Any]) -> int | None:
        """Return the smallest n at which the theorem promises something."""

        def says_something(n: int) -> bool:
            try:
                return not promises_nothing(self._at(case | {"n": n}))
            except UsageError:
                raise
            except ValueError:  # fewer users than rounds
                return False

        low, high = 0, 1
        while not says_something(high):
            low, high = high, 2 * high
            if high > MOST_USERS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if says_something(middle) else (middle, high)
        return high


def several(options: tuple[Option, ...]) -> tuple[Option, ...]:
    """Return the options, those of numbers as options of one value or several."""
    return tuple(
        replace(each, value=Several(each.value)) if isinstance(each.value, Numeric) else each
        for each in options
    )


def writes_several(options: Iterable[Option], given: Mapping[str, object]) -> bool:
    """Tell whether some option's word writes several numbers, given by their dashed names."""
    words = (given.get(dashed(each.name)) for each in options if isinstance(each.value, Several))
    return any(isinstance(word, str) and ("," in word or ".." in word) for word in words)


def promised(theorem: Any) -> tuple[str, float]:
    """Return the lower bound on the coverage, as a formula and as a number."""
    name, level = next(iter(theorem.bounds.items()))
    if name == "lower bound":
        return "1−α−τ/(n+1)", level
    return name.replace("Δ", theorem.correction_name), level


def reached(theorem: Any, *, rng: np.random.Generator) -> Reached:
    """Return the coverage that a case exceeds with probability 1−δ: computed, or from trials."""
    allowed: float = theorem.allowed_failure
    if isinstance(theorem, ScoreTheorem):
        coverage, mass, slack = coverage_law(theorem)
        order = np.argsort(coverage)
        below = np.cumsum(mass[order]) - mass[order] + slack
        value = float(coverage[order][max(0, int(np.sum(below <= allowed)) - 1)])
        return Reached(value, value, value, sampled=False)
    marginal = getattr(theorem, "reading", None) is CoverageReading.MARGINAL
    count = _SLOW_TRIALS if marginal else _TRIALS
    return _quantile(np.sort(theorem.trials(count, rng=rng).statistic), allowed)


def _quantile(values: FloatArray, share: float) -> Reached:
    """Return a quantile of sorted values, between order statistics at ``CONFIDENCE``."""
    count = len(values)
    tail = (1 - CONFIDENCE) / 2
    low = int(binom.ppf(tail, count, share)) - 1
    high = int(binom.ppf(1 - tail, count, share)) + 1
    return Reached(
        float(values[min(count - 1, int(share * count))]),
        0.0 if low < 0 else float(values[low]),
        1.0 if high >= count else float(values[high]),
    )


def _as_data(named: NamedTheorem, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as plain data, which a case reads."""
    known = {each.name: each for each in (*SOURCES, *named.parameters)}
    return {name: known[name].value.as_data(value) for name, value in given.items()}
