"""The page on suites of other packages: what it prints is a package whose claims come out."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from dpcp_audit.words.checks import Context, Suite

if TYPE_CHECKING:
    import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "add_a_suite.md").read_text("utf-8")


def test_its_mechanism_and_its_claims_are_a_suite_whose_verdicts_are_the_expected_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"<!-- file: truncated_count.py -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "truncated_count.py").write_text("".join(blocks), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    suite = import_module("truncated_count").SUITE
    del sys.modules["truncated_count"]
    assert isinstance(suite, Suite)
    for row in suite.rows():
        context = Context(seed=0, name=row.claim.id, significance=1e-6)
        assert row.check(context).verdict is row.claim.expected


def test_its_metadata_name_the_suite() -> None:
    project = tomllib.loads(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0])["project"]
    assert project["entry-points"]["dpcp_audit.suites"] == {"count": "truncated_count:SUITE"}


def test_it_imports_public_names_alone() -> None:
    modules = re.findall(r"from (dpcp_audit[\w.]*) import", PAGE)
    assert modules
    assert all(re.fullmatch(r"dpcp_audit(\.extensions\.\w+)?", each) for each in modules)
