"""Targets that print: a run is not buried, and streams are left as they were."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.targets import Kind, Target

if TYPE_CHECKING:
    from collections.abc import Callable

SCORES = np.array([0.25, 0.75])


def outputs(function: Callable[..., float], size: int) -> np.ndarray:
    with Target.from_callable(function, kind=Kind.QUANTILE) as target:
        first = target(SCORES, size // 2, rng=np.random.default_rng(1))
        return np.concatenate([first, target(SCORES, size // 2, rng=np.random.default_rng(2))])


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("end", ["\n", "\r", ""])
def test_the_beginning_passes_and_the_rest_is_named_once(
    stream: str, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"calibrating{end}"

    def chatty(scores: np.ndarray) -> float:
        print("calibrating", end=end, file=getattr(sys, stream))
        return float(scores[0])

    assert outputs(chatty, 1000).tolist() == [0.25] * 1000
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert shown.startswith((text * 1000)[:2000])
    assert shown[2000:] == "\n(more that the code under audit prints is not shown)\n"


def test_what_is_short_passes_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    def says(scores: np.ndarray) -> float:
        sys.stdout.writelines(["one", "; "])
        sys.stdout.flush()
        return float(scores[0])

    outputs(says, 4)
    assert capsys.readouterr().out == "one; " * 4


def test_stdout_and_the_log_share_what_may_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    handler = logging.lastResort
    assert handler is not None

    def logs(scores: np.ndarray) -> float:
        sys.stdout.write("text of two\nlines\n")
        handler.emit(logging.LogRecord("mine", 30, "mine.py", 1, "take care", None, None))
        return float(scores[0])

    outputs(logs, 1000)
    captured = capsys.readouterr()
    assert "take care" in captured.err
    assert 2000 < len(captured.out + captured.err) < 2100


def test_a_stream_is_still_what_it_was() -> None:
    def looks(scores: np.ndarray) -> float:
        sys.stdout.isatty()
        return float(scores[0]) if sys.stdout.encoding else 0.0

    assert outputs(looks, 2).tolist() == [0.25] * 2


def test_streams_are_put_back() -> None:
    before = sys.stdout, sys.stderr

    def takes_them(scores: np.ndarray) -> float:
        sys.stdout = sys.stderr = None
        return float(scores[0])

    outputs(takes_them, 4)
    assert (sys.stdout, sys.stderr) == before


def test_streams_are_put_back_where_code_raises() -> None:
    before = sys.stdout, sys.stderr

    def raises(scores: np.ndarray) -> float:
        raise RuntimeError(scores[0])

    with pytest.raises(ValueError, match="raised RuntimeError"):
        outputs(raises, 4)
    assert (sys.stdout, sys.stderr) == before


def test_no_stream_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert outputs(lambda scores: float(scores[0] if sys.stdout is None else 0), 2).min() == 0.25
