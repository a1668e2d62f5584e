"""Tables in other people's forms."""

from __future__ import annotations

import pytest

from dpcp_audit.faces.result import columns_of, frame_of
from dpcp_audit.words.results import Table, TableColumn

COLUMNS = {"claim": ["a", "b"], "value": [1.5, None]}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_become_a_frame_of_either_library(library) -> None:
    pytest.importorskip(library)
    found = frame_of(COLUMNS, library)
    assert type(found).__module__.startswith(library)
    assert found.shape == (2, 2)
    assert found["value"][0] == 1.5


def test_another_library_is_named() -> None:
    with pytest.raises(ValueError, match="library must be .*pandas.*, got 'arrow'"):
        frame_of(COLUMNS, "arrow")


def test_numbers_go_before_their_texts() -> None:
    table = Table(
        title="t",
        columns=[
            TableColumn(name="x", texts=["a third"], values=[1 / 3]),
            TableColumn(name="y", texts=["word"]),
        ],
    )
    assert columns_of(table) == {"x": [1 / 3], "y": ["word"]}
