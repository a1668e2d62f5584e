"""Targets that are programs: a script that answers requests, and what it draws or refuses."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.messages import require_line_and_hint
from support.waiting import PATIENCE

from dpcp_audit.targets import (
    Kind,
    Target,
    TargetError,
    TargetSpec,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


SCORES = np.array([0.75, 0.25, 0.5])
HEAD = """\
import json, os, signal, subprocess, sys, time
def send(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()
def reply(request, values):
    send(json.dumps({"id": request["id"], "values": values}))
for line in sys.stdin:
    r = json.loads(line)
"""


def opened_programs(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    """Open targets whose program does so on each request ``r``; end them with the test."""
    opened: list[Target] = []

    def make(
        body: str, *, kind: Kind = Kind.QUANTILE, seconds: float = PATIENCE, **settings: Any
    ) -> Target:
        path = tmp_path / f"program_{len(opened)}.py"
        text = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
        path.write_text(text, encoding="utf-8")
        command = (sys.executable, "-I", "-S", str(path))
        spec = TargetSpec(kind=kind, command=command, call_seconds=seconds, **settings)
        opened.append(spec.open())
        return opened[-1]

    yield make
    for target in opened:
        target.close()


def drawn(target: Target, value=SCORES, size=3, seed=0) -> np.ndarray:
    return target(value, size, rng=np.random.default_rng(seed))


def refusal(target: Target, error: type[TargetError], size: int = 3) -> str:
    with pytest.raises(error) as caught:
        drawn(target, size=size)
    message = str(caught.value)
    require_line_and_hint(message)
    assert message.endswith(f"asked for {size} draws in request 1") or "request 1" not in message
    assert target.name in message
    return message
