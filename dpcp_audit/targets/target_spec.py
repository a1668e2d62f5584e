"""A target as data: what travels to other processes and into reports."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit import _validate
from dpcp_audit.results import SourceLocation
from dpcp_audit.targets.command_calls import CommandCaller
from dpcp_audit.targets.degenerate import Randomness
from dpcp_audit.targets.kinds import Kind, RandomStyle
from dpcp_audit.targets.loading import load, split
from dpcp_audit.targets.target import Target, require_setting

if TYPE_CHECKING:
    from collections.abc import Mapping

_RESERVED = frozenset({"rng", "seed", "random_state", "size", "scores", "probabilities", "labels"})
_COMMAND_RANDOMNESS = {
    None: Randomness.EXTERNAL,
    RandomStyle.SEED: Randomness.GENERATOR,
    RandomStyle.GLOBAL: Randomness.EXTERNAL,
    RandomStyle.NONE: Randomness.NONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """Which code, and how it is called.

    Parameters
    ----------
    kind : Kind
        What it computes.
    target : str
        'package.module:function' or 'path/to/file.py:function'.
    command : tuple of str
        A program and its arguments, instead of ``target``.
    vectorised : bool
        Whether a function takes ``size`` and returns an array of that many outputs, or, a
        randomizer, an array of values and returns a report for each.
    rng : RandomStyle or None
        How it takes its randomness. None reads it from a function's signature; of a command it
        says that the seeds it is sent need not settle its outputs.
    bounds : tuple of float
        Of a quantile: the interval in which its scores lie.
    domain : int or None
        Of a randomizer: the number K of values.
    options : mapping
        Keyword arguments of every call, or ``options`` of every request: plain data.
    call_seconds : float
        The longest wait for a command's reply.

    Examples
    --------
    >>> TargetSpec(kind=Kind.QUANTILE, target="mine.py:f", options={"epsilon": 1.0}).as_data()
    {'kind': 'quantile', 'target': 'mine.py:f', 'bounds': [0.0, 1.0], 'options': {'epsilon': 1.0}}
    """

    kind: Kind
    target: str = ""
    command: tuple[str, ...] = ()
    vectorised: bool = False
    rng: RandomStyle | None = None
    bounds: tuple[float, float] = (0.0, 1.0)
    domain: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    call_seconds: float = 10.0

    def __post_init__(self) -> None:
        bounds = require_setting(
            kind=self.kind, rng=self.rng, bounds=self.bounds, domain=self.domain
        )
        object.__setattr__(self, "bounds", bounds)
        _validate.positive(call_seconds=self.call_seconds)
        _require_options(self.options)
        if bool(self.target) == bool(self.command):
            raise ValueError("give either a target or a command, and not both")
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
            load(self.target),
            kind=self.kind,
            vectorised=self.vectorised,
            rng=self.rng,
            bounds=self.bounds,
            domain=self.domain,
            options=self.options,
            name=self.target,
        )

    def as_data(self) -> dict[str, Any]:
        """Return the specification as plain data, as ``reports.checks.spec`` reads it.

        What is as by default is left away.
        """
        code = {"target": self.target} if self.target else {"command": list(self.command)}
        data = {"kind": str(self.kind)} | code | {"bounds": list(self.bounds)}
        optional = {
            "vectorised": self.vectorised or None,
            "rng": None if self.rng is None else str(self.rng),
            "domain": self.domain,
            "options": dict(self.options) or None,
            "call-seconds": self.call_seconds if self.command else None,
        }
        return data | {key: value for key, value in optional.items() if value is not None}

    def _require_command(self) -> None:
        if not all(isinstance(word, str) and word for word in self.command):
            raise ValueError(f"command must be a program and its arguments, got {self.command!r}")
        if self.rng not in _COMMAND_RANDOMNESS:
            raise ValueError("rng must be seed, global or none for a command: it is sent seeds")
        if self.vectorised:
            raise ValueError("vectorised is said of functions: a command is always sent a 'size'")

    def _open_command(self) -> Target:
        name = shlex.join(self.command)
        files = [word for word in self.command[1:] if Path(word).is_file()]
        return Target(
            kind=self.kind,
            name=name,
            randomness=_COMMAND_RANDOMNESS[self.rng],
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
