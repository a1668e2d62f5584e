"""Claims, evidence, verdicts and findings: the words that every storey above shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn

from dpcp_audit import _validate
from dpcp_audit.outcome_tables import Table  # noqa: TC001  (resolved when outcomes are decoded)

PlainData = dict[str, Any]
"""JSON-ready data: strings, numbers, booleans, None, and lists and dictionaries of these."""


class Verdict(StrEnum):
    """What the evidence says about a claim."""

    REFUTED = "REFUTED"
    """Evidence excludes the claim."""
    PROVED = "PROVED"
    """Exact evidence that covers every case the statement speaks of."""
    CONSISTENT = "CONSISTENT"
    """Tried hard and not refuted; the evidence says how close it came."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """The budget was too small to say."""
    ERROR = "ERROR"
    """The check could not be completed."""

    def __bool__(self) -> NoReturn:
        raise TypeError("a Verdict has no truth value: 'not refuted' is not 'true'; compare it")

    def contradicts(self, expected: Verdict | None, *, strict: bool = False) -> bool:
        """Tell whether this verdict contradicts the expected one; nothing contradicts None.

        PROVED and CONSISTENT both say that a claim holds. INCONCLUSIVE contradicts only when
        ``strict``; ERROR says nothing about the claim and contradicts nothing.
        """
        holds = (Verdict.PROVED, Verdict.CONSISTENT)
        if self is Verdict.INCONCLUSIVE:
            return strict
        if self is Verdict.ERROR or expected is None:
            return False
        return (self in holds) != (expected in holds)


class EvidenceKind(StrEnum):
    """How a number was had."""

    EXACT = "exact"
    """Computed; the interval is numerical slack."""
    CERTIFIED = "certified"
    """Sampled; the interval holds at the stated confidence."""
    INDICATIVE = "indicative"
    """A number without a guarantee."""


class Bound(StrEnum):
    """Which side of a quantity a claim bounds."""

    AT_MOST = "at most"
    """A larger value is worse, as of a loss of privacy or a failure probability."""
    AT_LEAST = "at least"
    """A smaller value is worse, as of a coverage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often something happened among independent trials.

    Parameters
    ----------
    of : str
        What was counted, in words that tell it from the other counts of the same evidence.
    undecided : int
        Trials beside the hits that may be hits too.
    any_time : bool
        Whether the number of trials was chosen in view of the hits.
    """

    of: str
    hits: int
    trials: int
    undecided: int = 0
    any_time: bool = False


class Measure(StrEnum):
    """What a sample's numbers estimate."""

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
        Of rates, one or several; of a log-ratio, two; of a mean, none.
    trials : int
        Of a mean: the number of values.
    variance : float
        Of a mean: the values' variance, with the divisor ``trials`` − 1.
    range : tuple of float
        Of a mean: bounds that the variable never leaves.
    """

    measure: Measure
    counts: tuple[Count, ...] = ()
    trials: int = 0
    variance: float = 0.0
    range: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A number with an interval, and how it was had.

    Parameters
    ----------
    kind : EvidenceKind
        Exact, certified or indicative.
    quantity : str
        What the number is, in words or a formula, with its parameters.
    value, lower, upper : float
        The number and its interval.
    claimed : float or None
        What the claim says of the quantity.
    confidence : float
        Probability that the interval is right: 1 where it is exact.
    n_samples : int or None
        Number of samples behind it; None where nothing was sampled.
    bound : Bound
        Which side of the quantity the claim bounds.
    sample : Sample or None
        The counts or the variance behind a sampled number, where they are few.
    """

    kind: EvidenceKind
    quantity: str
    value: float
    lower: float
    upper: float
    claimed: float | None = None
    confidence: float = 1.0
    n_samples: int | None = None
    bound: Bound = Bound.AT_MOST
    sample: Sample | None = None

    @classmethod
    def exact(
        cls, quantity: str, value: float, *, claimed: float | None = None, slack: float = 0.0
    ) -> Evidence:
        """Build exact evidence; the truth lies in [value, value + slack]."""
        return cls(
            kind=EvidenceKind.EXACT,
            quantity=quantity,
            value=value,
            lower=value,
            upper=value + slack,
            claimed=claimed,
        )


class FigureKind(StrEnum):
    """How a figure is drawn."""

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
    x: list[float]
    y: list[float]
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure as plain data; the reports draw it.

    Parameters
    ----------
    marks : dict
        Vertical reference lines by their label, for example a bound. In a heat map, one limit:
        cells above it are drawn in another colour.
    columns : list of str
        Of a heat map: the columns' labels; without, the numbers of the first row's x.
    description : str
        What the figure shows, in words, for readers who cannot see it.
    """

    kind: FigureKind
    title: str
    x_label: str
    y_label: str
    series: list[Series]
    description: str
    marks: dict[str, float] = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False
    columns: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a claim is made."""

    paper: str
    section: str

    def __str__(self) -> str:
        return f"{self.paper}, {self.section}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLocation:
    """Where code is written: a file, relative to the working directory, and a line."""

    file: str
    line: int

    @classmethod
    def of(cls, file: str, line: int) -> SourceLocation:
        """Return the location of a line, counted from 1."""
        path = Path(file)
        if path.is_absolute() and path.is_relative_to(Path.cwd()):
            path = path.relative_to(Path.cwd())
        return cls(file=path.as_posix(), line=line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement about a mechanism, with its source and the verdict that we expect.

    Parameters
    ----------
    id : str
        The ledger's id, with a variant in brackets where there are several.
    statement, formula : str
        The claim in words, and as a formula (may be empty).
    location : SourceLocation or None
        Where the code that makes the claim is written.
    """

    id: str
    statement: str
    source: Source
    expected: Verdict | None
    formula: str = ""
    location: SourceLocation | None = None

    def __post_init__(self) -> None:
        if self.expected is not None:
            _validate.choice(Verdict, expected=self.expected)
        if not self.id or any(c.isspace() for c in self.id):
            raise ValueError(f"id must be a non-empty word, got {self.id!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a check found out.

    Parameters
    ----------
    witness : dict
        Plain data whose keys are the keywords of the API: enough to run the case again.
    note : str
        What the number means, in a sentence or two.
    """

    verdict: Verdict
    evidence: Evidence
    witness: PlainData = field(default_factory=dict)
    note: str = ""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim with the outcome of its check; ``error`` stands in for an outcome that failed."""

    claim: Claim
    outcome: Outcome | None
    error: str = ""
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """The outcome's verdict, or ERROR."""
        return Verdict.ERROR if self.outcome is None else self.outcome.verdict
