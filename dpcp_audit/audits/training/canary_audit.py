"""The canary audit: games in chunks, judged by two certificates at half of the level each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.loss_bracket import from_below
from dpcp_audit.audits.training.canary_games import (
    MOST_GUESSES,
    Guesses,
    RunBets,
    beginnings,
    blocks,
    epsilon_lower_bound,
    foreseen,
    grouped,
    guessed,
    ranked,
    ranked_of,
    refutes,
    total,
    trade_off_bound,
)
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Sampled, whole
from dpcp_audit.words.evidence import conclude, of_loss
from dpcp_audit.words.guarantees import Relation
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import (
    Assumption,
    Estimate,
    Evidence,
    Figure,
    FigureKind,
    Outcome,
    PlainData,
    Power,
    Series,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.audits.training.canary_games import Game, GameResults
    from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
    from dpcp_audit.words.checks import Context


_FEWEST_BETS = 500
_PILOT = 5
_USUAL = 0.05
_POINTS = 6
_CHUNKS_OF_TWINS = 8
"""Chunks whose runs without noise are played together: side by side they take less time."""
_NO_UPPER_END = "canaries of one run may depend on each other, and better attacks may show more"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryAudit(Sampled):
    """Test the guarantee of a training against canaries in it.

    Either statistic may refute. The evidence is the bound of ε(δ); where only the region refutes,
    which says nothing at this δ, it is the region's p-value. For every eight chunks a few runs
    without noise are played too. They give the power: what as large a share of right guesses as
    theirs, at its 5 % quantile, would have certified, if it would have refuted.

    :Null hypothesis: The claim of the training, under add/remove: a subsampled Gaussian mechanism
        with its power curve; and (ε, δ)-DP at the ε that is accounted.
    :Statistic: Two, each with half of the significance: the number of right guesses of canaries,
        against the region that the claim's curve allows; and a lower bound of ε(δ) that assumes
        nothing about the mechanism. From 500 runs on, bets on independent runs give this bound;
        with fewer runs, the guesses do.
    :Level: At most the significance, by a union bound, however the canaries of a run depend on one
        another.
    :Power: The ε that the same training without its noise would have been certified to lose; some
        runs without noise measure it.
    :Reference: Mahloujifar, Melis and Chaudhuri (2024), Theorem 9; Waudby-Smith and Ramdas (2024),
        for the bets.

    Parameters
    ----------
    game : Game
        The trainings and the attacker.
    claim : SubsampledGaussian
        The training's claim, under ADD_REMOVE.
    delta : float
        δ in (0, 1).
    runs : int
        Number of trainings at effort 1. A single run stays a single one at any effort.
    side_by_side : int
        Runs of a chunk.
    claim_share, epsilon_share : float
        Shares of the canaries that are guessed "in", against the claim and against (ε, δ)-DP;
        fewer where they would be more than 10,000 in all.
    witness : dict
        The game's description, as plain data.
    """

    game: Game
    claim: SubsampledGaussian
    delta: float = 1e-5
    runs: int = 1
    side_by_side: int = 64
    claim_share: float = 0.1
    epsilon_share: float = 0.02
    witness: PlainData = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        _validate.open_unit(
            delta=self.delta, claim_share=self.claim_share, epsilon_share=self.epsilon_share
        )
        _validate.integer(runs=self.runs, side_by_side=self.side_by_side, at_least=1)
        if self.claim.relation is not Relation.ADD_REMOVE:
            raise ValueError(
                f"claim must hold under add/remove, which canaries play, got {self.claim.relation}"
            )

    def __call__(self, context: Context) -> Outcome:
        """Play all games and judge them."""
        return whole(self, context)

    def chunks(self, context: Context) -> int:
        """Return the number of groups of runs."""
        return math.ceil(self._runs(context) / self.side_by_side)

    def chunk(self, context: Context, index: int) -> PlainData:
        """Play a group of runs, side by side."""
        runs = min(self.side_by_side, self._runs(context) - index * self.side_by_side)
        rng = context.rng(index)
        played = self.game.play(runs, rng=rng)
        bare = self._noiseless(context, index, rng)
        canaries = self._runs(context) * self.game.canaries
        share = min(self.claim_share, MOST_GUESSES / canaries)
        result: PlainData = {
            "claim": [guessed(part, share) for part in blocks(played)],
            "noiseless": [guessed(part, share) for part in bare],
            "epsilon": [
                guessed(part, min(self.epsilon_share, MOST_GUESSES / canaries))
                for part in (blocks(played) if self.runs > 1 else beginnings(played, _POINTS))
            ],
        }
        if self._bets(context):
            best = ranked(played)
            result["scores"] = np.round(best.scores, 3).tolist()
            result["members"] = best.members.astype(int).tolist()
        return result

    def _noiseless(
        self, context: Context, index: int, rng: np.random.Generator
    ) -> list[GameResults]:
        """Play what eight chunks need of runs without noise, in the first of them."""
        if index % _CHUNKS_OF_TWINS:
            return []
        left = self._runs(context) - index * self.side_by_side
        runs = min(_CHUNKS_OF_TWINS * self.side_by_side, left)
        return blocks(self.game.play_noiseless(runs, rng=rng))

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:
        """Judge all runs."""
        accounted = self.claim.epsilon_at(self.delta)
        groups = grouped([part for result in results for part in result["claim"]])
        half = context.significance / 2
        strict, by_claim = self.certificates(context, results)
        usual = self._bound(context, results, significance=_USUAL)
        evidence = of_loss(
            Quantity.EPSILON,
            usual,
            strict,
            refuted=strict > accounted,
            at={"delta": self.delta},
            detail="the value is certified at 95 %",
            claimed=accounted,
            confidence=1 - context.significance,
            n_samples=total(groups).canaries,
        )
        if by_claim and strict <= accounted:
            evidence = self._of_family(groups, context, accounted, half)
        return conclude(
            evidence,
            lambda: self._without_noise(results, groups, significance=half),
            detect=math.inf,
            witness=self.witness | {"guarantee": str(self.claim), "seed": context.seed},
            note=self._note(context, groups, strict, usual),
            figures=(self._figure(context, results),),
            estimates=(self._estimate(usual),),
        )

    def certificates(self, context: Context, results: Sequence[PlainData]) -> tuple[float, bool]:
        """Return the two results that decide, each at half of the significance.

        Returns
        -------
        bound : float
            A lower bound of ε(δ), whatever the mechanism; it refutes where it exceeds the claim's.
        by_claim : bool
            True if the guesses lie outside of the region that the claim allows.
        """
        groups = grouped([part for result in results for part in result["claim"]])
        half = context.significance / 2
        by_claim = refutes(self.claim, *groups, significance=half)
        return self._bound(context, results, significance=half), by_claim

    def _without_noise(
        self, results: Sequence[PlainData], groups: Sequence[Guesses], *, significance: float
    ) -> Power:
        """Return the ε that the same training without its noise would have been certified to lose.

        Among trainings that differ in the noise alone; infinity where it would have passed.
        """
        twin = total(grouped([part for result in results for part in result["noiseless"]]))
        seen, smallest = foreseen(groups, twin), math.inf
        if refutes(self.claim, *seen, significance=significance):
            smallest = trade_off_bound(
                self.claim, *seen, delta=self.delta, significance=significance
            )
        return Power(
            quantity=Quantity.EPSILON,
            smallest=smallest,
            claimed=self.claim.epsilon_at(self.delta),
            at={"delta": self.delta},
            detail="as this attack certifies of the same training without noise",
        )

    def _of_family(
        self, groups: Sequence[Guesses], context: Context, accounted: float, significance: float
    ) -> Evidence:
        """Return the ε that right guesses show among trainings that differ in the noise alone."""
        strict, usual = (
            trade_off_bound(self.claim, *groups, delta=self.delta, significance=level)
            for level in (significance, _USUAL)
        )
        return of_loss(
            Quantity.EPSILON,
            usual,
            strict,
            refuted=True,
            at={"delta": self.delta},
            detail="among trainings that differ in the noise alone; the value is certified at 95 %",
            claimed=accounted,
            confidence=1 - context.significance,
            n_samples=total(groups).canaries,
            assumption=Assumption.TRADE_OFF,
        )

    def _runs(self, context: Context) -> int:
        return 1 if self.runs == 1 else max(2, round(self.runs * context.effort))

    def _bets(self, context: Context) -> bool:
        return self._runs(context) >= _FEWEST_BETS and self.chunks(context) >= _PILOT

    def _bound(
        self, context: Context, results: Sequence[PlainData], *, significance: float
    ) -> float:
        """Return the bound of ε(δ) that assumes nothing of the mechanism."""
        if not self._bets(context):
            groups = self._epsilon_groups(results)
            return epsilon_lower_bound(*groups, delta=self.delta, significance=significance)
        first = max(1, len(results) // _PILOT)
        pilot, rest = ranked_of(results[:first]), ranked_of(results[first:])
        bets = RunBets.chosen(
            pilot,
            canaries=self.game.canaries,
            delta=self.delta,
            runs=len(rest.scores),
            significance=significance,
        )
        return bets.lower_bound(rest, significance=significance)

    def _points(self, context: Context, results: Sequence[PlainData]) -> list[tuple[int, float]]:
        """Return (runs or canaries, bound), at 95 %."""
        if self._runs(context) == 1:
            parts = [Guesses(**part) for part in results[0]["epsilon"]]
            return [
                (
                    part.canaries,
                    epsilon_lower_bound(part, delta=self.delta, significance=_USUAL),
                )
                for part in parts
            ]
        found: list[tuple[int, float]] = []
        for stop in np.unique(np.geomspace(2, len(results), _POINTS).astype(int)).tolist():
            shown = results[:stop]
            guesses = total(self._epsilon_groups(shown))
            bound = self._bound(context, shown, significance=_USUAL)
            found.append((guesses.canaries // self.game.canaries, bound))
        return found

    def _epsilon_groups(self, results: Sequence[PlainData]) -> list[Guesses]:
        parts = [part for result in results for part in result["epsilon"]]
        return grouped(parts if self.runs > 1 else parts[-1:])

    def _note(
        self, context: Context, groups: Sequence[Guesses], strict: float, usual: float
    ) -> str:
        """Return the bounds in words, with how many of the guesses are right."""
        accounted, guesses = self.claim.epsilon_at(self.delta), total(groups)
        runs, canaries = self._runs(context), self.game.canaries
        among_noises = trade_off_bound(self.claim, *groups, delta=self.delta, significance=_USUAL)

        def of(bound: float) -> str:
            return f"ε ≥ {bound:.3g} ({bound / accounted:.2f} of it)"

        return (
            f"Accounted: ε = {accounted:.4g}. Certified without any assumption about the "
            f"mechanism: {of(usual)} at 95 % confidence, {of(strict)} at the confidence of this "
            "check; among trainings that differ in the noise alone, by the claim's trade-off: "
            f"{of(among_noises)} at 95 %. {runs} {'run' if runs == 1 else 'runs'} of {canaries} "
            f"{'canary' if canaries == 1 else 'canaries'}; of the {guesses.guesses} "
            f"that look most like members, {guesses.correct / guesses.guesses:.1%} are."
        )

    def _estimate(self, usual: float) -> Estimate:
        """Return ε(δ) as it is certified at 95 %, whatever the mechanism."""
        certified = Estimate(
            quantity=Quantity.EPSILON,
            value=usual,
            lower=usual,
            upper=math.inf,
            confidence=1 - _USUAL,
            at={"delta": self.delta},
        )
        return from_below(certified, why=_NO_UPPER_END)

    def _figure(self, context: Context, results: Sequence[PlainData]) -> Figure:
        """Return the bounds over the number of runs, or of the canaries of a single one."""
        points = self._points(context, results)
        x = [float(point[0]) for point in points]
        label = "canaries in the run" if self._runs(context) == 1 else "runs"
        accounted = [self.claim.epsilon_at(self.delta)] * 2
        return Figure(
            kind=FigureKind.LINES,
            title=f"Certified ε at δ = {self.delta:g} and 95 % confidence",
            x_label=label,
            y_label="ε",
            log_x=True,
            series=[
                Series(name="accounted", x=[x[0], x[-1]], y=accounted),
                Series(name="certified, any mechanism", x=x, y=[bound for _, bound in points]),
            ],
            description=f"Lower bounds of ε over the number of {label}, against the accounted ε.",
        )
