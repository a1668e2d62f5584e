"""Black-box privacy audits: a search over neighbours, certified in stages on fresh outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.certificates import BoundingEvent, bounding_event, smallest_violation
from dpcp_audit.audits.guessing_game import GameTest, Twin
from dpcp_audit.audits.loss_bracket import claimed_loss
from dpcp_audit.audits.search.moment_test import MomentTest
from dpcp_audit.audits.search.pair_race import Bank, PairRace, PublicGrid
from dpcp_audit.audits.search.pair_space import (
    Candidate,
    FixedPairs,
    input_from_data,
    pair_as_data,
)
from dpcp_audit.audits.search.pilot_hypotheses import (
    EventTest,
    best_event,
    choose_event_or_moment,
    of_texts,
    pair_test_from_data,
)
from dpcp_audit.audits.search.record_pairs import NumberPairs, ValuePairs
from dpcp_audit.audits.search.representation import (
    WrittenLeak,
    warned,
    written_leak,
)
from dpcp_audit.audits.search.stages import (
    CERTIFICATIONS,
    LEFT,
    MOST_STAGES,
    Stage,
    extent,
    extent_of,
    figure_of,
    shown_by_interval,
    shrink,
    stage_plan,
)
from dpcp_audit.laws.losses import claims_delta
from dpcp_audit.targets.answers import OutOfTimeError, Randomness, require_independent, unprobed
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Sampled
from dpcp_audit.words.evidence import DETECT, REPRESENTATION, Representation, conclude
from dpcp_audit.words.formatting import counted, number

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import PairSpace, Sampler
    from dpcp_audit.audits.search.pilot_hypotheses import PairTest
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Outcome, PlainData, Power
    from dpcp_audit.words.validate import FloatArray

"""The key of a witness that says what the last bits reveal."""
_DOUBLED, _WITH_DELTA, _GIVEN = 2, 4, 6
"""The growth factors of stages. With δ the last one is larger: rare events need many outputs. A
given pair is searched for nothing, so that nearly all of its outputs judge it in the last."""
_SEARCHED, _SEARCHED_ANYWAY = 0.35, 1500
"""The share of a stage's outputs that search, beside so many; at least half certify."""
_TAUGHT_OF_GIVEN = 0.25
"""The share of the first stage's outputs by which the test of a given pair is chosen."""
_MOST_SEARCHED = 200_000
_FEWEST = 50
_SEARCH_STREAM = 10**6
_SHRUNK_DRAWS = 0.1
"""The share of the outputs that shrinking has or, if nothing is refuted, standard pairs."""
_SHRUNK = 0.5
"""The share of the significance that a refutation leaves, which shrinking may take."""
_MOST_DRAWS = 2**28
_AGAIN = 5
_ENOUGH, _MORE = 20_000, 4
_TAUGHT = 0.35
"""The share of what the bound is spent on that its event is chosen by, if fewer are known."""
_MOST_CERTIFIED = MOST_STAGES + CERTIFICATIONS + 1
"""Certifications at most, each probed for serial dependence: stages, shrunk pairs, the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackBoxPrivacy(Sampled):
    """Test a guarantee against code whose law and whose worst neighbours are unknown.

    The search runs in stages of growing size. In each stage a race among candidate pairs chooses a
    pair and a rule, and outputs drawn afterwards test the claim by that rule. The first refutation
    ends the search. The witness is then made simpler, and the remaining outputs certify how large
    the loss is, by the event that promises the largest bound.

    Where one pair is given, nothing is searched for: a part of the first stage's outputs chooses
    the rule, and all further outputs test it. If the last stage is sure to refute, it counts the
    event of the largest bound instead.

    The level holds for everything that is certified, at most 12 simpler pairs and the last bound
    included. In each stage the pair, the rule and the numbers of outputs are functions of earlier
    outputs only, and the outputs that certify are independent of those. After a refutation in
    stage k the simpler pairs and the bound share what s_1, …, s_k leave of the significance. So
    with probability at least 1 − significance the pair that is printed in the end does break the
    claim, and by as much as is printed. Outputs are first rounded to a public grid
    (``PublicGrid``); their last bits are tested apart, if nothing is refuted (``written_leak``).

    :Null hypothesis: The guarantee holds on every pair of neighbours that the search may choose.
    :Statistic: The statistic of the rule that a pilot selects in each stage (``EventTest``,
        ``MomentTest`` or ``GameTest``), for the pair that won the race, on fresh outputs.
    :Level: At most the check's significance, by a union bound: stage k has the share s_k, and the
        shares sum to at most 0.9 of it. The last bits of outputs have the remaining 0.1, and a
        millionth probes for serial dependence.
    :Power: ``smallest_violation``: the loss of a planted twin that is refuted with probability
        0.95. The twin is a mechanism for the same kind of claim with 1/f of the noise; the search
        must find its worst pair and event with the same number of outputs.
    :Reference: Karnin, Koren and Somekh (2013), for the race; the rules name their own.

    Parameters
    ----------
    sample : Sampler
        The target.
    guarantee : PrivacyGuarantee
        The claim.
    pairs : PairSpace
        The neighbours to search.
    draws : int
        Outputs to draw at most, at effort 1, on all inputs, pilots and probes included; at
        least 600. Blatant violations are refuted after about a thousand.
    randomness : Randomness
        The source of the target's random numbers, checked on a few of its outputs.
    detect : float
        The factor of the noise that is to be refuted, > 1; it decides what is CONSISTENT.
    witness : dict
        Parameters of the target, as plain data.
    representation : Representation
        The treatment of a leak through the last bits: a warning, in the note and in the witness as
        ``representation``, or a refutation.
    """

    sample: Sampler
    guarantee: PrivacyGuarantee
    pairs: PairSpace
    draws: int = 200_000
    randomness: Randomness = Randomness.GENERATOR
    detect: float = DETECT
    witness: PlainData = field(default_factory=dict[str, Any])
    representation: Representation = Representation.WARN

    def __post_init__(self) -> None:
        _validate.integer(draws=self.draws, at_least=600)
        _validate.choice(Randomness, randomness=self.randomness)

    def __call__(self, context: Context) -> Outcome:
        """Search and certify in stages, then shrink.

        Raises
        ------
        DegenerateTargetError
            If the target returns NaN or another shape, seeds itself, returns the same value on
            all inputs tried, or raises on all of them. Or, where time is limited, if not even
            the first stage was over (``OutOfTimeError``); later, what is not refuted by then is
            INCONCLUSIVE.
        """
        draws, race = (
            self._draws(context),
            PairRace(
                bank=Bank(sample=self.sample, context=context),
                guarantee=self.guarantee,
                pairs=self.pairs,
                randomness=self.randomness,
            ),
        )
        stages: list[Stage] = []
        stopped = ""
        plan = self._plan(draws, context)
        try:
            for number, (budget, significance) in enumerate(plan, start=1):
                last = number == len(plan)
                stages.append(self._stage(race, number, budget, significance, last=last))
                if stages[-1].judgement.refuted:
                    break
        except OutOfTimeError as error:
            if not stages:
                raise
            stopped = f"{error}."
        shown = stages[-1]
        if shown.judgement.refuted:
            spent = sum(stage.significance for stage in stages)
            left = unprobed(context.significance) - spent
            shown = self._told_better(race, shown, draws, left, last=len(stages) == len(plan))
        else:
            race.require_varied()
            leak = written_leak(
                race,
                shown.candidate,
                room=round(_SHRUNK_DRAWS * draws),
                significance=LEFT * unprobed(context.significance),
            )
            if leak is not None and self.representation is Representation.STRICT:
                return self._leaked(race, leak, context)
            outcome = self._outcome(race, shown, stages, context, stopped)
            return outcome if leak is None else warned(outcome, leak.sentence)
        return self._outcome(race, shown, stages, context, stopped)

    def _leaked(self, race: PairRace, leak: WrittenLeak, context: Context) -> Outcome:
        """Return the refutation by last bits alone; its witness is seen without a grid."""
        found = self._found(leak.candidate, race, size=leak.size)
        found.pop("grid", None)
        return conclude(
            replace(leak.judgement.evidence, confidence=1 - context.significance),
            lambda: self._power(context, ""),
            detect=self.detect,
            witness=found | leak.pair_test.as_data() | {REPRESENTATION: leak.sentence},
            note="",
        )

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest loss of a planted twin that is refuted with probability 0.95.

        See ``Twin``: noise of a part of its scale, searched for as unknown code is.
        """
        return self._twin.power(self._draws(context), significance=context.significance)

    def draws_needed(self, violation: float, *, significance: float) -> int:
        """Return the ``draws`` that refute a twin with a loss of ``violation``, likewise."""
        needed = self._twin.calls_for(violation, significance=significance)
        if needed > _MOST_DRAWS:
            raise ValueError(f"violation is too close to the claim, got {violation!r}")
        return max(600, math.ceil(needed))

    @property
    def _twin(self) -> Twin:
        pairs = self.pairs
        return Twin(
            guarantee=self.guarantee,
            inputs=pairs.n_values if isinstance(pairs, ValuePairs) else None,
            of_numbers=isinstance(pairs, NumberPairs),
            given=self._given,
            detect=self.detect,
        )

    @property
    def _given(self) -> bool:
        """Return True if only the given pair may be tried."""
        return isinstance(self.pairs, FixedPairs) and len(self.pairs.pairs) == 1

    def _draws(self, context: Context) -> int:
        """Return the outputs to draw at most, at the context's effort."""
        return max(600, context.samples(self.draws))

    def _found(self, candidate: Candidate, race: PairRace, *, size: int) -> PlainData:
        """Return a pair, the claim and what it took to find as plain data."""
        grid = {} if race.bank.grid is None else {"grid": race.bank.grid.as_data()}
        raised = [pair_as_data(each.neighbours) for each, _ in race.bank.told_apart[:1]]
        return (
            self.witness
            | grid
            | ({"raised_on": raised[0]} if raised else {})
            | {"guarantee": str(self.guarantee)}
            | pair_as_data(candidate.neighbours)
            | {
                "family": candidate.family,
                "n_samples": size,
                "draws": self.draws,
                "spent": race.bank.spent,
                "seed": race.bank.context.seed,
            }
        )

    def _plan(self, draws: int, context: Context) -> list[tuple[int, float]]:
        growth = _WITH_DELTA if claims_delta(self.guarantee) else _DOUBLED
        usable = draws if self._given else round((1 - _SHRUNK_DRAWS) * draws)
        return stage_plan(
            usable, unprobed(context.significance), growth=_GIVEN if self._given else growth
        )

    def _stage(
        self, race: PairRace, number: int, budget: int, significance: float, *, last: bool
    ) -> Stage:
        stop = race.bank.spent + budget
        arm = race.round(
            self._searched(number, budget), race.bank.context.rng(_SEARCH_STREAM + number)
        )
        if race.constant(arm):
            left = stop - race.bank.spent - 2 * _FEWEST
            arm = race.round(left, race.bank.context.rng(_SEARCH_STREAM + MOST_STAGES + number))
        if number == 1:
            race.bank.probed(race.random_input(arm), self.randomness)
        size = max(_FEWEST, (stop - race.bank.spent) // 2)
        pair_test = race.choose_pair_test(arm.candidate)
        if last and self._given:
            samples = race.bank.pilot(arm.candidate)
            best = self._bounding(samples, pair_test, size, significance)
            pair_test = _counted(best) if best is not None and best.refutes else pair_test
        return self._judge(race, arm.candidate, pair_test, number, size, significance)

    def _searched(self, number: int, budget: int) -> int:
        """Return the number of outputs in a stage that search, or choose a given pair's test."""
        if self._given:
            return round(_TAUGHT_OF_GIVEN * budget) if number == 1 else 0
        return min(_MOST_SEARCHED, budget // 2, _SEARCHED_ANYWAY + round(_SEARCHED * budget))

    def _judge(  # noqa: PLR0917  (in the order in which a stage comes to be)
        self,
        race: PairRace,
        candidate: Candidate,
        pair_test: PairTest,
        number: int,
        size: int,
        significance: float,
    ) -> Stage:
        pilot = race.bank.pilot(candidate)
        value, neighbour = candidate.inputs
        outputs = race.bank.fresh(value, size), race.bank.fresh(neighbour, size)
        if self.randomness is not Randomness.NONE:
            probed = race.bank.context.significance / _MOST_CERTIFIED
            require_independent(*outputs, significance=probed)
        judgement = pair_test.judge(self.guarantee, *outputs, significance=significance)
        for x, drawn in zip(candidate.inputs, outputs, strict=True):
            race.bank.keep(x, drawn)
        return Stage(
            number=number,
            candidate=candidate,
            pair_test=pair_test,
            judgement=judgement,
            size=size,
            spent=race.bank.spent,
            significance=significance,
            pilot=pilot,
            fresh=outputs,
        )

    def _told_better(
        self, race: PairRace, refuted: Stage, draws: int, significance: float, *, last: bool
    ) -> Stage:
        """Return a refutation with a simpler pair and a larger loss, as far as time suffices.

        What shrinking leaves of the significance is the bound's.
        """
        shown = refuted
        room = max(draws - race.bank.spent, round(_SHRUNK_DRAWS * draws))
        spent: list[float] = []

        def certify(candidate: Candidate, size: int, share: float) -> Stage | None:
            spent.append(share)
            pair_test = race.choose_pair_test(candidate)
            found = self._judge(race, candidate, pair_test, refuted.number, size, share)
            return found if found.judgement.refuted else None

        try:
            shown = shrink(
                race,
                shown,
                certify,
                size=shown.size,
                room=room,
                significance=_SHRUNK * significance,
            )
            rest = significance - sum(spent)
            again = last and shown is refuted
            shown = self._bounded(race, shown, draws, rest, again=again)
        except OutOfTimeError:
            pass
        return shown

    def _bounded(
        self, race: PairRace, stage: Stage, draws: int, significance: float, *, again: bool
    ) -> Stage:
        """Spend the rest of the draws on the pair; return what certifies the larger loss.

        On four times as many outputs as before at most, or 20,000: the verdict stands. Where few
        are left, and ``again``, those that refuted the claim are counted once more. That is for
        the last stage's own outputs alone: whether they refute decides nothing but itself. Of an
        earlier stage, or of a pair that shrinking chose, the bound would be read only where the
        same outputs had won, at each stage and pair anew.
        """
        rest = min(draws - race.bank.spent, max(_ENOUGH, _MORE * race.bank.spent)) // 2
        if rest < max(stage.size, 2 * _FEWEST):
            if not again:
                return stage
            found = self._counted_again(stage, significance)
        else:
            race.bank.fill(stage.candidate, round(_TAUGHT * rest))
            left = min(rest, (draws - race.bank.spent) // 2)
            samples = race.bank.pilot(stage.candidate)
            best = self._bounding(samples, stage.pair_test, left, significance)
            if best is None or left < _FEWEST:
                return stage
            chosen = _counted(best)
            found = self._judge(race, stage.candidate, chosen, stage.number, left, significance)
        larger = found.judgement.evidence.lower > stage.judgement.evidence.lower
        return found if found.judgement.refuted and larger else stage

    def _counted_again(self, stage: Stage, significance: float) -> Stage:
        """Return the bound's event, chosen by the pilot, on the outputs that refuted the claim."""
        best = self._bounding(stage.pilot, stage.pair_test, stage.size, significance)
        if best is None:
            return stage
        pair_test = _counted(best)
        judgement = pair_test.judge(self.guarantee, *stage.fresh, significance=significance)
        return replace(stage, pair_test=pair_test, judgement=judgement)

    def _bounding(
        self,
        samples: tuple[FloatArray, FloatArray],
        pair_test: PairTest,
        trials: int,
        significance: float,
    ) -> BoundingEvent | None:
        """Return the event that promises to certify the largest loss of the pair."""
        chosen = pair_test
        if isinstance(chosen, GameTest):
            bounds = self.pairs.bounds
            chosen = choose_event_or_moment(self.guarantee, *samples, bounds=bounds)
        if isinstance(chosen, EventTest):
            event = chosen.event
        else:
            event = best_event(self.guarantee, samples).event
        best = bounding_event(
            self.guarantee, event, samples, trials=trials, significance=significance
        )
        return None if best is None else replace(best, event=of_texts(best.event, samples))

    def _outcome(
        self, race: PairRace, shown: Stage, stages: list[Stage], context: Context, stopped: str
    ) -> Outcome:
        pair_test = shown.pair_test
        data = shown.judgement.held or pair_test.as_data()
        held = {"moment": data} if isinstance(pair_test, MomentTest) else data
        refuted = shown.judgement.refuted
        odds = shown_by_interval(self.guarantee, shown) if refuted else None
        return conclude(
            replace(shown.judgement.evidence, confidence=1 - context.significance, odds=odds),
            lambda: self._power(context, stopped),
            detect=self.detect,
            witness=self._found(shown.candidate, race, size=shown.size)
            | {"stage": shown.number}
            | held,
            note=f"{self._note(race, shown)} {stopped}".strip(),
            extent=extent_of(
                [arm.candidate for arm in race.arms],
                calls=race.bank.spent,
                planned=self.draws,
                errors=[error for _, error in race.bank.told_apart],
            ),
            figures=(figure_of(stages),),
            estimates=claimed_loss(
                self.guarantee,
                shown.pilot,
                shown.fresh,
                bounds=self.pairs.bounds,
                feature=shown.feature,
            ),
        )

    def _power(self, context: Context, stopped: str) -> Power:
        """Return the power; none of a search that a clock has stopped, which settles nothing."""
        power = self.smallest_violation(context)
        return replace(power, smallest=math.inf) if stopped else power

    def _note(self, race: PairRace, shown: Stage) -> str:
        failures = race.bank.failures
        tried = (
            f"{extent([arm.candidate for arm in race.arms])}; {race.bank.spent:,} outputs drawn. "
            f"The worst pair found: {shown.candidate.family}."
        )
        evidence = shown.judgement.evidence
        least = f"{evidence.quantity.unit} ≥ {number(evidence.lower)}"
        certified = f"Certified on this pair, at the level of the verdict: {least}."
        parts = [tried, shown.judgement.note if shown.judgement.refuted else certified]
        if failures:
            raised = counted(len(failures), "pair")
            parts.append(f"The target raised on {raised}, first: {failures[0]}.")
        return " ".join(filter(None, parts))


def confirm(
    witness: PlainData,
    sample: Sampler,
    *,
    guarantee: PrivacyGuarantee,
    context: Context,
) -> Outcome:
    """Certify a witness again: its pair and its event, on fresh outputs.

    Parameters
    ----------
    witness : dict
        The witness of an outcome of ``BlackBoxPrivacy``, also after a trip through JSON.
    sample, guarantee
        The target and the claim of the audit.
    context : Context
        The seed and significance of this certification alone; each input has five times the
        outputs that the witness was certified on, on which the same loss is refuted almost surely.
    """
    missing = sorted({"value", "neighbour", "n_samples"} - set(witness))
    if missing or not {"event", "moment", "game"} & set(witness):
        raise ValueError(f"witness must hold a pair and a test of it, lacks {missing}")
    _validate.integer(n_samples=witness["n_samples"], at_least=1)
    size = _AGAIN * witness["n_samples"] + 100
    grid = PublicGrid(np.asarray(witness.get("grid", 0.0), dtype=np.float64))
    bank = Bank(sample=sample, context=context, grid=grid)
    first, second = (
        bank.fresh(input_from_data(witness[name]), size) for name in ("value", "neighbour")
    )
    pair_test = pair_test_from_data(witness, seed=int(context.rng(2).integers(2**32)))
    judgement = pair_test.judge(guarantee, first, second, significance=context.significance)

    def power() -> Power:
        if isinstance(pair_test, MomentTest):
            return pair_test.smallest_violation(guarantee, size, significance=context.significance)
        return smallest_violation(guarantee, size, significance=context.significance)

    return conclude(
        judgement.evidence,
        power,
        witness=witness | {"seed": context.seed, "n_samples": size},
        note=judgement.note,
    )


def _counted(best: BoundingEvent) -> EventTest:
    """Return the test that counts the event of the largest bound."""
    return EventTest(event=best.event, swapped=best.swapped, complement=False, promise=math.nan)
