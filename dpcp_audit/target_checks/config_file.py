"""Checks in TOML: of functions for ``--config``, and of the claims of a paper beside a module.

Of a paper each table ``[[claim]]`` says what it prints and where, and what decides it: a table
``check`` of a target, with the keys of ``dpcp-audit check --config``, or the name of a function
of the module, which returns a check.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from dpcp_audit.target_checks.check_spec import CheckSpec, require_one_effort
from dpcp_audit.words import options
from dpcp_audit.words.checks import Row, Suite, claims_of
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.options import RUN_OPTIONS, RunOptions, dashed
from dpcp_audit.words.results import Printed, SourceLocation, Standing, Verdict
from dpcp_audit.words.values import Choice, KeywordTable, Text, is_list, is_record

if TYPE_CHECKING:
    from dpcp_audit.words.results import Claim


PROJECT_FILE = "pyproject.toml"
_CHECKS = "check"
_DEFAULTS = ("budget", "detect")
"""Options of a check that a file may give for all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(RunOptions):
    """The checks of a file, and what it says of the run."""

    checks: tuple[CheckSpec, ...] = ()


def load(path: Path) -> Config:
    """Read the checks of a TOML file.

    A ``pyproject.toml`` holds them under ``[tool.dpcp-audit]``, any other file at its top.
    Paths of targets are relative to the file's folder.

    Raises
    ------
    UsageError
        If the file is invalid; the message names the file, the check and the key.
    """
    try:
        data: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        hint = "name a file of checks that can be read, such as checks.toml"
        raise UsageError(f"{path}: {error.strerror or error}", hint=hint) from error
    except RecursionError as error:
        raise UsageError(
            f"{path}: not a file of checks (nested too deeply)", hint="a check has two levels"
        ) from error
    except ValueError as error:  # of TOML, or text that is not UTF-8
        raise UsageError(
            f"{path}: not a TOML file ({error})", hint='texts stand in quotes: kind = "quantile"'
        ) from error
    where = str(path)
    if path.name == PROJECT_FILE:
        tools = data.get("tool", {})
        if not is_record(tools):
            raise UsageError(
                f"{path}: tool must be a table, got {tools!r}", hint="write [tool.dpcp-audit]"
            )
        data = tools.get("dpcp-audit")
        where = f"{path}: [tool.dpcp-audit]"
        if data is None:
            raise UsageError(
                f"{path} has no [tool.dpcp-audit]",
                hint="write its checks as [[tool.dpcp-audit.check]]",
            )
    if not isinstance(data, Mapping):
        raise UsageError(f"{where} must be a table", hint="such as [[check]] with its keys below")
    return from_data(cast("Mapping[str, Any]", data), folder=path.parent, where=where)


def found() -> Path | None:
    """Return the nearest ``pyproject.toml`` with checks, of this folder or one above it."""
    here = Path.cwd()
    paths = (folder / PROJECT_FILE for folder in (here, *here.parents))
    path = next((path for path in paths if path.is_file() and _may_have_checks(path)), None)
    return Path(PROJECT_FILE) if path == here / PROJECT_FILE else path


def _may_have_checks(path: Path) -> bool:
    """Return True if a file has our table, or cannot be read: :func:`load` says why."""
    try:
        tools = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, ValueError, RecursionError):
        return True
    return not is_record(tools) or "dpcp-audit" in tools


def from_data(data: Mapping[str, Any], *, folder: Path = Path(), where: str = "") -> Config:
    """Read a configuration from plain data.

    A ``budget`` or a ``detect`` beside the checks is that of each check that has none.

    Examples
    --------
    >>> check = {"target": "mine.py:f", "kind": "quantile", "zcdp": 0.5, "open-sets": True}
    >>> (spec,) = from_data({"seed": 7, "check": [check]}).checks
    >>> spec.guarantees, spec.open_sets
    ((ZCDP(rho=0.5),), True)
    """
    with options.in_place(where):
        run_keys = (dashed(each.name) for each in RUN_OPTIONS)
        options.require_known(data, (*run_keys, *_DEFAULTS, _CHECKS))
        default = {key: data[key] for key in _DEFAULTS if key in data}
        specs = tuple(
            _spec(check, folder, default, where=f"check {check.get('name', i)}")
            for i, check in enumerate(_tables(data), 1)
        )
        require_distinct(specs)
        return Config(checks=specs, **options.read(RUN_OPTIONS, data, dashed))


def of_options(check: Mapping[str, Any], *, claimed: bool = True) -> Config:
    """Read the one check that options describe; messages name an option and no place.

    Without ``claimed`` it may claim nothing.
    """
    return Config(checks=(_spec(check, Path(), claimed=claimed),))


def require_distinct(specs: tuple[CheckSpec, ...]) -> None:
    """Refuse two checks of one name, whose findings could not be distinguished."""
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two checks are called {name!r}", hint="give each a 'name'")


def _spec(
    check: Mapping[str, Any],
    folder: Path,
    default: Mapping[str, Any] = MappingProxyType({}),
    *,
    where: str = "",
    claimed: bool = True,
) -> CheckSpec:
    with options.in_place(where):
        require_one_effort(check)
    data = dict(default) | _rooted(check, folder)
    return CheckSpec.from_data(data, where=where, claimed=claimed)


def _tables(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    checks = data.get(_CHECKS, [])
    if not is_list(checks) or not all(isinstance(c, Mapping) for c in checks):
        raise UsageError(
            "check must be a list of tables", hint="write [[check]] in front of each check"
        )
    if not checks:
        raise UsageError(
            "no [[check]] is given", hint="write [[check]], and below it target, kind and a claim"
        )
    return checks


def _rooted(check: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Make the path of a target relative to the working directory; its name stays as written."""
    target = check.get("target")
    if not isinstance(target, str) or ".py:" not in target:
        return dict(check)
    path, _, function = target.rpartition(":")
    if Path(path).is_absolute():
        return dict(check)
    name = {"name": f"{os.path.normpath(path)}:{function}"}
    return name | dict(check) | {"target": f"{os.path.relpath(folder / path)}:{function}"}


_TEXTS = ("id", "paper", "section", "says")
_SAID = ("quote", "quantifier", "hypotheses", "read")
_OTHER_KEYS = ("standing", "expected", "check", "decided-by", "with")


def suite_of_file(module: str, *, summary: str, file: str = "claims.toml") -> Suite:
    """Return the suite of the claims in a TOML file, which lies beside a module.

    Parameters
    ----------
    module : str
        The module's name (its own ``__name__``): it has the functions that ``decided-by`` names.
    summary : str
        One line that says what the suite tests.
    file : str
        The name of the file.

    Raises
    ------
    UsageError
        When the suite's rows are asked for, naming the claim and the key.

    Examples
    --------
    >>> suite_of_file("my_paper", summary="Noisy ranks for conformal prediction.").scaled
    True
    """
    return Suite(summary=summary, rows=partial(_rows, module, file))


def _rows(module: str, file: str) -> list[Row]:
    path = Path(str(import_module(module).__file__)).with_name(file)
    if not path.is_file():
        raise UsageError(
            f"{module} has no {file} beside it: {path}",
            hint="a package installs it as package data: see docs/howto/claims_of_a_paper.md",
        )
    with options.in_place(str(path)):
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
        options.require_known(data, ("claim",))
        rows = [_row(module, KeywordTable().read(each, "claim")) for each in data.get("claim", [])]
        return [_placed(row, str(path), text, module) for row in rows]


def _placed(row: Row, file: str, text: str, module: str) -> Row:
    """Return a row whose claim says in which line of the file it has its id."""
    if row.claim.location is not None:
        return row
    line = 1 + text.partition(f'"{row.claim.id}"')[0].count("\n")
    place = SourceLocation.in_module(file, line, module=module)
    return replace(row, claim=replace(row.claim, location=place))


def _row(module: str, given: Mapping[str, Any]) -> Row:
    with options.in_place(f"claim {given.get('id', '?')}"):
        options.require_known(given, (*_TEXTS, *_SAID, *_OTHER_KEYS))
        texts = {key: Text().read(given.get(key), key) for key in _TEXTS}
        if ("check" in given) == ("decided-by" in given):
            raise UsageError(
                "give either a table 'check' or a function 'decided-by'",
                hint="decided-by = 'function' names one of the module beside the file",
            )
        claim = _claim(given, texts)
        if "check" in given:
            return _of_target(claim, KeywordTable().read(given["check"], "check"))
        name = Text().read(given["decided-by"], "decided-by")
        decide = getattr(import_module(module), name, None)
        if decide is None:
            raise UsageError(
                f"the module {module} has no {name!r}", hint="define it there, or correct the name"
            )
        return Row(claim=claim, check=decide(**given.get("with", {})))


def _claim(given: Mapping[str, Any], texts: Mapping[str, str]) -> Claim:
    known = {key: Text().read(given[key], key) for key in _SAID if key in given}
    quote = f"“{known['quote']}” " if "quote" in known else ""
    assumptions = [f"{key}: {said}" for key, said in known.items() if key != "quote"]
    claim = claims_of(texts["paper"], subject=texts["paper"])(
        texts["id"],
        texts["section"],
        Choice(Verdict).read(given.get("expected"), "expected"),
        f"{quote}{texts['says']}",
        standing=Choice(Standing).read(given.get("standing"), "standing"),
        assumptions="; ".join(assumptions),
        parameters=given.get("with", {}),
    )
    if not known:
        return claim
    printed = Printed(
        title=texts["paper"],
        quote=known.get("quote", ""),
        quantifier=known.get("quantifier", ""),
        hypotheses=known.get("hypotheses", ""),
    )
    return replace(claim, source=replace(claim.source, printed=printed))


def _of_target(claim: Claim, check: Mapping[str, Any]) -> Row:
    spec = CheckSpec.from_data({"name": claim.id.replace("[", ".").strip("]")} | dict(check))
    from dpcp_audit.target_checks.target_rows import rows_of_targets  # noqa: PLC0415  (slow)

    (row,) = rows_of_targets([spec])
    assumptions = "; ".join(filter(None, (claim.assumptions, row.claim.assumptions)))
    stated = replace(
        claim,
        assumptions=assumptions,
        parameters=row.claim.parameters,
        location=row.claim.location,
    )
    return replace(row, claim=stated)
