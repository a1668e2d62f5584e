"""The checks of a target, as data: its fields are the table of options.

``TARGET_OPTIONS``, ``CLAIMS`` and ``TRIAL_OPTIONS`` are what the command line, TOML files, the
pytest fixture and ``dpcp_audit.audit`` take; none of them lists options of its own.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from dpcp_audit.target_checks.check_options import (
    CLAIMS,
    LEARNED,
    REFUSED,
    TARGET_OPTIONS,
    Guarantee,
    as_option,
    claims_as_data,
    guarantees_of,
    kinds_for,
    location_of,
    name_of,
    planned_of,
    require_claims,
    target_of,
)
from dpcp_audit.target_checks.given_inputs import (
    COVERAGE_SIZE,
    InputPair,
    PairOf,
    RowsOf,
    Unit,
    require_domain,
    require_neighbours,
    require_parts,
    with_classes,
)
from dpcp_audit.targets import Kind, Takes, TargetSpec, kinds_that
from dpcp_audit.words import options
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.evidence import DETECT, Representation
from dpcp_audit.words.guarantees import Coverage, PrivacyGuarantee, Relation
from dpcp_audit.words.options import Group, dashed, option, options_of
from dpcp_audit.words.values import (
    MOST_DRAWS,
    Choice,
    Duration,
    Flag,
    NonNegative,
    Positive,
    Probability,
    Sizes,
    Text,
    Whole,
    wrong,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.laws.pools import RowPool
    from dpcp_audit.words.options import Spelling
    from dpcp_audit.words.results import SourceLocation

_MOST_SCORES = 10**7
"""The most scores of a call."""
_OF_SETS = (Kind.QUANTILE, Kind.CALIBRATOR, Kind.FEDERATED)
_OF_SCORES = tuple(kind for kind in Kind if kind.takes is not Takes.VALUE)
_RELATIONS = tuple(each for each in Relation if each is not Relation.ZERO_OUT)
"""Zero-out is a relation of trainings alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSpec:
    """A target, what it claims, and how it is to be tried.

    Parameters
    ----------
    target : TargetSpec
        The code.
    guarantees : tuple of PrivacyGuarantee or Coverage
        The claims; at most one of coverage, and one of size.
    name : str
        Prefix of the ids of the findings.
    n : tuple of int
        The numbers of scores; empty for the default ones. Claims of privacy are tried on small
        and odd ones, too: code that is not private on few scores must refuse them.
    data : RowPool or None
        The rows that a predictor is fitted to and predicts; None of made ones.
    clients : int
        The number of clients of a federated target.
    unit : Unit
        Whose data differ between its neighbours.
    alpha : float or None
        The miscoverage level that the target aims at, in (0, 1); it tells the search for
        neighbours which rank matters.
    neighbours : Relation
        The neighbour relation of the privacy claims.
    shuffle_n : int or None
        The number of users whose reports are shuffled, where the claims are of all of them.
    group : int
        The number of persons who differ between neighbours; of more than one a claim is proved
        from the source alone.
    public_n : bool
        True if n is said to be public; then it may not differ between neighbours.
    ties : bool
        True if the coverage claim is for scores with ties too.
    open_sets : bool
        True if sets are {y : score < threshold}; by default they are {y : score <= threshold}.
    tolerance : float
        Slack in units of the scores: thresholds count as larger by so much before a shortfall of
        coverage counts. Single-precision code misses atoms by its rounding.
    detect : float
        The factor f > 1 of interest: as many calls are planned as refute noise of 1/f, and what
        could not have refuted it is INCONCLUSIVE.
    budget : float or None
        Seconds for all claims together, to which what is planned is cut.
    draws : int or None
        Calls of the target for each claim, in place of what would be planned.
    representation : Representation
        WARN or STRICT: a privacy claim that only the last bits of outputs break gets a warning, or
        is refuted.
    prove : bool
        True if a proof from the source of a Python function is tried first.
    trace : bool
        True if the noise of a Python function is followed too, for the claims of privacy.
    paper, theorem, hypotheses : str
        Source of the claims and their hypotheses, for the reports.
    location : SourceLocation or None
        File and line of the target, once known.
    planned : tuple of int
        Calls for each claim, once they are planned.
    """

    target: TargetSpec
    guarantees: tuple[Guarantee, ...]
    name: str = field(
        metadata=option(
            Text(one_word=True),
            "name of the findings",
            group=Group.TARGET,
            metavar="NAME",
            otherwise="the name of the target",
        )
    )
    n: tuple[int, ...] = field(
        default=(),
        metadata=option(
            Sizes(at_most=_MOST_SCORES),
            "numbers of calibration scores",
            metavar="N[,N...]",
            kinds=_OF_SCORES,
        ),
    )
    data: RowPool | None = field(
        default=None,
        metadata=option(
            RowsOf(),
            "rows to try a predictor on: a file .npz with 'features' and 'labels', or 'X' and "
            "'y'; in Python also a pair (X, y)",
            metavar="FILE",
            otherwise="rows that are made",
            kinds=kinds_that(take=Takes.ROWS),
        ),
    )
    clients: int = field(
        default=5,
        metadata=option(
            Whole(at_most=10_000),
            "the number of clients",
            metavar="K",
            kinds=kinds_that(take=Takes.CLIENTS),
        ),
    )
    unit: Unit = field(
        default=Unit.RECORD,
        metadata=option(
            Choice(Unit),
            "what neighbours differ in: one record, or all records of one client",
            metavar="UNIT",
            kinds=kinds_that(take=Takes.CLIENTS),
        ),
    )
    alpha: float | None = field(
        default=None,
        metadata=option(Probability(), "target miscoverage level", metavar="A", kinds=_OF_SCORES),
    )
    neighbours: Relation = field(
        default=Relation.SUBSTITUTION,
        metadata=option(
            Choice(Relation, _RELATIONS),
            "how neighbours differ: substitution (one record is replaced), add-remove, or "
            "one-label (calibrators only)",
            metavar="RELATION",
            kinds=_OF_SCORES,
        ),
    )
    shuffle_n: int | None = field(
        default=None,
        metadata=option(
            Whole(at_least=2, at_most=100_000),
            "test the claims on the shuffled reports of N users, one of whom changes their value",
            metavar="N",
            kinds=kinds_for("shuffle_n"),
            advice=REFUSED["shuffle_n"],
        ),
    )
    group: int = field(
        default=1,
        metadata=option(
            Whole(at_most=10_000),
            "claim privacy for groups of K persons, all of whose records may differ; such claims "
            "are proved from the source, or left open",
            metavar="K",
        ),
    )
    pair: InputPair | None = field(
        default=None,
        metadata=option(
            PairOf(),
            "two neighbouring inputs to test alone: a file .json or .npz with 'value' and "
            "'neighbour'; in Python also a tuple, or Neighbours",
            metavar="FILE",
            otherwise="pairs are searched",
        ),
    )
    public_n: bool = field(
        default=False,
        metadata=option(
            Flag(), "treat n as public: neighbours have the same n (always so under substitution)"
        ),
    )
    ties: bool = field(
        default=True,
        metadata=option(
            Flag(),
            "claim coverage for tied scores",
            kinds=_OF_SETS,
        ),
    )
    open_sets: bool = field(
        default=False,
        metadata=option(
            Flag(), "prediction sets hold the labels with score < threshold, not <=", kinds=_OF_SETS
        ),
    )
    tolerance: float = field(
        default=0.0,
        metadata=option(
            NonNegative(),
            "slack added to each threshold, for single-precision code",
            metavar="T",
            kinds=_OF_SETS,
        ),
    )
    detect: float = field(
        default=DETECT,
        metadata=option(
            Positive(above=1),
            "detect noise that is too small by this factor; the number of calls follows from it; "
            "a nightly run may take 1.2",
            metavar="FACTOR",
        ),
    )
    budget: float | None = field(
        default=None,
        metadata=option(
            Duration(),
            "most time spent in the target, such as 60s or 2m",
            metavar="TIME",
        ),
    )
    draws: int | None = field(
        default=None,
        metadata=option(
            Whole(at_most=MOST_DRAWS),
            "calls of the target for each claim, at least 600; 100 if only coverage is claimed",
            metavar="N",
            otherwise="as many as the violation to detect needs",
        ),
    )
    representation: Representation = field(
        default=Representation.WARN,
        metadata=option(
            Choice(Representation),
            "if only the last bits of the outputs break a privacy claim: warn, or refute it "
            "(strict)",
            metavar="MODE",
        ),
    )
    prove: bool = field(
        default=True,
        metadata=option(Flag(), "try a proof for every input first"),
    )
    trace: bool = field(
        default=True,
        metadata=option(Flag(), "trace the target's noise"),
    )
    paper: str = field(
        default="",
        metadata=option(Text(), "the source of the claims: a paper or a page", metavar="TITLE"),
    )
    theorem: str = field(
        default="", metadata=option(Text(), "the theorem that states the claims", metavar="NAME")
    )
    hypotheses: str = field(
        default="",
        metadata=option(Text(), "the assumptions of the claims, in words", metavar="WORDS"),
    )
    location: SourceLocation | None = None
    planned: tuple[int, ...] = ()

    @property
    def privacy(self) -> tuple[PrivacyGuarantee, ...]:
        """The claims of privacy."""
        return tuple(each for each in self.guarantees if isinstance(each, PrivacyGuarantee))

    @property
    def coverage(self) -> Coverage | None:
        """The claim of coverage."""
        return next((each for each in self.guarantees if isinstance(each, Coverage)), None)

    def calls(self, guarantee: Guarantee) -> int:
        """Return the calls for one of the claims.

        Raises
        ------
        ValueError
            Before they are planned.
        """
        if self.draws is not None:
            return self.draws
        if not self.planned:
            raise ValueError("draws must be planned before a check runs, got None")
        return self.planned[self.guarantees.index(guarantee)]

    @classmethod
    def of(
        cls,
        target: TargetSpec,
        guarantees: Sequence[Guarantee],
        given: Mapping[str, Any],
        *,
        spell: Spelling,
    ) -> Self:
        """Return the check that the given options describe.

        Parameters
        ----------
        given : mapping
            Values by the options' names; other keys are not looked at.
        spell : callable
            A function that returns the caller's spelling of an option's name.

        Raises
        ------
        UsageError
            If an option is invalid; the message names it and its value.
        """
        options.require_kind((*CLAIMS, *TRIAL_OPTIONS), given, target.kind, spell)
        require_claims(guarantees, target.kind)
        values = options.read(TRIAL_OPTIONS, {"name": name_of(target)} | dict(given), spell)
        if target.kind is Kind.PREDICTOR:
            target = with_classes(target, values.get("data"))
        if values.get("pair") is not None:
            values["pair"] = values["pair"].taken(target.kind.takes)
        spec = cls(target=target, guarantees=tuple(guarantees), **values)
        require_one_meaning(spec, spell)
        return spec

    @classmethod
    def from_data(cls, data: Mapping[str, Any], *, where: str = "", claimed: bool = True) -> Self:
        """Read a specification from plain data, as a TOML table holds it.

        Parameters
        ----------
        data : mapping
            Keys as the options of ``dpcp-audit check`` are called, without the dashes in front.
        where : str
            The place, for messages.
        claimed : bool
            True if something must be claimed.

        Raises
        ------
        UsageError
            If a key is invalid; the message names it and its value.
        """
        with options.in_place(where):
            given = {key: value for key, value in data.items() if key not in LEARNED}
            names = [dashed(each.name) for each in TABLE]
            options.require_known(given, names, as_option)
            if given.get("kind") is None:
                raise UsageError(
                    f"kind is missing, use one of {', '.join(Kind)}", hint=_fitting_kinds(given)
                )
            target = target_of(given, spell=dashed)
            guarantees = guarantees_of(given, required=claimed)
            spec = cls.of(target, guarantees, given, spell=dashed)
            place, planned = location_of(data.get("location")), data.get("planned", ())
            return replace(spec, location=place, planned=planned_of(planned, len(spec.guarantees)))

    def as_data(self) -> dict[str, Any]:
        """Return the specification as plain data that ``from_data`` reads."""
        learned: dict[str, Any] = {"planned": list(self.planned)} if self.planned else {}
        if self.location is not None:
            learned["location"] = asdict(self.location)
        said = claims_as_data(self.guarantees) | options.as_data(self)
        return self.target.as_data() | said | learned


TRIAL_OPTIONS = options_of(CheckSpec)
TABLE = (*TARGET_OPTIONS, *CLAIMS, *TRIAL_OPTIONS)
"""Every option of a check."""


def require_one_effort(given: Mapping[str, object]) -> None:
    """Refuse calls that are given beside a budget to cut them to."""
    if not {"draws", "budget"} - given.keys():
        raise UsageError(
            "give either draws or budget, and not both",
            hint="draws counts the calls, budget limits the time",
        )


_FEWEST_DRAWS, _FEWEST_CALIBRATIONS = 600, 100
"""The fewest calls for a privacy claim, and for a claim of coverage."""


def require_one_meaning(spec: CheckSpec, spell: Spelling) -> None:
    """Refuse options that contradict each other."""
    if spec.public_n and spec.neighbours is Relation.ADD_REMOVE:
        raise UsageError(
            f"{spell('public_n')} contradicts neighbours = 'add-remove', where n differs",
            hint="use 'substitution'",
        )
    _require_shuffling(spec, spell)
    if spec.group > 1 and any(each.of_one_report for each in spec.guarantees):
        raise UsageError(
            f"{spell('group')} is about several persons, and LocalDP about one report",
            hint=f"leave {spell('group')} out",
        )
    _require_records(spec, spell)
    if spec.pair is not None:
        _require_pair(spec.pair, spec, spell)
    fewest = _FEWEST_DRAWS if spec.privacy else _FEWEST_CALIBRATIONS
    if spec.draws is not None and spec.draws < fewest:
        raise wrong(
            "draws",
            f"a whole number >= {fewest}",
            spec.draws,
            hint=f"such as {fewest}, or leave draws out",
        )


def _require_pair(pair: InputPair, spec: CheckSpec, spell: Spelling) -> None:
    """Refuse a pair that the target cannot be called with, or of which no claim speaks."""
    require_parts(pair, spec.target.kind, spell("pair"))
    if spec.privacy or not spec.guarantees:  # without a claim, a loss is estimated
        require_domain(pair, spec.target, spell)
        takes = spec.target.kind.takes
        require_neighbours(pair, spec.neighbours, takes, spec.unit, spell("pair"))


def _require_records(spec: CheckSpec, spell: Spelling) -> None:
    """Refuse fewer scores than clients, where they cover: each client is given a part."""
    federated = spec.target.kind.takes is Takes.CLIENTS
    covers = any(isinstance(each, Coverage) for each in spec.guarantees)
    fewest = min(spec.n, default=COVERAGE_SIZE)
    if federated and covers and fewest < spec.clients:
        raise wrong(
            spell("n"),
            f"at least the number of clients, {spec.clients}",
            fewest,
            hint="each client has a record at least",
        )


def _require_shuffling(spec: CheckSpec, spell: Spelling) -> None:
    """Refuse claims of shuffled reports that cannot be tested, or are of one report."""
    if spec.shuffle_n is None:
        return
    said = spell("shuffle_n")
    if any(each.of_one_report for each in spec.guarantees):
        raise UsageError(
            f"{said} is about all users' reports, and LocalDP about one",
            hint=f"claim a central guarantee, such as {spell('approx_dp')}",
        )
    if spec.pair is not None:
        raise UsageError(f"{said} tries values of its own", hint=f"leave {spell('pair')} out")


def _fitting_kinds(given: Mapping[str, Any]) -> str:
    """Return the kinds that are likely meant, each with the form of its code."""
    local = given.get("local-dp") is not None
    likely = (Kind.RANDOMIZER, Kind.LOCAL) if local else (Kind.QUANTILE, Kind.VECTOR)
    return "; ".join(f"{kind} is for {kind.form}" for kind in likely)
