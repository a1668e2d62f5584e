"""The published JSON Schema: up to date, valid, and of one mind with the tool's own check."""

from __future__ import annotations

import copy
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.report_document import document

from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import check
from dpcp_audit.engine.tasks import plain_data
from dpcp_audit.faces.cli.main import main
from dpcp_audit.reports import results_schema
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.results_schema import (
    json_schema,
    published_schema,
    read_results,
    schema_text,
)

VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def valid() -> dict[str, Any]:
    """A document with every optional key."""
    full = document(pools=[], targets=[{"target": "mine.py:f"}], schema_version="2.1")
    finding = copy.deepcopy(full["findings"][1])
    finding |= {"id": "full", "location": {"file": "a.py", "line": 3}}
    finding["evidence"] |= {
        "bound": "at least",
        "sample": {
            "measure": "rates",
            "counts": [{"of": "failures", "hits": 3, "trials": 9, "undecided": 0}],
            "range": [0.0, "inf"],
        },
    }
    findings = [full["findings"][0], full["findings"][4], finding]
    return copy.deepcopy(full | {"findings": findings})


def test_the_file_is_up_to_date() -> None:
    """After a change that is meant: DPCP_AUDIT_UPDATE_GOLDEN=1 pytest, of this file."""
    if os.environ.get("DPCP_AUDIT_UPDATE_GOLDEN") == "1":
        path = Path(results_schema.__file__).with_name(results_schema.SCHEMA_FILE)
        path.write_text(schema_text(), encoding="utf-8")
    assert published_schema() == schema_text()


def test_the_command_prints_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == published_schema()


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(published_schema()))


@pytest.mark.parametrize("id_", ["ldpcp.krr", "histlap.coverage[scores=digits-gaussian-nb]"])
def test_real_findings_are_valid(id_: str) -> None:
    settings = RunSettings(profile=Profile.SMOKE)
    results = to_document(settings, [check(id_, settings)], seconds=1.0, complete=True)
    VALIDATOR.validate(results)
    read_results(results)


def test_the_full_document_is_valid() -> None:
    VALIDATOR.validate(valid())
    read_results(valid())


def paths(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys: list[Any] = []
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [place, *(p for key in keys for p in paths(value[key], (*place, key)))]


PATHS = [path for path in paths(valid()) if path]
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**400,
    "inf",
    "PROVED",
    "2.7",
    "1.1",
    "",
    [],
    [1],
    {},
    {"a": 1},
]


@given(path=st.sampled_from(PATHS), value=st.sampled_from([*ODD, "MISSING"]))
def test_the_schema_and_the_check_agree(path: tuple[Any, ...], value: Any) -> None:
    """Whatever stands at whatever place, both let it pass or neither does."""
    changed = valid()
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    if value == "MISSING":
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    fits = VALIDATOR.is_valid(changed)
    try:
        read_results(changed)
    except ValueError as error:
        fits_as_well = not fits or broke_a_rule(error)  # a schema has no rules between fields
    else:
        fits_as_well = fits
    assert fits_as_well, (path, value)


def broke_a_rule(error: ValueError) -> bool:
    cause = error.__cause__
    return isinstance(cause, ValidationError) and all(
        wrong["type"] == "value_error" for wrong in cause.errors()
    )


def test_what_is_read_is_what_was_written() -> None:
    """Round trip: every key that the tool reads comes back with the value that was written."""
    written = plain_data(asdict(read_results(valid())))
    assert agrees(written, valid())


def agrees(read: Any, written: Any) -> bool:
    if isinstance(written, dict) and isinstance(read, dict):
        return all(agrees(read[key], item) for key, item in written.items() if key in read)
    if isinstance(written, list):
        return len(read) == len(written) and all(map(agrees, read, written))
    return bool(read == written)


def test_numbers_that_json_lacks_are_valid_as_strings_only() -> None:
    odd = valid()
    odd["findings"][0]["evidence"]["value"] = float("nan")
    VALIDATOR.validate(plain_data(odd))
    odd["findings"][0]["evidence"]["value"] = "NaN"
    assert not VALIDATOR.is_valid(odd)
    with pytest.raises(ValueError, match="value must be a number, got 'NaN'"):
        read_results(odd)


def test_locations_are_checked() -> None:
    odd = valid()
    odd["findings"][2]["location"]["line"] = 0
    with pytest.raises(
        ValueError, match=r"findings\[2\].location.line must be greater than or equal to 1, got 0"
    ):
        read_results(odd)
