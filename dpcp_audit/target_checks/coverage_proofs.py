"""A target's claim of coverage, decided for every law of scores from its source."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.laws.piecewise import PiecewiseConstant
from dpcp_audit.proving.coverage import (
    CoverageBounds,
    CoverageSetting,
    assumptions,
    bounds_of,
    total_of,
)
from dpcp_audit.proving.coverage_reader import OrderStatistic
from dpcp_audit.proving.currencies import decimal
from dpcp_audit.proving.distances import Refusal
from dpcp_audit.stats.enclosures import at_most, ends
from dpcp_audit.target_checks.given_inputs import COVERAGE_SIZE
from dpcp_audit.target_checks.source_proofs import unread
from dpcp_audit.targets import Kind, TargetError
from dpcp_audit.targets.calls import FunctionCaller
from dpcp_audit.targets.degenerate import DegenerateTargetError, SingleDraws
from dpcp_audit.targets.kinds import tried
from dpcp_audit.theorems.calibration_sources import ScoreSource
from dpcp_audit.theorems.worst_law import sides
from dpcp_audit.words.proofs import Proof, ProofMethod
from dpcp_audit.words.quantities import Bound
from dpcp_audit.words.results import Evidence, EvidenceKind, Outcome, Verdict
from dpcp_audit.words.values import Pair
from dpcp_audit.words.whole_files import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.targets import Target
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import Coverage

_AGAIN = 2_000
"""Calls by which a baseline measures a proved coverage again."""
_FEW = 5
"""Calls that must return a threshold as it is read."""
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
class CoverageProof:
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
        proof = CoverageProof(spec=spec, guarantee=guarantee, found=tuple(found))
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
