"""The studies of the page, in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.performance import figures, long_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.performance.measured_number import Measured

STUDIES: dict[str, Callable[[], Iterator[Measured]]] = {
    "starts": figures.starts,
    "proved": figures.proved,
    "pytest": long_figures.pytest_quantile,
    "trials": figures.trials,
    "laws": figures.laws,
    "labels": figures.labels,
    "chunks": figures.chunks,
    "suites": figures.suites,
    "workers": long_figures.workers,
    "training": long_figures.training,
    "tables": long_figures.tables,
    "canaries": long_figures.white_box,
    "peers": long_figures.peers,
}
LONG = frozenset({"workers", "training", "tables", "canaries"})
"""Those of minutes, which run where ``--only`` names them."""
