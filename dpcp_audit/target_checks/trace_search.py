"""The traces of a target: a few paths choose a pair, others show what it loses there.

Of a randomizer whose law is finite every value's whole law is enumerated, and so every pair's.
The effort is a number of calls and of observations, never of seconds: a seed repeats it.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.composition import line_sentence
from dpcp_audit.audits.path_evidence import hides_infinity, leaking_line
from dpcp_audit.audits.search.pair_space import input_from_data
from dpcp_audit.audits.traced_privacy import Scope, TracedPrivacy, input_rounding
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.proving.determined import undetermined
from dpcp_audit.target_checks.every_pair import EveryPair
from dpcp_audit.target_checks.planned_calls import pair_space
from dpcp_audit.targets import Takes, TargetError, TargetRaisedError
from dpcp_audit.targets.answers import Randomness, Talk, handed_over
from dpcp_audit.targets.calls import FunctionCaller
from dpcp_audit.targets.loading import code_of
from dpcp_audit.tracing.draws import TraceEnd, UnfollowableError
from dpcp_audit.tracing.pair_traces import Remark, trace_target
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.reachable_names import Reach
from dpcp_audit.tracing.target_calls import TracedTarget, put_back
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Neighbours, Relation
from dpcp_audit.words.results import SourceLocation

if TYPE_CHECKING:
    from dpcp_audit.proving.distances import Refusal
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.targets import Target
    from dpcp_audit.tracing.pair_traces import PairTrace
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Outcome, PlainData


def traced_target(target: Target) -> TracedTarget:
    """Return a target as a function of one input that is handed a recording generator.

    What it prints is limited, as an audit's calls are, and a child that it forks ends with it.

    Raises
    ------
    UsageError
        If it is a command: its noise is drawn in another process.
    """
    caller = target.caller
    if not isinstance(caller, FunctionCaller):
        raise UsageError(
            "a command cannot be traced: its noise is drawn in another process",
            hint="trace the Python function that the command runs",
        )
    size = {"size": 1} if caller.vectorised and target.kind.takes is not Takes.VALUE else {}
    named = {caller.convention.rng, caller.convention.seed} - {""}
    many = caller.vectorised and target.kind.takes is Takes.VALUE
    several = len(target.kind.inputs) > 1
    talk = Talk()

    def call(x: Any, *, rng: Any = None) -> Any:
        inputs: list[Any] = [*x] if several else [np.array([x]) if many else x]
        if target.kind.takes is Takes.CLIENTS:
            inputs = [tuple(x)]
        data, by_name = caller.convention.named(
            [handed_over(each, caller.given_as) for each in inputs]
        )
        process = os.getpid()
        try:
            with talk.limited():
                keywords = dict.fromkeys(named, rng)
                return caller.function(*data, **by_name, **keywords, **size, **caller.options)
        except SystemExit as end:
            raise RuntimeError(f"it exits with {end.code!r}") from end
        finally:
            if os.getpid() != process:
                os._exit(0)

    def read(x: Any) -> Refusal | None:
        data, by_name = caller.convention.named(
            [handed_over(np.array([x]) if many else x, caller.given_as)]
        )
        return undetermined(caller.function, data, {**by_name, **size, **caller.options}, named)

    code = code_of(caller.function)
    home = ("", 0) if code is None else (code.co_filename, code.co_firstlineno)
    return TracedTarget(
        function=call,
        options={},
        keyword="rng" if named else "",
        home=home,
        reach=Reach.of(caller.function),
        code=code,
        written=(caller.function, tuple(caller.options.values())),
        read=read,
    )


_OBSERVATIONS = 40_000
"""Draws and observations of all runs together."""
_FEWEST_RUNS, _MOST_RUNS, _SHARE_OF_CALLS = 400, 2000, 5
"""Runs are allowed up to a fifth of the calls that are planned, between these."""
_CHOOSING = 0.3
"""The share of the runs that choose a pair."""
_UNSEEN = "no draw is seen: the code is deterministic, or it draws from elsewhere"
_SEED = 2**53
_WAYS = 4
"""Runs of a path in each direction: it is run and replayed both ways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEffort:
    """The effort of a trace.

    Parameters
    ----------
    pairs, pilot : int
        Pairs that are tried, and paths of each in either direction.
    paths : int
        Paths of the chosen pair in either direction.
    tree : int
        Paths of a tree that is enumerated.
    replays : int
        Paths of either input that are replayed on their own input.
    bounded : bool
        True if the planned calls and the observations of a run limit it.
    """

    pairs: int
    pilot: int
    paths: int
    tree: int
    replays: int
    bounded: bool = True

    def within(self, runs: int) -> TraceEffort | None:
        """Return the effort that so many runs allow; None if that is too little."""
        if runs < _WAYS * (self.replays + self.pilot + 2):
            return None
        each = _WAYS * (1 + self.pilot)
        pairs = max(1, min(self.pairs, round(_CHOOSING * runs) // each))
        left = runs - pairs * each - _WAYS * self.replays
        tree = min(self.tree, left // 4)
        return replace(
            self,
            pairs=pairs,
            paths=max(2, min(self.paths, (left - 2 * tree) // _WAYS)),
            tree=tree,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceResult:
    """The findings of the traces of a target.

    Parameters
    ----------
    outcome : Outcome or None
        On the worst pair; None where nothing is judged.
    trace : PairTrace or None
        Of that pair.
    pair : Neighbours or None
    every : bool
        True if every pair that the claim speaks of was enumerated.
    reason : str
        Why nothing is judged, with the line.
    """

    outcome: Outcome | None = None
    trace: PairTrace | None = None
    pair: Neighbours[Any] | None = None
    every: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSearch:
    """Traces a target's privacy claim on the pairs that are tried.

    Parameters
    ----------
    spec : CheckSpec
        The target, and how it is tried.
    guarantee : PrivacyGuarantee
        The claim.
    traced : TracedTarget
        The target, opened.
    randomness : Randomness
        Where it is said to draw its random numbers.
    effort : TraceEffort
    scope : Scope
        Of what the claim speaks.
    """

    spec: CheckSpec
    guarantee: PrivacyGuarantee
    traced: TracedTarget
    randomness: Randomness
    effort: TraceEffort
    scope: Scope = Scope.RELEASE

    @classmethod
    def of(
        cls, spec: CheckSpec, guarantee: PrivacyGuarantee, target: Target, **settings: Any
    ) -> TraceSearch:
        """Return the search of an opened target."""
        return cls(
            spec=spec,
            guarantee=guarantee,
            traced=traced_target(target),
            randomness=target.randomness,
            **settings,
        )

    def worst(self, context: Context) -> TraceResult:
        """Return the outcome on the pair that loses most of those that are tried."""
        try:
            effort = self._allowed()
            with put_back(self.traced.written):
                every = EveryPair.of(self.spec, self.guarantee, self.traced)
            if every is not None:
                return self._judged(every.worst, context, effort, every)
            pairs = self._pairs(effort.pairs)
            pair = max(pairs, key=partial(self._badness, context, effort))
            return self._judged(pair, context, effort)
        except (TraceEnd, Exception) as end:  # noqa: BLE001  (a target may raise anything)
            return TraceResult(reason=_reason(end, self.traced))

    def on(self, pair: Neighbours[Any], context: Context) -> TraceResult:
        """Return the outcome on one pair."""
        try:
            return self._judged(pair, context, self._allowed())
        except (TraceEnd, Exception) as end:  # noqa: BLE001  (a target may raise anything)
            return TraceResult(reason=_reason(end, self.traced))

    def require_answer(self, target: Target, found: TraceResult, context: Context) -> None:
        """Call a target that could not be followed once as it is: it may be broken without a trace.

        Raises
        ------
        TargetRaisedError
            If it gives no answer; what it answers is not judged here.
        """
        pair = found.pair or self._pairs(1)[0]
        try:
            target(pair.value, 1, rng=context.rng(2))
        except TargetRaisedError:
            raise
        except TargetError:
            return

    def again(self, witness: PlainData, context: Context) -> Outcome:
        """Run the paths of a witness again, on the code as it is now."""
        pair = Neighbours(
            relation=Relation(witness["relation"]),
            value=input_from_data(witness["value"]),
            neighbour=input_from_data(witness["neighbour"]),
        )
        trace = self._trace(pair, witness["path_seed"], self._allowed(), witness["draws"])
        return self._audit(pair, witness["draws"]).judge(trace, context)

    def _judged(
        self,
        pair: Neighbours[Any],
        context: Context,
        effort: TraceEffort,
        every: EveryPair | None = None,
    ) -> TraceResult:
        seed = int(context.rng().integers(_SEED))
        trace = self._trace(pair, seed, effort, effort.paths)
        if self.randomness is not Randomness.NONE and not trace.drawn:
            nothing = Remark(says=_UNSEEN, location=SourceLocation.of(*self.traced.home))
            trace = replace(trace, unfollowed=(nothing,))
        found = self._audit(pair, effort.paths).judge(trace, context)
        if not trace.followed:
            reason = str(trace.unfollowed[0])
            return TraceResult(outcome=found, trace=trace, pair=pair, reason=reason)
        named = trace.lines and not hides_infinity(trace)
        spent = line_sentence(self.guarantee, trace.lines[0]) if named else ""
        found = replace(
            found,
            witness=found.witness | {"path_seed": seed} | _path(trace),
            location=leaking_line(trace),
            note=f"{spent} {found.note}".strip(),
        )
        if every is None or trace.missed:
            return TraceResult(outcome=found, trace=trace, pair=pair)
        if self.randomness is Randomness.GENERATOR:
            found = every.proved(found, self.guarantee, input_rounding(self.guarantee, trace))
        return TraceResult(outcome=found, trace=trace, pair=pair, every=True)

    def _trace(
        self, pair: Neighbours[Any], seed: int, effort: TraceEffort, paths: int
    ) -> PairTrace:
        return trace_target(
            self.traced,
            pair.value,
            pair.neighbour,
            draws=paths,
            rng=np.random.default_rng(seed),
            replays=effort.replays,
            tree=effort.tree,
        )

    def _audit(self, pair: Neighbours[Any], paths: int) -> TracedPrivacy:
        return TracedPrivacy(
            target=self.traced,
            guarantee=self.guarantee,
            neighbours=pair,
            draws=paths,
            scope=self.scope,
        )

    def _pairs(self, most: int) -> list[Neighbours[Any]]:
        listed = pair_space(self.spec).candidates()
        return [candidate.neighbours for candidate in listed[:most]]

    def _allowed(self) -> TraceEffort:
        """Return the effort that is allowed: by what a run draws, and by the calls planned."""
        if not self.effort.bounded:
            return self.effort
        path = SampledRun()
        first = self._pairs(1)[0]
        with put_back(self.traced.written):
            self.traced.outputs(first.value, path, np.random.default_rng(0))
        calls = self.spec.calls(self.guarantee) // _SHARE_OF_CALLS
        calls = min(_MOST_RUNS, max(_FEWEST_RUNS, calls))
        allowed = min(calls, _OBSERVATIONS // max(1, len(path.draws) + len(path.seen)))
        effort = self.effort.within(allowed)
        if effort is None:
            raise UnfollowableError(f"a run draws {len(path.draws)} numbers", self.traced.home)
        return effort

    def _badness(
        self, context: Context, effort: TraceEffort, pair: Neighbours[Any]
    ) -> tuple[bool, float]:
        """Return how bad a pair looks by a few paths; one that cannot be followed is the last."""
        rng = context.rng(1)
        trace = trace_target(
            self.traced,
            pair.value,
            pair.neighbour,
            draws=effort.pilot,
            rng=rng,
            replays=1,
            tree=0,
        )
        return trace.followed, _seen_loss(self.guarantee, trace)


def _seen_loss(guarantee: PrivacyGuarantee, trace: PairTrace) -> float:
    if not trace.forward.size:
        return -math.inf
    if loss_of(guarantee).pure:
        return max(sample.epsilon(0.0) for sample in trace.samples)
    return max(sample.mean for sample in trace.samples)


def _path(trace: PairTrace) -> PlainData:
    """Return which path loses most; of a whole law no path is singled out."""
    if trace.exact is not None:
        return {}
    way = max(range(2), key=lambda index: float(np.max(trace.samples[index].losses)))
    losses = trace.samples[way].losses
    return {
        "path_number": int(np.argmax(losses)),
        "path_of": ("value", "neighbour")[way],
        "path_loss": float(np.max(losses)),
    }


def _reason(end: BaseException, target: TracedTarget) -> str:
    file, line = end.line if isinstance(end, TraceEnd) else target.home
    says = end.reason if isinstance(end, TraceEnd) else f"{type(end).__name__}: {end}"
    return f"{SourceLocation.of(file, line).file}:{line}: {says}"
