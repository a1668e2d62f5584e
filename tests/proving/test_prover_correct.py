"""The share of right mechanisms that is proved, by family, beside the table of expected outcomes.

After a change of what is proved, ``PYTHONPATH=tests python tests/proving/test_prover_correct.py``
writes the table anew; read the difference before you commit it.
"""

import json
import time
from pathlib import Path

import pytest
from proving.correct_functions import CORRECT
from proving.correct_functions_benchmarks import BENCHMARKS, ZOO
from proving.correct_functions_spellings import SPELLINGS
from proving.correct_functions_wider import WIDER

import dpcp_audit as dp
from dpcp_ledger.zoo.zoo_suite import twins

ROWS = [*CORRECT, *WIDER, *SPELLINGS, *BENCHMARKS]
EXPECTED = Path(__file__).with_name("proved_correct.json")
AVAILABLE = "prove" in dir(dp)
WANTED = 0.8
"""The share of the zoo's mechanisms and of the benchmark programs."""


def outcomes() -> dict[str, dict[str, bool]]:
    """Return, by family and function, whether it is proved."""
    table: dict[str, dict[str, bool]] = {}
    for row in ROWS:
        result = dp.prove(
            row.function, row.claim, n=row.n, bounds=row.bounds, neighbours=row.neighbours
        )
        table.setdefault(row.family, {})[row.function.__name__] = bool(result.proved)
    return table


def test_names_differ() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.skipif(not AVAILABLE, reason="dp.prove is not there yet")
def test_the_expected_share_is_proved() -> None:
    assert outcomes() == json.loads(EXPECTED.read_text())


def of_zoo_and_benchmarks(found) -> dict[str, bool]:
    """Return whether each mechanism of the zoo, and each benchmark program, is proved."""
    plain = {name: one for rows in found.values() for name, one in rows.items()}
    return {name: plain[function] for name, function in ZOO.items()} | found["benchmarks"]


def test_the_share_of_the_zoo_and_the_benchmarks_is_as_wanted() -> None:
    found = of_zoo_and_benchmarks(json.loads(EXPECTED.read_text()))
    assert len(found) == 20
    assert sum(found.values()) >= WANTED * len(found)


def test_each_private_mechanism_of_the_zoo_has_a_plain_function() -> None:
    assert ZOO.keys() == {each.name for each in twins() if each.privacy is not None}


if __name__ == "__main__":
    started = time.process_time()
    found = outcomes()
    spent = time.process_time() - started
    EXPECTED.write_text(json.dumps(found, indent=2) + "\n")
    for family, rows in found.items():
        print(f"{family}: {sum(rows.values())} of {len(rows)} proved")  # noqa: T201
    chosen = of_zoo_and_benchmarks(found)
    print(f"zoo and benchmarks: {sum(chosen.values())} of {len(chosen)} proved")  # noqa: T201
    print(f"{len(ROWS)} functions: {spent:.2f} s of processor time")  # noqa: T201
