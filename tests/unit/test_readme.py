"""The README: its example runs, and its table of findings is that of the suite."""

from __future__ import annotations

import re
from pathlib import Path

from dpcp_audit.audits.evidence import Verdict
from dpcp_audit.reports.suite import suite

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_python_example_refutes_the_mean_with_half_the_noise(capsys) -> None:
    code, _of_pytest = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102  (the README's own words)
    verdict, certified = capsys.readouterr().out.split()
    assert verdict == "REFUTED"
    assert float(certified) > 1


def test_the_table_holds_exactly_the_claims_that_are_expected_to_be_refuted() -> None:
    table = README.split("<!-- findings -->")[1].split("<!-- /findings -->")[0]
    shown = set(re.findall(r"^\| `([^`]+)`:", table, flags=re.MULTILINE))
    expected = {row.claim.id for row in suite() if row.claim.expected is Verdict.REFUTED}
    assert shown == expected


def test_the_numbers_of_claims_are_those_of_the_suite() -> None:
    (total, refuted) = re.findall(r"Of (\d+) claims, (\d+) are refuted", README)[0]
    rows = suite()
    assert int(total) == len(rows)
    assert int(refuted) == sum(row.claim.expected is Verdict.REFUTED for row in rows)
