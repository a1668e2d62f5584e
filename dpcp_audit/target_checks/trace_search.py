"""The traces of a target: a few paths choose a pair, others show what it loses there.

The effort is a number of calls and of observations, never of seconds: a seed repeats it.

Of a randomizer whose law is finite every value's whole law is enumerated, and so every pair's, and
what may be proved of them. A proof needs more than the laws: the verifier must have read the source
and found nothing that it does not know, so that the code depends on its input and its draws alone
and keeps no state; and a few calls must do the same without a trace. Where that is not so the exact
loss stands, and the reason why it is no proof is said.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.exact import worst_measurement
from dpcp_audit.audits.path_evidence import hides_infinity
from dpcp_audit.audits.search.pair_space import pair_from_data
from dpcp_audit.audits.search.stages import extent_of
from dpcp_audit.audits.traced_privacy import Scope, TracedPrivacy, input_rounding, line_sentence
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.proving.prover import undetermined
from dpcp_audit.target_checks.tried_inputs import pair_space
from dpcp_audit.targets import Kind, Takes, TargetError, TargetRaisedError
from dpcp_audit.targets.answers import KeptOutputError, Randomness, handed_over
from dpcp_audit.targets.calls import FunctionCaller, streams_put_back
from dpcp_audit.targets.loading import code_of
from dpcp_audit.tracing.draws import TraceEnd, UnfollowableError
from dpcp_audit.tracing.outputs import (
    ROUNDED,
    as_written,
    pair_of,
    same_atoms,
    without_marks,
    without_rounding,
)
from dpcp_audit.tracing.pair_traces import require_no_memory, trace_target
from dpcp_audit.tracing.path_losses import require_replay
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.path_tree import release_law
from dpcp_audit.tracing.reachable_names import Reach
from dpcp_audit.tracing.target_calls import TracedTarget, put_back
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.evidence import decide
from dpcp_audit.words.formatting import counted
from dpcp_audit.words.guarantees import Neighbours, Relation
from dpcp_audit.words.results import Premise, Proof, ProofMethod, Remark, SourceLocation, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.laws.laws import FinitePair
    from dpcp_audit.proving.distances import Refusal
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.targets import Target
    from dpcp_audit.tracing.outputs import OutputLaw
    from dpcp_audit.tracing.pair_traces import PairTrace
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Outcome, PlainData


_ALL_PATHS, _ALL_PAIRS = 10_000, 2_000
"""Paths over all values, and pairs of values, up to which a randomizer is enumerated whole."""
_UNTRACED = 8
"""Calls of each value without a trace, which must return what the traced ones do."""

_EVERY_PATH = "Every path of the code was run on every value, for ideal draws."
_DOUBLES = (
    " Assumption: each probability, a double in the code, stands for a real number within its "
    "rounding. A loss that exceeds the claim by this rounding alone counts as within it."
)
_ROUNDED_AWAY = "outputs that differ by no more than rounding, or in type, are taken for one"


@dataclass(frozen=True, slots=True, kw_only=True)
class _EveryPair:
    """The whole laws of a randomizer over a finite domain.

    Parameters
    ----------
    worst : Neighbours
        The pair that loses most.
    largest : float
        The loss of the worst pair where outputs are told apart to the last bit, and by type.
    doubt : str
        Why the laws prove nothing, with the line; "" where they may.
    elementary : bool
        True if all probabilities are sums and products of doubles of the code.
    """

    worst: Neighbours[Any]
    largest: float
    doubt: str
    elementary: bool = False

    @classmethod
    def of(
        cls, spec: CheckSpec, guarantee: PrivacyGuarantee, target: TracedTarget
    ) -> _EveryPair | None:
        """Return the laws of all values; None where they are not finite, or not followed."""
        domain = None if spec.pair is not None else spec.target.domain
        if spec.target.kind is not Kind.RANDOMIZER or domain is None:
            return None
        if math.comb(domain, 2) > _ALL_PAIRS or not loss_of(guarantee).by_laws:
            return None
        pairs = list(combinations(range(domain), 2))
        try:
            laws = _laws(target, domain)
        except TraceEnd:
            return None
        return cls._of_laws(guarantee, laws, pairs, _doubt(target, domain), target)

    @classmethod
    def _of_laws(
        cls,
        guarantee: PrivacyGuarantee,
        laws: Sequence[OutputLaw],
        pairs: Sequence[tuple[int, int]],
        doubt: str,
        target: TracedTarget,
    ) -> _EveryPair | None:
        try:
            near = [without_rounding(pair_of(laws[a], laws[b]))[0] for a, b in pairs]
        except TraceEnd:
            return None
        losses = [_loss(guarantee, each) for each in near]
        written = [_loss(guarantee, as_written(laws[a], laws[b])) for a, b in pairs]
        largest = max(written)
        within = max(losses) <= loss_of(guarantee).claimed
        a, b = pairs[(written if within else losses).index(largest if within else max(losses))]
        if largest > max(losses):
            doubt = doubt or _ROUNDED_AWAY
        return cls(
            worst=Neighbours(relation=Relation.SUBSTITUTION, value=a, neighbour=b),
            largest=largest,
            doubt=doubt or _untraced_doubt(target, laws),
            elementary=all(law.elementary for law in laws),
        )

    def proved(
        self, found: Outcome, guarantee: PrivacyGuarantee, rounding: float | None = None
    ) -> Outcome:
        """Return the outcome of the worst pair: what lies within the claim is proved.

        Parameters
        ----------
        rounding : float or None
            The largest change of the loss if the probabilities, which are doubles, stand for real
            numbers that round to them. The claim is compared up to that change, and the proof says
            so.
        """
        rounding = rounding if self.elementary else None
        evidence = replace(
            found.evidence, upper=max(found.evidence.upper, self.largest + _room(found))
        )
        claimed = evidence.claimed
        assert claimed is not None  # noqa: S101  (for the type checker)
        allowed = claimed + (2 * rounding if rounding else 0.0)
        says = f", or beyond it by at most {allowed - claimed:.1e}" if rounding else ""
        premise = Premise(
            says=f"the loss on the worst pair, enumerated, is within {guarantee}{says}",
            left=(evidence.lower, evidence.upper),
            right=(claimed, allowed),
            holds=evidence.upper <= allowed,
        )
        if premise.holds:
            evidence = replace(
                evidence,
                value=min(evidence.value, claimed),
                lower=min(evidence.lower, claimed),
                upper=min(evidence.upper, claimed),
            )
        proof = Proof(
            method=ProofMethod.ENUMERATION,
            argument=f"{_EVERY_PATH}{_DOUBLES if rounding else ''}",
            premises=(premise,),
        )
        verdict = decide(evidence, power=found.power, proof=None if self.doubt else proof)
        power = None if found.power is None else replace(found.power, detail="on every pair")
        within = verdict is Verdict.CONSISTENT and self.doubt
        says = f" It is no proof: {self.doubt}." if within else ""
        return replace(
            found,
            evidence=evidence,
            verdict=verdict,
            power=power,
            proof=proof if verdict is Verdict.PROVED else None,
            note=f"{found.note} Of all pairs of values this one is the worst.{says}",
        )


def _room(found: Outcome) -> float:
    """Return the largest error of the exact value."""
    return found.evidence.upper - found.evidence.value if found.evidence.value < np.inf else 0.0


def _loss(guarantee: PrivacyGuarantee, pair: FinitePair) -> float:
    return worst_measurement(guarantee, [pair])[0].value


def _laws(target: TracedTarget, domain: int) -> list[OutputLaw]:
    """Return the laws of all values."""
    for value in range(domain):
        require_replay(target, value, value)
    return [release_law(target, value, most=_ALL_PATHS // domain) for value in range(domain)]


def _doubt(target: TracedTarget, domain: int) -> str:
    """Return the part of the source that keeps the laws from being a proof; "" for none."""
    if target.read is None:
        return f"{_at(target.home)}: its source is not read"
    for value in range(domain):
        found = target.read(value)
        if found is not None:
            return f"{_at((found.file, found.line))}: {found.reason}"
    return ""


def _untraced_doubt(target: TracedTarget, laws: Sequence[OutputLaw]) -> str:
    """Return how a few calls without a trace differ from traced ones; "" where they agree.

    What it returns must be an output that the laws have, of the same types.
    """
    for value, law in enumerate(laws):
        for seed in range(_UNTRACED):
            here, there = (np.random.default_rng(seed) for _ in range(2))
            try:
                found = target.outputs(value, SampledRun(), here)
                plain = target.untraced(value, there)
                same = same_atoms(without_marks(found), without_marks(plain), ROUNDED)
            except (TraceEnd, Exception) as end:  # noqa: BLE001  (a target may raise anything)
                return f"without a trace it raises {type(end).__name__}"
            if not same:
                return f"{_at(target.home)} returns something else without a trace"
            if not any(same_atoms(plain, each, ROUNDED) for each in law.unrounded):
                return f"{_at(target.home)} returns values of a type that is not followed"
    return ""


def _at(line: tuple[str, int]) -> str:
    location = SourceLocation.of(*line)
    return f"{location.file}:{location.line}"


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

    def call(x: Any, *, rng: Any = None) -> Any:
        inputs: list[Any] = [*x] if several else [np.array([x]) if many else x]
        if target.kind.takes is Takes.CLIENTS:
            inputs = [tuple(x)]
        data, by_name = caller.convention.named(
            [handed_over(each, caller.given_as) for each in inputs]
        )
        process = os.getpid()
        try:
            with streams_put_back():
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
_TREE_OF_LEAK = 2048
"""Paths of the tree where data is seen without noise: ten comparisons have 1024."""
_GENERIC = 0.3
"""The share of the pairs whose scores are all distinct, where there are such pairs."""
_UNSEEN = "no draw is seen: the code is deterministic, or it draws from elsewhere"
_SEED = 2**53
_ENUMERATED = 4
"""Pairs of which all paths are run, at most, while the loss is within the claim."""
_LATER = 1 / (2 * (_ENUMERATED - 1))
"""The share of the significance of each pair after the first: together they take a half.

The first, of which all paths were run, needs its half for the forms of outputs alone.
"""
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
    tree, pilot_tree : int
        Paths of a tree that is enumerated: of the chosen pair, and of each that is tried.
    replays : int
        Paths of either input that are replayed on their own input.
    bounded : bool
        True if the planned calls and the observations of a run limit it.
    """

    pairs: int
    pilot: int
    paths: int
    tree: int
    pilot_tree: int
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
            pilot_tree=min(self.pilot_tree, tree // pairs),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceResult:
    """The findings of the traces of a target.

    Parameters
    ----------
    outcome : Outcome or None
        The outcome on the worst pair; None where nothing is judged.
    trace : PairTrace or None
        The trace of that pair.
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
        The stated source of the target's random numbers.
    effort : TraceEffort
    scope : Scope
        The scope of the claim.
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
        """Return the outcome on the pair that loses most of those that are tried.

        Which pair that seems to be depends on the seed and on the claim, and not on the name that
        a command or a test gives the claim. Where all paths of the pair were run, and its loss is
        within the claim, all paths of the next pairs are run as well, as far as ``_ENUMERATED``.
        """
        try:
            first = self._tried(1)[0].neighbours
            require_no_memory(self.traced, first.value, first.neighbour)
            effort = self._allowed()
            with put_back(self.traced.written):
                every = _EveryPair.of(self.spec, self.guarantee, self.traced)
            if every is not None:
                return self._judged(every.worst, context, effort, every)
            tried = self._tried(effort.pairs)
            choosing = replace(context, name=str(self.guarantee))
            ranked = sorted(tried, key=partial(self._badness, choosing, effort), reverse=True)
            found = [(self._judged(ranked[0].neighbours, context, effort), ranked[0])]
            later = replace(context, significance=context.significance * _LATER)
            for pair in ranked[1:_ENUMERATED] if loss_of(self.guarantee).by_laws else ():
                if not _is_within(found[-1][0]):
                    break
                found.append((self.on(pair.neighbours, later), pair))
            worst, pair = max(found, key=lambda each: _exact_loss(each[0]))
            return _with_extent(worst, pair, tried)
        except KeptOutputError:
            raise
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
        pair = found.pair or self._tried(1)[0].neighbours
        try:
            target(pair.value, 1, rng=context.rng(2))
        except TargetRaisedError:
            raise
        except TargetError:
            return

    def again(self, witness: PlainData, context: Context) -> Outcome:
        """Run the paths of a witness again, on the current code."""
        pair = pair_from_data(witness)
        trace = self._trace(pair, witness["path_seed"], self._allowed(), witness["draws"])
        return self._audit(pair, witness["draws"]).judge(trace, context)

    def _judged(
        self,
        pair: Neighbours[Any],
        context: Context,
        effort: TraceEffort,
        every: _EveryPair | None = None,
    ) -> TraceResult:
        seed = int(context.rng().integers(_SEED))
        trace = self._trace(pair, seed, effort, effort.paths)
        if self.randomness is not Randomness.NONE and not trace.drawn:
            nothing = Remark(says=_UNSEEN, location=SourceLocation.of(*self.traced.home))
            trace = replace(trace, unfollowed=(nothing,))
        found = self._audit(pair, effort.paths).judge(trace, context)
        if not trace.followed and found.verdict is not Verdict.REFUTED:
            reason = str(trace.unfollowed[0])
            return TraceResult(outcome=found, trace=trace, pair=pair, reason=reason)
        named = trace.lines and not hides_infinity(trace)
        spent = line_sentence(self.guarantee, trace.lines[0]) if named else ""
        found = replace(
            found,
            witness=found.witness | {"path_seed": seed} | _path(trace),
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
        """Return the trace of a pair; where data has no noise, a larger tree settles the output."""

        def traced(tree: int) -> PairTrace:
            return trace_target(
                self.traced,
                pair.value,
                pair.neighbour,
                draws=paths,
                rng=np.random.default_rng(seed),
                replays=effort.replays,
                tree=tree,
                release=self.scope is Scope.RELEASE,
            )

        found = traced(effort.tree)
        if effort.bounded or not found.leaks or found.exact is not None:
            return found
        return traced(_TREE_OF_LEAK)

    def _audit(self, pair: Neighbours[Any], paths: int) -> TracedPrivacy:
        return TracedPrivacy(
            target=self.traced,
            guarantee=self.guarantee,
            neighbours=pair,
            draws=paths,
            scope=self.scope,
            representation=self.spec.representation,
        )

    def _tried(self, most: int) -> list[Candidate]:
        """Return pairs to trace: the catalogue's first, and some of them with all scores distinct.

        Of tied scores an output that is a score looks constant.
        """
        space = pair_space(self.spec)
        listed = space.candidates()[:most]
        untied = [space.untied(each) for each in listed]
        generic = [each for each in untied if each is not None][: round(_GENERIC * most)]
        return [*listed[: most - len(generic)], *generic]

    def _allowed(self) -> TraceEffort:
        """Return the effort that is allowed: by what a run draws, and by the calls planned."""
        if not self.effort.bounded:
            return self.effort
        path = SampledRun()
        first = self._tried(1)[0].neighbours
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
        self, context: Context, effort: TraceEffort, candidate: Candidate
    ) -> tuple[bool, bool, float]:
        """Return the rank of a pair; one that cannot be followed, or draws nothing, is the last.

        By the loss of the output where its whole law is small, or values far from the data refute
        the claim, else by a few paths: what the noise reveals may be infinitely much on pairs on
        which the output shows nothing.
        """
        trace = trace_target(
            self.traced,
            *candidate.inputs,
            draws=effort.pilot,
            rng=context.rng(1),
            replays=1,
            tree=effort.pilot_tree,
            release=self.scope is Scope.RELEASE,
        )
        seen = trace.followed and (trace.drawn or self.randomness is Randomness.NONE)
        loss, pair, far = loss_of(self.guarantee), trace.exact, trace.far
        if loss.pure and far is not None and far.least > loss.claimed:
            return seen, True, far.loss
        if trace.points is not None and loss.by_laws:
            points = max(
                loss.measured(way).value for way in (trace.points, trace.points.reversed())
            )
            if points > loss.claimed:
                return seen, True, points
        if pair is None or not loss.by_laws:
            return seen, False, _seen_loss(self.guarantee, trace)
        found = max(loss.measured(way).value for way in (pair, pair.reversed()))
        return seen, found > loss.claimed, found


def _is_within(found: TraceResult) -> bool:
    """Return True if all paths were run and the loss is within the claim, on this pair."""
    exact = found.trace is not None and found.trace.exact is not None
    return exact and found.outcome is not None and found.outcome.verdict is not Verdict.REFUTED


def _exact_loss(found: TraceResult) -> float:
    """Return the loss of a pair on which all paths were run; −∞ of any other, but refuted ones."""
    if found.outcome is None:
        return -math.inf
    if found.outcome.verdict is Verdict.REFUTED:
        return math.inf
    return found.outcome.evidence.value if _is_within(found) else -math.inf


def _with_extent(found: TraceResult, worst: Candidate, all_: Sequence[Candidate]) -> TraceResult:
    """Return a finding that says which pair it is of, and of how many."""
    outcome = found.outcome
    if outcome is None:
        return found
    n = worst.scores.size if worst.scores is not None else 0
    pair = f"{worst.family}{f', n = {n}' if n else ''}"
    tried = counted(len(all_), "pair")
    note = f"{outcome.note} The worst of {tried} that were tried: {pair}."
    power = outcome.power
    if power is not None and power.detection == 1:
        power = replace(power, detail=f"on the worst of {tried} tried ({pair})")
    searched = replace(outcome, note=note.strip(), power=power, extent=extent_of(all_))
    return replace(found, outcome=searched)


def _seen_loss(guarantee: PrivacyGuarantee, trace: PairTrace) -> float:
    if not trace.forward.size:
        return -math.inf
    if loss_of(guarantee).pure:
        return max(sample.epsilon(0.0) for sample in trace.samples)
    return max(sample.mean for sample in trace.samples)


def _path(trace: PairTrace) -> PlainData:
    """Return the path that loses most; none for a whole law."""
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
