"""The options of a run of checks, for the command line, TOML files, pytest and Python."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpcp_audit.words.options import Group, option, options_of
from dpcp_audit.words.values import Flag, Probability, Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run; None leaves one open."""

    false_alarm: float | None = field(
        default=None,
        metadata=option(
            Probability(),
            "probability that the run refutes any true claim",
            group=Group.RUN,
            metavar="P",
            otherwise="0.001; in pytest 0.0001, for estimates 0.05",
        ),
    )
    strict: bool | None = field(
        default=None,
        metadata=option(Flag(), "an INCONCLUSIVE verdict fails the run", group=Group.RUN),
    )
    seed: int | None = field(
        default=None,
        metadata=option(
            Whole(at_least=0),
            "seed of every random stream",
            group=Group.RUN,
            metavar="N",
            otherwise="0",
        ),
    )


RUN_OPTIONS = options_of(RunOptions)
"""Every option of a run."""
