"""Journals that are damaged anywhere: whole lines are kept, and no others are believed."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.engine.journal import Journal, read
from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.tasks import CheckFinished
from dpcp_audit.engine.tasks import Done as ChunkFinished
from dpcp_audit.words.checks import Row
from dpcp_audit.words.errors import UsageError as JournalError
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Claim, Evidence, Finding, Outcome, Source, Verdict

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
