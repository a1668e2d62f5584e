"""What is shown of a canary audit: the bounds in words, as a table and over the number of runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.assumptions import Assumption
from dpcp_audit.audits.estimates.attack_loss import from_below
from dpcp_audit.figures import Figure, FigureKind, Series
from dpcp_audit.outcome_tables import Table, TableColumn
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.audits.training.one_run import Guesses

_USUAL = 0.95
_NONE_WHERE_FALSE = (
    "A bound that assumes something is none where that is false, and refutes nothing here."
)
_NO_UPPER_END = "canaries of one run may depend on each other, and better attacks may show more"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBounds:
    """Certified lower bounds of ε(δ), beside the accounted ε.

    Parameters
    ----------
    accounted, delta : float
        The claim.
    runs, canaries : int
        Trainings, and canaries of each.
    strict : float
        The bound without assumptions, at the confidence of the check.
    bounds : mapping
        The bounds at 95 % confidence, by what they take for granted.
    """

    accounted: float
    delta: float
    runs: int
    canaries: int
    strict: float
    bounds: Mapping[Assumption, float]

    def note(self, guesses: Guesses) -> str:
        """Return the bounds in words, with how many of the guesses are right."""
        usual, family = (self._of(self.bounds[a]) for a in (Assumption.NONE, Assumption.TRADE_OFF))
        return (
            f"Accounted: ε = {self.accounted:.4g}. Certified without any assumption about the "
            f"mechanism: {usual} at 95 % confidence, "
            f"{self._of(self.strict)} at the confidence of this check; among trainings that "
            "differ in the noise alone, by the claim's trade-off: "
            f"{family} at 95 %. "
            f"{self.runs} {'run' if self.runs == 1 else 'runs'} of {self.canaries} "
            f"{'canary' if self.canaries == 1 else 'canaries'}; of the {guesses.guesses} "
            f"that look most like members, {guesses.correct / guesses.guesses:.1%} are."
        )

    def _of(self, bound: float) -> str:
        return f"ε ≥ {bound:.3g} ({bound / self.accounted:.2f} of it)"

    def table(self) -> Table:
        """Return the bounds, by what is assumed."""
        bounds = list(self.bounds.values())
        shares = [bound / self.accounted for bound in bounds]
        return Table(
            title=f"Certified ε at δ = {self.delta:g} and 95 % confidence, by what is assumed",
            columns=[
                TableColumn(name="assumption", texts=[str(assumed) for assumed in self.bounds]),
                TableColumn(
                    name="ε at least", texts=[f"{bound:.3g}" for bound in bounds], values=bounds
                ),
                TableColumn(
                    name="share of the accounted",
                    texts=[f"{share:.2f}" for share in shares],
                    values=shares,
                ),
            ],
            notes=[_NONE_WHERE_FALSE],
        )

    def estimate(self) -> Estimate:
        """Return ε(δ) as it is certified at 95 %, whatever the mechanism."""
        bound = self.bounds[Assumption.NONE]
        certified = Estimate(
            quantity=Quantity.EPSILON,
            value=bound,
            lower=bound,
            upper=math.inf,
            confidence=_USUAL,
            at={"delta": self.delta},
        )
        return from_below(certified, why=_NO_UPPER_END)

    def figure(self, points: Sequence[tuple[int, float, float]]) -> Figure:
        """Return the bounds over the number of runs, or of the canaries of a single one.

        Parameters
        ----------
        points : sequence of tuple
            Runs or canaries, our bound and the binomial theorem's.
        """
        x = [float(point[0]) for point in points]
        label = "canaries in the run" if self.runs == 1 else "runs"
        names = ("certified, any mechanism", "Steinke, Nasr and Jagielski (2023)")
        accounted = [self.accounted] * 2
        return Figure(
            kind=FigureKind.LINES,
            title=f"Certified ε at δ = {self.delta:g} and 95 % confidence",
            x_label=label,
            y_label="ε",
            log_x=True,
            series=[
                Series(name="accounted", x=[x[0], x[-1]], y=accounted),
                *(
                    Series(name=name, x=x, y=[point[k] for point in points])
                    for k, name in enumerate(names, start=1)
                ),
            ],
            description=f"Lower bounds of ε over the number of {label}, against the accounted ε.",
        )
