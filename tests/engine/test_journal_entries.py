"""Journals that somebody wrote by hand: digests that fit, and contents that do not."""

from __future__ import annotations

import contextlib
import copy
import json
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.engine.journal import Journal, line_of, read
from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.tasks import CheckFinished
from dpcp_audit.engine.tasks import Done as ChunkFinished
from dpcp_audit.faces.cli.main import main
from dpcp_audit.words.checks import Row
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.errors import UsageError as JournalError
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Claim, Evidence, Finding, Outcome, Source, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator


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


CLAIM = Claim(id="a", statement="ε\n\u2028", source=Source(paper="P", section="1"), expected=None)
OUTCOME = Outcome(
    verdict=Verdict.PROVED, evidence=Evidence.exact(Quantity.VALUE, float("inf"), detail="x\n")
)


@cache
def journal() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ndjson"
        rows = [Row(claim=replace(CLAIM, id=id_), check=Computed(lambda: OUTCOME)) for id_ in "ab"]
        with Journal.create(path, rows, RunSettings()) as writing:
            for index in range(3):
                data = {"x": index / 3}
                writing.record(ChunkFinished(id="b", index=index, chunks=9, data=data, seconds=0.1))
                finding = Finding(claim=CLAIM, outcome=OUTCOME, error="é\n", seconds=0.1)
                writing.record(CheckFinished(finding=finding))
        return path.read_bytes()


def entries(content: bytes) -> tuple[list[object], bool] | None:
    """Return what a journal of this content holds, and whether it is torn; None if refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ndjson"
        path.write_bytes(content)
        with contextlib.suppress(JournalError):
            recorded = read(path)
            assert content[: recorded.size].endswith(b"\n")
            return list(recorded.entries), recorded.torn
    return None


@given(st.data())
def test_a_byte_that_changed_is_never_believed(data: st.DataObject) -> None:
    """The journal is refused, or ends before the damage where that is in its last line."""
    content = journal()
    whole = entries(content)
    assert whole is not None
    place = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[place]))
    damaged = content[:place] + bytes([byte]) + content[place + 1 :]
    last = content.rindex(b"\n", 0, -1) + 1
    expected = (whole[0][:-1], True) if place >= last else None
    if place >= last and byte == ord("\n"):  # a line more, of which the first is not the last
        expected = None
    found = entries(damaged)
    assert found == expected or (place == last - 1 and found == (whole[0][:-2], True))
