"""Membership audits as a user meets them: the suite's rows, and the page on one's own models."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "attack_a_trained_model.md"


def test_the_page_says_what_its_code_prints(capsys) -> None:
    page = PAGE.read_text(encoding="utf-8")
    code, shown = (
        re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("python", "text")
    )
    exec(compile(code[0], str(PAGE), "exec"), {})  # noqa: S102  (the page's own words)
    assert capsys.readouterr().out == shown[0]
