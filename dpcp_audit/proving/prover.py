"""``prove``: what a function promises, for every input of a size and range, from its source."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dpcp_audit.proving import local_laws
from dpcp_audit.proving.charges import (
    PROVABLE,
    Charge,
    Ledger,
    Total,
    account_rules,
    decimal,
    total,
)
from dpcp_audit.proving.distances import MOST_RECORDS, Refusal
from dpcp_audit.proving.interpreter import Reader
from dpcp_audit.proving.proof_result import ProofResult
from dpcp_audit.proving.sources import FunctionSource, all_records, returned_by, source_of
from dpcp_audit.proving.thresholds import ThresholdAnswers
from dpcp_audit.targets.loading import load
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Coverage, PrivacyGuarantee, Relation
from dpcp_audit.words.options import checks_keywords
from dpcp_audit.words.values import Choice, KeywordTable, Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

_MOST_READINGS = 2_000
"""Sequences of answers of noisy thresholds that are read at most."""
_WELL_READ = 50
"""Sequences after which the first one that costs more than is claimed stops the reading."""
_RELATIONS = {Relation.SUBSTITUTION, Relation.ADD_REMOVE}


@checks_keywords
def prove(
    function: Callable[..., Any] | str,
    *guarantees: PrivacyGuarantee | Coverage,
    n: int = 100,
    bounds: tuple[float, float] = (0.0, 1.0),
    neighbours: Literal["substitution", "add-remove"] | Relation = "substitution",
    domain: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> ProofResult:
    """Prove what a function promises for every input, by reading its source.

    The function is not run. Its source is interpreted over how far two neighbouring inputs can be
    apart; each use of noise is charged for. The first line that is not followed, or that leaks,
    stops the proof; nothing is guessed.

    Parameters
    ----------
    function : callable or str
        ``f(scores, *, rng)``, or ``f(scores)`` that draws from NumPy's or Python's global
        generators. Or 'package.module:function', or 'path/to/file.py:function'.
    *guarantees
        ``PureDP``, ``ApproxDP``, ``ZCDP``, ``RenyiDP`` or ``GaussianDP``; one ``Coverage``, of
        thresholds at a rank that does not depend on the scores; or one ``LocalDP`` of the report
        ``f(value, *, rng)`` of one user.
    n : int
        Number of records under substitution, >= 1. Under add-remove the proof is for every number.
        Of a claim of coverage, the number of scores.
    bounds : tuple of float
        The range of every record.
    neighbours : str
        "substitution" or "add-remove".
    domain : int, optional
        Of a claim of local privacy, the number K of values 0, ..., K - 1 that a user may have.
    options : mapping, optional
        Further keyword arguments of the function.

    Returns
    -------
    ProofResult
        The proof of the claims, with the account of the noise; or the line that stops it.

    Raises
    ------
    ValueError
        Naming the argument, with what it got.

    Examples
    --------
    >>> import math
    >>> import dpcp_audit as dp
    >>> proof = dp.prove(math.sqrt, dp.PureDP(1.0))
    >>> proof.proved, proof.reason
    (False, 'sqrt is not known, and has no Python source to read')
    """
    _validate.integer(n=n, at_least=1)
    if isinstance(function, str):
        function = load(function)
    relation = Choice(Relation).read(neighbours, "neighbours")
    if relation not in _RELATIONS:
        raise UsageError(
            f"neighbours must be substitution or add-remove, got {neighbours!r}",
            hint="all other relations are for dp.audit",
        )
    low, high = Pair().read(bounds, "bounds")
    if not -math.inf < low < high < math.inf:
        raise UsageError(
            f"bounds must be finite with a < b, got {bounds!r}", hint="such as (0.0, 1.0)"
        )
    if not guarantees:
        raise UsageError("guarantees must hold at least one, got none", hint="such as dp.ZCDP(0.5)")
    named = KeywordTable().read(dict[str, Any]() if options is None else options, "options")
    if any(isinstance(each, Coverage) for each in guarantees):
        return _of_coverage(function, guarantees, n, (low, high), named)
    if domain is not None:
        _validate.integer(domain=domain, at_least=2)
        if not all(getattr(each, "of_one_report", False) for each in guarantees):
            raise UsageError(
                "guarantees must all be LocalDP where a domain is given",
                hint="leave domain out to prove a claim of all scores",
            )
    claims = tuple(_provable(each, domain) for each in guarantees)
    size = n if relation is Relation.SUBSTITUTION else None
    attempt = ProofAttempt(function, claims, size, (low, high), named, domain)
    found = attempt.answer(ThresholdAnswers())
    for side in (1, -1):
        if found.proved or not attempt.thresholds:
            break
        other = attempt.answer(ThresholdAnswers(side))
        found = other if other.proved or found.stop is not None else found
    return found


def _provable(claim: object, domain: int | None) -> PrivacyGuarantee:
    """Return a claim of privacy of all records, or of one report; or refuse it."""
    if not isinstance(claim, PrivacyGuarantee):
        raise UsageError(
            f"guarantee must be a privacy claim, got {claim}", hint="such as dp.ZCDP(0.5)"
        )
    if claim.of_one_report and domain is None:
        raise UsageError(
            f"guarantee must be of a function of all scores, got {claim}, of one user's report",
            hint="claim dp.PureDP of all scores, or give domain=K, the number of a user's values",
        )
    if type(claim) not in PROVABLE:
        raise UsageError(
            f"guarantee must be a claim that is proved from source, got {claim}",
            hint="claim pure, (ε, δ)-, Rényi, Gaussian DP or zCDP",
        )
    return claim


def _of_coverage(
    function: Callable[..., Any],
    guarantees: tuple[object, ...],
    n: int,
    bounds: tuple[float, float],
    options: Mapping[str, Any],
) -> ProofResult:
    """Return the proof of one claim of coverage, for laws with ties and closed sets."""
    from dpcp_audit.proving.coverage import CoverageSetting, prove_coverage

    (claim, *others) = guarantees
    if others or not isinstance(claim, Coverage):
        raise UsageError(
            "guarantees must hold a claim of coverage alone", hint="prove claims of privacy apart"
        )
    return prove_coverage(function, claim, CoverageSetting(n=n, bounds=bounds), options)


@dataclass(slots=True)
class ProofAttempt:
    """One function, its claims and its inputs; ``thresholds`` tells whether it has noisy ones."""

    function: Callable[..., Any]
    claims: tuple[PrivacyGuarantee, ...]
    n: int | None
    bounds: tuple[float, float]
    options: Mapping[str, Any]
    domain: int | None = None
    thresholds: bool = False

    def answer(self, answers: ThresholdAnswers) -> ProofResult:
        """Read the function, once for each sequence of answers of noisy thresholds."""
        reader = Reader(self.n, answers, local_laws)
        source, stop, ledger = None, None, None
        totals: tuple[Total, ...] = ()
        try:
            source = source_of(self.function)
            ledger = self._account(reader, source)
            totals = tuple(total(ledger, each) for each in self.claims)
            for said in (said for each in self.claims for said in account_rules(ledger, each)):
                reader.rules.add(said)
        except Refusal as refusal:
            stop, totals = refusal, ()
        except UsageError:
            raise
        except Exception as error:  # what the reading cannot take is not proved
            stop = Refusal(reader.line, f"the reading fails here: {type(error).__name__}: {error}")
        self.thresholds = self.thresholds or answers.met
        return ProofResult(
            name=str(getattr(self.function, "__qualname__", self.function)),
            claims=self.claims,
            n=self.n,
            totals=totals,
            ledger=ledger,
            rules=tuple(reader.rules),
            assumptions=_assumptions(self.n, self.bounds, self.domain),
            stop=stop,
            source=source,
            notes=reader.notes,
        )

    def _account(self, reader: Reader, source: FunctionSource) -> Ledger:
        """Return the account of all paths."""
        if self.domain is not None:
            epsilon = local_laws.report_loss(
                reader, self.function, source, self.domain, self.options
            )
            line = source.node.lineno
            return Ledger().add(Charge("pure", epsilon, line, "the law of one report"))
        low, high = map(decimal, self.bounds)
        ledger = _account(reader, self.function, source, (low, high), self.options)
        following = reader.answers.following()
        for reading in range(_MOST_READINGS):
            if following is None:
                return ledger
            answers = ThresholdAnswers(reader.answers.side, following)
            reader.reset(answers)
            one = _account(reader, self.function, source, (low, high), self.options)
            ledger, following = ledger.join(one), answers.following()
            if reading > _WELL_READ and not all(total(one, each).within for each in self.claims):
                raise Refusal(
                    reader.line,
                    "the answers of a noisy threshold cost more than is claimed",
                    "stop after c answers beyond it; the queries' noise grows with c",
                )
        raise Refusal(
            reader.line,
            "noisy thresholds are compared so often that not all answers can be read",
            "stop after a fixed number of answers beyond the threshold",
        )


def _assumptions(n: int | None, bounds: tuple[float, float], domain: int | None) -> tuple[str, ...]:
    low, high = bounds
    number = f"1 to {MOST_RECORDS} records" if n is None else f"n = {n} records, n public"
    relation = "one is added or removed" if n is None else "one is replaced by another"
    of = [
        f"{number}; {relation}",
        f"every record is a finite number in [{low:g}, {high:g}], in a NumPy array of floats",
    ]
    if domain is not None:
        of = [f"a user's value is one of 0, ..., {domain - 1}, a whole number of Python's type"]
    return (
        *of,
        "numbers are real numbers: doubles, and noise made of them, neither round nor underflow",
        "the generator's draws are independent, of the stated laws, and unknown to the attacker",
        "names outside of the function mean what they mean now",
        "running time is not observed, nor which equal numbers, texts or tuples are one object",
    )


def _account(
    reader: Reader,
    function: Any,
    source: FunctionSource,
    bounds: tuple[Fraction, Fraction],
    options: Mapping[str, Any],
) -> Ledger:
    """Read the function's body and return the account of its paths."""
    returned = returned_by(reader, function, source, all_records(bounds), options)
    reader.public(returned, "what is returned")
    return reader.path.ledger.join(reader.ended)
