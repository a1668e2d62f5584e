"""A target: third-party code as a sampler that audits draw from, and its specification as data."""

from __future__ import annotations

import json
import shlex
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcp_audit.targets import answers
from dpcp_audit.targets.answers import (
    DataForm,
    Randomness,
    SingleDraws,
    TargetUnusableError,
)
from dpcp_audit.targets.calls import CommandCaller, FunctionCaller
from dpcp_audit.targets.fitted_objects import as_function
from dpcp_audit.targets.kinds import HAVE_CLASSES, Kind, RandomStyle, Takes
from dpcp_audit.targets.loading import code_of, convention, load, require_function, split
from dpcp_audit.words import errors, options
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
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from dpcp_audit.words.validate import FloatArray, IntArray


_SUSPICIOUS = 16
_RANDOMNESS = {
    RandomStyle.GENERATOR: Randomness.GENERATOR,
    RandomStyle.SEED: Randomness.GENERATOR,
    RandomStyle.GLOBAL: Randomness.EXTERNAL,
    RandomStyle.NONE: Randomness.NONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Third-party code as a ``Sampler``: called with an input and a size, it returns outputs.

    A context manager: leaving it ends the program behind a command. It is not meant to travel
    to other processes; its ``TargetSpec`` is.

    Parameters
    ----------
    kind : Kind
        The kind of the target: what it takes and returns.
    name : str
        Name in messages.
    randomness : Randomness
        Expected repeatability of its runs. Code that is handed a generator or a seed repeats its
        outputs. Code of the style GLOBAL draws from global generators or from the system's entropy,
        and need not: the global generators are seeded for each batch, so that it repeats as long as
        it draws from them alone.
    source : SourceLocation or None
        File and line of the code.
    bounds : tuple of float
        For a quantile, the interval in which its scores lie.
    domain : int or None
        For a randomizer, the number K of values.
    caller : FunctionCaller or CommandCaller
        The object that calls the code.
    """

    kind: Kind
    name: str
    randomness: Randomness
    source: SourceLocation | None
    bounds: tuple[float, float]
    domain: int | None
    caller: FunctionCaller | CommandCaller

    @classmethod
    def from_callable(
        cls,
        function: Callable[..., Any],
        *,
        kind: Kind,
        vectorised: bool = False,
        rng: RandomStyle | None = None,
        bounds: tuple[float, float] = (0.0, 1.0),
        domain: int | None = None,
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
        given_as: DataForm = DataForm.ARRAY,
    ) -> Self:
        """Return a Python function as a target; the arguments are those of ``TargetSpec``.

        Raises
        ------
        TargetError
            If it is no function, or cannot be called as its kind is.
        ValueError
            If a setting does not fit the kind.
        """
        bounds = require_setting(kind=kind, rng=rng, bounds=bounds, domain=domain)
        called = name or str(getattr(function, "__qualname__", type(function).__name__))
        if kind.takes is Takes.ROWS:
            function = as_function(function, kind, name=called, classes=domain)
        require_function(function, called)
        settings: Mapping[str, Any] = {} if options is None else dict(options)
        found = convention(
            function,
            name=called,
            kind=kind,
            vectorised=vectorised,
            style=rng,
            options=settings,
            tensors=given_as is DataForm.TENSOR,
        )
        code = code_of(function)
        return cls(
            kind=kind,
            name=called,
            randomness=_RANDOMNESS[found.style],
            source=code and SourceLocation.of(code.co_filename, code.co_firstlineno),
            bounds=bounds,
            domain=domain,
            caller=FunctionCaller(
                function=function,
                name=called,
                kind=kind,
                convention=found,
                vectorised=vectorised,
                options=settings,
                given_as=given_as,
            ),
        )

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` outputs on one input, shape (size,), or (size, d) of arrays.

        Parameters
        ----------
        value : array of shape (n,), number, or pair of arrays of shapes (n, K) and (n,)
            Scores; one user's value; probabilities and labels.
        size : int
            Outputs wanted.

        Raises
        ------
        TargetError
            If the target does not return numbers.
        """
        _validate.integer(at_least=1, size=size)
        if self.kind is Kind.RANDOMIZER:
            _validate.integer(at_least=0, value=value)
            return self._reports(np.full(size, value, dtype=np.int64), rng)
        outputs = self.caller.outputs(self._inputs(value), size, rng=rng)
        self._checked(answers.require_numbers, outputs)
        return outputs

    def each(self, values: Sequence[Any], /, *, rng: np.random.Generator) -> FloatArray:
        """Return one output on each of many inputs, shape (size,), or (size, d) of arrays.

        As so many calls, sooner: what is around a call is done once.

        Raises
        ------
        TargetError
            If the target does not return numbers.
        """
        if self.kind.takes is Takes.VALUE:
            return np.concatenate([self(value, 1, rng=rng) for value in values])
        outputs = self.caller.each(self._each_input(values), rng=rng)
        self._checked(answers.require_numbers, outputs)
        return outputs

    def _reports(self, values: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return one report for each value: integers in {0, …, K−1}, or values as of kind local."""
        given = _validate.labels(values, n_classes=self.domain or 0, name="values")
        outputs = self.caller.reports(given, rng=rng)
        self._checked(answers.require_numbers, outputs)
        if outputs.ndim == 1:
            self._checked(answers.reports_of, outputs, self.domain)
        return outputs[:, 0] if outputs.shape[1:] == (1,) else outputs

    def seconds_per_draw(
        self, value: Any, rng: np.random.Generator, *, at_most_seconds: float = 1.0
    ) -> float:
        """Return the time that one draw takes, of batches that grow until the time is half spent.

        The first draw is not counted: it loads and compiles. Batches end at 2¹⁶ draws.
        """
        _validate.positive(at_most_seconds=at_most_seconds)
        begin = time.perf_counter()
        self(value, 1, rng=rng)
        size, spent = 1, 0.0
        while True:
            start = time.perf_counter()
            self(value, size, rng=rng)
            now = time.perf_counter()
            spent = now - start
            if now - begin + 2 * spent > at_most_seconds or size >= 2**16:
                return spent / size
            size *= 2

    def close(self) -> None:
        """End the program behind a command."""
        self.caller.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _each_input(self, values: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
        """Return many inputs; scores of one number of users are checked all at once."""
        if self.kind.takes is Takes.SCORES and len({np.shape(value) for value in values}) == 1:
            return [(scores,) for scores in _validate.array(values, name="scores", ndim=2)]
        return [self._inputs(value) for value in values]

    def _inputs(self, value: Any) -> tuple[Any, ...]:
        if self.kind.takes is Takes.VALUE:
            return (self._value(value),)
        if self.kind.takes is Takes.SCORES:
            return (_validate.array(value, name="scores", ndim=1),)
        if self.kind.takes is Takes.CLIENTS:
            return (tuple(_validate.array(each, name="clients", ndim=1) for each in value),)
        if self.kind.takes is Takes.ROWS:
            return tuple(map(np.asarray, value))
        try:
            probabilities, labels = value
        except (TypeError, ValueError):
            raise ValueError(
                f"value must be a pair (probabilities, labels), got a {type(value).__name__}"
            ) from None
        table = _validate.array(probabilities, name="probabilities", ndim=2)
        return table, _validate.labels(labels, n_classes=table.shape[1])

    def _value(self, value: Any) -> float:
        """Return one user's value: below ``domain`` where that is given, else between the bounds.

        With a domain it is an integer.
        """
        if self.domain is None:
            low, high = self.bounds
            _validate.finite(value=value)
            if not low <= value <= high:
                raise ValueError(f"value must lie in [{low:g}, {high:g}], got {value!r}")
            return float(value)
        _validate.integer(at_least=0, value=value)
        return int(_validate.labels([value], n_classes=self.domain, name="value")[0])

    def _checked(self, check: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return check(*arguments)
        except answers.AnswerError as error:
            raise TargetUnusableError(f"{self.name} {error}") from None

    def frozen(self, value: Any, /, *, rng: np.random.Generator) -> str:
        """Return the sentence on code whose noise is the same in every call; "" for other code.

        Each of a few outputs is asked for by a call of its own, and the generator goes on.
        """
        if self.randomness is Randomness.NONE:
            return ""
        outputs = SingleDraws(target=self)(value, _SUSPICIOUS, rng=rng)
        if not (outputs == outputs[0]).all():
            return ""
        place = self.caller.fixed_seed()
        unseen = "no noise reaches the output, unless it is of a seed that its source does not show"
        how = unseen if place is None else f"it seeds itself by {place}"
        return (
            f"Every call on one input returns the same, since {how}: draw from the rng or seed "
            "that it is handed."
        )


def require_setting(
    *,
    kind: Kind,
    rng: RandomStyle | None,
    bounds: tuple[float, float],
    domain: int | None,
) -> tuple[float, float]:
    """Check the settings that all targets share, and return the bounds.

    Raises
    ------
    ValueError
        If a setting is invalid; the message names it and its value.
    """
    if not isinstance(kind, Kind):
        raise ValueError(f"kind must be a Kind ({', '.join(Kind)}), got {kind!r}")  # noqa: TRY004
    if rng is not None:
        _validate.choice(RandomStyle, rng=rng)
    if kind is Kind.RANDOMIZER and domain is None:
        raise ValueError("domain must be given for a randomizer: the number K of its values")
    if domain is not None and kind not in HAVE_CLASSES:
        known = " or ".join(HAVE_CLASSES)
        raise ValueError(f"domain only applies to a {known}, got {domain!r} for a {kind}")
    if domain is not None:
        _validate.integer(at_least=2, domain=domain)
    return _validate.interval(bounds)


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
        The kind of the target: what it takes and returns.
    target : str
        'package.module:function' or 'path/to/file.py:function'.
    command : tuple of str
        A program and its arguments, instead of ``target``.
    vectorised : bool
        True if a function takes ``size`` and returns an array of that many outputs, or, a
        randomizer, an array of values and returns a report for each.
    randomness : RandomStyle or None
        The way in which it takes its randomness. None reads it from a function's signature; for a
        command it says that the seeds it is sent need not settle its outputs.
    bounds : tuple of float
        For a quantile, the interval in which its scores lie.
    domain : int or None
        For a randomizer, the number K of values; for a predictor or calibrator, the number of
        classes.
    given_as : DataForm
        The type as which a function gets its data.
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
            otherwise="from its signature",
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
            otherwise="from the data",
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
            raise errors.value_error(
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
        function = load(self.target, called=self.kind.takes is not Takes.ROWS)
        return self.of_function(function, name=self.target)

    def of_function(self, function: Callable[..., Any], *, name: str) -> Target:
        """Return a function as a target that is called as this says."""
        return Target.from_callable(
            function,
            kind=self.kind,
            vectorised=self.vectorised,
            rng=self.randomness,
            bounds=self.bounds,
            domain=self.domain,
            options=self.options,
            name=name,
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
