"""Tables: columns of one length, which travel to other processes and back."""

from __future__ import annotations

import json
import math

import pytest

from dpcp_audit.engine import tasks as encoding
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Evidence, Outcome, Table, TableColumn, Verdict


def test_columns_must_have_the_same_length() -> None:
    one, two = TableColumn(name="a", texts=["x"]), TableColumn(name="b", values=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"columns must have the same length, got \[1, 2\] in 't'"):
        Table(title="t", columns=[one, two])


@pytest.mark.parametrize(
    "parts",
    [
        {"texts": ["x"], "values": [1.0, 2.0]},
        {"values": [1.0], "details": {"error": [0.1, 0.2]}},
    ],
)
def test_the_parts_of_a_column_must_have_the_same_length(parts) -> None:
    with pytest.raises(ValueError, match=r"same length, got \[1, 2\] in column 'a'"):
        TableColumn(name="a", **parts)


def test_a_table_comes_back_from_another_process() -> None:
    column = TableColumn(
        name="a", texts=["∞"], values=[math.inf], details={"error": [0.1]}, marked=[0]
    )
    table = Table(title="t", columns=[column], notes=["n"])
    evidence = Evidence.exact(Quantity.VALUE, 0.0)
    outcome = Outcome(verdict=Verdict.CONSISTENT, evidence=evidence, tables=(table,))
    sent = json.loads(encoding.to_json(encoding.encode(outcome)))
    assert encoding.decode(sent) == outcome
