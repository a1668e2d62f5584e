"""One theorem in one case, and its bound over a grid of cases beside the level that is reached."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcp_audit.stats.rates import draws_needed
from dpcp_audit.stats.roots import fewest
from dpcp_audit.stats.samples import Spread
from dpcp_audit.theorems.catalogue import (
    CATALOGUE,
    LAWS,
    NamedTheorem,
    ScoreLaw,
    admission,
    beyond,
    law_named,
    law_of_classes,
    named_theorem,
    with_window_count,
)
from dpcp_audit.theorems.ldpcp import LabelTheorem, ScoreTheorem, coverage_law
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem, RankError
from dpcp_audit.theorems.statement import claim_of, promises_nothing
from dpcp_audit.theorems.theorem import RESOLUTION, FailureRate, histogram
from dpcp_audit.words.checks import Row, Suite
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.options import MOST_USERS, Group, Option, dashed, plain, read, require_known
from dpcp_audit.words.results import Standing, Verdict
from dpcp_audit.words.values import Numeric, Several, Text, Whole, is_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dpcp_audit.theorems.statement import Statement
    from dpcp_audit.theorems.theorem import Theorem
    from dpcp_audit.words.checks import Check, Context
    from dpcp_audit.words.options import Spelling
    from dpcp_audit.words.results import Outcome, PlainData
    from dpcp_audit.words.validate import FloatArray


SUITE_NAME = "theorem-case"
"""The suite's registered name."""
MOST_CLASSES = 10_000
"""The most classes of a law of scores without data."""
_MOST_AVERAGED = 10**8
_DRAWN = 10_000
"""Trials of a figure."""
_FEWEST = 500
"""Trials of a slow check; also those of a chunk of it."""
SOURCES = (
    Option(
        name="pool",
        value=Text(),
        help="saved probabilities and labels (FILE.npz), or the name of a pool that is fitted "
        "here, such as digits-logistic",
        group=Group.SCORES,
        metavar="FILE.npz|NAME",
    ),
    Option(
        name="scores",
        value=Text(),
        help=f"the law of the scores: {' or '.join(LAWS)}, or what pool takes",
        group=Group.SCORES,
        metavar="LAW",
    ),
    Option(
        name="k",
        value=Whole(at_least=2, at_most=MOST_CLASSES),
        help="the number of classes, without data: scores of the true labels spread evenly over "
        "[0, 1], the rest of each probability shared equally",
        group=Group.SCORES,
        metavar="K",
    ),
)
"""The keywords for the law of the scores, of which one may be given."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TheoremCase:
    """A theorem by name, with the law of the scores and the parameters that were given.

    Parameters
    ----------
    law : ScoreLaw or None
        Law of the scores; None takes the theorem's default.
    given : dict
        Values of the theorem's parameters, by name.
    """

    named: NamedTheorem
    law: ScoreLaw | None
    given: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        theorem: object,
        given: Mapping[str, object],
        *,
        law: ScoreLaw | None = None,
        spell: Spelling = plain,
    ) -> TheoremCase:
        """Return the case that was asked for.

        Parameters
        ----------
        theorem : str
            The theorem's name.
        given : mapping
            The theorem's parameters, and ``pool`` or ``scores``, as ``spell`` spells them.
        law : ScoreLaw, optional
            Law of scores at hand, in place of ``pool`` and ``scores``.

        Raises
        ------
        UsageError
            If an argument is invalid; the message names it.
        MissingExtraError
            If the pool is a network's, and PyTorch is not installed.
        """
        named = named_theorem(theorem)
        known = (*SOURCES, *named.parameters)
        what = "keyword" if spell is plain else "key"
        require_known(given, [spell(each.name) for each in known], what=what)
        values = read(known, given, spell)
        sources = {each.name: values.pop(each.name, None) for each in SOURCES}
        _require_all(named, values, spell)
        return cls(named=named, law=law or _law(named, sources, spell), given=values)

    @property
    def id(self) -> str:
        """The claim's id: the theorem, the law of the scores, and what is not the default."""
        parts = [] if self.law is None else [f"scores={self.law.name}"]
        parts += [f"{dashed(name)}={_word(value)}" for name, value in self._told()]
        return f"theorem.{self.named.name}[{','.join(parts)}]"

    def as_data(self) -> dict[str, Any]:
        """Return the values that differ from the defaults, as plain data by the suite's names."""
        return {dashed(name): value for name, value in self._told()}

    def theorem(self) -> Any:
        """Return the theorem object; M(Δ) is what the scores need unless it is given.

        Raises
        ------
        ValueError
            If the theorem does not take the parameters.
        """
        theorem = self.named.on(self.law, self.given)
        _require_within(self.named, theorem)
        if isinstance(theorem, CoverageTheorem | RankError) and "window_count" not in self.given:
            theorem = with_window_count(theorem)
        _require_affordable(theorem)
        return theorem

    def row(self) -> Row:
        """Return the claim with its check.

        Raises
        ------
        ValueError
            If the theorem does not take the parameters.
        """
        theorem = self.theorem()
        found = admission(theorem)
        admitted = found.standing is not Standing.OUTSIDE_HYPOTHESIS
        expected = Verdict.CONSISTENT if found.standing is Standing.PAPER else None
        claim = claim_of(
            theorem,
            self.id,
            expected,
            subject=f"{theorem.says.source}",
            standing=found.standing,
            note="" if admitted else "on scores outside its hypotheses",
            parameters={
                name: self.named.parameter(name).value.as_data(value)
                for name, value in self.given.items()
                if name not in theorem.parameters
            },
        )
        if not admitted:
            unmet = f"not met here: {found.reason}; assumed: {claim.assumptions}"
            claim = replace(claim, assumptions=unmet)
        check = theorem.check()
        if self.named.needs_probabilities:
            check = _affordable(check, theorem)
        arrays = {} if self.law is None else self.law.arrays
        if arrays or isinstance(check, Computed):
            check = _Shown(check=check, theorem=theorem, arrays=arrays)
        return Row(claim=claim, check=check)

    def _told(self) -> Iterator[tuple[str, Any]]:
        """Yield the parameters that differ from their defaults, as plain data."""
        for each in self.named.parameters:
            value = self.given.get(each.name, each.default)
            if value != each.default or (each.otherwise and each.name in self.given):
                yield each.name, each.value.as_data(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A check whose outcome has a figure, and in its witness the arrays at hand that it ran on.

    The figure decides nothing: that of trials, where the check computes and has none.
    """

    check: Check
    theorem: Theorem
    arrays: PlainData

    @property
    def sampled(self) -> bool:
        """True if the check itself is sampled."""
        return self.check.sampled

    def __call__(self, context: Context) -> Outcome:
        """Run the check, and draw where it did not."""
        outcome = self.check(context)
        figures = outcome.figures
        if not figures:
            trials = self.theorem.trials(_DRAWN, rng=context.rng(1))  # 0 is the check's own
            figures = (histogram(Spread.of(trials.statistic), self.theorem),)
        return replace(outcome, figures=figures, witness=outcome.witness | self.arrays)


def rows(case: Mapping[str, Any] | None = None, pools: Sequence[str] = ()) -> list[Row]:
    """Return the row of a case: "theorem", its parameters, and the pool where there is one.

    Without a case there is no row.
    """
    if case is None:
        return []
    given = dict(case)
    if len(pools) > 1:
        raise UsageError(f"pool may be given once, got {len(pools)}", hint="leave the others out")
    given |= dict(zip(("pool",), pools, strict=False))
    theorem = given.pop("theorem", None)
    try:
        return [TheoremCase.of(theorem, given, spell=dashed).row()]
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from error


def _law(named: NamedTheorem, sources: Mapping[str, Any], spell: Spelling) -> ScoreLaw | None:
    given = {spell(name): text for name, text in sources.items() if text is not None}
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} are two laws of the scores", hint="give one")
    if not given and named.needs_law:
        wanted = "a pool or k classes" if named.needs_probabilities else "a pool or a law of scores"
        few = "k = 10" if named.needs_probabilities else "scores = uniform"
        raise UsageError(
            f"pool must be given: {named.name} is tested on {wanted}", hint=f"such as {few}"
        )
    if (k := sources.get("k")) is not None:
        return law_of_classes(k)
    return next((law_named(text, name=name) for name, text in given.items()), None)


def _require_within(named: NamedTheorem, theorem: Any) -> None:
    """Refuse scores outside of the interval in which a mechanism searches for its threshold."""
    mechanism = getattr(theorem, named.part[0]) if named.part else None
    if mechanism is not None and (outside := beyond(theorem.population, mechanism.bounds)):
        raise UsageError(f"bounds must hold all scores, but {outside}", hint="widen the bounds")


def _require_affordable(theorem: Any) -> None:
    """Refuse a coverage given the noise, which takes O(√n) time and memory, at a huge n."""
    averaged = getattr(theorem, "reading", None) is CoverageReading.MARGINAL
    if averaged and theorem.n > _MOST_AVERAGED:
        raise UsageError(
            f"n must be at most {_MOST_AVERAGED:,} in the marginal reading, got {theorem.n:,}",
            hint="the conditional reading has no such limit",
        )


def _require_all(named: NamedTheorem, values: Mapping[str, Any], spell: Spelling) -> None:
    """Refuse a case that leaves out parameters without a default, naming all of them."""
    missing = [each for each in named.parameters if each.required and each.name not in values]
    if missing:
        names = ", ".join(spell(each.name) for each in missing)
        told = "; ".join(each.help for each in missing)
        typical = ", ".join(
            f"{spell(each.name)} = {named.example[each.name]}"
            for each in missing
            if each.name in named.example
        )
        raise UsageError(
            f"{names} must be given for {named.name} ({told})",
            hint=f"such as {typical}" if typical else "",
        )


def _word(value: object) -> str:
    """Return a value as one word, a number with all of its digits."""
    parts: list[object] = value if is_list(value) else [value]
    return "..".join(str(part).removesuffix(".0") for part in parts)


def _affordable(check: Check, theorem: Any) -> Check:
    """Return the check with as many trials as a failure rate of 1.5 δ takes to be refuted.

    Where a trial is slow, as it is where users' labels are drawn from a pool.
    """
    if not isinstance(check, FailureRate):
        return check
    allowed = theorem.allowed_failure
    needed = draws_needed(allowed, min(RESOLUTION * allowed, (1 + allowed) / 2), significance=1e-3)
    trials = max(_FEWEST, min(needed, check.n_trials))
    return replace(check, n_trials=trials, chunk_trials=_FEWEST)


SUITE = Suite(
    summary="One theorem in one case: what 'dpcp-audit theorem' tests.",
    rows=rows,
    takes=frozenset({"case", "pools"}),
    given_by="theorem",
)


MOST_CELLS = 1_440
"""Cells of a grid; as many as a heat map holds."""
_TRIALS, _SLOW_TRIALS = 1_000, 200
"""Trials of a cell that is sampled: in the marginal reading of P-COQS, one takes O(√n)."""
CONFIDENCE = 0.99
"""The confidence of the interval of a sampled cell."""
_KINDS = (LabelTheorem, ScoreTheorem, CoverageTheorem)


class _Reached(NamedTuple):
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
        Value of the level.
    reached : _Reached
        The coverage that is exceeded with probability 1−δ.
    vacuous : bool
        True if the theorem promises nothing there.
    least_n : int or None
        The smallest n at which it promises something, the other parameters being what they are;
        None where there is none up to 10¹⁵.
    unmet : str
        The hypothesis that the scores do not meet; empty where they meet all.
    """

    case: Mapping[str, Any]
    name: str
    level: float
    reached: _Reached
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
        Law of the scores, where the array that it comes from is at hand.
    values : dict
        One value or several of each parameter, and of the source of the scores.
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
            If an argument is invalid; the message names it.
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
        """Yield the promised and the reached coverage of each case, n varying fastest.

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

        return fewest(says_something, most=MOST_USERS)


def several(options: tuple[Option, ...]) -> tuple[Option, ...]:
    """Return the options, those of numbers as options of one value or several."""
    return tuple(
        replace(each, value=Several(each.value)) if isinstance(each.value, Numeric) else each
        for each in options
    )


def writes_several(options: Iterable[Option], given: Mapping[str, object]) -> bool:
    """Return True if some option's word writes several numbers, given by their dashed names."""
    words = (given.get(dashed(each.name)) for each in options if isinstance(each.value, Several))
    return any(isinstance(word, str) and ("," in word or ".." in word) for word in words)


def promised(theorem: Any) -> tuple[str, float]:
    """Return the lower bound on the coverage, as a formula and as a number."""
    name, level = next(iter(theorem.bounds.items()))
    if name == "lower bound":
        return "1−α−τ/(n+1)", level
    return name.replace("Δ", theorem.correction_name), level


def reached(theorem: Any, *, rng: np.random.Generator) -> _Reached:
    """Return the coverage that a case exceeds with probability 1−δ: computed, or from trials."""
    allowed: float = theorem.allowed_failure
    if isinstance(theorem, ScoreTheorem):
        coverage, mass, slack = coverage_law(theorem)
        order = np.argsort(coverage)
        below = np.cumsum(mass[order]) - mass[order] + slack
        value = float(coverage[order][max(0, int(np.sum(below <= allowed)) - 1)])
        return _Reached(value, value, value, sampled=False)
    marginal = getattr(theorem, "reading", None) is CoverageReading.MARGINAL
    count = _SLOW_TRIALS if marginal else _TRIALS
    return _quantile(np.sort(theorem.trials(count, rng=rng).statistic), allowed)


def _quantile(values: FloatArray, share: float) -> _Reached:
    """Return a quantile of sorted values, between order statistics at ``CONFIDENCE``."""
    from scipy.stats import binom  # noqa: PLC0415  (slow)

    count = len(values)
    tail = (1 - CONFIDENCE) / 2
    low = int(binom.ppf(tail, count, share)) - 1
    high = int(binom.ppf(1 - tail, count, share)) + 1
    return _Reached(
        float(values[min(count - 1, int(share * count))]),
        0.0 if low < 0 else float(values[low]),
        1.0 if high >= count else float(values[high]),
    )


def _as_data(named: NamedTheorem, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as plain data, which a case reads."""
    known = {each.name: each for each in (*SOURCES, *named.parameters)}
    return {name: known[name].value.as_data(value) for name, value in given.items()}
