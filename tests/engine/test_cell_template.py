"""``dpcp_audit.engine.cell_template``: cells begin clean, although they are forked."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.unruly import doing
from support.waiting import PATIENCE

from dpcp_audit.engine import cell_template
from dpcp_audit.engine.runner import Engine, hire
from dpcp_audit.engine.tasks import Done, Task, pickled
from dpcp_audit.engine.worker_pool import Limits, WorkerProcess
from dpcp_audit.words.checks import Context

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not cell_template.FORKS, reason="processes are not forked here")


def answer(what: Callable[[], Any]) -> Any:
    """Return what a function returns in a cell of its own."""
    with closing(WorkerProcess()) as cell:
        return data(cell.run(named("a", what), Limits(seconds=PATIENCE)))


def named(name: str, what: Callable[[], Any]) -> Task:
    context = Context(seed=0, name=name, significance=1e-3)
    return Task(check=pickled(lambda _context: what()), context=context)


def data(done: Done | None) -> Any:
    assert done is not None
    assert not done.error, done.error
    return done.data


def parent_of_a_cell() -> int:
    return int(answer(os.getppid))


def drawn_of_numpy() -> float:
    return float(np.random.random())  # noqa: NPY002


def drawn_of_python() -> float:
    return random.random()  # noqa: S311


@pytest.mark.parametrize("draw", [drawn_of_numpy, drawn_of_python])
def test_no_two_cells_draw_alike(draw) -> None:
    """Of global states, which code under audit may draw from, a fork would be a copy."""
    assert len({answer(draw) for _ in range(3)}) == 3


def test_a_cell_sees_the_circumstances_of_its_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answer(os.getpid)  # the template is there already
    monkeypatch.setenv("DPCP_AUDIT_SEEN", "yes")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert answer(lambda: os.environ.get("DPCP_AUDIT_SEEN")) == "yes"
    assert answer(lambda: str(tmp_path) in sys.path)
    assert answer(os.getcwd) == str(tmp_path)


def test_a_cell_holds_no_pipe_of_another() -> None:
    """What it has open beyond stdin, stdout and stderr are its two pipes to the run."""

    def pipes() -> int:
        open_ones = [each for each in Path("/proc/self/fd").iterdir() if each.exists()]
        names = {str(each.readlink()) for each in open_ones}
        return sum(name.startswith(("pipe", "socket")) for name in names)

    with closing(WorkerProcess()) as other:
        other.run(doing(os.getpid), Limits())
        assert answer(pipes) == 3


def test_the_process_of_others_is_not_forked() -> None:
    cell_template.prepare()
    assert parent_of_a_cell() != os.getpid()


@pytest.mark.parametrize(("suite", "kept"), [("targets", False), ("papers", True)])
def test_a_target_leaves_nothing_to_the_next_check(suite, kept) -> None:
    """Of the papers' own checks a cell keeps what they cache; its chunks share a cell anyway."""

    def remembered() -> bool:
        found = hasattr(np, "_dpcp_audit_planted")
        np._dpcp_audit_planted = True  # type: ignore[attr-defined]
        return found

    crew = hire(Engine(), Limits(seconds=PATIENCE), suite)
    try:
        tasks = [named(name, remembered) for name in ("a", "a", "b")]
        assert [data(done) for done in crew.results(tasks)] == [False, True, kept]
    finally:
        crew.stop()


NESTED = """
import dpcp_audit as dp

SMALL = {"suite": "papers", "only": "ldpcp.krr", "profile": "smoke", "jobs": 1}
found = []

def f(scores, *, rng):
    found or found.append(dp.run(**SMALL))
    return float(sorted(scores)[-1] + rng.laplace())
"""


def test_code_under_audit_may_run_a_suite_of_its_own(tmp_path: Path) -> None:
    """Its cell was forked while the template was made, and has a template of its own."""
    (tmp_path / "nested.py").write_text(NESTED, encoding="utf-8")
    claimed = ["--kind", "quantile", "--pure-dp", "1", "--n", "5", "--draws", "700"]
    ended = subprocess.run(
        [sys.executable, "-m", "dpcp_audit", "check", "nested.py:f", *claimed],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,  # it used to wait for ever
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "nested.py:f[puredp:epsilon=1]: INCONCLUSIVE" in ended.stderr


def test_a_fork_leaves_the_template_to_its_parent() -> None:
    before = parent_of_a_cell()
    child = os.fork()
    if child == 0:
        os._exit(len(cell_template._templates))
    assert os.waitpid(child, 0)[1] == 0
    assert parent_of_a_cell() == before
