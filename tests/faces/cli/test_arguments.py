"""Sizes and negative numbers as they are written on a command line."""

from __future__ import annotations

import argparse

import pytest

from dpcp_audit.faces.cli import arguments
from dpcp_audit.faces.cli.main import HintingParser


@pytest.mark.parametrize(
    ("text", "size"), [("500MiB", 500 * 2**20), ("2GiB", 2**31), ("1.5kB", 1500), ("2 GB", 2e9)]
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert arguments.memory(text) == size


@pytest.mark.parametrize("text", ["999999999999999999GiB", "1e300GiB", "8589934592GiB", "0GiB"])
def test_sizes_that_no_system_can_limit_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="below 8 EiB, such as 500MiB or 2GiB"):
        arguments.memory(text)


@pytest.mark.parametrize("low", ["-1", "-1.5", "-1e-3", "-1E+3", "-.5"])
def test_a_negative_number_is_no_option(low: str) -> None:
    parser = HintingParser()
    parser.add_argument("--bounds", nargs=2, type=float)
    assert parser.parse_args(["--bounds", low, "1"]).bounds == [float(low), 1.0]
    with pytest.raises(SystemExit):
        parser.parse_args(["--bounds", "-x", "1"])
