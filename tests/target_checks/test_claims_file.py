"""A suite of two files: claims in TOML, and the module that decides them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from dpcp_audit.target_checks.config_file import suite_of_file
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Standing, Verdict
from dpcp_audit.words.whole_files import UsageError

MODULE = """
from functools import partial
from dpcp_audit.extensions.claims import Computation, Computed


def flip(value, *, rng):
    return value if rng.random() < 0.7 else 1 - value


def counted(number):
    return Computed(partial(Computation.counted, number, detail="misprints", witness={}))
"""
HEAD = """
[[claim]]
id = "mine.{name}"
paper = "Noisy ranks"
section = "Theorem {name}"
quote = "It holds."
quantifier = "for all"
says = "No number is misprinted."
standing = "paper"
expected = "REFUTED"
"""
COUNTED = HEAD.format(name=1) + 'decided-by = "counted"\nwith = { number = 2 }\n'
CHECK = '{ target = "my_noisy_ranks:flip", kind = "randomizer", domain = 2, local-dp = 1.0 }'
CHECKED = HEAD.format(name=2) + f"check = {CHECK}\n"


@pytest.fixture
def written(tmp_path, monkeypatch) -> Any:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_noisy_ranks.py").write_text(MODULE, encoding="utf-8")

    def rows(text) -> list[Any]:
        (tmp_path / "claims.toml").write_text(text, encoding="utf-8")
        return list(suite_of_file("my_noisy_ranks", summary="Noisy ranks.").rows())

    yield rows
    sys.modules.pop("my_noisy_ranks", None)


def test_a_function_of_the_module_decides(written) -> None:
    (row,) = written(COUNTED)
    assert row.claim.statement == "“It holds.” No number is misprinted, for number = 2."
    assert row.claim.standing is Standing.PAPER
    assert row.claim.assumptions == "quantifier: for all"
    assert row.check(Context(seed=0, name="x", significance=0.1)).verdict is Verdict.REFUTED


def test_a_table_of_a_target_decides_and_the_claim_keeps_its_words(written) -> None:
    first, second = written(COUNTED + CHECKED)
    assert second.claim.id == "mine.2"
    assert str(second.claim.source) == "Noisy ranks, Theorem 2"
    assert second.claim.assumptions.startswith("quantifier: for all; outputs are independent")
    assert second.claim.parameters["epsilon"] == 1.0
    assert first.claim.id != second.claim.id


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (COUNTED + 'proof = "x"', "claim mine.1: unknown key 'proof'"),
        (COUNTED + f"check = {CHECK}", "claim mine.1: give either"),
        (HEAD.format(name=3), "claim mine.3: give either"),
        (CHECKED.replace("local-dp", "local-pd"), "claim mine.2: unknown key 'local-pd'"),
        (COUNTED.replace("REFUTED", "FALSE"), "claim mine.1: expected must be one of"),
        (COUNTED.replace('"counted"', '"count"'), "my_noisy_ranks has no 'count'"),
        ("[[claims]]", "unknown key 'claims'"),
    ],
)
def test_what_is_wrong_is_named_with_its_claim(written, text, message) -> None:
    with pytest.raises(UsageError, match=message):
        written(text)
