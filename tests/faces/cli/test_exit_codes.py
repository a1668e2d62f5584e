"""The table of exit codes on the page of the command line says what the commands do."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import packages

from dpcp_audit.engine import runner
from dpcp_audit.engine.worker_pool import Limits
from dpcp_audit.faces.cli.main import main
from dpcp_audit.reports.document import dump, load

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "command_line.md"
CODE = """
import math
import numpy as np

def right(scores):
    return np.sort(scores)[math.ceil((len(scores) + 1) * 0.9) - 1]

def wrong(scores):
    return np.sort(scores)[math.ceil(len(scores) * 0.9) - 1]

def count(scores, *, rng):
    return np.count_nonzero(scores <= 0.5) + rng.laplace(scale=1)

def exposed(scores, *, rng):
    return scores.mean() + rng.laplace(scale=1e-3)

def nothing(scores, *, rng):
    raise ValueError("no")
"""
SUITE = """
from dataclasses import replace

from dpcp_audit.extensions.claims import Row, Suite, Verdict
from dpcp_ledger.related import related_works

class Fails:
    sampled = False

    def __call__(self, context):
        raise RuntimeError("no")

def rows():
    row = next(each for each in related_works.SUITE.rows() if each.claim.id == "zhu.feedback")
    for id_, expected in {"refuted": Verdict.REFUTED, "open": Verdict.PROVED}.items():
        yield Row(claim=replace(row.claim, id=id_, expected=expected), check=row.check)
    yield Row(claim=replace(row.claim, id="fails"), check=Fails())

SUITE = Suite(summary="One check.", rows=rows)
"""
COVERS = "--kind quantile --coverage-at-least 0.9 --n 20"
OF_CODE = "--kind quantile --n 5"
PRIVATE = f"{OF_CODE} --seed 1 --false-alarm 1e-9"
THEOREM = "ldpcp-4 --n 20000 --epsilon 2 --delta 0.05 --profile smoke --false-alarm 1e-9 --jobs 1"
EXAMPLES = {
    ("check", 0): f"check code.py:right {COVERS}",
    ("check", 1): f"check code.py:wrong {COVERS}",
    ("check", 3): f"check code.py:nothing {PRIVATE} --pure-dp 1 --draws 600",
    ("trace", 0): f"trace code.py:count {PRIVATE} --pure-dp 1",
    ("trace", 1): f"trace code.py:count {PRIVATE} --pure-dp 0.5",
    ("trace", 3): f"trace code.py:nothing {PRIVATE} --pure-dp 1",
    ("prove", 0): f"prove code.py:count {OF_CODE} --pure-dp 0.5",
    ("prove", 1): f"prove code.py:count {OF_CODE} --pure-dp 0.5 --strict",
    ("compare", 0): "compare right.json right.json",
    ("compare", 1): "compare right.json wrong.json",
    ("compare", 3): "compare right.json cut.json",
    ("replay", 0): "replay {claim} wrong.json",
    ("replay", 1): "replay {claim} mended.json",
    ("run", 0): "run --suite mine --only refuted --jobs 1",
    ("run", 1): "run --suite mine --only open --jobs 1",
    ("run", 3): "run --suite mine --only fails --jobs 1",
    ("ledger", 0): "ledger right.json",
    ("ledger", 1): "ledger wrong.json",
    ("ledger", 3): "ledger cut.json",
    ("theorem", 0): f"theorem {THEOREM} --scores uniform",
    ("theorem", 1): f"theorem {THEOREM} --scores beta(5,0.2)",
    ("theorem", 3): f"theorem {THEOREM} --scores uniform --memory 1MiB",
    ("estimate", 0): f"estimate code.py:count {PRIVATE} --draws 600 --paths 0",
    ("estimate", 1): f"estimate code.py:exposed {PRIVATE} --pure-dp 1 --draws 600 --paths 0",
    ("estimate", 3): f"estimate code.py:nothing {PRIVATE} --draws 600 --paths 0",
    ("report", 0): "report wrong.json --report markdown=wrong.md",
}


def told() -> dict[tuple[str, int], str]:
    """Return the table's cells by command and exit code; those that never occur left out."""
    rows = re.findall(
        r"^\| (`.*?) \| (.*?) \| (.*?) \| (.*?) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    return {
        (command, code): said
        for names, *cells in rows
        for command in re.findall(r"`(\w+)`", names)
        for code, said in zip((0, 1, 3), cells, strict=True)
        if said != "never"
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working directory of the commands, with code, a suite and results files."""
    place = tmp_path_factory.mktemp("commands")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        Path("three_claims.py").write_text(SUITE, "utf-8")
        packages.register(place, "three-claims", mine="three_claims:SUITE")
        packages.use(place, patch)
        _write_results()
        yield place
    sys.modules.pop("three_claims", None)
    runner._cells(Limits(), apart=False).stop()
    runner._cells.cache_clear()
    packages.clear()


def _write_results() -> None:
    Path("code.py").write_text(CODE, "utf-8")
    for name in ("right", "wrong"):
        main(f"check code.py:{name} --name it {COVERS} -q --report json={name}.json".split())
    right, wrong = load(Path("right.json")), load(Path("wrong.json"))
    Path("cut.json").write_text(dump(right | {"complete": False}), "utf-8")
    (finding,) = right["findings"]
    targets = wrong["targets"]
    Path("mended.json").write_text(dump(right | {"targets": targets}), "utf-8")
    Path("id").write_text(json.dumps(finding["id"]), "utf-8")


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=1e-9)
@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_a_command_exits_as_the_table_says(case: tuple[str, int], folder: Path) -> None:
    """A true claim of privacy is refuted with probability 1e-9."""
    claim = json.loads((folder / "id").read_text("utf-8"))
    words = [word.format(claim=claim) for word in EXAMPLES[case].split()]
    assert main(words) == case[1]
    assert case in told() or case[0] == "report"


def test_a_proof_that_stops_and_a_right_one_exit_alike(folder: Path) -> None:
    assert main(f"prove code.py:count {OF_CODE} --pure-dp 1 --strict".split()) == 0
    assert main(["prove", "code.py:count", "--kind", "quantile"]) == 2
    assert main(f"prove code.py:count {OF_CODE} --pure-dp 1 --randomness seed".split()) == 2
    assert ("prove", 3) not in told()


def test_prove_refuses_what_a_proof_does_not_read_and_lists_none_of_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["prove", "--help"])
    listed = capsys.readouterr().out
    for other in ("--as list", "--vectorised", "--draws 600", "--seed 1", "--report html=x.html"):
        with pytest.raises(SystemExit, match="2"):
            main(f"prove code.py:count {OF_CODE} --pure-dp 1 {other}".split())
        assert capsys.readouterr().err.endswith(
            "hint: 'dpcp-audit check' takes it, and tries the same proof first\n"
        )
        assert f"  {other.split()[0]} " not in listed
