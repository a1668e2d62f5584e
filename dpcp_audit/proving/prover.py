"""What is asked of the verifier: what a function promises, and whether its draws alone decide it.

``prove`` reads a function's source for every input of a size and range. ``undetermined`` checks
that a public function depends on its arguments and draws alone, and keeps no state: a law that was
found by running all of its paths is a proof only then, since a branch on the time, an address, a
file or the type of a number shows in no draw. The source is read as for any other proof, on the
values themselves; what is not known there is named with its line.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from dpcp_audit.laws.losses import loss_of
from dpcp_audit.proving import local_laws
from dpcp_audit.proving.charges import Charge, Ledger, decimal
from dpcp_audit.proving.class_rows import inputs as class_inputs
from dpcp_audit.proving.distances import MOST_RECORDS, Generator, Leak, Refusal, Value, number
from dpcp_audit.proving.interpreter import Reader
from dpcp_audit.proving.known_calls import all_records, records_of_clients, returned_by
from dpcp_audit.proving.objects import from_outside, require_same
from dpcp_audit.proving.paths import Frame, ThresholdAnswers
from dpcp_audit.proving.proof_result import ProofResult
from dpcp_audit.proving.sources import (
    FunctionSource,
    admitted,
    defaults_of,
    function_name,
    locals_of,
    of_owner,
    source_of,
)
from dpcp_audit.proving.spending import GroupSpending, ShuffledSpending, Spending, Total, total
from dpcp_audit.targets.loading import load
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Coverage, PrivacyGuarantee, Relation
from dpcp_audit.words.options import checks_keywords
from dpcp_audit.words.values import Choice, KeywordTable, Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


_RELATIONS = (Relation.SUBSTITUTION, Relation.ADD_REMOVE)


@checks_keywords
def prove(
    function: Callable[..., Any] | str,
    *guarantees: PrivacyGuarantee | Coverage,
    n: int = 100,
    every_n: bool = True,
    bounds: tuple[float, float] = (0.0, 1.0),
    neighbours: Literal["substitution", "add-remove"] | Relation = "substitution",
    domain: int | None = None,
    clients: int | None = None,
    classes: int | None = None,
    unit: Literal["record", "client"] = "record",
    group: int = 1,
    shuffle_n: int | None = None,
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
        Number of records under substitution, >= 1, where there is no proof for every number. Under
        add-remove each proof is for every number. Of a claim of coverage, the number of scores.
    every_n : bool
        Whether a proof for every number of records is tried first, under substitution.
    bounds : tuple of float
        The range of every record.
    neighbours : str
        "substitution" or "add-remove".
    domain : int, optional
        For a claim of local privacy, the number K of values 0, ..., K - 1 that a user may have.
    clients : int, optional
        For a federated function ``f(clients, *, rng)``, the number of clients. The n records are
        divided as by ``numpy.array_split``.
    classes : int, optional
        For a calibrator ``f(probabilities, labels, *, rng)``, the number K of classes: rows of K
        numbers in [0, 1], and labels 0, ..., K - 1. Neighbours differ in a row and its label.
    unit : str
        The unit that neighbours differ in: "record", or "client", where all records of one client
        are replaced by as many others.
    group : int
        The number of records (or clients) that may differ between neighbours.
    shuffle_n : int, optional
        With ``domain``, the number of users whose shuffled reports the claims are about.
    options : mapping, optional
        Further keyword arguments of the function.

    Returns
    -------
    ProofResult
        The proof of the claims, with the account of the noise; or the line that stops it.

    Raises
    ------
    ValueError
        If an argument is invalid; the message names it and its value.

    Examples
    --------
    >>> import math
    >>> import dpcp_audit as dp
    >>> proof = dp.prove(math.sqrt, dp.PureDP(1.0))
    >>> proof.proved, proof.reason
    (False, 'sqrt is not known, and has no Python source to read')
    """
    _validate.integer(n=n, at_least=1)
    function, given = _without_partials(function)
    if isinstance(function, str):
        function = load(function)
    relation = Choice(Relation, _RELATIONS).read(neighbours, "neighbours")
    low, high = Pair().read(bounds, "bounds")
    if not -math.inf < low < high < math.inf:
        raise UsageError(
            f"bounds must be finite with a < b, got {bounds!r}", hint="such as (0.0, 1.0)"
        )
    if not guarantees:
        raise UsageError("guarantees must hold at least one, got none", hint="such as dp.ZCDP(0.5)")
    named = KeywordTable().read(dict[str, Any]() if options is None else options, "options")
    named = {**given, **named}
    if any(isinstance(each, Coverage) for each in guarantees):
        if clients is not None:
            raise UsageError("clients is for claims of privacy", hint="leave clients out")
        return _of_coverage(function, guarantees, n, (low, high), named)
    claims = _provable_claims(guarantees, domain, shuffle_n, group)
    inputs = ProofInputs(
        n=n if relation is Relation.SUBSTITUTION else None,
        replaced=relation is Relation.SUBSTITUTION,
        bounds=(low, high),
        domain=domain,
        clients=clients,
        classes=_classes(classes, domain, clients),
        of_clients=_of_clients(unit, clients, n, relation),
        group=group,
        shuffle_n=shuffle_n,
    )
    other_n = ""
    if every_n and domain is None and clients is None and (inputs.n or 0) <= MOST_RECORDS:
        found = _found(ProofAttempt(function, claims, replace(inputs, n=None), named))
        if found.proved or inputs.n is None:
            return found
        other_n = found.stopped
    return replace(_found(ProofAttempt(function, claims, inputs, named)), other_n=other_n)


def _without_partials(function: Any) -> tuple[Any, dict[str, Any]]:
    """Return the function of a partial without positional arguments, and its named ones."""
    given: dict[str, Any] = {}
    while _is_partial(function) and not function.args:
        given = {**function.keywords, **given}
        function = function.func
    return function, given


def _is_partial(function: object) -> bool:
    """Return True of a partial itself; one of a class of its own may call something else."""
    return type(function) is functools.partial


def _found(attempt: ProofAttempt) -> ProofResult:
    """Return the best reading, with noisy thresholds on either side or on none."""
    found = attempt.answer(ThresholdAnswers())
    for side in (1, -1):
        if not attempt.thresholds:
            break
        answers = ThresholdAnswers(side)
        other = attempt.answer(answers)
        if answers.too_many and not found.proved:
            return other
        found = min(found, other, key=_cost)
        if other.proved:
            break
    return found


def _cost(found: ProofResult) -> tuple[bool, bool, float]:
    """Return an order of readings: proofs first, stops last, then by the bound on the loss."""
    total = math.inf if found.total is None else found.total
    return not found.proved, found.stop is not None, total


def _provable_claims(
    guarantees: tuple[object, ...], domain: int | None, shuffle_n: int | None, group: int
) -> tuple[PrivacyGuarantee, ...]:
    """Return the claims, of all records, of one report or of shuffled ones; or refuse them."""
    _validate.integer(group=group, at_least=1)
    if domain is not None:
        _validate.integer(domain=domain, at_least=2)
    elif shuffle_n is not None:
        raise UsageError("shuffle_n is of reports of a finite domain", hint="give domain=K")
    if shuffle_n is not None:
        _validate.integer(shuffle_n=shuffle_n, at_least=2)
    local = domain is not None and shuffle_n is None
    if local and not all(getattr(each, "of_one_report", False) for each in guarantees):
        raise UsageError(
            "guarantees must all be LocalDP where a domain is given",
            hint="leave domain out to prove a claim of all scores, or give shuffle_n",
        )
    if local and group > 1:
        raise UsageError(
            f"group must be 1 of one user's report, got {group}",
            hint="any two values of a user are neighbours already",
        )
    return tuple(_provable(each, local=local) for each in guarantees)


def _classes(classes: int | None, domain: int | None, clients: int | None) -> int | None:
    """Return the number of classes; refuse it beside what is of other functions."""
    if classes is not None:
        _validate.integer(classes=classes, at_least=2)
        if domain is not None or clients is not None:
            raise UsageError("classes is of rows and labels", hint="leave domain and clients out")
    return classes


def _of_clients(unit: str, clients: int | None, n: int, relation: Relation) -> bool:
    """Return True if neighbours differ in all records of a client; refuse what has no meaning."""
    if unit not in {"record", "client"}:
        raise UsageError(f"unit must be 'record' or 'client', got {unit!r}")
    if clients is not None:
        _validate.integer(clients=clients, at_least=1)
        if relation is Relation.SUBSTITUTION and n < clients:
            raise UsageError(
                f"n must be at least the number of clients, {clients}, got {n}",
                hint="each client has a record at least",
            )
    of_clients = unit == "client"
    if of_clients and (clients is None or relation is not Relation.SUBSTITUTION):
        raise UsageError(
            "unit 'client' is proved of a number of clients, by substitution",
            hint="give clients=K, or leave unit out",
        )
    return of_clients


def _provable(claim: object, *, local: bool) -> PrivacyGuarantee:
    """Return a claim of privacy of all records, or of one report; or refuse it."""
    if not isinstance(claim, PrivacyGuarantee):
        raise UsageError(
            f"guarantee must be a privacy claim, got {claim}", hint="such as dp.ZCDP(0.5)"
        )
    if claim.of_one_report and not local:
        raise UsageError(
            f"guarantee must be of a function of all scores, got {claim}, of one user's report",
            hint="claim dp.PureDP of all scores, or give domain=K, the number of a user's values",
        )
    if not loss_of(claim).by_noise:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofInputs:
    """The inputs that a proof is for, and who differs between neighbours (see ``prove``).

    ``n`` is None of every number; ``of_clients`` tells whether a whole client differs.
    """

    n: int | None
    replaced: bool
    bounds: tuple[float, float]
    domain: int | None = None
    clients: int | None = None
    classes: int | None = None
    of_clients: bool = False
    group: int = 1
    shuffle_n: int | None = None

    def first(self) -> Any:
        """Return the value that the function is read on: the records, or those of each client."""
        low, high = map(decimal, self.bounds)
        if self.classes is not None:
            return class_inputs(self.classes)
        if self.clients is None:
            return all_records((low, high))
        return records_of_clients((low, high), self.n, self.clients)

    @property
    def persons(self) -> int:
        """The number of records that differ between neighbours."""
        if not self.of_clients or self.n is None or self.clients is None:
            return self.group
        return self.group * math.ceil(self.n / self.clients)

    @property
    def whole_clients(self) -> tuple[int, ...]:
        """The records of each client, as bits, where neighbours differ in a whole client."""
        return tuple(each.where for each in self.first()) if self.of_clients else ()

    def spending(self, ledger: Ledger) -> Spending:
        """Return what the ledger of one record spends between neighbours."""
        if self.persons > 1:
            return GroupSpending(ledger, self.persons)
        if self.shuffle_n is not None:
            return ShuffledSpending(ledger, self.shuffle_n)
        return Spending(ledger)

    @property
    def differing(self) -> str:
        """What differs between neighbours where it is not one record or one report; else ""."""
        if self.shuffle_n is not None:
            some = "" if self.group == 1 else f", where up to {self.group} users change their value"
            return f"in the shuffled reports of {self.shuffle_n} users{some}"
        changed = "replaced" if self.replaced else "added or removed"
        if self.of_clients:
            one = "one client" if self.group == 1 else f"up to {self.group} clients"
            return f"where all records of {one} are replaced"
        return "" if self.group == 1 else f"where up to {self.group} records are {changed}"

    @property
    def changes(self) -> str:
        """How two neighbours differ, a clause."""
        if self.of_clients:
            one = "one client" if self.group == 1 else f"up to {self.group} clients"
            return f"all records of {one} are replaced by as many others"
        if self.group > 1:
            return f"up to {self.group} are {'replaced' if self.replaced else 'added or removed'}"
        return "one is replaced by another" if self.replaced else "one is added or removed"

    @property
    def assumed(self) -> tuple[str, ...]:
        """What is assumed of the inputs, and how neighbours differ."""
        low, high = (0.0, 1.0) if self.classes is not None else self.bounds
        what, beside = "a finite number", "in a NumPy array of floats"
        if self.classes is not None:
            what = f"a row of {self.classes} finite numbers"
            beside = f"and a label of 0, ..., {self.classes - 1}, in NumPy arrays"
        if self.domain is not None:
            said = (f"a user's value is one of 0, ..., {self.domain - 1}, an int of Python",)
            users = f"{self.shuffle_n} users report once each, and their reports are shuffled"
            return said if self.shuffle_n is None else (*said, users)
        some = self.n is None
        number = f"1 to {MOST_RECORDS} records" if some else f"n = {self.n} records"
        if self.clients is not None:
            parts = "of one or more on both sides" if some else "as equal as can be"
            number += f" of {self.clients} clients, in parts {parts}"
        number += ", n public" if self.replaced else ""
        return (
            f"{number}; {self.changes}",
            f"every record is {what} in [{low:g}, {high:g}], {beside}",
        )


@dataclass(slots=True)
class ProofAttempt:
    """One function, its claims and its inputs; ``thresholds`` tells whether it has noisy ones."""

    function: Callable[..., Any]
    claims: tuple[PrivacyGuarantee, ...]
    inputs: ProofInputs
    options: Mapping[str, Any]
    thresholds: bool = False

    def answer(self, answers: ThresholdAnswers) -> ProofResult:
        """Read the function, on the paths of these answers of noisy thresholds."""
        every = self.inputs.replaced
        reader = Reader(self.inputs.n, answers, local_laws, every=every)
        reader.loss = loss_of(self.claims[0]).quantity
        reader.clients = self.inputs.whole_clients
        source, stop, spending = None, None, None
        totals: tuple[Total, ...] = ()
        try:
            source = source_of(self.function)
            spending = self.inputs.spending(self._account(reader, source))
            totals = tuple(total(spending, each) for each in self.claims)
        except Refusal as refusal:
            stop, totals = refusal, ()
        except UsageError:
            raise
        except Exception as error:  # what the reading cannot take is not proved
            stop = Refusal(reader.line, f"the reading fails here: {type(error).__name__}: {error}")
        self.thresholds = self.thresholds or answers.met
        summed = (rule for each in totals for rule in each.rules)
        return ProofResult(
            name=function_name(self.function),
            claims=self.claims,
            n=self.inputs.n,
            totals=totals,
            spending=spending,
            rules=tuple(dict.fromkeys((*reader.rules, *summed))),
            assumptions=(*self.inputs.assumed, *_ASSUMED),
            stop=stop,
            source=source,
            notes=reader.notes,
            differing=self.inputs.differing,
            changes=self.inputs.changes,
            domain=self.inputs.domain,
        )

    def _account(self, reader: Reader, source: FunctionSource) -> Ledger:
        """Return the account of all paths."""
        inputs = self.inputs
        if inputs.domain is None:
            return _account(reader, self.function, source, inputs.first(), self.options)
        try:
            epsilon = local_laws.report_loss(
                reader, self.function, source, inputs.domain, self.options
            )
        except Refusal as refusal:
            if inputs.shuffle_n is not None:
                raise
            return self._of_number(reader, source, Fraction(inputs.domain - 1), refusal)
        return Ledger().add(Charge("pure", epsilon, source.node.lineno))

    def _of_number(
        self, reader: Reader, source: FunctionSource, most: Fraction, stop: Refusal
    ) -> Ledger:
        """Return the account of noise on a value 0, ..., most, where its law is not enumerated."""
        value = number(most, "a user's value", integer=True, size=most)
        reader.notes.clear()
        reader.rules.clear()
        try:
            return _account(reader, self.function, source, value, self.options)
        except Refusal:
            raise stop from None


_ASSUMED = (
    "numbers are real numbers: doubles, and noise made of them, neither round nor underflow",
    "the generator's draws are independent, of the stated laws, and unknown to the attacker",
    "names outside of the function mean what they mean now",
    "running time is not observed, nor memory: which equal values are one object, or share it",
)


def _account(
    reader: Reader,
    function: Any,
    source: FunctionSource,
    first: Any,
    options: Mapping[str, Any],
) -> Ledger:
    """Read the function's body and return the account of its paths."""
    returned = returned_by(reader, function, source, first, options)
    try:
        reader.public(returned, "what is returned")
    except Refusal as refusal:
        stop = refusal.unblamed() if isinstance(refusal, Leak) else refusal
        raise reader.shown or stop from None
    return reader.path.ledger


def undetermined(
    function: Any, args: Sequence[Any], kw: Mapping[str, Any], generators: Iterable[str]
) -> Refusal | None:
    """Return the first thing besides arguments and draws that may decide the output; else None.

    Parameters
    ----------
    function : callable
        A function, a bound method, an object that is called, or a partial of these.
    args, kw : sequence and mapping
        The arguments of the call. They are public, such as one number of a finite domain.
    generators : iterable of str
        Further arguments, which are the generator that it draws from.

    Examples
    --------
    >>> import time
    >>> undetermined(time.ctime, [0], {}, ()).reason
    'ctime is not known, and has no Python source to read'
    """
    reader = Reader(None)
    try:
        _read(reader, function, list(args), dict(kw), generators)
    except Refusal as refusal:
        refusal.file = refusal.file or reader.file
        return refusal
    except Exception as error:
        says = f"the reading fails here: {type(error).__name__}: {error}"
        return Refusal(reader.line, says, file=reader.file)
    return reader.doubted


def _read(
    reader: Reader, function: Any, args: list[Any], kw: dict[str, Any], generators: Iterable[str]
) -> None:
    """Read the function's body on these arguments."""
    while _is_partial(function):
        args, kw = [*function.args, *args], {**function.keywords, **kw}
        function = function.func
    function, owners = of_owner(function)
    source = source_of(function)
    line = source.node.lineno
    reader.line, reader.file = line, source.file
    reader.path.frames[0] = Frame({}, source, None, locals_of(source.node))
    handed: list[Value] = [from_outside(reader, each) for each in owners]
    handed += [admitted(each, "an argument", line) for each in args]
    named: dict[str, Value] = {name: admitted(each, name, line) for name, each in kw.items()}
    named |= {name: Generator(name) for name in generators}
    held = dict(reader.path.heap)
    defaults = defaults_of(function, line)
    returned = reader.inline(source, source.node, defaults, handed, named)
    reader.public(returned, "what is returned")
    require_same(reader, held)
