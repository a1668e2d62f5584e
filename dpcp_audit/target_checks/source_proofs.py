"""A target's claims decided from its source: privacy for every input, coverage for every law."""

from __future__ import annotations

import inspect
import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.search.record_pairs import ClientPairs, RecordPairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.laws.populations import PiecewiseConstant
from dpcp_audit.proving.charges import decimal
from dpcp_audit.proving.coverage import (
    CoverageBounds,
    CoverageSetting,
    assumptions,
    bounds_of,
    total_of,
)
from dpcp_audit.proving.coverage_reader import OrderStatistic
from dpcp_audit.proving.distances import Leak, Refusal
from dpcp_audit.proving.known_calls import GENERATORS
from dpcp_audit.proving.proof_result import place_of
from dpcp_audit.proving.prover import prove
from dpcp_audit.stats.enclosures import at_most, ends
from dpcp_audit.target_checks.given_inputs import COVERAGE_SIZE, Unit
from dpcp_audit.target_checks.tried_inputs import pair_space, typical
from dpcp_audit.targets import Kind, RandomStyle, Takes
from dpcp_audit.targets.answers import (
    DataForm,
    DegenerateTargetError,
    Randomness,
    SingleDraws,
    TargetError,
)
from dpcp_audit.targets.calls import FunctionCaller
from dpcp_audit.targets.kinds import tried
from dpcp_audit.theorems.calibration_sources import ScoreSource
from dpcp_audit.theorems.worst_law import sides
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Relation
from dpcp_audit.words.quantities import Bound
from dpcp_audit.words.results import (
    Evidence,
    EvidenceKind,
    Outcome,
    Proof,
    ProofMethod,
    SourceLocation,
    Unproved,
    Verdict,
)
from dpcp_audit.words.values import Pair

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dpcp_audit.proving.proof_result import ProofResult
    from dpcp_audit.proving.spending import Total
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.targets import Target
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import Coverage, PrivacyGuarantee
    from dpcp_audit.words.results import Premise


_RELATIONS = {
    Relation.SUBSTITUTION: "one record is replaced by another, n public",
    Relation.ADD_REMOVE: "one record is added or taken away",
}
_UNVARIED = (
    "the source proves it, but all calls on one input returned the same output, or failed: the "
    "proof is not used"
)
_LEFT_OPEN = (
    "The proof leaves a loss of up to {factor:.3g} times the claim, and the calls do not "
    "contradict the claim: nothing is decided, since pairs that were not tried may lose more."
)
_UNPAID = (
    "The proof stops at noise that costs more than one use of it: the calls do not contradict the "
    "claim, but nothing is decided, since pairs that were not tried may lose more."
)
_FEW, _MANY = 5, 60
"""Calls that must run, or return a threshold as it is read; further ones where all are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProof:
    """The verifier's answers on a claim at each size at which it would be sampled.

    Parameters
    ----------
    results : tuple of ProofResult
        One for each size; under add-remove one for all.
    sizes : tuple of int
        The sizes, increasing; empty where the proof is for every number of records.
    """

    spec: CheckSpec
    guarantee: PrivacyGuarantee
    results: tuple[ProofResult, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(
        cls,
        spec: CheckSpec,
        guarantee: PrivacyGuarantee,
        target: Target,
        *,
        whole: bool = True,
    ) -> SourceProof | None:
        """Return what the verifier says; None of a claim or a target that it does not take.

        Unless it is to be the ``whole`` answer, it ends with the first size that is not proved.
        """
        if unfit(spec, guarantee, target):
            return None
        assert isinstance(target.caller, FunctionCaller)  # noqa: S101  (it is fit)
        given: dict[str, Any] = inputs_of(spec) | {"options": spec.target.options}
        function, sizes = target.caller.function, _sizes(spec)
        results: list[ProofResult] = []
        try:
            for n in sizes or (spec.clients,):
                results.append(prove(function, guarantee, n=n, every_n=not results, **given))
                if results[0].n is None:
                    sizes = ()
                    break
                if not (whole or results[-1].proved):
                    break
        except UsageError:
            return None
        return cls(spec=spec, guarantee=guarantee, results=tuple(results), sizes=sizes)

    @property
    def proved(self) -> bool:
        """True if the claim is proved at every size."""
        return all(each.proved for each in self.results)

    @property
    def stopped(self) -> ProofResult:
        """The result at the size at which most is lost, of those that are not proved.

        The largest size where nothing bounds the loss.
        """

        def lost(result: ProofResult) -> float:
            bound = result.totals[0].value if result.totals else None
            return math.inf if bound is None else float(bound)

        return max(reversed([each for each in self.results if not each.proved]), key=lost)

    def unproved(self) -> Unproved:
        """Return the line that stops the proof, why it does, and what would help.

        Of a proof that was not taken because the calls do not vary, or fail, this is why.
        """
        if self.proved:
            return Unproved(reason=_UNVARIED, hint="name inputs on which the output varies")
        told = self._told
        place = SourceLocation.of(told.file, told.line) if told.line and told.file else None
        return Unproved(
            reason=told.reason or "",
            location=place,
            hint=told.hint,
            source=told.annotated,
            bound=told.bound,
        )

    @property
    def _told(self) -> ProofResult:
        """The result at a size that was asked for, if it stops at the line of ``stopped``."""
        stopped = self.stopped
        same = (each for each in self.results if not each.proved and each.line == stopped.line)
        return next((each for each in same if each.n in self.spec.n), stopped)

    def beside(self, outcome: Outcome) -> Outcome:
        """Return an outcome with what stopped the proof, and of a refutation the line to blame.

        INCONCLUSIVE in place of CONSISTENT where the proof ends at a loss that the audit says it
        would have seen: the power of a search is of other code, of which other pairs are worst.
        A line that uses data without noise, or the exponent of a choice, goes before the one that
        the trace names.
        """
        unproved = self.unproved()
        line = outcome.location
        left = self._left_open()
        if left and outcome.verdict is Verdict.CONSISTENT:
            note = f"{outcome.note} {left}"
            outcome = replace(outcome, verdict=Verdict.INCONCLUSIVE, power=None, note=note)
        if outcome.verdict is Verdict.REFUTED and not self.proved:
            bare = isinstance(self.stopped.stop, Leak) or self.stopped.exponent
            if bare or (line is None and self.stopped.leak is not None):
                line = unproved.location
        return replace(outcome, unproved=unproved, location=line)

    def _left_open(self) -> str:
        """Return what the proof says against a search that found nothing; "" where nothing."""
        if not self.proved and self.stopped.stop is not None and self.stopped.stop.unpaid:
            return _UNPAID
        total = next(iter(self.stopped.totals), None) if not self.proved else None
        if total is None or not total.growth or total.value is None or not total.limit:
            return ""
        factor = float(total.value / total.limit)
        detected = factor >= self.spec.detect**total.growth
        return _LEFT_OPEN.format(factor=factor ** (1 / total.power)) if detected else ""

    def outcome(self) -> Outcome:
        """Return the outcome of a claim that is proved at every size."""
        dearest = max(self.results, key=lambda each: each.totals[0].value or 0)
        worst = dearest.totals[0]
        account = {place_of(line): cost for line, cost in worst.shares.items()}
        rules = list(dict.fromkeys(rule for each in self.results for rule in each.rules))
        assumed = list(self.results[0].assumptions)
        fixed: dict[str, Any] = {}
        if self.spec.target.kind.takes is not Takes.VALUE:
            fixed = {"n": list(self.sizes), "bounds": list(self.spec.target.bounds)}
            assumed[0] = _differs(self.spec, self.results[0].changes)
        spent = ", ".join(f"{line} spends {worst.unit} = {c:.6g}" for line, c in account.items())
        other_n = self.results[0].other_n
        told = f" Not for every n: {other_n}." if other_n else ""
        proof = Proof(
            method=ProofMethod.ARGUMENT,
            argument=(
                "The source is interpreted over how far two neighbours can be apart, and each use "
                f"of noise is charged for: {spent or 'no private value is released'}."
            ),
            premises=tuple(map(self._premise, self.results, self.sizes or (0,))),
            parameters={
                **fixed,
                "account": account,
                "rules": rules,
                "assumptions": assumed,
            },
            source=dearest.annotated,
        )
        return Outcome(
            verdict=Verdict.PROVED,
            evidence=self._evidence(worst),
            proof=proof,
            note=f"{spent or 'No private value is released'}.{told}",
        )

    def undecided(self) -> Outcome:
        """Return the outcome of a claim that is not proved, where nothing else may decide it."""
        totals, unproved = self.stopped.totals, self.unproved()
        return Outcome(
            verdict=Verdict.INCONCLUSIVE,
            evidence=self._evidence(totals[0] if totals else None),
            location=unproved.location,
            unproved=unproved,
        )

    def _evidence(self, total: Total | None) -> Evidence:
        """Return the bound that is proved; without one, that there is none."""
        quantity, claimed, at = loss_of(self.guarantee).decided
        bound = None if total is None else total.number
        most = math.inf if bound is None else bound
        return Evidence(
            kind=EvidenceKind.EXACT,
            quantity=quantity,
            value=min(most, claimed) if self.proved else most,
            lower=0.0,
            upper=min(most, claimed) if self.proved else most,
            claimed=claimed,
            at=at,
            detail="at most, for every input",
        )

    def _premise(self, result: ProofResult, n: int) -> Premise:
        (total,) = result.totals
        assert total.value is not None  # noqa: S101  (it is proved)
        size = f" at n = {n}" if n else ""
        return at_most(f"{self.guarantee}{size}", total.value, total.limit)


def proved_by_source(
    spec: CheckSpec, guarantee: PrivacyGuarantee, target: Target, context: Context
) -> Outcome | None:
    """Return the outcome of a claim that the source proves; None of any other."""
    proof = SourceProof.of(spec, guarantee, target, whole=False) if spec.prove else None
    if proof is None or not proof.proved or not answers(spec, target, context):
        return None
    return proof.outcome()


def inputs_of(spec: CheckSpec) -> dict[str, Any]:
    """Return the keywords of ``prove`` that say of which inputs a check's claims are."""
    takes = spec.target.kind.takes
    if takes is Takes.VALUE:
        found: dict[str, Any] = {"domain": spec.target.domain, "shuffle_n": spec.shuffle_n}
    else:
        found = {"bounds": spec.target.bounds, "neighbours": spec.neighbours}
    if takes is Takes.RECORDS:
        found |= {"bounds": (0.0, 1.0), "classes": spec.target.domain}
    if takes is Takes.CLIENTS:
        found |= {"clients": spec.clients, "unit": str(spec.unit)}
    return found | {"group": spec.group}


def _sizes(spec: CheckSpec) -> tuple[int, ...]:
    """Return the numbers of records that are sampled; none where a proof is for every number."""
    if spec.neighbours is not Relation.SUBSTITUTION or spec.target.kind.takes is Takes.VALUE:
        return ()
    pairs = pair_space(spec)
    scores = pairs.scores if isinstance(pairs, ClientPairs | RecordPairs) else pairs
    fewest = spec.clients if isinstance(pairs, ClientPairs) else 1
    assert isinstance(scores, ScorePairs)  # noqa: S101  (the kind is one of scores)
    return tuple(sorted({each for each in scores.sizes if each >= fewest}))


def _differs(spec: CheckSpec, changes: str) -> str:
    """Return how neighbours differ, without the number of records of one proof."""
    if spec.group == 1 and spec.target.kind.takes is Takes.SCORES:
        return _RELATIONS[spec.neighbours]
    fixed = ", n public" if spec.neighbours is Relation.SUBSTITUTION else ""
    return f"{changes}{fixed}"


_VECTORISED = Unproved(
    reason="the verifier does not read vectorised functions",
    hint="give it as f(scores, *, rng), which returns one output",
)


def what_stops(spec: CheckSpec, guarantee: PrivacyGuarantee, target: Target) -> Unproved | None:
    """Return why a claim is not read that the verifier takes of functions of one output."""
    written = spec.prove and isinstance(target.caller, FunctionCaller)
    told = written and spec.target.vectorised and not _unfit_claim(spec, guarantee)
    return _VECTORISED if told else None


def unfit(spec: CheckSpec, guarantee: PrivacyGuarantee, target: Target) -> str:
    """Return why the verifier does not take a claim of a target; "" where it does."""
    return _unfit_claim(spec, guarantee) or unread(spec, target)


def _unfit_claim(spec: CheckSpec, guarantee: PrivacyGuarantee) -> str:
    if not loss_of(guarantee).by_noise or spec.neighbours not in _RELATIONS:
        return "it proves pure, (ε, δ)-, Rényi, Gaussian DP and zCDP of one record"
    takes = spec.target.kind.takes
    if takes is Takes.VALUE:
        known = spec.target.domain is not None and spec.pair is None
        fits = known and (guarantee.of_one_report or spec.shuffle_n is not None)
        return "" if fits else "of one user's value it takes local or shuffled claims, and a domain"
    if takes is Takes.CLIENTS and (spec.unit, spec.neighbours) == (
        Unit.CLIENT,
        Relation.ADD_REMOVE,
    ):
        return "of whole clients it proves substitution alone"
    if takes is Takes.RECORDS:
        known = spec.target.domain is not None and spec.pair is None
        return "" if known else "of rows and labels it takes a number of classes, on all pairs"
    finite = all(map(math.isfinite, spec.target.bounds))
    if takes not in {Takes.SCORES, Takes.CLIENTS} or spec.pair is not None or not finite:
        return "it takes functions of scores between finite bounds, on all pairs"
    return ""


def unread(spec: CheckSpec, target: Target) -> str:
    """Return why the verifier does not read a target; "" where it does."""
    setting, caller = spec.target, target.caller
    if not isinstance(caller, FunctionCaller) or setting.vectorised:
        return "it takes Python functions of one output a call"
    if setting.given_as is not DataForm.ARRAY:
        return "it takes NumPy arrays"
    if not _called_as_read(caller, setting.options.keys()):
        return "it takes f(scores, *, rng), or f(scores) that draws from the global generators"
    return ""


def _called_as_read(caller: FunctionCaller, options: Collection[str]) -> bool:
    """Tell whether the function is called with the arguments that the verifier assumes."""
    convention = caller.convention
    if convention.seed or convention.torch or convention.data:
        return False
    try:
        names = set(inspect.signature(caller.function, follow_wrapped=False).parameters)
    except (TypeError, ValueError):
        return False
    handed = {convention.rng} if convention.style is RandomStyle.GENERATOR else set[str]()
    sized = handed and "size" in names - set(options)
    return handed == (names & GENERATORS) and not handed & set(options) and not sized


def answers(spec: CheckSpec, target: Target, context: Context) -> bool:
    """Tell whether a few calls run without an error, and their outputs vary."""
    rng = replace(context, name=f"{context.name}, proof").rng()
    drawn, value = SingleDraws(target=target), typical(spec)
    try:
        outputs = drawn(value, _FEW, rng=rng)
        if target.randomness is Randomness.NONE or (outputs != outputs[0]).any():
            return True
        return bool((drawn(value, _MANY, rng=rng) != outputs[0]).any())
    except (TargetError, DegenerateTargetError):
        return False


def require_proof(
    spec: CheckSpec, guarantee: PrivacyGuarantee, target: Target, context: Context
) -> Outcome:
    """Return the outcome of a claim that is proved, or not; nothing else decides it.

    Raises
    ------
    TargetError
        If the verifier does not take the claim or the target, or if no call answers.
    """
    found = SourceProof.of(spec, guarantee, target)
    if found is None:
        why = unfit(spec, guarantee, target) or "the target's options are not its arguments"
        raise TargetError(why)
    if not found.proved:
        return found.undecided()
    if not answers(spec, target, context):
        raise TargetError("its calls raise, or all return the same")
    return found.outcome()


_AGAIN = 2_000
"""Calls by which a baseline measures a proved coverage again."""
_ROUNDING = 1e-9
"""Relative distance of a threshold from the score that it is, where NumPy interpolates."""
_CLEAR = Fraction(1, 10**9)
"""The least shortfall of uniform scores' coverage that counts: less may be a rounded level."""
_ARGUMENT = (
    "The threshold is an order statistic of the scores, at a rank that does not depend on them. "
    "The rank of the next score among n+1 exchangeable ones is uniform, so that the k-th smallest "
    "of the n others covers it with probability k/(n+1), or more with ties (Vovk, Gammerman and "
    "Shafer 2005)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CoverageProof:
    """The result of reading a target's source for a coverage claim, at each number of scores."""

    spec: CheckSpec
    guarantee: Coverage
    found: tuple[CoverageBounds, ...]

    @property
    def proved(self) -> bool:
        """True if the claim holds at every size, for every law."""
        return all(total_of(each, self.guarantee).within for each in self.found)

    def refuted(self) -> CoverageBounds | None:
        """Return the smallest size at which uniform scores break the claim."""
        for each in self.found:
            low, high = self._on_uniform(each)
            claimed = self._claimed
            beyond = low - claimed if self._failures else claimed - high
            if beyond > _CLEAR:
                return each
        return None

    @property
    def _failures(self) -> bool:
        return self.guarantee.confidence < 1

    @property
    def _claimed(self) -> Fraction:
        if self._failures:
            return 1 - decimal(self.guarantee.confidence)
        return decimal(self.guarantee.at_least)

    def _on_uniform(self, found: CoverageBounds) -> tuple[Fraction, Fraction]:
        if not self._failures:
            return found.uniform
        level = self.guarantee.at_least
        return found.failure_of_uniform(level), found.failure(level)

    def proof(self) -> Outcome:
        """Return the outcome of a claim that is proved."""
        side = sides(self.guarantee)[0]
        sizes = [each.setting.n for each in self.found]
        assumed = assumptions(self.found[0].setting, self.guarantee)
        premises = [
            at_most(f"{total.unit} at n = {one.setting.n}", total.value, total.limit)
            for one in self.found
            if (total := total_of(one, self.guarantee)).value is not None
        ]
        proof = Proof(
            method=ProofMethod.ARGUMENT,
            argument=_ARGUMENT,
            premises=tuple(premises),
            parameters={
                "n": sizes,
                "thresholds": _ranks(self.found),
                "assumptions": list(assumed),
            },
        )
        low, high = self._worst()
        value = high if side.bound is Bound.AT_MOST else low
        evidence = Evidence(
            kind=EvidenceKind.EXACT,
            quantity=side.quantity,
            value=value,
            lower=low,
            upper=high,
            claimed=side.bounded,
            bound=side.bound,
            detail="of the worst law",
        )
        note = f"The threshold is {'; '.join(_ranks(self.found))}."
        worst = min(self.found, key=lambda each: each.of_all_laws[0])
        witness = self._witness(worst, _AGAIN)
        return Outcome(
            verdict=Verdict.PROVED, evidence=evidence, proof=proof, witness=witness, note=note
        )

    def _witness(self, found: CoverageBounds, calls: int) -> dict[str, Any]:
        """Return the case of uniform scores, which so many calls measure again."""
        source = ScoreSource(law=PiecewiseConstant(cells=(1,)), bounds=self.spec.target.bounds)
        return {
            "kind": str(self.spec.target.kind),
            "bounds": Pair().as_data(self.spec.target.bounds),
            "strict": self.spec.open_sets,
            "tolerance": 0.0,
            "guarantee": asdict(self.guarantee),
            "law": source.as_data(),
            "n": found.setting.n,
            "upper": False,
            "calls": calls,
        }

    def _worst(self) -> tuple[float, float]:
        """Return the ends of the bounded number on the law, and at the size, that is worst.

        No law is worse than is proved, and uniform scores are no worse than the worst law.
        """
        bounded = sides(self.guarantee)[0].bounded
        of_uniform = [self._on_uniform(each) for each in self.found]
        if self._failures:
            most = max(each.failure(self.guarantee.at_least) for each in self.found)
            return ends(max(low for low, _ in of_uniform))[0], min(ends(most)[1], bounded)
        least = min(each.of_all_laws[0] for each in self.found)
        low = max(ends(least)[0], bounded)
        return low, max(low, ends(min(high for _, high in of_uniform))[1])

    def refutation(self, found: CoverageBounds) -> Outcome:
        """Return the outcome of a claim that uniform scores break."""
        side = sides(self.guarantee)[0]
        low, high = self._on_uniform(found)
        lower, upper = ends(low)[0], ends(high)[1]
        evidence = Evidence(
            kind=EvidenceKind.EXACT,
            quantity=side.quantity,
            value=upper if side.bounded > upper else lower,
            lower=lower,
            upper=upper,
            claimed=side.bounded,
            bound=side.bound,
            detail=f"scores of a law without ties, n = {found.setting.n}",
        )
        gap = float(max(self._claimed - high, low - self._claimed))
        calls = math.ceil(10 / (found.setting.n + 2) / gap**2) + 100
        witness = self._witness(found, calls)
        (rank, *others) = {_rank(each.value) for each in found.thresholds}
        if rank is not None and not others and side.bound is Bound.AT_LEAST and not self._failures:
            witness["rank"] = rank
        note = (
            f"From the source, and without samples: {'; '.join(_ranks((found,)))}. On scores "
            "without ties the k-th smallest of n covers k/(n+1) on average, whatever their law."
        )
        return Outcome(verdict=Verdict.REFUTED, evidence=evidence, witness=witness, note=note)


def _rank(threshold: OrderStatistic | float) -> int | None:
    """Return the rank of a threshold that is one of the scores; None of any other."""
    if isinstance(threshold, OrderStatistic) and threshold.low == threshold.high:
        return threshold.low
    return None


def _ranks(found: Sequence[CoverageBounds]) -> list[str]:
    """Return the ranks of the thresholds at each size, in words."""
    said: list[str] = []
    for each in found:
        ranks = [t.value for t in each.thresholds if isinstance(t.value, OrderStatistic)]
        of = f"of n = {each.setting.n}"
        if not ranks:
            said.append(f"a constant threshold {of}")
            continue
        low, high = min(one.low for one in ranks), max(one.high for one in ranks)
        said.append(f"rank {low} {of}" if low == high else f"ranks {low} to {high} {of}")
    return said


def decided_coverage(
    spec: CheckSpec, guarantee: Coverage, target: Target, context: Context
) -> Outcome | None:
    """Return the outcome of a claim of coverage that the source decides; None of any other."""
    plainly = spec.target.kind is Kind.QUANTILE and not spec.tolerance and not guarantee.per_class
    if not spec.prove or not plainly or unread(spec, target):
        return None
    assert isinstance(target.caller, FunctionCaller)  # noqa: S101  (it is read)
    settings = [
        CoverageSetting(n=n, bounds=spec.target.bounds, ties=spec.ties, open_sets=spec.open_sets)
        for n in sorted(set(spec.n or (COVERAGE_SIZE,)))
    ]
    try:
        found = [bounds_of(target.caller.function, each, spec.target.options) for each in settings]
        proof = _CoverageProof(spec=spec, guarantee=guarantee, found=tuple(found))
        proved, refuted = proof.proved, proof.refuted()
    except (Refusal, UsageError):
        return None
    if (not proved and refuted is None) or not all(
        _agrees(each, target, context) for each in found
    ):
        return None
    return proof.proof() if refuted is None else proof.refutation(refuted)


def _agrees(found: CoverageBounds, target: Target, context: Context) -> bool:
    """Tell whether a few calls return a threshold as it is read."""
    rng = replace(context, name=f"{context.name}, coverage").rng()
    low, high = tried(found.setting.bounds)
    scores = low + (high - low) * rng.random(found.setting.n)
    try:
        outputs = SingleDraws(target=target)(scores, _FEW, rng=rng)
    except (TargetError, DegenerateTargetError):
        return False
    ordered = np.sort(scores)
    spans = [_span(each.value, ordered) for each in found.thresholds]
    return all(any(a <= float(each) <= b for a, b in spans) for each in outputs)


def _span(value: OrderStatistic | float, ordered: Any) -> tuple[float, float]:
    if not isinstance(value, OrderStatistic):
        return value, value
    a, b = float(ordered[value.low - 1]), float(ordered[value.high - 1])
    room = _ROUNDING * max(abs(a), abs(b)) * (value.low < value.high)
    return a - room, b + room
