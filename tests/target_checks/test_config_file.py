"""Checks in TOML, and the claims of a paper in TOML."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.messages import require_line_and_hint

from dpcp_audit.target_checks import config_file
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.config_file import suite_of_file
from dpcp_audit.targets import Kind, RandomStyle
from dpcp_audit.words.checks import Context
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, Coverage, PureDP, Relation, RenyiDP
from dpcp_audit.words.results import SourceLocation, Standing, Verdict
from dpcp_audit.words.values import Duration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


QUANTILE: Mapping[str, Any] = {"target": "mine.py:f", "kind": "quantile", "zcdp": 0.5}


def spec(**changes: Any) -> CheckSpec:
    return CheckSpec.from_data(
        dict(QUANTILE) | {key.replace("_", "-"): value for key, value in changes.items()}
    )


def test_every_key_is_read() -> None:
    read = CheckSpec.from_data(
        {
            "target": "pack.mod:f",
            "kind": "quantile",
            "vectorised": True,
            "randomness": "seed",
            "bounds": [-1, 2],
            "options": {"epsilon": 1.0},
            "pure-dp": [1, 2.5],
            "approx-dp": [1.0, 1e-5],
            "zcdp": 0.5,
            "renyi-dp": [2.0, 1.0],
            "coverage-at-least": 0.9,
            "with-confidence": 0.95,
            "alpha": 0.1,
            "n": [500, 50, 500],
            "neighbours": "add-remove",
            "ties": False,
            "open-sets": True,
            "tolerance": 1e-6,
            "location": {"file": "pack/mod.py", "line": 7, "text": ""},
            "budget": "2m",
            "draws": 4096,
            "name": "mine",
        }
    )
    assert read.target.kind is Kind.QUANTILE
    assert read.target.randomness is RandomStyle.SEED
    assert read.target.bounds == (-1.0, 2.0)
    assert read.target.options == {"epsilon": 1.0}
    assert read.target.vectorised
    claims = (PureDP(1), PureDP(2.5), ApproxDP(1.0, 1e-5), ZCDP(0.5), RenyiDP(2.0, 1.0))
    assert read.privacy == claims
    assert CheckSpec.from_data(read.as_data()) == read
    assert read.coverage == Coverage(at_least=0.9, confidence=0.95)
    assert len(read.guarantees) == 6
    assert (read.alpha, read.n, read.neighbours) == (0.1, (50, 500), Relation.ADD_REMOVE)
    assert (read.open_sets, read.tolerance) == (True, 1e-6)
    assert read.location == SourceLocation(file="pack/mod.py", line=7)
    assert (read.ties, read.budget, read.draws, read.name) == (False, 120.0, 4096, "mine")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": None}, "kind is missing"),
        ({"zcpd": 0.5}, "unknown key 'zcpd'\nhint: did you mean 'zcdp'?"),
        ({"zcdp": -1}, "zcdp: rho"),
        ({"zcdp": []}, "nothing is claimed\nhint: give at least one of pure-dp"),
        ({"approx_dp": [1.0]}, "approx-dp must be 2 numbers"),
        ({"approx_dp": [1.0, 2.0]}, "approx-dp: delta"),
        ({"local_dp": 1.0}, "local-dp applies to a randomizer or local, not to a quantile"),
        ({"coverage_at_least": 90}, "coverage-at-least must lie in (0, 1), got 90"),
        ({"with_confidence": 0.9}, "with-confidence needs coverage-at-least"),
        ({"alpha": 2}, "alpha must lie in (0, 1), got 2"),
        ({"name": "a b"}, "name must be a text without whitespace, got 'a b'"),
        ({"neighbours": "zero-out"}, "neighbours must be one of substitution"),
        ({"neighbours": "add-remove", "public_n": True}, "public-n contradicts"),
        ({"bounds": [1, 0]}, "bounds"),
        ({"command": "perl x.pl"}, "command"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        spec(**changes)
    assert message in str(caught.value)
    require_line_and_hint(str(caught.value))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [(60, 60), ("60", 60), ("60s", 60), (" 1.5 m ", 90), ("2min", 120), ("1h", 3600), (".5s", 0.5)],
)
def test_durations(text: object, seconds: float) -> None:
    assert Duration().read(text, "budget") == seconds


def write(folder: Path, text: str, name: str = "checks.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


TWO = """
false-alarm = 1e-4
seed = 7
budget = "5s"
[[check]]
target = "mine.py:f"
kind = "quantile"
zcdp = 0.5
[[check]]
target = "pack.mod:g"
kind = "randomizer"
domain = 4
local-dp = 1.0
budget = "9s"
"""


def test_a_file_of_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    read = config_file.load(write(tmp_path / "sub", TWO))
    assert (read.seed, read.false_alarm, read.strict) == (7, 1e-4, None)
    assert [check.target.target for check in read.checks] == ["sub/mine.py:f", "pack.mod:g"]
    assert [check.budget for check in read.checks] == [5.0, 9.0]


def test_a_pyproject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = TWO.replace("[[check]]", "[[tool.dpcp-audit.check]]")
    path = write(tmp_path, f"[project]\nname = 'x'\n[tool.dpcp-audit]\n{text}", "pyproject.toml")
    assert len(config_file.load(path).checks) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "not a TOML file"),
        ("seeds = 3", "unknown key 'seeds'\nhint: did you mean 'seed'?"),
        ("seed = 3", "no [[check]] is given"),
        ("check = 3", "check must be a list of tables"),
        ("[[check]]\nkind = 'quantile'\ntarget = 'm:f'\nzcdp = 'x'", "check 1: zcdp must be"),
        (TWO.replace("pack.mod:g", "mine.py:f"), "two checks are called"),
        (TWO.replace("1e-4", "2.0"), "false-alarm must lie in (0, 1)"),
        (TWO.replace("seed = 7", "seed = -7"), "seed must be a whole number >= 0"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        config_file.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_files_that_are_not_there_or_hold_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        config_file.load(tmp_path / "no.toml")
    (tmp_path / "deep.toml").write_text("a = " + 2000 * "[" + 2000 * "]")
    with pytest.raises(UsageError, match="deep.toml: not a file of checks .nested too deeply"):
        config_file.load(tmp_path / "deep.toml")
    with pytest.raises(UsageError, match=r"has no \[tool.dpcp-audit\]"):
        config_file.load(write(tmp_path, "[project]\nname = 'x'", "pyproject.toml"))
    with pytest.raises(UsageError, match="pyproject.toml: tool must be a table, got 3"):
        config_file.load(write(tmp_path, "tool = 3", "pyproject.toml"))


def test_a_check_has_draws_or_a_budget() -> None:
    """A budget beside the checks is that of those without draws."""
    drawn = dict(QUANTILE) | {"draws": 700}
    (read,) = config_file.from_data({"budget": "2m", "check": [drawn]}).checks
    assert (read.draws, read.budget) == (700, 120.0)
    both = drawn | {"budget": "2m"}
    with pytest.raises(UsageError, match="check 1: give either draws or budget, and not both"):
        config_file.from_data({"check": [both]})
    with pytest.raises(UsageError, match="^give either draws or budget, and not both"):
        config_file.of_options(both)


def test_an_array_is_refused_where_its_option_does_not_apply() -> None:
    randomizer = {"target": "m:f", "kind": "randomizer", "local-dp": 2, "domain": 10}
    with pytest.raises(UsageError, match="n applies to a quantile or calibrator or vector"):
        CheckSpec.from_data(randomizer | {"n": np.array([5, 6])})
    assert CheckSpec.from_data(randomizer | {"tolerance": 0}).tolerance == 0


def test_the_former_name_of_an_option_is_refused_with_the_one_of_today() -> None:
    assert spec(randomness="none").target.randomness is RandomStyle.NONE
    with pytest.raises(UsageError, match="unknown key 'rng'\nhint: .* by randomness"):
        spec(rng="none")


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


def test_a_missing_file_of_claims_is_named_with_what_installs_it(written, tmp_path) -> None:
    written(COUNTED)
    (tmp_path / "claims.toml").unlink()
    with pytest.raises(UsageError, match=r"my_noisy_ranks has no claims\.toml beside it") as caught:
        suite_of_file("my_noisy_ranks", summary="Noisy ranks.").rows()
    assert "package data" in str(caught.value)


def test_a_function_of_the_module_decides(written) -> None:
    (row,) = written(COUNTED)
    assert row.claim.statement == "“It holds.” No number is misprinted, for number = 2."
    assert row.claim.standing is Standing.PAPER
    assert row.claim.assumptions == "quantifier: for all"
    printed = row.claim.source.printed
    assert printed is not None
    assert (printed.title, printed.quote, printed.quantifier) == (
        "Noisy ranks",
        "It holds.",
        "for all",
    )
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
