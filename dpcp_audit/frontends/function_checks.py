"""Functions at hand as checks, closures and lambdas too: what Python and pytest share.

Both audit in their own process: a function at hand cannot travel to another.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dpcp_audit import _validate, options
from dpcp_audit.errors import UsageError
from dpcp_audit.frontends.planning import plan_here, require_pairs
from dpcp_audit.guarantees import Coverage, LocalDP
from dpcp_audit.results import SourceLocation
from dpcp_audit.target_checks.check_spec import TABLE, CheckSpec, require_one_effort
from dpcp_audit.target_checks.claim_options import claims_with, key_of
from dpcp_audit.target_checks.target_options import target_of
from dpcp_audit.targets import Kind, Target, TargetSpec
from dpcp_audit.targets.fitted_objects import kind_of
from dpcp_audit.targets.loading import code_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpcp_audit.options import Option
    from dpcp_audit.target_checks.claim_options import Guarantee

F = TypeVar("F", bound="Callable[..., Any]")


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcess(TargetSpec):
    """A function at hand, closures too; ``target`` says where it is written."""

    function: Callable[..., Any]

    def open(self) -> Target:
        """Return the function as a target."""
        return Target.from_callable(
            self.function,
            kind=self.kind,
            vectorised=self.vectorised,
            rng=self.rng,
            bounds=self.bounds,
            domain=self.domain,
            options=self.options,
            name=self.target.rpartition(":")[2],
            given_as=self.given_as,
        )


def keywords() -> tuple[Option, ...]:
    """Return the options of a check that are keywords in Python."""
    return tuple(each for each in TABLE if each.python)


def takes_options(*others: Option) -> Callable[[F], F]:
    """Show the options, and others, in the signature of a function that takes ``**options``.

    Its docstring gets a section that lists them.
    """

    def decorate(function: F) -> F:
        plain = inspect.signature(function)
        named = [each for each in plain.parameters.values() if each.kind is not each.VAR_KEYWORD]
        taken = {each.name for each in named}
        shown = [each for each in (*keywords(), *others) if each.name not in taken]
        more = [
            inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default)
            for each in shown
        ]
        function.__signature__ = plain.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
        lines = "".join(f"\n{each.name}\n    {each.help}" for each in shown)
        heading = "Other Parameters\n----------------"
        text = inspect.getdoc(function) or ""
        before, examples, after = text.partition("\n\nExamples\n--------")
        function.__doc__ = f"{before}\n\n{heading}{lines}{examples}{after}\n"
        return function

    return decorate


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
    """Return what is to be checked of a function, its draws planned.

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
        Whether a guarantee must be given.

    Raises
    ------
    ValueError
        Naming the option, or what is wrong with the function.
    """
    given = {key: value for key, value in given.items() if value is not None}
    options.require_known(given, [each.name for each in keywords()], _claim_with)
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
        require_pairs(spec)
    return plan_here(spec)


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


def _claim_with(name: str) -> str:
    classes = dict.fromkeys(claims_with(name).values())
    return (
        f"claims are guarantees: {' or '.join(f'{each}(...)' for each in classes)}"
        if classes
        else ""
    )


def _kind(function: object, guarantees: Sequence[Guarantee], given: Mapping[str, Any]) -> Kind:
    """Return what a fitted object predicts, a randomizer where one is spoken of, or a quantile."""
    if (fitted := kind_of(function)) is not None:
        return fitted
    local = any(isinstance(each, LocalDP) for each in guarantees)
    return Kind.RANDOMIZER if local or "domain" in given else Kind.QUANTILE


def _target(function: Callable[..., Any] | str, given: Mapping[str, Any], file: str) -> TargetSpec:
    if isinstance(function, str):
        return target_of(given, spell=options.plain, target=function)
    place = f"{_file(function, file)}:{label(function)}"
    return target_of(given, InProcess, spell=options.plain, target=place, function=function)


def _require_guarantees(guarantees: Sequence[Guarantee]) -> None:
    if not guarantees:
        raise UsageError("guarantees must hold at least one, such as ZCDP(0.5), got none")
    for each in guarantees:
        key_of(each)


def _file(function: object, file: str) -> str:
    """Return the file that a function is written in, or else the one that speaks of it."""
    code = code_of(function)
    written = code is not None and code.co_filename.endswith(".py")
    return SourceLocation.of(code.co_filename if code and written else file, 1).file
