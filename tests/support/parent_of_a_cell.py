"""A program whose cell never comes to an end; it prints the cell's number first."""

from __future__ import annotations

from support import unruly

from dpcp_audit.engine.worker_pool import Cells, Limits


def main() -> None:
    """Start a cell, say which process it is, and wait for what never ends."""
    crew = Cells(Limits())
    done = crew.run(unruly.doing(unruly.harmless))
    assert done is not None
    print(unruly.process_of(done), flush=True)  # noqa: T201
    crew.run(unruly.doing(unruly.hangs_in_c))
