"""Suites of other packages: found by their entry points, run like any other, refused by name."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import cloudpickle
import pytest
from support import packages

from dpcp_audit.engine import runner as backends
from dpcp_audit.engine import suites
from dpcp_audit.engine import tasks as encoding
from dpcp_audit.engine.run_settings import environment
from dpcp_audit.engine.runner import work_remotely
from dpcp_audit.engine.tasks import Task
from dpcp_audit.engine.worker_pool import Limits
from dpcp_audit.faces.cli.main import main
from dpcp_audit.words.checks import Context
from dpcp_audit.words.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUN = ["run", "--suite", "geometric", "--profile", "smoke", "--jobs", "2"]
VERDICTS = {
    "geometric.exact": "CONSISTENT",
    "geometric.sampled": "CONSISTENT",
    "geometric.sensitivity-1": "REFUTED",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder on the path, with nothing in it."""
    packages.use(tmp_path, monkeypatch)
    yield tmp_path
    sys.modules.pop("geometric_response", None)
    backends._cells(Limits(), apart=False).stop()
    backends._cells.cache_clear()
    packages.clear()


@pytest.fixture
def example(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder on the path, with the example package in it."""
    packages.install_example(folder, monkeypatch)
    return folder


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.usefixtures("example")
def test_a_third_party_suite_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--suites"]) == 0
    _head, *lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == [*suites.built_in(), "geometric"]
    assert lines[-1][1] == "geometric-response"
    assert lines[0][1] == "dpcp-audit"
    assert main(["list", "--suite", "geometric"]) == 0
    _head, *claims = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in claims] == list(VERDICTS)


def test_a_third_party_suite_runs_in_worker_processes_and_replays(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sampled verdict is another with probability about 1e-3; the seed is fixed."""
    results = example / "results.json"
    assert main([*RUN, "--report", f"json={results}"]) == 0
    found = document(results)
    assert found["suite"] == "geometric"
    assert found["libraries"]["geometric-response"] == "1.0.0"
    assert {each["id"]: each["verdict"] for each in found["findings"]} == VERDICTS
    assert main(["replay", "geometric.sampled", str(results)]) == 0
    assert "reproduced" in capsys.readouterr().out


def test_a_journal_is_resumed_with_the_same_code_alone(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = example / "run.journal"
    assert main([*RUN, "--only", "geometric.exact", "--journal", str(journal)]) == 0
    assert main(["run", "--resume", str(journal)]) == 0
    assert "1 checks finished" in capsys.readouterr().err
    with (example / "geometric_response.py").open("a", encoding="utf-8") as code:
        code.write("# another edition\n")
    packages.clear()
    assert main(["run", "--resume", str(journal)]) == 2
    assert "other versions: code of geometric-response" in capsys.readouterr().err


def test_the_environment_names_the_package_of_the_suite_alone(example: Path) -> None:
    added = set(environment("geometric")) - set(environment())
    assert added == {"geometric-response", "code of geometric-response"}
    assert environment("not-installed") == environment("targets")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("absent_module:SUITE", "cannot be imported: ModuleNotFoundError: No module named"),
        ("broken:SUITE", "cannot be imported: ZeroDivisionError: division by zero"),
        ("json:dumps", "must be a dpcp_audit.words.checks.Suite, got function"),
        ("json:absent", "cannot be imported: AttributeError"),
        ("ends:SUITE", "cannot be imported: SystemExit: 0"),
    ],
)
def test_a_broken_entry_point_is_a_usage_error_that_names_the_package(
    folder: Path, place: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.py").write_text("SUITE = 1 / 0\n", encoding="utf-8")
    (folder / "ends.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    packages.register(folder, "mine-and-broken", mine=place)
    packages.clear()
    assert main(["run", "--suite", "mine"]) == 2
    error = capsys.readouterr().err
    assert "the package mine-and-broken" in error
    assert said in error
    assert main(["list", "--suites"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(suites.built_in()) + 1
    assert " ".join(lines[-1].split()).startswith("mine mine-and-broken cannot be used: ")
    assert said in lines[-1]


def test_a_name_that_two_packages_register_is_refused_where_it_is_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("first-one", "second-one"):
        packages.register(folder, package, mine="geometric_response:SUITE")
    packages.clear()
    with pytest.raises(
        UsageError, match="registered by first-one and second-one\nhint: uninstall one"
    ):
        suites.find("mine")
    assert suites.find("zoo").scaled
    assert main(["list", "--suites"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert " ".join(last.split()).startswith("mine first-one and second-one cannot be used: ")


@pytest.mark.parametrize("name", ["papers", "targets"])
def test_a_built_in_name_is_nobody_elses(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    packages.register(folder, "rival", **{name: "absent_module:SUITE"})
    packages.clear()
    assert suites.entry_of(name).value == suites.built_in()[name].value
    assert environment(name) == environment("zoo" if name == "papers" else "traces")
    assert main(["list", "--suites"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(suites.built_in()) + 1
    assert " ".join(lines[-1].split()).startswith(f"{name} rival ignored: ")


def test_a_summary_is_listed_on_one_line_that_moves_no_cursor(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "from dpcp_audit.words.checks import Suite\n"
    code += r'SUITE = Suite(summary="one\n\x1b[2Jtwo", rows=tuple)'
    (folder / "steers.py").write_text(code, encoding="utf-8")
    packages.register(folder, "mine-and-broken", mine="steers:SUITE")
    packages.clear()
    assert main(["list", "--suites"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split() == ["mine", "mine-and-broken", "one", "\\x1b[2Jtwo"]


def test_an_unknown_suite_is_refused_with_those_that_there_are(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--suite", "geometry"]) == 2
    error = capsys.readouterr().err
    assert "'geometry'" in error
    assert "estimates, geometric, got" in error


def test_what_a_suite_does_not_take_is_refused(example: Path) -> None:
    with pytest.raises(UsageError, match="suite geometric takes no pools; comparison, "):
        suites.suite("geometric", pools=("mine.npz",))


def test_ids_of_a_third_party_suite_are_unique(folder: Path) -> None:
    code = (packages.EXAMPLE / "geometric_response.py").read_text(encoding="utf-8")
    repeated = code.replace('"geometric.sampled"', '"geometric.exact"')
    assert repeated != code
    (folder / "geometric_response.py").write_text(repeated, encoding="utf-8")
    packages.register(folder, "repeats", repeated="geometric_response:SUITE")
    packages.clear()
    with pytest.raises(UsageError, match="package repeats: ids must be unique"):
        suites.suite("repeated")


def task() -> Task:
    row = suites.row_of("geometric.exact", "geometric")
    context = Context(seed=0, name=row.claim.id, significance=1e-3)
    return Task(check=cloudpickle.dumps(row.check), context=context)


@pytest.mark.usefixtures("example")
def test_a_clusters_worker_runs_it_in_a_process_of_its_own() -> None:
    expected = environment("geometric")
    done = work_remotely(task(), limits=Limits(), suite="geometric", expected=expected)
    assert done is not None
    assert not done.error
    assert encoding.decode(done.data).verdict == "CONSISTENT"


@pytest.mark.usefixtures("example")
def test_a_clusters_worker_with_another_edition_is_refused() -> None:
    expected = environment("geometric") | {"geometric-response": "0.9"}
    with pytest.raises(RuntimeError, match=r"geometric-response 1\.0\.0 there, 0\.9 here"):
        work_remotely(task(), limits=Limits(), suite="geometric", expected=expected)
