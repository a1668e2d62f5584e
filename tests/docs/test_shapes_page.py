"""The page on shapes: each is audited as it says, objects of libraries where they are installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import update_shapes

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "shapes.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
LIBRARIES = [block for block in BLOCKS if not block.startswith(">>>")]
MOST = 5


def test_an_audit_takes_at_most_five_lines() -> None:
    for block in BLOCKS:
        lines = [line.removeprefix(">>> ") for line in block.splitlines()]
        calls = [line for line in lines if re.match(r"(print|str)\(dp\.", line)]
        assert len(calls) <= MOST
    assert sum("dp." in block for block in BLOCKS) > 10


def test_the_table_of_claims_is_what_the_script_writes() -> None:
    """``python docs/update_shapes.py`` renews it."""
    assert update_shapes.page(TEXT) == TEXT


@pytest.mark.statistical(false_alarm=2e-8)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["mapie", "torchcp"])
def test_objects_of_libraries_are_audited(library: str, capsys: Any) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    preamble, *others = LIBRARIES
    (block,) = (each for each in others if f"from {library}." in each)
    known: dict[str, Any] = {}
    exec(compile(preamble, "shapes.md", "exec"), known)  # noqa: S102  (the page's own words)
    known["held"] |= {"false_alarm": 1e-8}
    exec(compile(block, "shapes.md", "exec"), known)  # noqa: S102  (the page's own words)
    assert capsys.readouterr().out.strip() in {"CONSISTENT", "INCONCLUSIVE"}
