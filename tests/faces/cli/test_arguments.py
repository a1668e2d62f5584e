"""Times and sizes as they are written on a command line."""

from __future__ import annotations

import argparse

import pytest

from dpcp_audit.faces.cli import arguments


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("60s", 60), ("1.5m", 90), ("2h", 7200), ("0.5 s", 0.5)]
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert arguments.duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"), [("500MiB", 500 * 2**20), ("2GiB", 2**31), ("1.5kB", 1500), ("2 GB", 2e9)]
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert arguments.memory(text) == size


@pytest.mark.parametrize("text", ["999999999999999999GiB", "1e300GiB", "8589934592GiB", "0GiB"])
def test_sizes_that_no_system_can_limit_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="below 8 EiB, such as 500MiB or 2GiB"):
        arguments.memory(text)
