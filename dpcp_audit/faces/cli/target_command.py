"""The common part of the commands that take a TARGET: check, estimate, prove and trace."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING, Any

from dpcp_audit.faces.cli import arguments
from dpcp_audit.target_checks.check_spec import TABLE
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.options import RUN_OPTIONS, Group, dashed, read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from dpcp_audit.faces.cli.arguments import Commands, Parser
    from dpcp_audit.target_checks.config_file import Config
    from dpcp_audit.words.options import Option


def no_target() -> UsageError:
    """Return the error that there is nothing to be checked."""
    return UsageError(
        "TARGET must be given: package.module:function or file.py:function",
        hint="such as mine.py:private_quantile --kind quantile --pure-dp 1",
    )


def kinds() -> str:
    """Return a line for each kind of target: how its function is written."""
    wide = max(len(kind) for kind in Kind)
    lines = (f"--kind {kind.value:<{wide}}  {kind.form}" for kind in Kind)
    return textwrap.indent("\n".join(lines), "  ")


def add_parser(
    commands: Commands,
    name: str,
    *,
    description: str,
    epilog: str,
    claims: str,
    options: Sequence[Option] = (),
    execute: Callable[[argparse.Namespace], int],
) -> dict[Group, Parser]:
    """Declare a command that takes a TARGET; return the groups of its options.

    Parameters
    ----------
    description, epilog : str
        The text of its help.
    claims : str
        The claims as its usage shows them.
    options : sequence of Option
        Those that it has beside the options of all.
    """
    parser = commands.add_parser(
        name,
        description=description,
        usage=f"%(prog)s TARGET --kind KIND {claims} [OPTION]...   (--help lists them all)",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    groups = arguments.groups_of(parser)
    arguments.add_options(groups, (*TABLE, *RUN_OPTIONS, *options))
    arguments.add_run_options(groups[Group.RUN], budget=False)
    arguments.add_report(groups[Group.RUN])
    arguments.add_display(groups[Group.RUN])
    parser.set_defaults(execute=execute)
    return groups


def chosen(options: argparse.Namespace, table: Sequence[Option]) -> dict[str, Any]:
    """Return the values of a table's options that were given."""
    return read(table, arguments.given(options, table), dashed)


def config_of(
    options: argparse.Namespace, what: str, *, programs: bool = False, claimed: bool = True
) -> Config:
    """Return the checks of the target that was given, with ``programs`` also of a --command.

    Raises
    ------
    UsageError
        If there is none, or a journal is to be gone on with: ``what`` is run again.
    """
    from dpcp_audit.target_checks import config_file

    given = arguments.given(options, TABLE)
    if options.resume is not None:
        raise UsageError(f"--resume is not for {what}", hint="run the command again without it")
    if "target" not in given and not (programs and "command" in given):
        raise no_target()
    return config_file.of_options(given, claimed=claimed)


def show_tables(document: dict[str, Any], *, stream: TextIO, **others: Any) -> None:
    """Print the tables of a run's results, and then the findings."""
    from dpcp_audit.reports.terminal import print_summary, print_tables

    print_tables(document, stream=stream)
    print_summary(document, stream=stream, **others)
