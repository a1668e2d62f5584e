"""The page on training: its examples run, and print what it says."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")


def test_the_examples_print_what_the_page_shows(capsys) -> None:
    training, audit = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    known: dict[str, object] = {}
    exec(compile(training, "training.md", "exec"), known)  # noqa: S102  (the page's own words)
    accuracies = [float(number) for number in re.findall(r"0\.\d", capsys.readouterr().out)]
    assert len(accuracies) == 8
    assert min(accuracies) > 0.5
    exec(compile(audit, "training.md", "exec"), known)  # noqa: S102  (the page's own words)
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    assert capsys.readouterr().out == shown
