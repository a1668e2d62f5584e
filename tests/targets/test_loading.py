"""Targets are found by module or by file, and each way to miss is told."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.messages import require_line_and_hint

from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.targets import Kind, RandomStyle, Target, TargetError, TargetSpec
from dpcp_audit.targets.answers import DataForm, Randomness
from dpcp_audit.targets.loading import load
from dpcp_audit.words.results import SourceLocation

GOOD = """\
import numpy as np
from dataclasses import dataclass


@dataclass
class Box:
    value: float

    @staticmethod
    def quantile(scores, *, rng):
        return Box(float(np.max(scores))).value + rng.random()


def quantile(scores, *, rng):
    return Box.quantile(scores, rng=rng)


def _private(scores):
    return 1.0


LEVEL = 0.9
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refusal(target: str) -> str:
    with pytest.raises(TargetError) as caught:
        load(target)
    require_line_and_hint(str(caught.value))
    return str(caught.value)


@pytest.mark.parametrize("name", ["quantile", "Box.quantile"])
def test_a_function_of_a_file(folder, name) -> None:
    write(folder / "code" / "mine.py", GOOD)
    spec = TargetSpec(kind=Kind.QUANTILE, target=f"code/mine.py:{name}")
    target = spec.open()
    assert 1 <= target(np.array([1.0]), 1, rng=np.random.default_rng(0))[0] < 2
    assert target.name == f"code/mine.py:{name}"
    line = 14 if name == "quantile" else 9
    assert target.source == SourceLocation(file="code/mine.py", line=line)


def test_a_function_of_a_package_in_the_working_directory(folder) -> None:
    write(folder / "pkg_of_a_user" / "__init__.py", "")
    write(folder / "pkg_of_a_user" / "inner.py", GOOD)
    target = TargetSpec(kind=Kind.QUANTILE, target="pkg_of_a_user.inner:quantile").open()
    assert target.source == SourceLocation(file="pkg_of_a_user/inner.py", line=14)


def test_a_function_of_an_installed_module() -> None:
    assert load("numpy:quantile") is np.quantile


def test_a_file_finds_the_modules_beside_it_and_not_those_of_another(folder) -> None:
    for name in ("one", "two"):
        write(folder / name / "helper_of_a_user.py", f"NAME = {name!r}\n")
        write(
            folder / name / "mine.py",
            "from helper_of_a_user import NAME\ndef f(scores):\n    return NAME\n",
        )
    before = list(sys.path)
    loaded = [load(f"{name}/mine.py:f") for name in ("one", "two", "one")]
    assert [function(None) for function in loaded] == ["one", "two", "one"]
    assert sys.path == before
    load(f"{write(folder / 'three' / 'mine.py', GOOD)}:quantile")
    assert "helper_of_a_user" not in sys.modules


def test_a_file_does_not_take_the_name_of_a_module(folder) -> None:
    write(folder / "numpy.py", "def f(scores):\n    return 1.0\n")
    write(folder / "json.py", "def f(scores):\n    return 2.0\n")
    assert load("numpy.py:f")(None) == 1.0
    assert load("json.py:f")(None) == 2.0
    assert sys.modules["numpy"] is np


def test_a_specification_travels_and_is_opened_there(folder) -> None:
    write(folder / "mine.py", GOOD)
    spec = TargetSpec(kind=Kind.QUANTILE, target="mine.py:quantile")
    spec.open()
    script = (
        "import pickle, sys, numpy\n"
        "target = pickle.load(sys.stdin.buffer).open()\n"
        "print(target(numpy.ones(1), 1, rng=numpy.random.default_rng(0))[0] > 1)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        input=pickle.dumps(spec),
        capture_output=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert result.stdout == b"True\n"


def test_no_such_file(folder) -> None:
    message = refusal("absent.py:f")
    assert message.startswith("no file 'absent.py' is there\nhint: the path starts at ")
    assert str(folder) in message


def test_no_such_module(folder) -> None:
    message = refusal("absent_module:f")
    assert "no module 'absent_module' is installed or in " in message
    assert "path/to/file.py:function" in message
    assert "no module 'numpy.absent'" in refusal("numpy.absent:f")


def test_a_module_that_lacks_a_module_of_its_own(folder) -> None:
    write(folder / "lacks_another.py", "x = 1\nimport absent_module\n")
    for target in ("lacks_another:f", "lacks_another.py:f"):
        message = refusal(target)
        assert "ModuleNotFoundError: No module named 'absent_module' (line 2)" in message
        assert "lacks_another" in message


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("quantil", "mine.py has no function 'quantil'\nhint: did you mean 'quantile'?"),
        ("xyz", "has no function 'xyz'\nhint: it has dataclass, Box, quantile"),
        ("Box.quantil", "has no function 'quantil'\nhint: did you mean 'quantile'?"),
        ("LEVEL", "mine.py:LEVEL is no function, but of type float"),
        ("LEVEL.real.more", "has no function 'more'"),
        ("Box", "mine.py:Box is a class"),
    ],
)
def test_no_such_function(folder, name, words) -> None:
    write(folder / "mine.py", GOOD)
    assert words in refusal(f"mine.py:{name}")


def test_a_file_that_audits_itself_where_it_is_loaded(folder) -> None:
    load_itself = "from dpcp_audit.targets.loading import load\nload('own.py:f')\n"
    write(folder / "own.py", f"def f(scores): ...\n{load_itself}")
    assert "own.py audits itself while it is loaded; put that below if __name__" in refusal(
        "own.py:f"
    )


STARTS = """
import subprocess, sys

def f(scores): ...

def load(target):
    program = f"from dpcp_audit.targets.loading import load; load({target!r})"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stderr
"""


@pytest.mark.parametrize("target", ["starts.py:f", "starts:f"])
def test_code_that_starts_an_audit_of_itself_where_it_is_loaded(
    folder, target, monkeypatch
) -> None:
    """What it starts would start it again, without end; the fourth is planted as the last."""
    count = folder / "count"
    stop = f"""
from pathlib import Path
times = Path({str(count)!r})
with times.open("a") as file:
    file.write("x")
if len(times.read_text()) < 4:
    said = load({target!r})
"""
    write(folder / "starts.py", STARTS + stop)
    monkeypatch.syspath_prepend(str(folder))
    assert "audits itself while it is loaded\nhint: put" in load(target).__globals__["said"]
    assert count.read_text() == "x"
    assert "DPCP_AUDIT_LOADING" not in os.environ
    sys.modules.pop("starts", None)


def test_code_that_starts_an_audit_of_other_code_where_it_is_loaded(folder) -> None:
    write(folder / "other.py", GOOD)
    write(folder / "starts.py", STARTS + "said = load('other.py:quantile')\n")
    assert load("starts.py:f").__globals__["said"] == ""


def test_a_script_that_starts_an_audit_of_itself(folder) -> None:
    write(
        folder / "starts.py",
        STARTS + "if __name__ == '__main__':\n    print(load('starts.py:f'))\n",
    )
    ended = subprocess.run(
        [sys.executable, "starts.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:\n", "it raised SyntaxError: invalid syntax (line 1 of bad"),
        ("x = 1\ny = 1 / 0\n", "it raised ZeroDivisionError: division by zero (line 2)"),
        ("import sys\nsys.exit(2)\n", "it raised SystemExit: 2 (line 2)"),
        ("raise RuntimeError('a\\nb')\n", "it raised RuntimeError: a b (line 1)"),
    ],
)
def test_a_file_that_cannot_be_run(folder, text, words) -> None:
    write(folder / "bad.py", text)
    write(folder / "bad_module.py", text)
    before = set(sys.modules)
    assert words in refusal("bad.py:f")
    assert {name for name in set(sys.modules) - before if "bad" in name} == set()
    assert words.partition("it raised ")[2] in refusal("bad_module:f")


# The specification ---------------------------------------------------------------------------

CLAIM = {"pure-dp": [1.0]}
SPECS = [
    TargetSpec(kind=Kind.QUANTILE, target="mine.py:f"),
    TargetSpec(
        kind=Kind.CALIBRATOR,
        target="a.b:C.f",
        vectorised=True,
        randomness=RandomStyle.SEED,
        options={"epsilon": 1.0, "names": ["a"]},
    ),
    TargetSpec(kind=Kind.RANDOMIZER, command=("perl", "my rr.pl"), domain=4, call_seconds=3.0),
    TargetSpec(kind=Kind.QUANTILE, target="mine.py:f", bounds=(-1, 2), randomness=RandomStyle.NONE),
]


@pytest.mark.parametrize("spec", SPECS)
def test_a_specification_is_data(spec) -> None:
    data = json.loads(json.dumps(spec.as_data(), allow_nan=False))
    assert CheckSpec.from_data(data | CLAIM).target == spec
    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301


def test_every_field_of_a_specification_is_in_its_data() -> None:
    changed = {
        "kind": Kind.RANDOMIZER,
        "target": "m:f",
        "vectorised": True,
        "randomness": RandomStyle.NONE,
        "bounds": (0.0, 2.0),
        "domain": 3,
        "given_as": DataForm.LIST,
        "options": {"a": 1},
    }
    spec = TargetSpec(**changed)
    named = {name.replace("_", "-") for name in changed}
    assert set(spec.as_data()) == {*named, "call-seconds"}
    command = TargetSpec(kind=Kind.QUANTILE, command=("a", "b c"), call_seconds=2.0)
    assert command.as_data()["call-seconds"] == 2.0
    names = {field.name.replace("_", "-") for field in dataclasses.fields(TargetSpec)}
    assert names == set(spec.as_data()) | set(command.as_data())


def test_a_command_line_is_split_as_a_shell_would() -> None:
    data = {"kind": "quantile", "command": "Rscript 'my file.R' --fast"}
    assert CheckSpec.from_data(data | CLAIM).target.command == ("Rscript", "my file.R", "--fast")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "give either a target or a command, and not both"),
        ({"target": "m:f", "command": ("a",)}, "give either a target or a command"),
        ({"target": "mine.py"}, "target must be 'package.module:function' or .*, got 'mine.py'"),
        ({"target": "mine.py:"}, "target must be"),
        ({"target": "my-module:f"}, "target must be"),
        ({"target": "mine.txt:f x"}, "target must be"),
        ({"command": ("a", 3)}, "command must be a program and its arguments"),
        ({"command": ("a",), "vectorised": True}, "vectorised is said of functions"),
        (
            {"command": ("a",), "randomness": RandomStyle.GENERATOR},
            "randomness must be seed, global or none",
        ),
        ({"target": "m:f", "options": {"size": 3}}, "options must be keyword .*, got 'size'"),
        ({"target": "m:f", "options": {"a b": 3}}, "options must be keyword .*, got 'a b'"),
        ({"target": "m:f", "options": {"a": object()}}, "options must be plain data"),
        ({"target": "m:f", "call_seconds": 0}, "call_seconds must be finite and > 0, got 0"),
        (
            {"target": "m:f", "domain": 3},
            "domain only applies to a randomizer",
        ),
    ],
)
def test_a_specification_that_does_not_fit(settings, words) -> None:
    with pytest.raises(ValueError, match=words):
        TargetSpec(kind=Kind.QUANTILE, **settings)


def test_what_a_command_promises_of_its_randomness() -> None:
    def randomness(rng: RandomStyle | None) -> Randomness:
        return TargetSpec(kind=Kind.QUANTILE, command=("a",), randomness=rng).open().randomness

    assert randomness(None) is Randomness.EXTERNAL
    assert randomness(RandomStyle.GLOBAL) is Randomness.EXTERNAL
    assert randomness(RandomStyle.SEED) is Randomness.GENERATOR
    assert randomness(RandomStyle.NONE) is Randomness.NONE


def test_how_a_file_treats_floating_point_errors_holds_in_its_calls_alone(tmp_path) -> None:
    path = tmp_path / "strict.py"
    path.write_text(
        "import numpy as np\n"
        "np.seterr(under='raise')\n"
        "def smallest(scores, *, rng):\n"
        "    return np.float64(1e-200) * 1e-200\n"
    )
    before = np.geterr()
    function = load(f"{path}:smallest")
    assert np.geterr() == before
    target = Target.from_callable(function, kind=Kind.QUANTILE)
    with pytest.raises(TargetError, match="FloatingPointError"):
        target(np.array([0.5]), 1, rng=np.random.default_rng(0))
    assert np.geterr() == before
