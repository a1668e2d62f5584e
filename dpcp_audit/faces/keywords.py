"""The keywords of an audit of a function, and the checks that they ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from dpcp_audit.engine.runner import planned_calls
from dpcp_audit.engine.tasks import QUIET_SECONDS, CallsMade
from dpcp_audit.faces.planning import plan_within_budget, planned
from dpcp_audit.target_checks.check_options import claims_with, key_of, target_of
from dpcp_audit.target_checks.check_spec import TABLE, CheckSpec, require_one_effort
from dpcp_audit.target_checks.planned_calls import closed
from dpcp_audit.target_checks.tried_inputs import pair_space
from dpcp_audit.targets import Kind, Target, TargetSpec
from dpcp_audit.targets.fitted_objects import kind_of
from dpcp_audit.targets.loading import code_of, split
from dpcp_audit.words import options
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import listening
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Coverage, Neighbours
from dpcp_audit.words.options import RUN_OPTIONS
from dpcp_audit.words.results import SourceLocation
from dpcp_audit.words.values import Whole, is_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import ArrayLike

    from dpcp_audit.target_checks.check_options import Guarantee
    from dpcp_audit.words.checks import Row
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
    group: int
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


def run_settings_of(given: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the keywords of the check as they are, and those of the run, read.

    Examples
    --------
    >>> run_settings_of({"n": 20, "strict": True, "rng": 7})
    ({'n': 20}, {'strict': True, 'seed': 7})
    """
    of_run = {"rng", *(each.name for each in RUN_OPTIONS)}
    own = {name: value for name, value in given.items() if name not in of_run}
    run = {name: value for name, value in given.items() if name in of_run}
    rng = run.pop("rng", None)
    if rng is not None:
        run["seed"] = seed_of(run.get("seed"), rng)
    return own, options.read(RUN_OPTIONS, run)


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


_ADVICE = "help(dpcp_audit.audit) describes every argument"


@dataclass(frozen=True, slots=True, kw_only=True)
class _InProcess(TargetSpec):
    """A function at hand, closures too; ``target`` says where it is written."""

    function: Callable[..., Any]

    def open(self) -> Target:
        """Return the function as a target."""
        return self.of_function(self.function, name=self.target.rpartition(":")[2])


@options.hinted(_ADVICE)
def spec_of(
    function: Callable[..., Any] | str,
    guarantees: Sequence[Guarantee],
    given: Mapping[str, Any],
    *,
    file: str,
    draws: int | None = None,
    detect: float | None = None,
    forced_draws: int | None = None,
    claimed: bool = True,
) -> CheckSpec:
    """Return the check of a function; its draws are planned where a budget limits them.

    Parameters
    ----------
    function : callable or str
        A function at hand, or 'package.module:function' or 'path/to/file.py:function'.
    given : mapping
        The options by their keywords; None is not given.
    file : str
        The file that speaks of the function, where it is not written in one itself.
    draws : int or None
        Calls where the options do not say; None plans them.
    detect : float or None
        The violation to detect where they do not say.
    forced_draws : int or None
        Calls whatever they say.
    claimed : bool
        True if a guarantee must be given.

    Raises
    ------
    ValueError
        If an option or the function cannot be used; the message says which, and why.
    """
    given = _known(given)
    if claimed:
        _require_guarantees(guarantees)
    require_one_effort(given)
    if forced_draws is not None:
        given["draws"] = forced_draws
    elif draws is not None and "budget" not in given:
        given = {"draws": draws} | given
    if detect is not None:
        given = {"detect": detect} | given
    given = {"kind": _kind(function, guarantees, given)} | given
    target = _target(function, given, file)
    name = {} if isinstance(function, str) else {"name": label(function)}
    spec = CheckSpec.of(target, guarantees, name | given, spell=options.plain)
    if spec.privacy or not claimed:
        pair_space(spec)  # refused where no neighbours can be searched
    if spec.budget is not None and spec.draws is None:
        return plan_within_budget(spec)
    with spec.target.open() as opened:  # its calls are planned where they are made
        return replace(spec, location=opened.source)


@options.hinted(_ADVICE)
def spec_of_kind(kind: Kind, guarantee: Guarantee, given: Mapping[str, Any]) -> CheckSpec:
    """Return the check of any target of a kind, with its draws planned; it cannot run.

    Raises
    ------
    ValueError
        If the option is invalid; the message names it.
    """
    given = _known(given) | {"kind": kind}
    _require_guarantees([guarantee])
    place = f"any:{kind}"
    target = target_of(given, _InProcess, spell=options.plain, target=place, function=closed)
    spec = CheckSpec.of(target, [guarantee], {"name": kind} | given, spell=options.plain)
    if spec.privacy:
        pair_space(spec)
    return planned(spec, {})


def telling_calls(row: Row, tell: Callable[[str], object]) -> AbstractContextManager[None]:
    """Tell every ten seconds, in a line, how many calls a check in this process has made."""

    def heard(calls: int) -> None:
        tell(str(CallsMade(id=row.claim.id, made=calls, planned=planned_calls(row))))

    return listening(heard, seconds=QUIET_SECONDS)


def coverage_of(at_least: float, confidence: float | None) -> Coverage:
    """Return the claim of coverage, refusing what is no probability."""
    _validate.open_unit(at_least=at_least)
    return Coverage(at_least=at_least, confidence=1.0 if confidence is None else confidence)


def label(function: object) -> str:
    """Return a name for a function that an identifier can be."""
    while isinstance(function, partial):
        function = function.func
    name = str(getattr(function, "__qualname__", type(function).__name__))
    plain = name.rpartition("<locals>.")[2].replace("<lambda>", "lambda")
    return plain if all(map(str.isidentifier, plain.split("."))) else type(function).__name__


def _known(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are given, refusing unknown ones."""
    said = _with_relation({key: value for key, value in given.items() if value is not None})
    options.require_known(said, [each.name for each in keywords()], _claim_with, what="keyword")
    return said


def _claim_with(name: str) -> str:
    classes = dict.fromkeys(claims_with(name).values())
    said = " or ".join(f"dp.{each}(...)" for each in classes)
    return f"pass the claim as an object: {said}" if said else ""


def _with_relation(given: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords with the relation of a pair of ``Neighbours``."""
    pair = given.get("pair")
    if not isinstance(pair, Neighbours):
        return given
    if given.get("neighbours", pair.relation) != pair.relation:
        raise UsageError(
            f"neighbours must be {str(pair.relation)!r}, as the pair's relation, got "
            f"{given['neighbours']!r}",
            hint="leave neighbours out: the pair says how its inputs differ",
        )
    return given | {"neighbours": str(pair.relation)}


def _kind(function: object, guarantees: Sequence[Guarantee], given: Mapping[str, Any]) -> Kind:
    """Return a fitted object's kind, a randomizer if one is meant, or else a quantile."""
    if (fitted := kind_of(function)) is not None:
        return fitted
    local = any(each.of_one_report for each in guarantees)
    return Kind.RANDOMIZER if local or "domain" in given else Kind.QUANTILE


def _target(function: Callable[..., Any] | str, given: Mapping[str, Any], file: str) -> TargetSpec:
    if isinstance(function, str):
        split(function)
        return target_of(given, spell=options.plain, target=function)
    place = f"{_file(function, file)}:{label(function)}"
    return target_of(given, _InProcess, spell=options.plain, target=place, function=function)


def _require_guarantees(guarantees: Sequence[Guarantee]) -> None:
    if not guarantees:
        raise UsageError("guarantees must hold at least one, got none", hint="such as dp.ZCDP(0.5)")
    for each in guarantees:
        key_of(each)


def _file(function: object, file: str) -> str:
    """Return the file that a function is written in, or else the one that speaks of it."""
    code = code_of(function)
    written = code is not None and code.co_filename.endswith(".py")
    return SourceLocation.of(code.co_filename if code and written else file, 1).file
