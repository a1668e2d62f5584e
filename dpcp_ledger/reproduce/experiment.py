"""An experiment of a paper: what it needs and how its cells are had."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpcp_ledger.reproduce.table_cells import Form, Reproduction, TableCell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcp_audit.extensions.laws import ProbabilityPool
    from dpcp_ledger.reproduce.simulation_study import Demand, Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What an experiment computes its cells from.

    Parameters
    ----------
    measured : mapping
        The simulation study's trials, by demand.
    seed : int
        The run's seed.
    pools : tuple of callable
        Real scores, for experiments in kind.
    trials : int
        Trials of an experiment in kind.
    """

    seed: int
    trials: int
    pools: tuple[Callable[[], ProbabilityPool], ...]
    measured: Mapping[Demand, Measured] = field(default_factory=dict["Demand", "Measured"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A table or a figure of a paper.

    Parameters
    ----------
    demands : tuple of Demand
        What it needs of the simulation study.
    compute : callable
        From the inputs to the cells, in the paper's order.
    compared : tuple of Form
        What its printed numbers are compared with; empty where none are printed.
    notes : tuple of str
        What a reader must know to read the numbers.
    """

    id: str
    title: str
    source: str
    compute: Callable[[Inputs], list[TableCell]]
    demands: tuple[Demand, ...] = ()
    compared: tuple[Form, ...] = ()
    notes: tuple[str, ...] = ()

    def reproduce(self, inputs: Inputs) -> Reproduction:
        """Compute the cells."""
        return Reproduction(
            id=self.id,
            title=self.title,
            source=self.source,
            cells=tuple(self.compute(inputs)),
            notes=self.notes,
        )
