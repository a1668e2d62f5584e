"""A target's claim of privacy, proved for every input from its source before it is sampled."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.proving.exact_numbers import root_above
from dpcp_audit.proving.proof_result import place_of
from dpcp_audit.proving.prover import prove
from dpcp_audit.proving.whole_functions import GENERATORS
from dpcp_audit.stats.enclosures import at_most, ball, upper
from dpcp_audit.target_checks.planned_calls import pair_space, typical
from dpcp_audit.targets import RandomStyle, Takes
from dpcp_audit.targets.answers import (
    NOT_PROVED,
    DataForm,
    DegenerateTargetError,
    Randomness,
    SingleDraws,
    TargetError,
)
from dpcp_audit.targets.calls import FunctionCaller
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    PureDP,
    Relation,
    RenyiDP,
)
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import (
    Evidence,
    EvidenceKind,
    Outcome,
    Proof,
    ProofMethod,
    SourceLocation,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Collection
    from fractions import Fraction

    from dpcp_audit.proving.proof_result import ProofResult
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.targets import Target
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Premise

_QUANTITIES = {
    PureDP: Quantity.EPSILON,
    ApproxDP: Quantity.DELTA,
    ZCDP: Quantity.RHO,
    RenyiDP: Quantity.RENYI_DIVERGENCE,
    GaussianDP: Quantity.MU,
}
_AT = {Quantity.DELTA: "epsilon", Quantity.RENYI_DIVERGENCE: "alpha"}
_CLAIMED = {
    Quantity.EPSILON: "epsilon",
    Quantity.DELTA: "delta",
    Quantity.RHO: "rho",
    Quantity.RENYI_DIVERGENCE: "epsilon",
    Quantity.MU: "mu",
}
_RELATIONS = {
    Relation.SUBSTITUTION: "one record is replaced by another, n public",
    Relation.ADD_REMOVE: "one record is added or taken away",
}
_FEW, _MANY = 5, 60
"""Calls that must run without an error, and further ones where all of those return the same."""


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
    def of(cls, spec: CheckSpec, guarantee: PrivacyGuarantee, target: Target) -> SourceProof | None:
        """Return what the verifier says; None of a claim or a target that it does not take."""
        pairs = pair_space(spec)
        if unfit(spec, guarantee, target) or not isinstance(pairs, ScorePairs):
            return None
        assert isinstance(target.caller, FunctionCaller)  # noqa: S101  (it is fit)
        substituted = spec.neighbours is Relation.SUBSTITUTION
        sizes = tuple(sorted(set(pairs.sizes))) if substituted else ()
        try:
            results = tuple(
                prove(
                    target.caller.function,
                    guarantee,
                    n=n,
                    bounds=spec.target.bounds,
                    neighbours=spec.neighbours,
                    options=spec.target.options,
                )
                for n in sizes or (1,)
            )
        except UsageError:
            return None
        return cls(spec=spec, guarantee=guarantee, results=results, sizes=sizes)

    @property
    def proved(self) -> bool:
        """True if the claim is proved at every size."""
        return all(each.proved for each in self.results)

    @property
    def stopped(self) -> ProofResult:
        """The result at the largest size at which the claim is not proved."""
        return [each for each in self.results if not each.proved][-1]

    def reason(self) -> str:
        """Return the line that stops the proof, why it does, and what would help."""
        stopped = self.stopped
        place = f"{stopped.place}: " if stopped.place else ""
        hint = f" Hint: {stopped.hint}." if stopped.hint else ""
        return f"{NOT_PROVED.capitalize()}: {place}{stopped.reason}.{hint}"

    def outcome(self) -> Outcome:
        """Return the outcome of a claim that is proved at every size."""
        worst = max((each.totals[0] for each in self.results), key=lambda each: each.value or 0)
        account = {place_of(line): cost for line, cost in worst.shares.items()}
        rules = list(dict.fromkeys(rule for each in self.results for rule in each.rules))
        assumed = [_RELATIONS[self.spec.neighbours], *self.results[0].assumptions[1:]]
        spent = ", ".join(f"{line} spends {worst.unit} = {c:.6g}" for line, c in account.items())
        proof = Proof(
            method=ProofMethod.ARGUMENT,
            argument=(
                "The source is interpreted over how far two neighbours can be apart, and each use "
                f"of noise is charged for: {spent or 'no private value is released'}."
            ),
            premises=tuple(map(self._premise, self.results, self.sizes or (0,))),
            parameters={
                "n": list(self.sizes),
                "bounds": list(self.spec.target.bounds),
                "account": account,
                "rules": rules,
                "assumptions": assumed,
            },
        )
        return Outcome(
            verdict=Verdict.PROVED,
            evidence=self._evidence(worst.value),
            proof=proof,
            note=f"{spent or 'No private value is released'}.",
        )

    def unproved(self) -> Outcome:
        """Return the outcome of a claim that is not proved, where nothing else may decide it."""
        stopped = self.stopped
        bound = stopped.totals[0].value if stopped.totals else None
        line, file = stopped.line, stopped.file
        return Outcome(
            verdict=Verdict.INCONCLUSIVE,
            evidence=self._evidence(bound),
            note=self.reason(),
            location=SourceLocation.of(file, int(line)) if line and file else None,
        )

    def _evidence(self, bound: Fraction | None) -> Evidence:
        """Return the bound that is proved; without one, that there is none."""
        quantity = _QUANTITIES[type(self.guarantee)]  # pyright: ignore[reportArgumentType]
        claimed = self.guarantee.parameters[_CLAIMED[quantity]]
        if bound is not None and quantity is Quantity.MU:  # the account is of μ²
            bound = root_above(bound)
        most = math.inf if bound is None else upper(ball(bound))
        parameter = _AT.get(quantity)
        at = {parameter: self.guarantee.parameters[parameter]} if parameter else {}
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


def unfit(spec: CheckSpec, guarantee: PrivacyGuarantee, target: Target) -> str:
    """Return why the verifier does not take a claim of a target; "" where it does."""
    if type(guarantee) not in _QUANTITIES or spec.neighbours not in _RELATIONS:
        return "it proves pure, (ε, δ)-, Rényi, Gaussian DP and zCDP of one record"
    finite = all(map(math.isfinite, spec.target.bounds))
    if spec.target.kind.takes is not Takes.SCORES or spec.pair is not None or not finite:
        return "it takes functions of scores between finite bounds, on all pairs"
    return unread(spec, target)


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
        raise TargetError(f"{NOT_PROVED}: {why}")
    if not found.proved:
        return found.unproved()
    if not answers(spec, target, context):
        raise TargetError(f"{NOT_PROVED}: its calls raise, or all return the same")
    return found.outcome()
