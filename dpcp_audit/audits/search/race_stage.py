"""The stages of a search: in each a pair of neighbours is judged on fresh outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.audits.search.moment_test import MomentTest
from dpcp_audit.audits.search.pilot_hypotheses import EventTest
from dpcp_audit.figures import Figure, FigureKind, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.certificates import Judgement
    from dpcp_audit.audits.search.features import Feature
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.audits.search.pilot_hypotheses import PairTest


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A pair and the test chosen for it, judged on fresh outputs of its own.

    Parameters
    ----------
    pilot, fresh : tuple of ndarray
        Outputs of either input: those known before, and those that it is judged on.
    """

    number: int
    candidate: Candidate
    pair_test: PairTest
    judgement: Judgement
    size: int
    spent: int
    significance: float
    pilot: tuple[FloatArray, FloatArray]
    fresh: tuple[FloatArray, FloatArray]

    @property
    def feature(self) -> Feature | None:
        """The number of an output that the test looks at, where it is a single one."""
        if isinstance(self.pair_test, EventTest):
            return self.pair_test.event.feature
        return self.pair_test.feature if isinstance(self.pair_test, MomentTest) else None


def halves(total: int, stages: int, growth: int = 2) -> Iterator[int]:
    """Yield budgets that double, or grow more, from stage to stage and sum to at most ``total``."""
    first = total * (growth - 1) / (growth**stages - 1)
    for stage in range(stages):
        yield int(first * growth**stage)


def figure_of(stages: list[Stage]) -> Figure:
    """Return the certified loss of each stage beside the claim."""
    evidence = stages[-1].judgement.evidence
    name, claimed = evidence.quantity.unit, evidence.claimed or 0.0
    spent = [float(stage.spent) for stage in stages]
    losses = [stage.judgement.evidence.lower for stage in stages]
    x = spent if len(spent) > 1 else [0.0, *spent]
    return Figure(
        kind=FigureKind.LINES,
        title=f"Certified {name} by stage",
        x_label="outputs drawn",
        y_label=name,
        series=[
            Series(name=f"certified {name}", x=x, y=losses if len(spent) > 1 else [0.0, *losses]),
            Series(name="claimed", x=[x[0], x[-1]], y=[claimed, claimed]),
        ],
        description=(
            f"The lower bound of {name} that each stage certifies ends at {losses[-1]:.4g} after "
            f"{stages[-1].spent} outputs; claimed is {claimed:.4g}."
        ),
    )
