"""Claims, evidence, verdicts and findings: the words that every storey above shares."""

from __future__ import annotations

import linecache
import math
import sys
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import annotated_types

from dpcp_audit.words import validate as _validate
from dpcp_audit.words.errors import HINT, shown
from dpcp_audit.words.quantities import Bound, Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import core_schema


NOT_FINITE = ("inf", "-inf", "nan")
"""The words for the numbers that JSON lacks."""


class _JsonNumber:
    """A number as pydantic reads it: whole or not, or a string for those that JSON lacks."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415  (only where data are read)

        return core_schema.no_info_plain_validator_function(_number)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        largest = sys.float_info.max
        finite = {"type": "number", "minimum": -largest, "maximum": largest}
        return {"anyOf": [finite, {"enum": list(NOT_FINITE)}]}


Number = Annotated[float, _JsonNumber()]
"""A float; in JSON also "inf", "-inf" or "nan"."""
Whole = Annotated[int, annotated_types.Ge(0)]
"""A whole number, at least 0."""
_LONGEST_LINE = 200
_CODE = 64


def _number(value: Any) -> Any:
    if isinstance(value, str) and value in NOT_FINITE:
        return float(value)
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        return value  # stays whole
    raise ValueError(f"must be a number, got {shown(value, 60)}")


class FigureKind(StrEnum):
    """The type of a figure."""

    LINES = "lines"
    HISTOGRAM = "histogram"
    HEATMAP = "heatmap"
    """A table of coloured cells: one series a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One named curve: x and y of the same length.

    In a histogram, x holds the m+1 bin edges and y the m counts. In a heat map, a series is a
    row: x holds the columns' numbers, in the order in which they are drawn, y the cells' values
    (NaN: not tried) and ``texts`` what stands in the cells; without, the values are printed.
    """

    name: str
    x: list[Number]
    y: list[Number]
    texts: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure as plain data; the reports draw it.

    Parameters
    ----------
    marks : dict
        Vertical reference lines by their label, for example a bound. In a heat map, one limit:
        cells above it are drawn in another colour.
    columns : list of str
        For a heat map, the columns' labels; without, the numbers of the first row's x.
    description : str
        A description of the figure in words, for readers who cannot see it.
    """

    kind: FigureKind
    title: str
    x_label: str
    y_label: str
    series: list[Series]
    description: str
    marks: dict[str, Number] = field(default_factory=dict[str, float])
    log_x: bool = False
    log_y: bool = False
    columns: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of a table: a text or a number in each row.

    Parameters
    ----------
    texts : list of str
        The printed texts of the cells; without, the values are printed.
    values : list of float
        The numbers in full precision (NaN: none); without, the column holds texts alone.
    details : dict
        Further numbers of each cell by their name, such as its standard error; the results file
        and the ``cells`` report have them.
    marked : list of int
        The rows, from 0, whose cell stands out, because something is wrong there.
    """

    name: str
    texts: list[str] = field(default_factory=list[str])
    values: list[Number] = field(default_factory=list[float])
    details: dict[str, list[Number]] = field(default_factory=dict[str, list[float]])
    marked: list[Whole] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        numbers = [part for part in (self.values, *self.details.values()) if part]
        lengths = {len(self.texts)} if self.texts else set[int]()
        lengths |= set(map(len, numbers))
        if len(lengths) > 1:
            raise ValueError(
                f"texts, values and details must have the same length, got {sorted(lengths)} in "
                f"column {self.name!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table, column by column.

    Parameters
    ----------
    columns : list of TableColumn
        All of the same length; the first one names the rows.
    notes : list of str
        Remarks that explain the table, a sentence or two each.
    """

    title: str
    columns: list[TableColumn]
    notes: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        lengths = {len(column.texts or column.values) for column in self.columns}
        if len(lengths) > 1:
            raise ValueError(
                f"columns must have the same length, got {sorted(lengths)} in {self.title!r}"
            )


class ProofMethod(StrEnum):
    """The method that covers every case of a statement."""

    CLOSED_FORM = "closed form"
    """A formula gives the number, or a bound of it, in the worst case."""
    ENUMERATION = "enumeration"
    """The number is computed for each of finitely many cases."""
    ARGUMENT = "argument"
    """An argument in words reduces the statement to its premises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Premise:
    """A comparison that a proof rests on: the left side is at most the right one.

    Parameters
    ----------
    says : str
        The comparison, as a formula or in words.
    left, right : tuple of float
        Lower and upper end of each side, rounded outward to doubles.
    holds : bool
        True if the sides' enclosures decide it; a comparison that stays undecided does not hold.
    """

    says: str
    left: tuple[Number, Number]
    right: tuple[Number, Number]
    holds: bool

    def __post_init__(self) -> None:
        for name, (low, high) in {"left": self.left, "right": self.right}.items():
            if not low <= high:
                raise ValueError(f"{name} must be a lower and an upper end, got {(low, high)!r}")
        if self.holds and self.left[0] > self.right[1]:
            raise ValueError(f"a premise that its ends refute does not hold: {self.says}")


@dataclass(frozen=True, slots=True)
class Drawing:
    """Noise that is drawn, or used: its law, as NumPy names it, and its scale."""

    law: str
    scale: Number

    def __str__(self) -> str:
        return f"{self.law} noise of scale {self.scale:.6g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedLine:
    """A line of the source that a proof has read, and what the proof says of it.

    Parameters
    ----------
    file : str
        The file, relative to the working directory.
    line : int
        Its number.
    text : str
        The line, with its indentation.
    private : tuple of str
        What depends on the data there, with its sensitivity.
    sensitivity : float or None
        The largest of these sensitivities; None where none is known.
    noise : tuple of str
        The noise that is drawn or used there, with its scale.
    draws : tuple of Drawing
        The laws and scales of it.
    cost : float or None
        What its draws cost, in the claim's unit, on the dearest path; None where they cost nothing,
        and of δ, which does not add up. Infinite where no bound is known.
    unit : str
        The unit of the cost: "ε", "ρ", "D", "μ²"; "" where there is no cost.
    share : float or None
        Its part of the costs of all lines; of δ that of their ρ.
    stops : bool
        True if the proof stops there.
    """

    file: str
    line: Whole
    text: str
    private: tuple[str, ...] = ()
    sensitivity: Number | None = None
    noise: tuple[str, ...] = ()
    draws: tuple[Drawing, ...] = ()
    cost: Number | None = None
    unit: str = ""
    share: Number | None = None
    stops: bool = False

    @property
    def remarks(self) -> str:
        """All that is said of it, in words; "" of most lines."""
        said = [*self.private, *self.noise]
        if self.cost is not None:
            said.append(f"costs {self.unit} {self.cost:.4g} ({self.share or 0:.0%})")
        elif self.share is not None:
            said.append(f"{self.share:.0%} of the cost")
        return "; ".join([*said, "STOPS HERE"] if self.stops else said)


def source_listing(lines: Iterable[AnnotatedLine]) -> list[str]:
    """Return the lines of a source with their numbers, and the remarks beside them.

    Examples
    --------
    >>> source_listing([AnnotatedLine(file="a.py", line=3, text="x = 1", noise=("noise",))])
    ['   3  x = 1                                                             # noise']
    """
    found: list[str] = []
    before = "", 0
    for each in lines:
        if found and (each.file, each.line - 1) != before:
            found += ["", f"{each.file}:"] if each.file != before[0] else [""]
        beside = f"  # {each.remarks}" if each.remarks else ""
        found.append(f"{each.line:>4}  {each.text:<{_CODE if beside else 0}}{beside}")
        before = each.file, each.line
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The argument that a number is within a claim in every case of the statement.

    Parameters
    ----------
    method : ProofMethod
        The way in which all cases are covered.
    argument : str
        The argument that reduces the statement to its premises, in words.
    premises : tuple of Premise
        The comparisons that were enclosed, the claim's own among them.
    parameters : dict
        Whatever the proof fixes, as plain data; the statement names all of it.
    source : tuple of AnnotatedLine
        The source that was read, line by line; empty of a proof that reads none.
    """

    method: ProofMethod
    argument: str
    premises: tuple[Premise, ...]
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    source: tuple[AnnotatedLine, ...] = ()

    def __post_init__(self) -> None:
        _validate.choice(ProofMethod, method=self.method)
        if not self.argument or not self.premises:
            raise ValueError("a proof needs an argument and at least one premise")

    @property
    def sizes(self) -> str:
        """The records that it covers, in words (see ``sizes_proved``)."""
        return sizes_proved(self.parameters)

    @property
    def holds(self) -> bool:
        """True if every premise holds."""
        return all(premise.holds for premise in self.premises)


def sizes_proved(parameters: Mapping[str, Any]) -> str:
    """Return the records that a proof from the source covers; "" of another proof.

    Examples
    --------
    >>> sizes_proved({"n": [20, 100], "assumptions": []})
    'for n = 20, 100 alone'
    >>> sizes_proved({"n": [], "assumptions": [], "bounds": [0.0, 1.0]})
    'for records in [0, 1] and every n ≥ 1'
    """
    if not {"n", "assumptions"} <= parameters.keys():
        return ""
    sizes = ", ".join(map(str, parameters["n"]))
    records = f"n = {sizes} alone" if sizes else "every n ≥ 1"
    if "bounds" not in parameters:
        return f"for {records}"
    low, high = parameters["bounds"]
    return f"for records in [{low:g}, {high:g}] and {records}"


ROUNDING = 1e-9
"""Relative numerical error of a number that is computed in floating point and not enclosed."""
_LEAST_SCALE = 1e-6
"""Below it the numerical error is absolute: a difference of ordinary numbers keeps theirs."""
PlainData = dict[str, Any]
"""JSON-ready data: strings, numbers, booleans, None, and lists and dictionaries of these."""


class Verdict(StrEnum):
    """The verdict on a claim."""

    REFUTED = "REFUTED"
    """Evidence excludes the claim."""
    PROVED = "PROVED"
    """A proof whose every premise, the claim's own comparison among them, is enclosed and holds."""
    CONSISTENT = "CONSISTENT"
    """Not refuted, by a check whose power reached the factor asked for."""
    VACUOUS = "VACUOUS"
    """Not refuted, and it promises nothing: every output of the mechanism satisfies it."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """Not refuted, and the test had too little power."""
    ERROR = "ERROR"
    """The check could not be completed."""

    def __bool__(self) -> NoReturn:
        raise TypeError("a Verdict has no truth value: 'not refuted' is not 'true'; compare it")

    def contradicts(self, expected: Verdict | None, *, strict: bool = False) -> bool:
        """Tell whether this verdict contradicts the expected one; nothing contradicts None.

        PROVED, CONSISTENT and VACUOUS are alike here: not refuted. INCONCLUSIVE contradicts only
        when ``strict``; ERROR says nothing about the claim and contradicts nothing.
        """
        holds = (Verdict.PROVED, Verdict.CONSISTENT, Verdict.VACUOUS)
        if self is Verdict.INCONCLUSIVE:
            return strict
        if self is Verdict.ERROR or expected is None:
            return False
        return (self in holds) != (expected in holds)


class Assumption(StrEnum):
    """The assumption of a sampled bound, besides the independence of its samples."""

    NONE = "none"
    """Nothing: it holds of whatever mechanism."""
    TRADE_OFF = "trade-off"
    """The mechanism differs from the claim in its noise alone."""


class EvidenceKind(StrEnum):
    """How the number was obtained."""

    EXACT = "exact"
    """Computed; the interval is an enclosure, or the numerical error."""
    CERTIFIED = "certified"
    """Sampled; the interval holds at the stated confidence."""
    INDICATIVE = "indicative"
    """A number without a guarantee."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The number of times that something happened among independent trials.

    Parameters
    ----------
    of : str
        Words for the event that was counted, different from those of the other counts of the same
        evidence.
    undecided : int
        Trials beside the hits that may be hits too.
    any_time : bool
        True if the number of trials was chosen in view of the hits.
    allowed : int or None
        The largest number of hits that the claim allows, at the level of the test; None where the
        test has no such number.
    """

    of: str
    hits: Whole
    trials: Whole
    undecided: Whole = 0
    any_time: bool = False
    allowed: Whole | None = None


class Measure(StrEnum):
    """The quantity that a sample's numbers estimate."""

    RATES = "rates"
    """The probability of each count."""
    LOG_RATIO = "log-ratio"
    """log(p/p′) of two counts, the likelier input's first."""
    MEAN = "mean"
    """The mean of a bounded variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The numbers behind sampled evidence: what a comparison with another run needs.

    Parameters
    ----------
    counts : tuple of Count
        One or several for rates, two for a log-ratio, none for a mean.
    trials : int
        For a mean, the number of values.
    variance : float
        For a mean, the values' variance, with the divisor ``trials`` − 1.
    range : tuple of float
        For a mean, bounds that the variable never leaves.
    any_time : bool
        For a mean, true if the number of values was chosen in view of them.
    """

    measure: Measure
    counts: tuple[Count, ...] = ()
    trials: Whole = 0
    variance: Number = 0.0
    range: tuple[Number, Number] = (0.0, 1.0)
    any_time: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its interval, in the unit of its quantity.

    Parameters
    ----------
    quantity : Quantity
        The quantity that the number measures.
    value, lower, upper : float
        The number and its interval. A loss of privacy is never negative; an upper end that the
        samples cannot give is infinite, and is not printed.
    confidence : float
        Probability that the interval is right: 1 where it is exact.
    at : dict
        The quantity's own parameters, such as the δ of an ε, or the order α of a divergence.
    detail : str
        Words for people that say which case the number is of.
    partition_upper : float or None
        The upper end of the loss over a partition of the outputs, where outputs alone speak. The
        release may lose more, so this is no end of the interval.
    """

    quantity: Quantity
    value: Number
    lower: Number
    upper: Number
    confidence: Number = 1.0
    at: dict[str, Number] = field(default_factory=dict[str, float])
    detail: str = ""
    partition_upper: Number | None = None

    def __post_init__(self) -> None:
        _validate.choice(Quantity, quantity=self.quantity)
        for name in ("value", "lower", "upper"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int | float):
                raise ValueError(  # noqa: TRY004  (as every other bad input)
                    f"{name} must be a number, got {number!r}"
                )
        if self.lower > self.upper:
            raise ValueError(f"lower must not exceed upper, got {self.lower!r} and {self.upper!r}")
        _validate.closed_unit(confidence=self.confidence)

    @property
    def label(self) -> str:
        """The quantity in words, with its parameters."""
        return self.quantity.described(self.at, self.detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """The probabilities of one output, or of an event of outputs, on two neighbouring inputs.

    Parameters
    ----------
    output : object
        The output, as plain data; None of an event.
    value, neighbour : float
        The probability on either input of the witness.
    event : object
        The outputs between two limits, as a witness has them; None of one output.
    trials : int
        Outputs on either input in which the probabilities were counted; 0 where they are computed.
    """

    output: Any
    value: Number
    neighbour: Number
    event: Any = None
    trials: Whole = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Estimate):
    """An estimate, and the method behind it.

    Parameters
    ----------
    kind : EvidenceKind
        Exact, certified or indicative.
    claimed : float or None
        The claimed bound of the quantity.
    n_samples : int or None
        Number of samples behind it; None where nothing was sampled.
    bound : Bound
        The side of the quantity that the claim bounds.
    sample : Sample or None
        The counts or the variance behind a sampled number, where they are few.
    assumption : Assumption
        The assumption under which the interval holds.
    odds : Odds or None
        An output or event that shows the loss: where the loss is computed, where the noise's law
        gives it, and where the test itself counts no interval of outputs.
    """

    kind: EvidenceKind
    claimed: Number | None = None
    n_samples: Whole | None = None
    bound: Bound = Bound.AT_MOST
    sample: Sample | None = None
    assumption: Assumption = Assumption.NONE
    odds: Odds | None = None

    @classmethod
    def exact(
        cls,
        quantity: Quantity,
        value: float,
        *,
        claimed: float | None = None,
        slack: float = 0.0,
        error: float = ROUNDING,
        at: dict[str, float] | None = None,
        detail: str = "",
    ) -> Evidence:
        """Build evidence from a number that was computed.

        The truth lies in [value, value + slack], each end but for the relative numerical error:
        that of a value below 1e-6 is taken as 1e-6 times ``error``. A value that is not negative
        has no negative lower end.
        """
        room = error * max(abs(value), _LEAST_SCALE) if math.isfinite(value) else 0.0
        return cls(
            kind=EvidenceKind.EXACT,
            quantity=quantity,
            value=value,
            lower=max(value - room, 0.0) if value >= 0 else value - room,
            upper=value + slack + room,
            claimed=claimed,
            at=at or {},
            detail=detail,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """The smallest violation that a check would have refuted with probability ``detection``.

    Parameters
    ----------
    quantity : Quantity
        The quantity that the violation is measured in: that of the evidence, or the claim's own
        where the evidence is of an attack.
    smallest : float
        The smallest true value that would have been refuted; infinite where none would.
    claimed : float
        The claimed bound of the quantity.
    bound : Bound
        The side of the quantity that the claim bounds.
    detection : float
        The probability of a refutation, in (0, 1]: 1 where nothing is left to chance.
    at : dict
        The quantity's own parameters.
    detail : str
        Words for people that say which violations are meant: "at this event".
    why : str
        Why none would have been refuted, a clause after "because"; "" where some would.
    """

    quantity: Quantity
    smallest: Number
    claimed: Number
    bound: Bound = Bound.AT_MOST
    detection: Number = 0.95
    at: dict[str, Number] = field(default_factory=dict[str, float])
    detail: str = ""
    why: str = ""

    def __post_init__(self) -> None:
        _validate.choice(Quantity, quantity=self.quantity)
        if not 0 < self.detection <= 1:
            raise ValueError(f"detection must lie in (0, 1], got {self.detection!r}")

    @property
    def factor(self) -> float:
        """The smallest violation divided by the promise; at least 1."""
        return max(1.0, self.quantity.times_worse(self.smallest, self.claimed, self.bound))


class Standing(StrEnum):
    """Whose claim it is, and how it relates to what is printed."""

    PAPER = "paper"
    """As printed, inside its hypotheses."""
    READING = "reading"
    """Another reading of the printed sentence, which the paper disclaims or leaves open."""
    CORRECTED = "corrected"
    """A corrected form of the printed statement, which never counts for it."""
    OUTSIDE_HYPOTHESIS = "outside-hypothesis"
    """The printed statement on data that it does not admit."""
    ERRATUM = "erratum"
    """A step of a proof, a printed constant, a caption; the theorem may hold."""
    PRACTICE = "practice"
    """Common practice: readers take it for granted, and nobody proves it."""
    CONTROL = "control"
    """Known to be false: its refutation shows that the audit can refute."""
    STATED = "stated"
    """Stated by whoever asks for the audit, or by the documentation of the code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """The printed statement that a claim tests.

    Parameters
    ----------
    title : str
        The title of the paper.
    quote : str
        The sentence as printed, formulas as plain text; "" of a table or a figure.
    quantifier, hypotheses : str
        The cases that it speaks of, and what it assumes, as printed.
    corrected : tuple of str
        Ids of the claims that test a corrected form of it.
    note : str
        A remark on what its claims do not cover.
    page : str
        The https address of the page with all statements of the paper.
    """

    title: str
    quote: str = ""
    quantifier: str = ""
    hypotheses: str = ""
    corrected: tuple[str, ...] = ()
    note: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The place where a claim is made, and what is printed there, where that is recorded."""

    paper: str
    section: str
    printed: Printed | None = None

    def __str__(self) -> str:
        return f"{self.paper}, {self.section}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLocation:
    """A place in source code: a file, relative to the working directory, a line, and its text."""

    file: str
    line: Annotated[int, annotated_types.Ge(1)]
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @classmethod
    def of(cls, file: str, line: int) -> SourceLocation:
        """Return the location of a line, counted from 1; what has no source is named so."""
        path = Path(file or "<no source>")
        if path.is_absolute() and path.is_relative_to(Path.cwd()):
            path = path.relative_to(Path.cwd())
        return cls(file=path.as_posix(), line=max(1, line), text=_line_of(file, line))

    @classmethod
    def in_module(cls, file: str, line: int, *, module: str) -> SourceLocation:
        """Return the location of a line of a module, or of a file beside it.

        A file of an installed package is named from the package's folder on.
        """
        path = Path(file)
        if not path.is_relative_to(Path.cwd()):
            path = Path(*path.parts[-len(module.split(".")) :])
        return replace(cls.of(str(path), line), text=_line_of(file, line))


def _line_of(file: str, line: int) -> str:
    """Return a line of a file without its indentation; "" where there is none."""
    linecache.checkcache(file)  # another file may have had this name, in another folder
    return linecache.getline(file, line).strip()[:_LONGEST_LINE]


INDEPENDENT_DRAWS = (
    "outputs are independent draws; dependence is probed among those of one batch, in their order, "
    "and not between batches or processes"
)
"""The assumption of whatever samples a target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineLoss:
    """The privacy loss that a line of the target spends.

    Parameters
    ----------
    location : SourceLocation
        The line that draws.
    draws : float
        Observed draws a run, on average.
    moved : float
        Those of them whose number differs between the inputs.
    law : str
        As the generator's method is called.
    scale : float
        The smallest noise scale, in the unit of the noisy number; NaN where it is not known.
    sensitivity : float
        The largest difference of that number between the inputs; NaN where it is not known.
    mean_loss : float
        Mean loss of a run, over the inputs' own paths: the larger of the two directions.
    largest_loss : float
        The largest loss of one of its draws.
    share : float
        Share of the mean loss of all lines: of the observed loss, not of what a claim counts.
    joined : bool
        True if its draws were compared with each other.
    """

    location: SourceLocation
    draws: Number
    moved: Number
    law: str
    scale: Number
    sensitivity: Number
    mean_loss: Number
    largest_loss: Number
    share: Number
    joined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something that the traces say of a line.

    Parameters
    ----------
    says : str
        The remark, without a full stop.
    paths : int
        The number of paths on which it was seen.
    blames : bool
        True if the line is where the data leave the noise behind. Of an output that differs only
        the line that returns it may be known.
    """

    says: str
    location: SourceLocation
    paths: Whole = 1
    blames: bool = True

    def __str__(self) -> str:
        return f"{self.location.file}:{self.location.line}: {self.says}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedLines:
    """The lines of the code of which a trace of its noise has seen something.

    Parameters
    ----------
    draws : tuple of LineLoss
        The lines that draw noise, with the loss that each spends, the largest first.
    leaks : tuple of Remark
        Data that reaches the output or the control flow without noise.
    unfollowed : tuple of Remark
        The places where the noise could not be followed.
    """

    draws: tuple[LineLoss, ...] = ()
    leaks: tuple[Remark, ...] = ()
    unfollowed: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement about a mechanism, with its source and the verdict that we expect.

    Parameters
    ----------
    id : str
        The ledger's id, with a variant in brackets where there are several.
    statement, formula : str
        The claim in words, and as a formula (may be empty).
    subject : str
        Subject of the claim, and its heading.
    standing : Standing
        Whose claim it is.
    assumptions : str
        The assumptions of the claim, in words.
    parameters : dict
        Whatever the evidence fixes, as plain data.
    location : SourceLocation or None
        File and line of the code that makes the claim.
    vacuous : str
        Why it promises nothing, a sentence that the statement begins with; else empty.
    """

    id: str
    statement: str
    source: Source
    expected: Verdict | None
    formula: str = ""
    subject: str = ""
    standing: Standing = Standing.STATED
    assumptions: str = ""
    parameters: PlainData = field(default_factory=dict[str, Any])
    location: SourceLocation | None = None
    vacuous: str = ""

    def __post_init__(self) -> None:
        if self.expected is not None:
            _validate.choice(Verdict, expected=self.expected)
        _validate.choice(Standing, standing=self.standing)
        if not self.id or any(c.isspace() for c in self.id):
            raise ValueError(f"id must be a non-empty word, got {self.id!r}")


def stem_of(id_: str) -> str:
    """Return a claim's id without its variant.

    Examples
    --------
    >>> stem_of("pcoqs.theorem-1[coverage=marginal]")
    'pcoqs.theorem-1'
    """
    return id_.partition("[")[0] or id_


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproved:
    """Why a claim is not proved for every input from the source of its code.

    Parameters
    ----------
    reason : str
        The reason that stopped the proof, without a full stop.
    location : SourceLocation or None
        The line that stopped it, where it is known.
    hint : str
        A change with which the proof may go through; "" where none is known.
    source : tuple of AnnotatedLine
        The source as far as it was read, line by line; empty where there is none.
    bound : float or None
        The loss above the claim that is proved, where that is all that stops the proof.
    """

    reason: str
    location: SourceLocation | None = None
    hint: str = ""
    source: tuple[AnnotatedLine, ...] = ()
    bound: Number | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much a search has tried.

    Parameters
    ----------
    cases : int
        The number of pairs of neighbours, or of laws of scores.
    of : str
        The noun for the cases, as after a number: "pairs of neighbours".
    sizes : tuple of int
        The numbers of records tried, in increasing order; empty where inputs are no records.
    calls, planned : int
        Calls of the target that were made, and that were planned; 0 of a trace.
    raised : int
        Pairs that were left out since the target raised on one of their two inputs alone.
    error : str
        The first such error, with its line; "" of none.
    """

    cases: Whole
    of: str
    sizes: tuple[int, ...]
    calls: Whole = 0
    planned: Whole = 0
    raised: Whole = 0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a check.

    Parameters
    ----------
    power : Power or None
        The violation that the check would have refuted; None where it refuted, or cannot say.
    proof : Proof or None
        Why the claim holds in every case; only with one is the verdict PROVED.
    witness : dict
        Plain data whose keys are the keywords of the API: enough to run the case again.
    note : str
        Meaning of the number, in a sentence or two.
    estimates : tuple of Estimate
        For a privacy claim, the loss on the pair that is shown, in the claim's unit, with two
        sides; the verdict does not rest on it.
    location : SourceLocation or None
        The line of the code that spends the loss, where it is known.
    unproved : Unproved or None
        The reason that stopped a proof from the source, for a claim that the verifier takes and
        does not prove.
    traced : TracedLines or None
        The results of a trace of the noise for single lines.
    extent : Extent or None
        The extent of a search.
    """

    verdict: Verdict
    evidence: Evidence
    power: Power | None = None
    proof: Proof | None = None
    witness: PlainData = field(default_factory=dict[str, Any])
    note: str = ""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    estimates: tuple[Estimate, ...] = ()
    location: SourceLocation | None = None
    unproved: Unproved | None = None
    traced: TracedLines | None = None
    extent: Extent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim with the outcome of its check.

    Parameters
    ----------
    error, hint : str
        The error of a failed check, and advice; else "".
    """

    claim: Claim
    outcome: Outcome | None
    error: str = ""
    hint: str = ""
    seconds: float = 0.0

    @property
    def failure(self) -> str:
        """The error with its hint on a second line; "" of a check that did not fail."""
        return f"{self.error}{HINT}{self.hint}" if self.hint else self.error

    @property
    def statement(self) -> str:
        """The claim in words; of one that is proved from the source, for the n of the proof."""
        said, proof = self.claim.statement, None if self.outcome is None else self.outcome.proof
        if proof is None or not proof.sizes or "n" in self.claim.parameters:
            return said
        return f"{said.removesuffix('.')}, {proof.sizes}."

    @property
    def verdict(self) -> Verdict:
        """The outcome's verdict, or ERROR; VACUOUS where a claim holds that promises nothing."""
        found = Verdict.ERROR if self.outcome is None else self.outcome.verdict
        holds = found not in {Verdict.REFUTED, Verdict.ERROR}
        return Verdict.VACUOUS if self.claim.vacuous and holds else found
