"""The claims of a paper in a TOML file, decided by the module beside it: a suite of two files.

Each table ``[[claim]]`` says what the paper prints and where, and what decides it: a table
``check`` of a target, with the keys of ``dpcp-audit check --config``, or the name of a function
of the module, which returns a check.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.target_rows import rows_of_targets
from dpcp_audit.words import options
from dpcp_audit.words.checks import Row, Suite, claims_of
from dpcp_audit.words.results import Standing, Verdict
from dpcp_audit.words.values import Choice, KeywordTable, Text
from dpcp_audit.words.whole_files import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.words.results import Claim

_TEXTS = ("id", "paper", "section", "says")
_SAID = ("quote", "quantifier", "hypotheses", "read")
_OTHERS = ("standing", "expected", "check", "decided-by", "with")


def suite_of_file(module: str, *, summary: str, file: str = "claims.toml") -> Suite:
    """Return the suite of the claims in a TOML file, which lies beside a module.

    Parameters
    ----------
    module : str
        The module's name (its own ``__name__``): it has the functions that ``decided-by`` names.
    summary : str
        What the suite tests, in a line.
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
    with options.in_place(str(path)):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        options.require_known(data, ("claim",))
        return [_row(module, KeywordTable().read(each, "claim")) for each in data.get("claim", [])]


def _row(module: str, given: Mapping[str, Any]) -> Row:
    with options.in_place(f"claim {given.get('id', '?')}"):
        options.require_known(given, (*_TEXTS, *_SAID, *_OTHERS))
        texts = {key: Text().read(given.get(key), key) for key in _TEXTS}
        if ("check" in given) == ("decided-by" in given):
            raise UsageError("give either a table 'check' or a function 'decided-by'")
        claim = _claim(given, texts)
        if "check" in given:
            return _of_target(claim, KeywordTable().read(given["check"], "check"))
        name = Text().read(given["decided-by"], "decided-by")
        decide = getattr(import_module(module), name, None)
        if decide is None:
            raise UsageError(f"the module {module} has no {name!r}")
        return Row(claim=claim, check=decide(**given.get("with", {})))


def _claim(given: Mapping[str, Any], texts: Mapping[str, str]) -> Claim:
    known = {key: Text().read(given[key], key) for key in _SAID if key in given}
    quote = f"“{known['quote']}” " if "quote" in known else ""
    assumptions = [f"{key}: {said}" for key, said in known.items() if key != "quote"]
    return claims_of(texts["paper"], subject=texts["paper"])(
        texts["id"],
        texts["section"],
        Choice(Verdict).read(given.get("expected"), "expected"),
        f"{quote}{texts['says']}",
        standing=Choice(Standing).read(given.get("standing"), "standing"),
        assumptions="; ".join(assumptions),
        parameters=given.get("with", {}),
    )


def _of_target(claim: Claim, check: Mapping[str, Any]) -> Row:
    spec = CheckSpec.from_data({"name": claim.id.replace("[", ".").strip("]")} | dict(check))
    (row,) = rows_of_targets([spec])
    assumptions = "; ".join(filter(None, (claim.assumptions, row.claim.assumptions)))
    stated = replace(
        claim,
        assumptions=assumptions,
        parameters=row.claim.parameters,
        location=row.claim.location,
    )
    return replace(row, claim=stated)
