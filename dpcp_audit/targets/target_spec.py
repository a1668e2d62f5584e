"""A target as data: what travels to other processes and into reports."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpcp_audit.targets.answers import DataForm
from dpcp_audit.targets.calls import CommandCaller
from dpcp_audit.targets.degenerate import Randomness
from dpcp_audit.targets.kinds import HAVE_CLASSES, Kind, RandomStyle, Takes
from dpcp_audit.targets.loading import load, split
from dpcp_audit.targets.target import Target, require_setting
from dpcp_audit.words import hints, options
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.options import Group, option
from dpcp_audit.words.results import SourceLocation
from dpcp_audit.words.values import (
    Choice,
    Duration,
    Flag,
    KeywordTable,
    Pair,
    Text,
    Whole,
    Words,
    is_file,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_RESERVED = frozenset({"rng", "seed", "random_state", "size", "scores", "probabilities", "labels"})
_COMMAND_RANDOMNESS = {
    None: Randomness.EXTERNAL,
    RandomStyle.SEED: Randomness.GENERATOR,
    RandomStyle.GLOBAL: Randomness.EXTERNAL,
    RandomStyle.NONE: Randomness.NONE,
}


_MOST_VALUES = 10**6
"""The most values of a domain: each is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """The code under audit, and how it is called.

    Parameters
    ----------
    kind : Kind
        What it computes.
    target : str
        'package.module:function' or 'path/to/file.py:function'.
    command : tuple of str
        A program and its arguments, instead of ``target``.
    vectorised : bool
        True if a function takes ``size`` and returns an array of that many outputs, or, a
        randomizer, an array of values and returns a report for each.
    randomness : RandomStyle or None
        How it takes its randomness. None reads it from a function's signature; of a command it
        says that the seeds it is sent need not settle its outputs.
    bounds : tuple of float
        Of a quantile: the interval in which its scores lie.
    domain : int or None
        Of a randomizer: the number K of values. Of a predictor or calibrator: of classes.
    given_as : DataForm
        What a function's data are handed over as.
    options : mapping
        Keyword arguments of every call, or ``options`` of every request: plain data.
    call_seconds : float
        The longest wait for a command's reply.

    Examples
    --------
    >>> spec = TargetSpec(kind=Kind.QUANTILE, target="mine.py:f", options={"epsilon": 1.0})
    >>> list(spec.as_data())
    ['target', 'kind', 'vectorised', 'bounds', 'given-as', 'options', 'call-seconds']
    """

    target: str = field(
        default="",
        metadata=option(
            Text(),
            "package.module:function or path/to/file.py:function",
            group=Group.TARGET,
            metavar="TARGET",
            flag="target",
            python=False,
        ),
    )
    command: tuple[str, ...] = field(
        default=(),
        metadata=option(
            Words(),
            "a program that speaks JSON lines, instead of TARGET",
            group=Group.TARGET,
            metavar="'PROGRAM ARGS'",
            python=False,
        ),
    )
    kind: Kind = field(
        metadata=option(
            Choice(Kind),
            f"what the target computes: {', '.join(Kind)}",
            group=Group.TARGET,
            metavar="KIND",
        )
    )
    vectorised: bool = field(
        default=False,
        metadata=option(
            Flag(),
            "the target takes 'size' and returns an array of that many outputs",
            group=Group.TARGET,
        ),
    )
    randomness: RandomStyle | None = field(
        default=None,
        metadata=option(
            Choice(RandomStyle),
            "how the target takes its randomness: generator, seed, global or none",
            group=Group.TARGET,
            metavar="STYLE",
            otherwise="as its signature says",
            formerly="rng",
        ),
    )
    bounds: tuple[float, float] = field(
        default=(0.0, 1.0),
        metadata=option(
            Pair(),
            "the interval that holds every score, or every value; 'none' (in Python None) for an "
            "unbounded end, such as that of residuals",
            group=Group.TARGET,
            metavar="A B",
        ),
    )
    domain: int | None = field(
        default=None,
        metadata=option(
            Whole(at_most=_MOST_VALUES),
            "number of input values of a randomizer, 0 ... K-1; of a predictor or a calibrator, "
            "number of classes",
            group=Group.TARGET,
            metavar="K",
            otherwise="as the data have",
            kinds=HAVE_CLASSES,
        ),
    )
    given_as: DataForm = field(
        default=DataForm.ARRAY,
        metadata=option(
            Choice(DataForm),
            "type of the data passed: array, list, frame (pandas) or tensor (PyTorch)",
            group=Group.TARGET,
            metavar="FORM",
            flag="--as",
        ),
    )
    options: Mapping[str, Any] = field(
        default_factory=dict[str, Any],
        metadata=option(
            KeywordTable(),
            "keyword arguments of the target",
            group=Group.TARGET,
            metavar="NAME=VALUE",
            flag="--option",
        ),
    )
    call_seconds: float = field(
        default=10.0,
        metadata=option(
            Duration(),
            "the longest wait for one reply of --command",
            group=Group.TARGET,
            metavar="TIME",
            python=False,
        ),
    )

    def __post_init__(self) -> None:
        bounds = require_setting(
            kind=self.kind, rng=self.randomness, bounds=self.bounds, domain=self.domain
        )
        object.__setattr__(self, "bounds", bounds)
        _validate.positive(call_seconds=self.call_seconds)
        _require_options(self.options)
        if bool(self.target) == bool(self.command):
            raise hints.value_error(
                "give either a target or a command, and not both",
                "such as mine.py:private_quantile, or --command 'Rscript mine.R'",
            )
        if self.target:
            split(self.target)
        else:
            self._require_command()

    def open(self) -> Target:
        """Load the function, or make the program ready to be started.

        Raises
        ------
        TargetError
            If there is no such function, or it cannot be called as its kind is.
        """
        if self.command:
            return self._open_command()
        return Target.from_callable(
            load(self.target, called=self.kind.takes is not Takes.ROWS),
            kind=self.kind,
            vectorised=self.vectorised,
            rng=self.randomness,
            bounds=self.bounds,
            domain=self.domain,
            options=self.options,
            name=self.target,
            given_as=self.given_as,
        )

    def as_data(self) -> dict[str, Any]:
        """Return the specification as plain data, by the keys of TOML files."""
        return options.as_data(self)

    def _require_command(self) -> None:
        if not all(isinstance(word, str) and word for word in self.command):
            raise ValueError(f"command must be a program and its arguments, got {self.command!r}")
        if self.randomness not in _COMMAND_RANDOMNESS:
            raise ValueError(
                "randomness must be seed, global or none for a command: it is sent seeds"
            )
        if self.given_as is not DataForm.ARRAY:
            raise ValueError("given_as is said of functions: a command is sent JSON")
        if self.vectorised:
            raise ValueError("vectorised is said of functions: a command is always sent a 'size'")

    def _open_command(self) -> Target:
        name = shlex.join(self.command)
        files = [word for word in self.command[1:] if is_file(word)]
        return Target(
            kind=self.kind,
            name=name,
            randomness=_COMMAND_RANDOMNESS[self.randomness],
            source=SourceLocation.of(files[0], 1) if files else None,
            bounds=self.bounds,
            domain=self.domain,
            caller=CommandCaller(
                command=self.command,
                name=name,
                kind=self.kind,
                domain=self.domain,
                options=self.options,
                call_seconds=self.call_seconds,
            ),
        )


def _require_options(options: Mapping[str, Any]) -> None:
    for name in options:
        if not isinstance(name, str) or not name.isidentifier() or name in _RESERVED:
            raise ValueError(f"options must be keyword arguments of the target, got {name!r}")
    try:
        json.dumps(dict(options), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"options must be plain data ({error})") from None
