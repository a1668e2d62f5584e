"""Functions at hand as targets of checks, closures and lambdas too."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.guarantees import Coverage, PrivacyGuarantee
from dpcp_audit.results import SourceLocation
from dpcp_audit.target_checks import plain_reading
from dpcp_audit.target_checks.check_spec import DEFAULT_SECONDS, CheckSpec, relation_of
from dpcp_audit.target_checks.trial_inputs import typical
from dpcp_audit.targets import Kind, RandomStyle, Target, TargetSpec
from dpcp_audit.targets.loading import code_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_FEWEST, _MOST = 2**10, 2**24
_SHARE = 0.7
"""Of a budget; the rest is for the audit's own work."""


class Settings(TypedDict, total=False):
    """How a function is called, and how often.

    vectorised : whether it takes ``size`` and returns as many thresholds, or, a randomizer, an
    array of values and returns as many reports.
    rng : "generator", "seed", "global" or "none": how it takes its randomness, if its signature
    does not say.
    options : keyword arguments of every call, plain data.
    draws : calls in all; or else ``budget``, a time such as "5s", from which a power of two is
    planned (another machine may plan another).
    """

    vectorised: bool
    rng: RandomStyle | str
    options: Mapping[str, Any]
    draws: int
    budget: float | str


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
        )


def spec_of(
    function: Callable[..., Any],
    guarantee: PrivacyGuarantee | Coverage,
    given: Mapping[str, Any],
    *,
    test: Path,
    draws: int,
    forced_draws: int | None,
) -> CheckSpec:
    """Return what is to be checked of a function, its draws planned.

    Parameters
    ----------
    given : mapping
        The settings by their keywords.
    test : Path
        The file of the test.
    draws : int
        Calls where the settings do not say.
    forced_draws : int or None
        Calls whatever they say.

    Raises
    ------
    ValueError
        Naming the setting, or what is wrong with the function.
    """
    data = {key: value for key, value in given.items() if value is not None}
    plain_reading.known(data, _KEYS)
    if "draws" in data and "budget" in data:
        raise ValueError("give either draws or budget, and not both")
    said = forced_draws or plain_reading.whole(data, "draws")
    target = InProcess(
        kind=plain_reading.choice(Kind, data, "kind") or Kind.QUANTILE,
        function=function,
        target=f"{_file(function, test)}:{label(function)}",
        vectorised=plain_reading.flag(data, "vectorised", default=False),
        rng=plain_reading.choice(RandomStyle, data, "rng"),
        bounds=plain_reading.pair(data, "bounds") or (0.0, 1.0),
        domain=plain_reading.whole(data, "domain"),
        options=plain_reading.table(data, "options"),
    )
    coverage = guarantee if isinstance(guarantee, Coverage) else None
    return _planned(
        CheckSpec(
            target=target,
            privacy=() if isinstance(guarantee, Coverage) else (guarantee,),
            coverage=coverage,
            name=label(function),
            alpha=plain_reading.checked(_validate.open_unit, data, "alpha"),
            sizes=plain_reading.sizes(data, "n"),
            relation=relation_of(data),
            ties=plain_reading.flag(data, "ties", default=True),
            seconds=plain_reading.duration(data, "budget", default=DEFAULT_SECONDS),
            draws=draws if said is None and "budget" not in data else said,
        )
    )


def _planned(spec: CheckSpec) -> CheckSpec:
    """Return the check with the place of its target, and with draws that its budget allows.

    In this process: a function at hand cannot travel to another. Draws are a power of two.
    """
    with spec.target.open() as target:
        draws = spec.draws
        if draws is None:
            seconds = target.seconds_per_draw(
                typical(spec), np.random.default_rng(0), at_most_seconds=min(1, spec.seconds / 4)
            )
            affordable = _SHARE * spec.seconds / max(seconds, 1e-9)
            draws = 2 ** int(math.log2(min(max(affordable, _FEWEST), _MOST)))
        return replace(spec, draws=draws, location=target.source)


def label(function: object) -> str:
    """Return a name for a function that an identifier can be."""
    while isinstance(function, partial):
        function = function.func
    name = str(getattr(function, "__qualname__", type(function).__name__))
    plain = name.rpartition("<locals>.")[2].replace("<lambda>", "lambda")
    return plain if all(map(str.isidentifier, plain.split("."))) else type(function).__name__


def _file(function: object, test: Path) -> str:
    """Return the file that a function is written in, or else that of the test."""
    code = code_of(function)
    written = code is not None and code.co_filename.endswith(".py")
    return SourceLocation.of(code.co_filename if code and written else str(test), 1).file


_KEYS = frozenset(
    {*Settings.__annotations__, "n", "kind", "bounds", "alpha", "neighbours", "domain", "ties"}
)
