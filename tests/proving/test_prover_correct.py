"""The share of right mechanisms that is proved, by family, beside the table of expected outcomes.

After a change of what is proved, ``PYTHONPATH=tests python tests/proving/test_prover_correct.py``
writes the table anew; read the difference before you commit it.
"""

import json
from pathlib import Path

import pytest
from proving.correct_functions import CORRECT
from proving.correct_functions_benchmarks import BENCHMARKS
from proving.correct_functions_wider import WIDER

import dpcp_audit as dp

ROWS = [*CORRECT, *WIDER, *BENCHMARKS]
EXPECTED = Path(__file__).with_name("proved_correct.json")
AVAILABLE = "prove" in dir(dp)


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


if __name__ == "__main__":
    found = outcomes()
    EXPECTED.write_text(json.dumps(found, indent=2) + "\n")
    for family, rows in found.items():
        print(f"{family}: {sum(rows.values())} of {len(rows)} proved")  # noqa: T201
