"""Split conformal prediction's theorem as an object: what it says, and its check."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from dpcp_audit import _validate
from dpcp_audit.computed import Computed
from dpcp_audit.parameters import ALPHA, N
from dpcp_audit.results import Source
from dpcp_audit.theorems.split_coverage import split_miscoverage
from dpcp_audit.theorems.statement import Statement

if TYPE_CHECKING:
    from dpcp_audit.data.populations import Population
    from dpcp_audit.results import PlainData


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCoverage:
    """Split conformal prediction covers 1−α on average."""

    about: ClassVar[Statement] = Statement(
        words=(
            "Sets calibrated by split conformal prediction cover at least 1−α, on average over "
            "calibration data and test point."
        ),
        formula="E[F(q̂)] ≥ 1−α",
        source=Source(paper="Vovk et al. (2005)", section="Split conformal prediction"),
        assumptions="exchangeable scores",
        bound="1−α, in units of coverage",
    )

    population: Population
    n: int = field(metadata=N)
    alpha: float = field(default=0.1, metadata=ALPHA)

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, at_least=1)
        _validate.open_unit(alpha=self.alpha)

    @property
    def says(self) -> Statement:
        """The statement."""
        return self.about

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return {"n": self.n, "alpha": self.alpha, "population": self.population.name}

    def check(self) -> Computed:
        """Return the check of the mean coverage, without sampling."""
        return Computed(partial(split_miscoverage, self.population, n=self.n, alpha=self.alpha))
