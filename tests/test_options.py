"""The table of options: one place, four faces."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import dpcp_audit
from dpcp_audit.faces.keywords import keywords
from dpcp_audit.target_checks.check_spec import TABLE
from dpcp_audit.theorems.catalogue import CATALOGUE
from dpcp_audit.words import options
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.options import RUN_OPTIONS
from dpcp_audit.words.values import Flag, Whole

PACKAGE = Path(dpcp_audit.__file__).parent
PLANTED = """    noise_floor: int = field(
        default=1, metadata=option(Whole(), "a planted option", metavar=("FLOOR",))
    )
    location: SourceLocation | None = None
"""
FACES = """
import subprocess, sys
from pathlib import Path

import dpcp_audit as dp
from dpcp_audit.target_checks import config_file

Path("mine.py").write_text("def f(scores, *, rng):\\n    return float(rng.random())\\n")
Path("test_it.py").write_text(
    "import dpcp_audit as dp\\n"
    "from mine import f\\n"
    "def test_it(dp_audit):\\n"
    "    dp_audit.private(f, dp.PureDP(1.0), n=9, draws=600, noise_floor=5)\\n"
)
PLUGIN = "dpcp_audit.faces.pytest_plugin.hooks"


def check(*words):
    command = [sys.executable, "-m", "dpcp_audit", "check", *words]
    return subprocess.run(command, capture_output=True, text=True)


def floors(path):
    import json
    return [target["noise-floor"] for target in json.loads(Path(path).read_text())["targets"]]


assert "--noise-floor FLOOR" in check("--help").stdout
mine = ["mine.py:f", "--kind", "quantile", "--pure-dp", "1", "--n", "9", "--draws", "600"]
done = check(*mine, "--noise-floor", "5", "--report", "json=cli.json")
assert done.returncode == 0, done.stderr
assert floors("cli.json") == [5]
assert "noise-floor must be a whole number >= 1, got 0" in check(*mine, "--noise-floor", "0").stderr

Path("checks.toml").write_text(
    '[[check]]\\ntarget = "mine.py:f"\\nkind = "quantile"\\npure-dp = 1\\nnoise-floor = 5\\n'
)
assert config_file.load(Path("checks.toml")).checks[0].noise_floor == 5

command = ["-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider"]
subprocess.run([sys.executable, *command, "--dp-audit-report=json=plugin.json"], check=True)
assert floors("plugin.json") == [5]

from mine import f

dp.audit(f, dp.PureDP(1.0), n=9, draws=600, noise_floor=5).report("python.json")
assert floors("python.json") == [5]
print("found in all four")
"""


def test_an_option_that_is_added_in_one_place_is_found_in_all_four_faces(tmp_path) -> None:
    """A field is planted into a copy of the package, and nothing else is changed."""
    copy = tmp_path / "site" / "dpcp_audit"
    shutil.copytree(PACKAGE, copy)  # with its bytecode
    place = copy / "target_checks" / "check_spec.py"
    *before, last = PLANTED.splitlines(keepends=True)
    text = place.read_text(encoding="utf-8")
    assert text.count(last) == 1
    place.write_text(text.replace(last, "".join([*before, last])), encoding="utf-8")
    (tmp_path / "faces.py").write_text(FACES)
    paths = os.pathsep.join([str(copy.parent), str(tmp_path)])
    environment = os.environ | {"PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "faces.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["found in all four"], done.stderr


def test_what_was_missing_from_the_plugin_is_a_keyword() -> None:
    assert {"tolerance", "open_sets", "public_n"} <= {each.name for each in keywords()}


def test_names_and_flags_of_the_table_are_distinct_and_explained() -> None:
    names = [each.name for each in TABLE]
    assert len(names) == len(set(names))
    assert all(each.help for each in TABLE)


@dataclass(frozen=True, kw_only=True)
class Example:
    loud_noise: bool = field(default=True, metadata=options.option(Flag(), "loud"))
    size: int | None = field(
        default=None, metadata=options.option(Whole(), "size", kinds=("quantile",))
    )
    other: str = "is no option"


def test_options_are_the_fields_that_say_so() -> None:
    assert [each.name for each in options.options_of(Example)] == ["loud_noise", "size"]
    assert options.as_data(Example()) == {"loud-noise": True}


def test_values_are_read_by_the_spelling_of_a_face() -> None:
    rows = options.options_of(Example)
    assert options.read(rows, {"loud-noise": False}, options.dashed) == {"loud_noise": False}
    assert options.read(rows, {"loud_noise": False, "size": None}) == {"loud_noise": False}
    with pytest.raises(
        UsageError, match="^loud-noise must be true or false, got 3\nhint: in Python True"
    ):
        options.read(rows, {"loud-noise": 3}, options.dashed)


def test_an_option_of_another_kind_is_refused_unless_it_is_the_default() -> None:
    rows = options.options_of(Example)
    options.require_kind(rows, {"size": 3}, "quantile")
    options.require_kind(rows, {"size": None, "loud_noise": False}, "randomizer")
    with pytest.raises(UsageError, match="^size applies to a quantile, not to a randomizer$"):
        options.require_kind(rows, {"size": 3}, "randomizer")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bounds", "0 1"),
        ("ties", "yes"),
        ("public_n", ""),
        ("detect", "2"),
        ("randomness", "from its signature"),
        ("neighbours", "substitution"),
        ("alpha", ""),
    ],
)
def test_help_says_what_holds_where_nothing_is_given(name, said) -> None:
    (row,) = (each for each in TABLE if each.name == name)
    assert options.default_of(row) == said
    ending = f" (default: {said})" if said else ""
    shown = f"do not {row.help}" if row.default is True else f"{row.help}{ending}"
    assert options.described(row) == shown


PARAMETERS = {each.name: each for named in CATALOGUE for each in named.parameters}
WRONG = (object(), "no such word", "", -1, 0, 2.5, float("nan"), 10**400, True, [], {}, [1, "x"])


@pytest.mark.parametrize(
    "each", [*TABLE, *RUN_OPTIONS, *PARAMETERS.values()], ids=lambda each: each.name
)
def test_a_wrong_value_of_any_option_is_refused_with_a_hint(each: options.Option) -> None:
    refused = []
    for value in WRONG:
        try:
            options.read([each], {each.name: value})
        except UsageError as error:
            refused.append(str(error))
    assert refused
    for said in refused:
        line, _, hint = said.partition("\nhint: ")
        assert each.name in line
        assert hint
        assert "\n" not in line + hint
