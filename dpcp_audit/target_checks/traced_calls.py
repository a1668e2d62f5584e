"""A target of a check as the function that is followed: one input, a recording generator."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.errors import UsageError
from dpcp_audit.targets import Takes
from dpcp_audit.targets.captured_output import Talk
from dpcp_audit.targets.data_forms import handed_over
from dpcp_audit.targets.function_calls import FunctionCaller
from dpcp_audit.targets.loading import code_of
from dpcp_audit.tracing.reachable_names import Reach
from dpcp_audit.tracing.target_calls import TracedTarget

if TYPE_CHECKING:
    from dpcp_audit.targets import Target


def traced_target(target: Target) -> TracedTarget:
    """Return a target as a function of one input that is handed a recording generator.

    What it prints is limited, as an audit's calls are, and a child that it forks ends with it.

    Raises
    ------
    UsageError
        If it is a command: its noise is drawn in another process.
    """
    caller = target.caller
    if not isinstance(caller, FunctionCaller):
        raise UsageError("a command cannot be traced: its noise is drawn in another process")
    size = {"size": 1} if caller.vectorised and target.kind.takes is not Takes.VALUE else {}
    named = {caller.convention.rng, caller.convention.seed} - {""}
    many = caller.vectorised and target.kind.takes is Takes.VALUE
    several = len(target.kind.inputs) > 1
    talk = Talk()

    def call(x: Any, *, rng: Any) -> Any:
        inputs: list[Any] = [*x] if several else [np.array([x]) if many else x]
        if target.kind.takes is Takes.CLIENTS:
            inputs = [tuple(x)]
        data, by_name = caller.convention.named(
            [handed_over(each, caller.given_as) for each in inputs]
        )
        process = os.getpid()
        try:
            with talk.limited():
                keywords = dict.fromkeys(named, rng)
                return caller.function(*data, **by_name, **keywords, **size, **caller.options)
        except SystemExit as end:
            raise RuntimeError(f"it exits with {end.code!r}") from end
        finally:
            if os.getpid() != process:
                os._exit(0)

    code = code_of(caller.function)
    home = ("", 0) if code is None else (code.co_filename, code.co_firstlineno)
    return TracedTarget(
        function=call,
        options={},
        keyword="rng",
        home=home,
        reach=Reach.of(caller.function),
        code=code,
        written=(caller.function, tuple(caller.options.values())),
    )
