"""Journals that somebody wrote by hand: digests that fit, and contents that do not."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from dpcp_audit.engine.journal import line_of, read
from dpcp_audit.faces.cli.main import main
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.errors import UsageError as JournalError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OTHERS: tuple[Any, ...] = (None, "x", [[]], {"x": 1})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The entries of a run of one claim."""
    path = tmp_path_factory.mktemp("run") / "run.ndjson"
    run = ["run", "--profile", "smoke", "--jobs", "1", "--only", "ldpcp.krr"]
    assert main([*run, "--journal", str(path)]) == 0
    return [json.loads(line)["entry"] for line in path.read_bytes().splitlines()]


def written(path: Path, entries: list[Any]) -> Path:
    path.write_bytes(b"".join(map(line_of, entries)))
    return path


def places(entry: Any, depth: int = 3) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of each part of an entry, from the outside."""
    inner = entry.items() if isinstance(entry, dict) else ()
    inner = enumerate(entry) if isinstance(entry, list) else inner
    for key, item in inner if depth else ():
        yield (key,)
        yield from ((key, *rest) for rest in places(item, depth - 1))


def replaced(entry: Any, place: tuple[str | int, ...], value: Any) -> Any:
    changed = copy.deepcopy(entry)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return changed


def test_entries_of_another_shape_are_refused_or_harmless(
    whole: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each part of each entry is replaced by each other kind of value: never an odd error.

    An outcome whose numbers alone are changed is believed: a digest is no signature.
    """
    path, ends = tmp_path / "run.ndjson", set()
    for number, entry in enumerate(whole):
        for place in places(entry):
            for value in OTHERS:
                forged = replaced(entry, place, value)
                written(path, [*whole[:number], forged, *whole[number + 1 :]])
                try:
                    read(path)
                except UsageError:
                    ends.add(2)
                    continue
                code = main(["run", "--jobs", "1", "--resume", str(path)])
                said = capsys.readouterr().err
                assert "unexpected" not in said, (place, value, said)
                assert code in {0, 2} or "refuted" in said, (place, value, said)
                ends.add(code)
    assert ends >= {0, 2}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (lambda head, finding: [head, finding, head, finding], "line 3 begins another run"),
        (lambda head, finding: [finding], "line 1 does not begin a run"),
        (lambda head, finding: [[head]], "line 1 does not begin a run"),
        (lambda head, finding: [head | {"format": 1}], "line 1 is of format 1, this tool reads 2"),
        (lambda head, finding: [head | {"ids": ["a", "a"]}], "line 1 names a claim twice"),
        (lambda head, finding: [head, {"kind": "x"}], "line 2 is neither a chunk nor a finding"),
        (
            lambda head, finding: [head, finding | {"seconds": "x"}],
            "line 2 cannot be read: seconds",
        ),
        (lambda head, finding: [head, finding | {"id": "x"}], "line 2 is of a claim that the run"),
        (lambda head, finding: [head, finding | {"outcome": None}], "line 2 must hold an outcome"),
    ],
)
def test_a_line_that_does_not_belong_is_named(
    entries: Any, message: str, whole: list[dict[str, Any]], tmp_path: Path
) -> None:
    path = written(tmp_path / "run.ndjson", entries(*whole))
    with pytest.raises(JournalError, match=message):
        read(path)


def test_a_digest_of_what_is_no_json_is_refused(
    whole: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpcp_audit.engine.journal.to_json", lambda _: "[" * 100_000)
    path = written(tmp_path / "run.ndjson", [whole[0], whole[0]])
    with pytest.raises(JournalError, match="line 1 is no JSON"):
        read(path)
