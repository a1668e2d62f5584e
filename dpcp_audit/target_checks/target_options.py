"""A target as options: how the command line and TOML files write which code is to be tried."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcp_audit import options
from dpcp_audit.errors import UsageError
from dpcp_audit.options import options_of
from dpcp_audit.target_checks.row_data import rows_for
from dpcp_audit.targets import Kind, TargetSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.data.row_pools import RowPool
    from dpcp_audit.options import Spelling

TARGET_OPTIONS = options_of(TargetSpec)


def target_of(
    given: Mapping[str, Any],
    kind: type[TargetSpec] = TargetSpec,
    *,
    spell: Spelling,
    **others: Any,
) -> TargetSpec:
    """Return the target that the given options describe.

    Parameters
    ----------
    kind : type
        Of target.
    **others
        Its fields that are no options.

    Raises
    ------
    UsageError
        Naming the option, with what it got.
    """
    values = options.read(TARGET_OPTIONS, given, spell) | others
    try:
        options.require_kind(TARGET_OPTIONS, given, values["kind"], spell)
        return kind(**values)
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from error


def with_classes(target: TargetSpec, data: RowPool | None) -> TargetSpec:
    """Return a predictor with the number of classes that the data have, if none is given."""
    if target.kind is not Kind.PREDICTOR:
        return target
    try:
        classes = rows_for(target.kind, data).classes
    except ValueError as error:
        raise UsageError(str(error)) from error
    if target.domain is None:
        return replace(target, domain=classes)
    if target.domain < classes:
        raise UsageError(
            f"domain must be at least {classes}, as the data have, got {target.domain}"
        )
    return target


def name_of(target: TargetSpec) -> str:
    """Return what the findings of a target are called, where no name is given."""
    name = target.target or " ".join(target.command)
    return "_".join(name.split()) or "target"
