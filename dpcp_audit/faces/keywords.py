"""The keywords of Python functions: their types for editors, their signatures, and seeds.

The types repeat the table of options, since type checkers read them without running anything;
``tests/faces/test_keywords.py`` compares the two. Everything else is read from the table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from dpcp_audit.target_checks.check_spec import TABLE
from dpcp_audit.words import options as tables
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.options import RUN_OPTIONS
from dpcp_audit.words.values import Whole, is_whole

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

    from dpcp_audit.words.guarantees import Neighbours
    from dpcp_audit.words.options import Option


F = TypeVar("F", bound=Callable[..., Any])
_MOST_SEED = 2**63
RUN_DEFAULTS: dict[str, Any] = {"seed": 0, "false_alarm": 1e-3, "strict": False}
"""The defaults of a run; ``RunSettings`` has the same."""


class CheckKeywords(TypedDict, total=False):
    """Keywords that say how a target is called, and how its claims are tested."""

    kind: (
        Literal[
            "quantile",
            "randomizer",
            "calibrator",
            "vector",
            "local",
            "federated",
            "predictor",
            "regression",
            "model",
        ]
        | None
    )
    vectorised: bool
    randomness: Literal["generator", "seed", "global", "none"] | None
    bounds: tuple[float | None, float | None]
    domain: int | None
    given_as: Literal["array", "list", "frame", "tensor"]
    options: Mapping[str, Any]
    name: str | None
    n: int | Collection[int]
    data: str | Path | tuple[ArrayLike, ArrayLike] | None
    clients: int
    unit: Literal["record", "client"]
    alpha: float | None
    neighbours: Literal["substitution", "add-remove", "one-label"]
    shuffle_n: int | None
    pair: str | Path | tuple[Any, Any] | Neighbours[Any] | None
    public_n: bool
    ties: bool
    open_sets: bool
    tolerance: float
    detect: float
    budget: float | str | None
    draws: int | None
    representation: Literal["warn", "strict"]
    prove: bool
    trace: bool
    paper: str
    theorem: str
    hypotheses: str


class AuditKeywords(CheckKeywords, total=False):
    """Those of a check, and of the run that it is alone in."""

    false_alarm: float
    strict: bool
    seed: int


class EstimateKeywords(AuditKeywords, total=False):
    """Those of an audit, and of estimates."""

    paths: int


class TheoremKeywords(TypedDict, total=False):
    """The parameters of all theorems; each theorem takes its own."""

    n: int
    epsilon: float
    delta: float
    rounds: int
    alpha: float
    on_miss: Literal["last-midpoint", "upper-end"]
    search: Literal["window", "nacp"]
    window: Literal["final", "preprint"]
    debiasing: Literal["corrected", "printed"]
    blocks: Literal["corrected", "printed"]
    beta: float
    rho: float
    window_count: int
    windows: int
    bounds: tuple[float, float]
    resolution: float
    reading: Literal["marginal", "conditional"]
    n_candidates: int
    gamma: float
    normaliser: Literal["corrected", "published"]


def keywords() -> tuple[Option, ...]:
    """Return the options of a check that are keywords in Python."""
    return tuple(each for each in TABLE if each.python)


def takes_options(*others: Option, **defaults: object) -> Callable[[F], F]:
    """Show the options, and others, in the signature of a function that takes ``**options``.

    Its docstring gets a section that lists them, with their types and defaults.

    Parameters
    ----------
    *others
        Options beside those of a check.
    **defaults
        The function's own defaults, where they differ from the table's.
    """
    hints = {name: hint.__forward_arg__ for name, hint in EstimateKeywords.__annotations__.items()}

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        named = [
            each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD
        ]
        taken = {each.name for each in named}
        rows = [each for each in (*keywords(), *others) if each.name not in taken]
        more = [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(each.name, _plain_default(each)),
                annotation=hints.get(each.name, "Any"),
            )
            for each in rows
        ]
        function.__signature__ = signature.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
        function.__doc__ = _documented(inspect.getdoc(function) or "", rows, more)
        return function

    return decorate


def run_settings_of(options: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the keywords of the check as they are, and those of the run, read.

    Examples
    --------
    >>> run_settings_of({"n": 20, "strict": True, "rng": 7})
    ({'n': 20}, {'strict': True, 'seed': 7})
    """
    given = dict(options)
    names = {each.name for each in RUN_OPTIONS}
    run = {name: given.pop(name) for name in options if name in names}
    if not isinstance(given.get("rng"), str):  # a text is the former name of ``randomness``
        rng = given.pop("rng", None)
        if rng is not None:
            run["seed"] = seed_of(run.get("seed"), rng)
    return given, tables.read(RUN_OPTIONS, run)


def seed_of(seed: object, rng: object) -> Any:
    """Return the seed that ``seed`` or ``rng`` gives; as it is where ``rng`` is None.

    Parameters
    ----------
    seed : int or None
        The seed of every random stream.
    rng : int, Generator or None
        The same number, or a generator from which the seed is drawn (SPEC 7).

    Raises
    ------
    ValueError
        If both are given, or ``rng`` is neither.
    """
    if rng is None:
        return seed
    if seed is not None and seed != 0:
        raise UsageError("seed and rng say the same: give one of them", hint="rng=0 is seed=0")
    if is_whole(rng):
        return Whole(at_least=0).read(rng, "rng")
    return int(_validate.generator(rng).integers(_MOST_SEED))


def _plain_default(option: Option) -> object:
    """Return the default that a call would write: a text of a choice, and no member."""
    default = option.default
    return str(default) if option.value.words and default is not None else default


def _documented(text: str, rows: list[Option], parameters: list[inspect.Parameter]) -> str:
    """Return a docstring with the options behind the parameters that it describes itself."""
    lines = "".join(
        f"\n{row.name} : {_typed(row, each)}\n    {row.help[:1].upper()}{row.help[1:]}."
        for row, each in zip(rows, parameters, strict=True)
    )
    before, examples, after = text.partition("\n\nExamples\n--------")
    return f"{before}\n\nOther Parameters\n----------------{lines}{examples}{after}\n"


def _typed(option: Option, parameter: inspect.Parameter) -> str:
    """Return an option's type and default, as a docstring has them."""
    written = str(parameter.annotation).removesuffix(" | None")
    if members := option.value.words:
        written = f"{{{', '.join(map(repr, members.split('|')))}}}"
    if parameter.default in (None, (), {}, ""):
        return f"{written}, optional" + (f" ({option.otherwise})" * bool(option.otherwise))
    return f"{written}, default {parameter.default!r}"
