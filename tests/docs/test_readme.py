"""The README: its example runs, and its table of findings is that of the suite."""

from __future__ import annotations

import re
from pathlib import Path

from dpcp_audit.engine.suites import suite
from dpcp_audit.results import Verdict
from dpcp_audit.zoo.specimen import SpecimenCheck
from dpcp_audit.zoo.specimens import mutants, twins

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


def test_the_zoo_has_a_row_for_each_planted_bug_and_shows_who_caught_it() -> None:
    zoo = README.split("<!-- zoo -->")[1].split("<!-- /zoo -->")[0]
    rows = {name: rest.split(" | ") for name, rest in re.findall(r"\n\| `([^`]+)`: (.*)", zoo)}
    assert list(rows) == [mutant.name for mutant in mutants()]
    for mutant in mutants():
        cells = dict(zip(SpecimenCheck, rows[mutant.name][2:], strict=False))
        caught = {column for column, cell in cells.items() if cell.strip().startswith("✓")}
        assert caught == mutant.caught_by, mutant.name
    assert f"{len(mutants())} of {len(mutants())} planted bugs are caught" in zoo
    assert f"of {len(twins())} correct twins, none is refuted" in zoo
