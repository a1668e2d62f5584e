"""A target's claim of privacy; the target is opened where the check runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.audits import blackbox
from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.search.pair_space import input_from_data
from dpcp_audit.audits.search.rare_atoms import claims_delta
from dpcp_audit.audits.sequential import SequentialPrivacy
from dpcp_audit.results import Verdict
from dpcp_audit.target_checks.planned_calls import with_cut
from dpcp_audit.target_checks.target_claim import PrivacyClaim, closed
from dpcp_audit.target_checks.target_pairs import pair_space
from dpcp_audit.target_checks.time_limits import within
from dpcp_audit.target_checks.trace_search import TraceEffort, TraceSearch
from dpcp_audit.target_checks.trial_inputs import typical
from dpcp_audit.target_checks.two_sided import TwoSidedPrivacy
from dpcp_audit.targets.degenerate import ConstantOutputsError, DegenerateTargetError
from dpcp_audit.targets.single_draws import SingleDraws

if TYPE_CHECKING:
    from dpcp_audit.checks import Check, Context
    from dpcp_audit.results import Outcome, PlainData
    from dpcp_audit.targets import Target
    from dpcp_audit.targets.single_draws import Drawable


_CAUSE = "cause"
"""Of a witness: what keeps the noise the same in every call."""
_AGAIN = 5
"""Times the outputs of a witness, on which the same loss is refuted almost surely."""
_TRACED = TraceEffort(pairs=10, pilot=2, paths=200, tree=1000, replays=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPrivacy(PrivacyClaim):
    """A target's privacy claim; the target is opened where the check runs."""

    @property
    def fewest(self) -> int:
        """Twice as many calls where δ is claimed: an event of a thousandth of them shows then."""
        return 2**18 if claims_delta(self.guarantee) else 2**17

    def __call__(self, context: Context) -> Outcome:
        """Open the target, follow its noise where it can be, and audit it as a black box."""
        with self.spec.target.open() as target:
            calls = self.spec.calls(self.guarantee)
            try:
                outcome = self._audited(target, context)
            except ConstantOutputsError as error:
                place = target.caller.fixed_seed()
                raise (error if place is None else error.of_seed(place)) from None
            return with_cut(self, _with_cause(outcome, target, context), calls)

    def _audited(self, target: Target, context: Context) -> Outcome:
        drawn = within(target, self.spec, self.spec.calls(self.guarantee))
        try:
            return self._both_sides(target, drawn)(context)
        except DegenerateTargetError:  # batches of one seed vary within, and not between
            if not self._seeds_batches(target, context):
                raise
            return self._both_sides(target, SingleDraws(target=drawn))(context)

    def audit(self, target: Drawable, calls: int) -> BlackBoxPrivacy | SequentialPrivacy:
        """Return the audit of an opened target's outputs."""
        return replace(self._unopened(calls), sample=target, randomness=target.randomness)

    def _both_sides(self, target: Target, drawn: Drawable) -> Check:
        """Return the audit of outputs; beside that of the noise, where it can be followed."""
        audit = self.audit(drawn, self.spec.calls(self.guarantee))
        if not self.spec.trace or self.spec.target.command:
            return audit
        return TwoSidedPrivacy(black_box=audit, trace=self._search(target))

    def _seeds_batches(self, target: Target, context: Context) -> bool:
        rng = replace(context, name=f"{context.name}, single").rng()
        batches = self.spec.target.vectorised or bool(self.spec.target.command)
        return batches and bool(target.frozen(typical(self.spec), rng=rng))

    def _search(self, target: Target) -> TraceSearch:
        return TraceSearch.of(self.spec, self.guarantee, target, effort=_TRACED)

    def _unopened(self, calls: int) -> BlackBoxPrivacy | SequentialPrivacy:
        return (SequentialPrivacy if self.spec.sequential else BlackBoxPrivacy)(
            sample=closed,
            guarantee=self.guarantee,
            pairs=pair_space(self.spec),
            draws=calls,
            detect=self.spec.detect,
        )

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Test the pair of a witness on the code as it is: its event, or its paths."""
        with self.spec.target.open() as target:
            if "path_seed" in witness:
                return self._search(target).again(witness, context)
            return blackbox.confirm(
                witness,
                SingleDraws(target=target) if _CAUSE in witness else target,
                guarantee=self.guarantee,
                context=context,
                n_samples=_AGAIN * witness["n_samples"] + 100,
            )


def _with_cause(outcome: Outcome, target: Target, context: Context) -> Outcome:
    """Say beside a refutation that the noise is the same in every call, where it is."""
    if outcome.verdict is not Verdict.REFUTED or "value" not in outcome.witness:
        return outcome
    rng = replace(context, name=f"{context.name}, frozen").rng()
    cause = target.frozen(input_from_data(outcome.witness["value"]), rng=rng)
    if not cause:
        return outcome
    witness = {_CAUSE: cause} | outcome.witness
    return replace(outcome, witness=witness, note=f"{cause} {outcome.note}")
