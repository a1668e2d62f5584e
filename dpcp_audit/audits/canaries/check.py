"""The canary audit: games in chunks, judged by two certificates at half of the level each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.canaries.games import Played
from dpcp_audit.audits.canaries.run_bets import Ranked, RunBets, ranked
from dpcp_audit.audits.check import whole
from dpcp_audit.audits.evidence import (
    Evidence,
    EvidenceKind,
    Figure,
    FigureKind,
    Outcome,
    PlainData,
    Series,
    Verdict,
)
from dpcp_audit.audits.one_run import (
    Guesses,
    Theorem,
    epsilon_lower_bound,
    refutes,
    top_guesses,
    training_epsilon_lower_bound,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.audits.canaries.games import Game
    from dpcp_audit.audits.check import Context
    from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian

_MOST_GUESSES = 10_000
_FEWEST_BETS = 500
_PILOT = 5
_USUAL = 0.05
_POINTS = 6
_GROUPS = 32
_BLOCK = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryAudit:
    """Hold the guarantee of a training against canaries in it.

    Half of the significance goes to the region that the claim allows, held against the guesses
    of all runs, by blocks of them (``one_run``). The other half certifies a lower bound of ε(δ)
    that assumes nothing of the mechanism: from 500 runs on by bets on independent runs, which a
    fifth of them has chosen (``run_bets``), below by the guesses again, against (ε, δ)-DP. Either
    may refute; a true claim is refuted with probability at most the significance. INCONCLUSIVE
    only where not even right guesses throughout would have refuted.

    Parameters
    ----------
    game : Game
        The trainings and the attacker.
    claim : SubsampledGaussian
        What the training promises, under ADD_REMOVE.
    delta : float
        δ in (0, 1).
    runs : int
        At effort 1. A single run is one whatever the effort.
    side_by_side : int
        Runs of a chunk.
    claim_share, epsilon_share : float
        Shares of the canaries that are guessed "in", against the claim and against (ε, δ)-DP;
        fewer where they would be more than 10,000 in all.
    witness : dict
        What describes the game, as plain data.
    """

    game: Game
    claim: SubsampledGaussian
    delta: float = 1e-5
    runs: int = 1
    side_by_side: int = 64
    claim_share: float = 0.1
    epsilon_share: float = 0.02
    witness: PlainData = field(default_factory=dict)

    def __post_init__(self) -> None:
        _validate.open_unit(
            delta=self.delta, claim_share=self.claim_share, epsilon_share=self.epsilon_share
        )
        _validate.integer(runs=self.runs, side_by_side=self.side_by_side, at_least=1)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Play all games and judge them."""
        return whole(self, context)

    def chunks(self, context: Context) -> int:
        """Return the number of groups of runs."""
        return math.ceil(self._runs(context) / self.side_by_side)

    def chunk(self, context: Context, index: int) -> PlainData:
        """Play a group of runs, side by side."""
        runs = min(self.side_by_side, self._runs(context) - index * self.side_by_side)
        played = self.game.play(runs, rng=context.rng(index))
        total = self._runs(context) * self.game.canaries
        result: PlainData = {
            "claim": [
                _guessed(part, min(self.claim_share, _MOST_GUESSES / total))
                for part in _blocks(played)
            ],
            "epsilon": [
                _guessed(part, min(self.epsilon_share, _MOST_GUESSES / total))
                for part in (_blocks(played) if self.runs > 1 else _beginnings(played))
            ],
        }
        if self._bets(context):
            best = ranked(played.scores, played.members)
            result["scores"] = np.round(best.scores, 3).tolist()
            result["members"] = best.members.astype(int).tolist()
        return result

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:
        """Judge all runs."""
        half = context.significance / 2
        accounted = self.claim.epsilon_at(self.delta)
        groups = _groups([part for result in results for part in result["claim"]])
        by_claim = refutes(self.claim, *groups, significance=half)
        bound = self._bound(context, results, significance=half)
        certain = [replace(group, correct=group.guesses) for group in groups]
        could = by_claim or refutes(self.claim, *certain, significance=half)
        refuted = by_claim or bound > accounted
        family = training_epsilon_lower_bound(
            self.claim, *groups, delta=self.delta, significance=half
        )
        guesses = _sum(groups)
        shown = max(bound, family) if by_claim else min(bound, accounted)
        return Outcome(
            verdict=_verdict(refuted=refuted, could=could),
            evidence=Evidence(
                kind=EvidenceKind.CERTIFIED,
                quantity=f"certified ε at δ = {self.delta:g}, from below",
                value=shown,
                lower=max(shown, math.nextafter(accounted, math.inf)) if refuted else shown,
                upper=math.inf,
                claimed=accounted,
                confidence=1 - context.significance,
                n_samples=guesses.canaries,
            ),
            witness=self.witness | {"guarantee": str(self.claim), "seed": context.seed},
            note=self._note(context, results, groups, bound, family),
            figures=(self._figure(context, results, accounted),),
        )

    def _epsilon_groups(self, results: Sequence[PlainData]) -> list[Guesses]:
        parts = [part for result in results for part in result["epsilon"]]
        return _groups(parts if self.runs > 1 else parts[-1:])

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
        pilot, rest = _ranked(results[:first]), _ranked(results[first:])
        bets = RunBets.chosen(
            pilot,
            canaries=self.game.canaries,
            delta=self.delta,
            runs=len(rest.scores),
            significance=significance,
            rng=context.rng(len(results)),
        )
        return bets.lower_bound(rest, significance=significance)

    def _note(
        self,
        context: Context,
        results: Sequence[PlainData],
        groups: Sequence[Guesses],
        bound: float,
        family: float,
    ) -> str:
        accounted = self.claim.epsilon_at(self.delta)
        usual = self._bound(context, results, significance=_USUAL)
        usual_family = training_epsilon_lower_bound(
            self.claim, *groups, delta=self.delta, significance=_USUAL
        )
        runs, guesses = self._runs(context), _sum(groups)
        return (
            f"Accounted: ε = {accounted:.4g}. Certified without any assumption about the "
            f"mechanism: {_of(usual, accounted)} at 95 % confidence, {_of(bound, accounted)} at "
            "the confidence of this check; among trainings that differ in the noise alone, by "
            f"the claim's trade-off: {_of(usual_family, accounted)} and "
            f"{_of(family, accounted)}. {runs} {'run' if runs == 1 else 'runs'} of "
            f"{self.game.canaries} canaries; of the {guesses.guesses} of them that look most "
            f"like members, {guesses.correct / guesses.guesses:.1%} are."
        )

    def _figure(self, context: Context, results: Sequence[PlainData], accounted: float) -> Figure:
        points = self._points(context, results)
        x = [float(point[0]) for point in points]
        label = "canaries in the run" if self._runs(context) == 1 else "runs"
        names = ("certified, any mechanism", "Steinke, Nasr and Jagielski (2023)")
        return Figure(
            kind=FigureKind.LINES,
            title=f"Certified ε at δ = {self.delta:g} and 95 % confidence",
            x_label=label,
            y_label="ε",
            log_x=True,
            series=[
                Series(name="accounted", x=[x[0], x[-1]], y=[accounted, accounted]),
                *(
                    Series(name=name, x=x, y=[point[k] for point in points])
                    for k, name in enumerate(names, start=1)
                ),
            ],
            description=(f"Lower bounds of ε over the number of {label}, against the accounted ε."),
        )

    def _points(
        self, context: Context, results: Sequence[PlainData]
    ) -> list[tuple[int, float, float]]:
        """Return (runs or canaries, our bound, the binomial theorem's), at 95 %."""
        if self._runs(context) == 1:
            parts = [Guesses(**part) for part in results[0]["epsilon"]]
            return [
                (
                    part.canaries,
                    epsilon_lower_bound(part, delta=self.delta, significance=_USUAL),
                    self._binomial(part),
                )
                for part in parts
            ]
        found = []
        for stop in np.unique(np.geomspace(2, len(results), _POINTS).astype(int)).tolist():
            shown = results[:stop]
            guesses = _sum(self._epsilon_groups(shown))
            ours = self._bound(context, shown, significance=_USUAL)
            found.append((guesses.canaries // self.game.canaries, ours, self._binomial(guesses)))
        return found

    def _binomial(self, guesses: Guesses) -> float:
        return epsilon_lower_bound(
            guesses, delta=self.delta, significance=_USUAL, theorem=Theorem.BINOMIAL
        )


def _verdict(*, refuted: bool, could: bool) -> Verdict:
    if refuted:
        return Verdict.REFUTED
    return Verdict.CONSISTENT if could else Verdict.INCONCLUSIVE


def _of(bound: float, accounted: float) -> str:
    return f"ε ≥ {bound:.3g} ({bound / accounted:.2f} of it)"


def _guessed(played: Played, share: float) -> dict[str, int]:
    made = max(1, round(share * played.scores.size))
    found = top_guesses(played.scores, played.members, guesses=made)
    return {"correct": found.correct, "guesses": found.guesses, "canaries": found.canaries}


def _blocks(played: Played) -> list[Played]:
    """Return the runs in blocks of 1,000 canaries or so, whose guesses are independent."""
    size = max(1, round(_BLOCK / played.scores.shape[1]))
    cuts = range(size, len(played.scores), size)
    pairs = zip(np.split(played.scores, cuts), np.split(played.members, cuts), strict=True)
    return [Played(*pair) for pair in pairs]


def _beginnings(played: Played) -> list[Played]:
    """Return the first canaries of a single run, from few to all."""
    canaries = played.scores.shape[1]
    sizes = {max(1, canaries >> k) for k in range(_POINTS)}
    return [Played(played.scores[:, :m], played.members[:, :m]) for m in sorted(sizes)]


def _groups(parts: Sequence[dict[str, int]]) -> list[Guesses]:
    """Return the guesses of all chunks, neighbouring ones together where they are many."""
    guesses = [Guesses(**part) for part in parts]
    size = math.ceil(len(guesses) / _GROUPS)
    return [_sum(guesses[i : i + size]) for i in range(0, len(guesses), size)]


def _sum(groups: Sequence[Guesses]) -> Guesses:
    return reduce(add, groups)


def _ranked(results: Sequence[dict[str, Any]]) -> Ranked:
    return Ranked(
        np.concatenate([np.asarray(result["scores"]) for result in results]),
        np.concatenate([np.asarray(result["members"], dtype=np.bool_) for result in results]),
    )
