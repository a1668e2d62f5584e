"""The catalogue: every theorem by name, the scores it is tested on, and whether it admits them."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import os
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial, singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import betainc

from dpcp_audit.laws.pools import SHIPPED, ProbabilityPool, classifier_pool, load_pool
from dpcp_audit.laws.populations import Beta, Deferred, PiecewiseConstant, Pool, Uniform
from dpcp_audit.mechanisms.local_scores import Blocks, Debiasing, LabelSearch, OnMiss
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.quantiles import ExponQ
from dpcp_audit.theorems.ldpcp import LabelTheorem, ScoreTheorem, UniformEvent
from dpcp_audit.theorems.pcoqs_coverage import (
    CoverageReading,
    CoverageTheorem,
    NoiseBound,
    RankError,
)
from dpcp_audit.theorems.split import MarginalCoverage, SplitCoverage
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.errors import UsageError, shown
from dpcp_audit.words.formatting import number
from dpcp_audit.words.options import MOST_ROUNDS, Option, options_of
from dpcp_audit.words.results import Standing
from dpcp_audit.words.values import number_of, wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.theorems.statement import Statement
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import FloatArray


_TYPICAL: Mapping[str, Any] = {
    "n": 10_000,
    "alpha": 0.1,
    "epsilon": 2.0,
    "delta": 0.05,
    "rho": 0.5,
    "beta": 0.05,
    "n_candidates": 100,
    "gamma": 0.5,
}
"""Values of the parameters that have no default, for examples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTheorem:
    """A theorem by name.

    Parameters
    ----------
    name : str
        Name on the command line.
    kind : type
        The theorem's dataclass, whose fields are its parameters.
    part : tuple of (str, type)
        A field that holds a mechanism, and the mechanism's dataclass, whose fields are parameters
        too; empty where there is none.
    fixed : dict
        Fields that the name settles.
    """

    name: str
    kind: type
    part: tuple[str, type] | tuple[()] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def parameters(self) -> tuple[Option, ...]:
        """The parameters that it takes: the options of its dataclass, and of its mechanism's."""
        of_part = options_of(self.part[1]) if self.part else ()
        own = (each for each in options_of(self.kind) if each.name not in self.fixed)
        return tuple(sorted((*own, *of_part), key=lambda each: not each.required))

    def parameter(self, name: str) -> Option:
        """Return one of ``parameters``."""
        return next(each for each in self.parameters if each.name == name)

    @property
    def example(self) -> dict[str, Any]:
        """Typical values of the parameters that have to be given."""
        return {each.name: _TYPICAL[each.name] for each in self.parameters if each.required}

    @property
    def statement(self) -> Statement:
        """The statement, in words."""
        law = law_of_probabilities([[0.75, 0.25], [0.5, 0.5]], [0, 1])
        statement: Statement = self.on(law, self.example).says
        return statement

    @property
    def needs_probabilities(self) -> bool:
        """True if it is about a classifier's probabilities and labels, and not scores alone."""
        return "pool" in self._fields

    @property
    def needs_law(self) -> bool:
        """True if the law of the scores has no default."""
        law = self._fields.get("population")
        return law is None or law.default_factory is dataclasses.MISSING

    def on(self, law: ScoreLaw | None, given: Mapping[str, Any]) -> Any:
        """Return the theorem object of a case.

        Parameters
        ----------
        law : ScoreLaw or None
            Law of the scores; None takes the default.
        given : mapping
            Values of ``parameters`` by name.

        Raises
        ------
        ValueError
            If the theorem does not take a parameter; the message names it.
        """
        values = dict(given) | dict(self.fixed) | self._law(law)
        if self.part:
            name, kind = self.part
            held = {each.name for each in options_of(kind)}
            values[name] = kind(**{key: values.pop(key) for key in held & values.keys()})
        return self.kind(**values)

    @property
    def _fields(self) -> dict[str, dataclasses.Field[Any]]:
        return {each.name: each for each in dataclasses.fields(self.kind)}

    def _law(self, law: ScoreLaw | None) -> dict[str, Any]:
        if law is None:
            return {}
        if not self.needs_probabilities:
            return {"population": law.population}
        if law.pool is None:
            raise UsageError(
                f"scores must come from a pool of probabilities and labels for {self.name}, "
                f"got {law.name}",
                hint="such as digits-logistic",
            )
        k = int(law.pool().probabilities.shape[1])
        return {"pool_name": law.name, "pool": law.pool, "k": k}


_SEARCH = ("mechanism", PCOQS)
CATALOGUE = (
    NamedTheorem(name="ldpcp-1", kind=UniformEvent, fixed={"two_sided": False}),
    NamedTheorem(name="ldpcp-1-two-sided", kind=UniformEvent, fixed={"two_sided": True}),
    NamedTheorem(name="ldpcp-3", kind=LabelTheorem, fixed={"starred": False}),
    NamedTheorem(name="ldpcp-3-starred", kind=LabelTheorem, fixed={"starred": True}),
    NamedTheorem(name="ldpcp-4", kind=ScoreTheorem, fixed={"starred": False}),
    NamedTheorem(name="ldpcp-4-starred", kind=ScoreTheorem, fixed={"starred": True}),
    NamedTheorem(name="ldpcp-algorithm-3", kind=ScoreTheorem, fixed={"two_sided": True}),
    NamedTheorem(name="pcoqs-proposition-1", kind=RankError, part=_SEARCH),
    NamedTheorem(
        name="pcoqs-remark-3",
        kind=RankError,
        part=_SEARCH,
        fixed={"noise_bound": NoiseBound.GAUSSIAN},
    ),
    NamedTheorem(
        name="pcoqs-theorem-1", kind=CoverageTheorem, part=_SEARCH, fixed={"corrected": False}
    ),
    NamedTheorem(
        name="pcoqs-corollary-1", kind=CoverageTheorem, part=_SEARCH, fixed={"corrected": True}
    ),
    NamedTheorem(name="split-conformal", kind=SplitCoverage),
    NamedTheorem(name="exponq-coverage", kind=MarginalCoverage, part=("calibrator", ExponQ)),
)
"""Every theorem that can be asked for, in the order of the papers."""


def theorem_names() -> tuple[str, ...]:
    """Return the names of all theorems."""
    return tuple(each.name for each in CATALOGUE)


def named_theorem(name: object) -> NamedTheorem:
    """Return a theorem by its name.

    Raises
    ------
    UsageError
        If there is none, with the nearest name that there is.

    Examples
    --------
    >>> [each.name for each in named_theorem("ldpcp-4").parameters if each.required]
    ['n', 'epsilon', 'delta']
    """
    for each in CATALOGUE:
        if isinstance(name, str) and each.name == name:
            return each
    near = difflib.get_close_matches(str(name), theorem_names(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "such as 'ldpcp-4'"
    menu = ", ".join(theorem_names())
    raise UsageError(f"a theorem's name must be one of {menu}, got {shown(name, 60)}", hint=hint)


LAWS = ("uniform", "beta(A,B)")
"""The laws that need no data, as they are written."""
_MOST_RECORDED = 400
"""Numbers of arrays at hand that a witness still holds."""
_FEWEST_USERS, _MOST_USERS, _MOST_NUMBERS = 256, 4096, 2**20
"""The rows of a synthetic pool: as many as its numbers allow, between the first two."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreLaw:
    """A law of scores, and the probabilities that it comes from, where it comes from any.

    Parameters
    ----------
    name : str
        Name in the id of a finding: one word.
    population : Population
        The law: of a pool, that of the true labels' HPS scores.
    pool : callable or None
        Returns the classifier's probabilities and the labels.
    arrays : dict
        The arrays that it is of, as lists, where they are at hand and short: no path finds them.
    """

    name: str
    population: Population
    pool: Callable[[], ProbabilityPool] | None = None
    arrays: PlainData = field(default_factory=dict[str, Any])


def law_named(text: object, *, name: str) -> ScoreLaw:
    """Return the law that a text stands for.

    Parameters
    ----------
    text : str
        "uniform"; "beta(5,0.2)"; the name of a pool that is fitted here, such as
        "digits-logistic"; or a file that ``load_pool`` reads.
    name : str
        Name of the argument, for the errors.

    Raises
    ------
    UsageError
        If there is no such law, or a file holds no pool.

    Examples
    --------
    >>> law_named("beta(5, 0.2)", name="scores").population
    Beta(a=5, b=0.2)
    """
    if not isinstance(text, str) or not text.strip():
        raise wrong(name, f"one of {_menu()}", text, hint="such as uniform")
    if text == "uniform":
        return ScoreLaw(name=text, population=Uniform())
    if text.startswith("beta("):
        law = _beta(text, name)
        return ScoreLaw(name=law.name, population=law)
    if text in SHIPPED:
        return _of_pool(text, partial(classifier_pool, *SHIPPED[text]))
    return _saved(text, name)


def law_of_classes(k: int) -> ScoreLaw:
    """Return a law of k classes without data: true-label scores spread evenly over [0, 1].

    The other labels share what probability the true one leaves, in equal parts.

    Examples
    --------
    >>> law_of_classes(10).name, law_of_classes(10).population
    ('even(10)', Uniform())
    """
    _validate.integer(k=k, at_least=2)
    name = f"even({k})"
    return ScoreLaw(name=name, population=Uniform(), pool=partial(_even_pool, name, k))


@lru_cache(maxsize=4)
def _even_pool(name: str, k: int) -> ProbabilityPool:
    users = max(_FEWEST_USERS, min(_MOST_USERS, _MOST_NUMBERS // k))
    score = (np.arange(users) + 0.5) / users
    rows = np.repeat((score / (k - 1))[:, None], k, axis=1)
    rows[:, 0] = 1 - score
    return ProbabilityPool(name=name, probabilities=rows, labels=np.zeros(users, dtype=np.int64))


def law_of_scores(scores: ArrayLike) -> ScoreLaw:
    """Return the law that draws from an array of scores, shape (m,), with replacement.

    Its name has the first digits of the SHA-256 of the sorted scores, as little-endian doubles.

    Examples
    --------
    >>> law_of_scores([0.5, 0.25]).name == law_of_scores([0.25, 0.5]).name
    True
    """
    values = np.sort(_validate.scores(scores))
    if np.asarray(scores).dtype == np.bool_:
        raise ValueError("scores must be an array of numbers, got truth values")
    name = _array_name(values)
    recorded = _recorded(scores=values)
    return ScoreLaw(name=name, population=Pool(values, name), arrays=recorded)


def law_of_probabilities(probabilities: ArrayLike, labels: ArrayLike) -> ScoreLaw:
    """Return the law of the true labels' HPS scores.

    Its name has the first digits of the SHA-256 of the probabilities and then the labels, as
    little-endian doubles, row by row.

    Parameters
    ----------
    probabilities : array_like, shape (m, k)
        Class probabilities; rows sum to 1.
    labels : array_like, shape (m,)
        True labels in {0, ..., k−1}.
    """
    rows = _validate.probabilities(probabilities)
    true = _validate.labels(labels, n_classes=rows.shape[1])
    if true.shape != rows.shape[:1]:
        raise UsageError(
            f"labels must have shape {rows.shape[:1]}, got shape {true.shape}",
            hint="give one label for each row of probabilities",
        )
    pool = ProbabilityPool(_array_name(rows, true), rows, true)
    recorded = _recorded(probabilities=rows, labels=true)
    return replace(_of_pool(pool.name, lambda: pool), arrays=recorded)


def _array_name(*arrays: NDArray[Any]) -> str:
    """Return one word that tells arrays from others: their length and a digest."""
    digest = hashlib.sha256()
    for each in arrays:
        digest.update((each + 0.0).astype("<f8").tobytes())  # -0 is 0
    return f"array-of-{len(arrays[0])}-sha256-{digest.hexdigest()[:8]}"


def _recorded(**arrays: NDArray[Any]) -> PlainData:
    short = sum(each.size for each in arrays.values()) <= _MOST_RECORDED
    return {name: each.tolist() for name, each in arrays.items()} if short else {}


def _of_pool(name: str, pool: Callable[[], ProbabilityPool]) -> ScoreLaw:
    return ScoreLaw(name=name, population=Deferred(name, partial(_scores, pool)), pool=pool)


def _scores(pool: Callable[[], ProbabilityPool]) -> Population:
    return pool().hps_population()


def _beta(text: str, name: str) -> Beta:
    inside = text.removeprefix("beta(").removesuffix(")")
    parameters = [number_of(part.strip()) for part in inside.split(",")]
    if len(parameters) != 2 or not text.endswith(")"):
        raise wrong(name, "written as beta(A,B)", text, hint="such as beta(5,0.2)")
    try:
        return Beta(*parameters)  # type: ignore[arg-type]
    except ValueError as error:
        raise UsageError(f"{name}: in {text!r}, {error}") from error


def _saved(path: str, name: str) -> ScoreLaw:
    if not (path.endswith(".npz") or os.path.exists(path)):  # noqa: PTH110  (raises nothing)
        raise wrong(name, f"one of {_menu()}", path, hint="such as uniform")
    try:
        pool = load_pool(path)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error
    return _of_pool("_".join(pool.name.split()), partial(load_pool, path))


def _menu() -> str:
    return f"{', '.join([*LAWS, *SHIPPED])}, or a file that holds a pool"


_LEVELS = 2**14


class _Starts(NamedTuple):
    """The possible starts of intervals, and the mass before each; both of shape (starts,)."""

    at: FloatArray
    before: FloatArray


def largest_interval_mass(population: Population, length: float) -> float:
    """Return sup_x P(x ≤ S ≤ x + length) for scores in [0, 1].

    Exact for a pool of scores and for a piecewise-constant law. For other laws the interval
    starts at one of 2¹⁴ quantiles, so the mass may be up to 2^(−14) too small.
    """
    _validate.positive(length=length)
    if isinstance(population, Deferred):
        return largest_interval_mass(population.population, length)
    if isinstance(population, PiecewiseConstant):
        return population.largest_mass(min(length, 1.0))
    if isinstance(population, Pool | Beta):
        return _largest_mass_again(population, length)
    return _largest_mass(population, length, _starts(population))


def _largest_mass(population: Population, length: float, starts: _Starts) -> float:
    return float((population.cdf(starts.at + length) - starts.before).max())


@lru_cache(maxsize=256)
def _largest_mass_again(population: Pool | Beta, length: float) -> float:
    """Return the mass of a law that may be a key: the cells of a grid ask again and again."""
    return _largest_mass(population, length, _starts_again(population))


def admissible_rounds(population: Population, *, width: float, most: int = 60) -> int | None:
    """Return T = ⌈log2(1/τ)⌉ for the largest τ = 2^(−T) that holds at most ``width`` of mass.

    Theorems 3 and 4 of LDP-CP ask for an a-priori bound τ on the length of an interval that
    can hold Δ of probability mass. None means that no interval is short enough: the law has
    an atom above ``width``, or one that ``most`` rounds cannot resolve.
    """
    _validate.positive(width=width)
    _validate.integer(most=most, at_least=1)
    for rounds in range(1, most + 1):
        if largest_interval_mass(population, 2.0**-rounds) <= width:
            return rounds
    return None


def likely_crowd(population: Population, *, n: int, length: float, chance: float) -> int:
    """Return a number of scores that no interval of ``length`` exceeds, but for ``chance``.

    The least m >= 1 with n·P(Bin(n−1, p) >= m) <= chance, for the largest mass p of an interval
    of that length: where more than m of n i.i.d. scores lie in one, m of the others follow
    the lowest of them within ``length``.

    Examples
    --------
    >>> from dpcp_audit.laws.populations import Uniform
    >>> likely_crowd(Uniform(), n=500, length=1e-10, chance=1e-3)
    1
    >>> likely_crowd(Uniform(), n=500, length=0.01, chance=1e-3)
    19
    """
    _validate.integer(n=n, at_least=1)
    _validate.open_unit(chance=chance)
    mass = min(1.0, largest_interval_mass(population, length))

    def is_enough(others: int) -> bool:
        return bool(n * betainc(others, n - others, mass) <= chance)

    # m = n is enough, for there are n − 1 others
    return 1 + bisect_left(range(1, n), True, key=is_enough)


def _starts(population: Population) -> _Starts:
    """Return points such that some best interval starts less than 2^(−14) of mass before one."""
    at = (
        np.unique(population.scores)
        if isinstance(population, Pool)
        else np.append(0.0, population.quantile(np.arange(1, _LEVELS) / _LEVELS))
    )
    return _Starts(at, population.cdf_left(at))


@lru_cache(maxsize=32)
def _starts_again(population: Pool | Beta) -> _Starts:
    return _starts(population)


_UNLIKELY = 0.25
"""The share of β for the event that M(Δ) exceeds the value that the theorem is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Admission:
    """Whose claim a theorem is on given scores.

    Parameters
    ----------
    standing : Standing
        The paper's, a reading, a corrected form, an erratum, or outside of its hypotheses.
    reason : str
        For a statement outside of its hypotheses: the one that fails, and by how much.
    """

    standing: Standing
    reason: str = ""


@singledispatch
def admission(theorem: object) -> _Admission:
    """Return whose claim a theorem object is on the scores that it has.

    Raises
    ------
    TypeError
        If it is no theorem object.
    """
    raise TypeError(f"theorem must be a theorem object, got {type(theorem).__name__}")


def standing_of(theorem: object) -> Standing:
    """Return whose claim a theorem object is on the scores that it has."""
    return admission(theorem).standing


def window_count_for(
    population: Population, *, n: int, resolution: float, beta: float, lost: int = 0
) -> int:
    """Return an M(Δ), as printed, that n scores exceed with a probability of at most β/4.

    Parameters
    ----------
    resolution : float
        Δ, in units of the scores.
    lost : int
        Ranks that ties cost beside it: 1 for a coverage, which counts the scores at q itself.
    """
    most = likely_crowd(population, n=n, length=resolution, chance=_UNLIKELY * beta)
    return most if most == 1 else most + lost


def with_window_count(theorem: RankError | CoverageTheorem) -> RankError | CoverageTheorem:
    """Return P-COQS's theorem with the M(Δ) that its scores need."""
    crowd = window_count_for(
        theorem.population,
        n=theorem.n,
        resolution=theorem.mechanism.resolution,
        beta=theorem.beta,
        lost=int(isinstance(theorem, CoverageTheorem)),
    )
    return replace(theorem, window_count=crowd)


@admission.register(ScoreTheorem)
def _of_scores(theorem: ScoreTheorem) -> _Admission:
    printed = theorem.debiasing is Debiasing.PRINTED or theorem.blocks is Blocks.PRINTED
    standing = Standing.CORRECTED if theorem.two_sided else Standing.PAPER
    return _searched(theorem, theorem.population, Standing.ERRATUM if printed else standing)


@admission.register(LabelTheorem)
def _of_labels(theorem: LabelTheorem) -> _Admission:
    pool = theorem.pool
    scores = Deferred(theorem.pool_name, lambda: pool().hps_population())
    return _searched(theorem, scores, Standing.PAPER)


@admission.register(UniformEvent)
def _of_estimate(theorem: UniformEvent) -> _Admission:  # noqa: ARG001  (it asks for nothing)
    """Theorem 1 asks for nothing of the scores; that its event is uniform is a reading."""
    return _Admission(standing=Standing.READING)


@admission.register(RankError)
def _of_rank(theorem: RankError) -> _Admission:
    return _crowded(theorem, Standing.PAPER if theorem.windows == 1 else Standing.CORRECTED, lost=0)


@admission.register(CoverageTheorem)
def _of_search(theorem: CoverageTheorem) -> _Admission:
    standing = Standing.PAPER if theorem.windows == 1 else Standing.CORRECTED
    if theorem.reading is not CoverageReading.MARGINAL:
        standing = Standing.READING
    return _crowded(theorem, standing, lost=1)


@admission.register(MarginalCoverage)
def _of_mean(theorem: MarginalCoverage) -> _Admission:
    bounds = getattr(theorem.calibrator, "bounds", None)
    return _admitted(Standing.PAPER, bounds and beyond(theorem.population, bounds))


@admission.register(SplitCoverage)
def _of_split(theorem: SplitCoverage) -> _Admission:  # noqa: ARG001  (it asks for nothing)
    return _Admission(standing=Standing.PAPER)


def _searched(
    theorem: LabelTheorem | ScoreTheorem, population: Population, standing: Standing
) -> _Admission:
    """Theorems 3 and 4: no interval of length 2^(−T) holds more than Δ of the mass.

    A corrected form where a miss does not return what is printed, or the search is another.
    """
    other = theorem.on_miss is not OnMiss.LAST_MIDPOINT or (
        isinstance(theorem, LabelTheorem) and theorem.search is not LabelSearch.WINDOW
    )
    if standing is Standing.PAPER and other:
        standing = Standing.CORRECTED
    reason = beyond(population, (0.0, 1.0)) or _unresolved(theorem, population)
    return _admitted(standing, reason)


def _unresolved(theorem: LabelTheorem | ScoreTheorem, population: Population) -> str:
    mass, width = _mass_and_width(theorem, population)
    if mass <= width:
        return ""
    tried = range(theorem.rounds + 1, min(MOST_ROUNDS, theorem.n) + 1)
    finer = ((T, *_mass_and_width(replace(theorem, rounds=T), population)) for T in tried)
    least = next((T for T, finer_mass, its_width in finer if finer_mass <= its_width), None)
    remedy = "no T admits them" if least is None else f"T = {least} would admit them"
    return (
        f"an interval of length 2^(−{theorem.rounds}) holds {number(mass)} of the scores, more "
        f"than Δ = {number(width)}: {remedy}"
    )


def _mass_and_width(
    theorem: LabelTheorem | ScoreTheorem, population: Population
) -> tuple[float, float]:
    """Return the largest mass of an interval of length 2^(−T), and Δ."""
    mass = largest_interval_mass(population, 2.0**-theorem.rounds)
    return mass, theorem.mechanism.window_width


def _crowded(theorem: CoverageTheorem | RankError, standing: Standing, *, lost: int) -> _Admission:
    """Proposition 1 and what follows: scores in [a, b], and M(Δ) is what the theorem is told."""
    mechanism, population = theorem.mechanism, theorem.population
    if reason := beyond(population, mechanism.bounds):
        return _admitted(standing, reason)
    needed = window_count_for(
        population, n=theorem.n, resolution=mechanism.resolution, beta=theorem.beta, lost=lost
    )
    if needed <= theorem.window_count:
        return _admitted(standing, "")
    return _admitted(
        standing,
        f"of {theorem.n:,} such scores more than {theorem.window_count} may lie within Δ of each "
        f"other: M(Δ) = {needed:,} would admit them",
    )


def beyond(population: Population, bounds: tuple[float, float]) -> str:
    """Return the mass of scores outside of [a, b], in words; "" where there is none."""
    low, high = np.asarray(bounds)
    mass = float(population.cdf_left(low) + 1 - population.cdf(high))
    return f"{number(mass)} of the scores lie outside of [{low:g}, {high:g}]" if mass > 0 else ""


def _admitted(standing: Standing, reason: str | None) -> _Admission:
    if not reason:
        return _Admission(standing=standing)
    return _Admission(standing=Standing.OUTSIDE_HYPOTHESIS, reason=reason)
