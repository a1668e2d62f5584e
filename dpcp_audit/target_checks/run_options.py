"""The options of a run of checks, for the command line, TOML files, pytest and Python."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpcp_audit._values import Flag, Probability, Whole
from dpcp_audit.options import Group, option, options_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What is said of a run; None is what is left open."""

    false_alarm: float | None = field(
        default=None,
        metadata=option(
            Probability(),
            "probability that the run refutes any true claim (default: 0.001; in pytest 0.0001)",
            group=Group.RUN,
            metavar="P",
        ),
    )
    strict: bool | None = field(
        default=None,
        metadata=option(Flag(), "an inconclusive verdict is a contradiction", group=Group.RUN),
    )
    seed: int | None = field(
        default=None,
        metadata=option(
            Whole(at_least=0),
            "seed of every random stream (default: 0)",
            group=Group.RUN,
            metavar="N",
        ),
    )


RUN_OPTIONS = options_of(RunOptions)
"""Every option of a run."""
