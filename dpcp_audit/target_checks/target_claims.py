"""A target's claims of privacy and of coverage, decided by its source, or else by calls.

The target is opened where the check runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpcp_audit.target_checks.source_proofs import (
    SourceProof,
    answers,
    decided_coverage,
    proved_by_source,
    require_proof,
)
from dpcp_audit.targets import Takes
from dpcp_audit.words.checks import Sampled
from dpcp_audit.words.evidence import Representation
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.planned_calls import ClaimAudit
    from dpcp_audit.targets import Target
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import Coverage, PrivacyGuarantee
    from dpcp_audit.words.results import Outcome, PlainData


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetClaim(Sampled, ABC):
    """A claim of a target, decided by its source, or by the calls of ``audit``.

    A witness of it can be tested alone, without a search.
    """

    spec: CheckSpec
    guarantee: Any

    @abstractmethod
    def __call__(self, context: Context) -> Outcome:
        """Open the target, and test the claim."""

    @abstractmethod
    def decided(self, target: Target, context: Context) -> Outcome | None:
        """Return the outcome of a claim that the source decides; None where calls have to."""

    @property
    def audit(self) -> ClaimAudit:
        """The calls that test the claim; what a source decides is told without them."""
        from dpcp_audit.target_checks.claim_audits import (  # noqa: PLC0415  (slow to import)
            audit_of,
        )

        return audit_of(self.spec, self.guarantee)

    @property
    def planned_calls(self) -> int:
        """The calls of the target that the claim is tested with."""
        return self.audit.planned().calls

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Test a witness on the code as it is."""
        return self.audit.confirm(witness, context)


_BITS = "The proof is of ideal numbers; the last bits were sampled, too, and do not refute it."


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPrivacy(TargetClaim):
    """A target's privacy claim, decided by a proof (``ProvedAlone``) or by ``TwoSidedPrivacy``.

    Of the shuffled reports of n users, by a proof, their enumerated law or ``BlackBoxPrivacy``.
    """

    guarantee: PrivacyGuarantee

    def __call__(self, context: Context) -> Outcome:
        """Prove the claim from the source; else follow the noise and sample the outputs."""
        with self.spec.target.open() as target:
            proof = None
            if self.spec.prove and not self._enumerated:
                proof = SourceProof.of(self.spec, self.guarantee, target)
            if proof is None or not proof.proved or not answers(self.spec, target, context):
                return self.audit.planned().beside(proof, target, context)
            proved = proof.outcome()
            return self._beside_bits(proved, target, context) if self._bits_count else proved

    def decided(self, target: Target, context: Context) -> Outcome | None:
        """Return the outcome of a claim that the source proves, unless last bits count."""
        if self._enumerated or self._bits_count:
            return None
        return proved_by_source(self.spec, self.guarantee, target, context)

    @property
    def _enumerated(self) -> bool:
        """True of a claim on one report, whose law is enumerated in place of a proof."""
        return self.spec.target.kind.takes is Takes.VALUE and self.spec.shuffle_n is None

    @property
    def _bits_count(self) -> bool:
        return self.spec.representation is Representation.STRICT and self.spec.shuffle_n is None

    def _beside_bits(self, proved: Outcome, target: Target, context: Context) -> Outcome:
        """Return a proof's outcome, or that of outputs whose last bits refute it."""
        sampled = self.audit.planned().sampled(target, context)
        if sampled.verdict is Verdict.REFUTED:
            return sampled
        return replace(proved, note=f"{proved.note} {_BITS}", extent=sampled.extent)

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Test the pair of a witness on the code as it is: its event, its guesses or its paths.

        Where the law of shuffled reports was computed, it is computed again.
        """
        if self.spec.shuffle_n is not None and "n_samples" not in witness:
            return self(context)
        return self.audit.confirm(witness, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedAlone(TargetPrivacy):
    """Decide a claim of privacy by a proof for every input, and by nothing else.

    :Null hypothesis: The guarantee, for every pair of neighbours of the stated size and range.
    :Statistic: The total charge of all uses of noise, which the verifier reads from the source.
    :Level: No false alarms: a proof confirms and never refutes. Its comparisons are of exact
        fractions or in ball arithmetic.
    :Power: None: a proof that stops is INCONCLUSIVE, and names the line that stops it.
    :Reference: Zhang and Kifer (2017), for proofs from the source; the finding names each theorem
        that it uses.
    """

    def __call__(self, context: Context) -> Outcome:
        """Open the target, and prove its claim: INCONCLUSIVE where the proof stops.

        Raises
        ------
        TargetError
            If the verifier does not take the claim or the target.
        """
        with self.spec.target.open() as target:
            return self.decided(target, context)

    def decided(self, target: Target, context: Context) -> Outcome:
        """Return the outcome of the proof."""
        return require_proof(self.spec, self.guarantee, target, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCoverage(TargetClaim):
    """A target's coverage claim, decided by a proof from the source, or by ``CoverageAudit``."""

    guarantee: Coverage

    def __call__(self, context: Context) -> Outcome:
        """Prove or refute the claim from the source; else calibrate on fresh scores."""
        with self.spec.target.open() as target:
            decided = self.decided(target, context)
            if decided is not None:
                return decided
            return self.audit.planned().sampled(target, context)

    def decided(self, target: Target, context: Context) -> Outcome | None:
        """Return the outcome of a claim that the source proves or refutes."""
        return decided_coverage(self.spec, self.guarantee, target, context)
