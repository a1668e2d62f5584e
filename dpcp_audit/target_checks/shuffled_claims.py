"""A claim of privacy on what n users report in random order: enumerated, or sampled."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits import blackbox
from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.exact import exact_outcome, worst_measurement
from dpcp_audit.audits.search.record_pairs import (
    ShuffledPairs,
    ShuffledReports,
    nothing_merged,
    shuffled_pairs,
)
from dpcp_audit.target_checks.planned_calls import ClaimAudit, closed
from dpcp_audit.target_checks.trace_search import traced_target
from dpcp_audit.targets import Kind
from dpcp_audit.targets.kinds import tried
from dpcp_audit.tracing.draws import TraceEnd
from dpcp_audit.tracing.path_losses import require_replay
from dpcp_audit.tracing.path_tree import release_law
from dpcp_audit.tracing.target_calls import put_back
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.quantities import Quantity

if TYPE_CHECKING:
    from dpcp_audit.audits.search.record_pairs import Change
    from dpcp_audit.laws.laws import FinitePair
    from dpcp_audit.targets import Target
    from dpcp_audit.targets.answers import Drawable
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.evidence import Computation
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Outcome, PlainData
    from dpcp_audit.words.validate import FloatArray


_PATHS = 2000
_MERGED = " Some reports were merged: counted apart, they may show a larger loss."


_LOOKED_AT = 8
"""Reports that say whether a randomizer reports integers: no test sees them."""


def reports_labels(target: Drawable, domain: int) -> bool:
    """Return True if a randomizer reports integers in {0, …, K−1}, and no texts or the like."""
    rng = np.random.default_rng(0)
    drawn = [target(k % domain, 1, rng=rng) for k in range(_LOOKED_AT)]
    return all(each.ndim == 1 and each[0] < domain for each in drawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledAudit(ClaimAudit):
    """The calls that test a claim on what n users report in random order.

    One user's law is enumerated, and that of n users computed from it. Where that is not possible,
    the claim is decided by ``BlackBoxPrivacy``.
    """

    guarantee: PrivacyGuarantee

    @property
    def fewest(self) -> int:
        """Fewer than of other claims, since each output takes n reports."""
        return 2**14

    def sampled(self, target: Target, context: Context) -> Outcome:
        """Enumerate one user's law and compute the shuffled one; else sample shuffled reports."""
        channel = self._channel(target) if self.spec.trace else None
        found = [] if channel is None else list(shuffled_pairs(channel, self._n))
        if channel is None or not found:
            return self.on(target, self.calls)(context)
        merged = "" if nothing_merged(channel, self._n) else _MERGED
        return Computed(partial(self._computed, found, merged))(context)

    def on(self, target: Drawable, calls: int) -> BlackBoxPrivacy:
        """Return the audit of an opened target's shuffled reports."""
        opened = self.of(calls)
        return replace(opened, sample=self._reports(target), randomness=target.randomness)

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Test the event of a witness on the code as it is."""
        with self.spec.target.open() as target:
            return blackbox.confirm(
                witness,
                self._reports(target),
                guarantee=self.guarantee,
                context=context,
            )

    @property
    def _n(self) -> int:
        return self.spec.shuffle_n or 2

    @property
    def _values(self) -> tuple[float, ...]:
        """The users' possible values: all of them, or the ends of the bounds and points between."""
        spec = self.spec.target
        if spec.domain is not None:
            return tuple(range(spec.domain))
        low, high = tried(spec.bounds)
        return low, high, (low + high) / 2

    def _reports(self, target: Drawable) -> ShuffledReports:
        spec = self.spec.target
        counted = spec.kind is Kind.RANDOMIZER and reports_labels(target, spec.domain or 0)
        return ShuffledReports(reporter=target, n=self._n, values=self._values, counted=counted)

    def _channel(self, target: Target) -> FloatArray | None:
        """Return the law of a report on every value, shape (K, m); None where it is not finite."""
        if self.spec.target.command:
            return None
        traced = traced_target(target)
        try:
            with put_back(traced.written):
                for value in self._values:
                    require_replay(traced, value, 0)
                laws = [release_law(traced, value, most=_PATHS) for value in self._values]
        except (TraceEnd, Exception):  # noqa: BLE001  (a target may raise anything)
            return None
        reports = list(dict.fromkeys(report for law in laws for report in law))
        table = [[law.get(report, -np.inf) for report in reports] for law in laws]
        return np.exp(np.array(table, dtype=np.float64))

    def _computed(self, found: list[tuple[Change, FinitePair]], merged: str) -> Computation:
        """Return the loss of the worst change; from below alone where reports are merged."""
        change, pair = max(
            found, key=lambda each: worst_measurement(self.guarantee, [each[1]])[0].value
        )
        value, neighbour, others = (self._values[each] for each in change)
        computed = exact_outcome(
            self.guarantee,
            [pair],
            witness={"value": value, "neighbour": neighbour, "others": others, "n": self._n},
            note=(
                f"Every path of one report was run, and the counts of {self._n} users' reports "
                f"enumerated, for {len(found)} changes of one value where all others agree. The "
                f"worst: {value} becomes {neighbour} among users who hold {others}.{merged}"
            ),
        )
        most = 1.0 if computed.quantity is Quantity.DELTA else math.inf
        return replace(computed, upper=most) if merged else computed

    def of(self, calls: int) -> BlackBoxPrivacy:
        """Return the audit of so many calls, of a target that is not open yet."""
        return BlackBoxPrivacy(
            sample=closed,
            guarantee=self.guarantee,
            pairs=ShuffledPairs(n_values=len(self._values)),
            draws=calls,
            detect=self.spec.detect,
        )
