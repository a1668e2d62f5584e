"""The results of an audit or a run: of one claim, and of all of them."""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dpcp_audit.faces.python_api import result_text
from dpcp_audit.faces.python_api.result_text import frame_of
from dpcp_audit.reports.document import agree, format_for, require_writable
from dpcp_audit.reports.sentences import shown_estimate
from dpcp_audit.reports.severity import headline
from dpcp_audit.words import errors
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.errors import write_whole
from dpcp_audit.words.formatting import to_float
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Figure, FigureKind, Series, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axes import Axes

    from dpcp_audit.words.results import Evidence, Finding, PlainData, Power, Proof


_WORST_FIRST = (
    Verdict.REFUTED,
    Verdict.ERROR,
    Verdict.VACUOUS,
    Verdict.INCONCLUSIVE,
    Verdict.CONSISTENT,
    Verdict.PROVED,
)
_SAME = ("verdict", "evidence", "witness")
"""The fields that a replay must reproduce, up to the rounding of other machines."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ClaimResult:
    """The result for one claim: verdict, evidence, power, witness and proof.

    Parameters
    ----------
    key : str
        The claim's name in a ``Result``: "zcdp", "coverage", or "zcdp(0.5)" if there are several
        of one kind; in a run, its id.
    finding : Finding
        The claim with the outcome of its check.
    entry : dict
        The finding in the results document.
    again : callable
        Tests the claim once more and returns the finding's new entry.
    """

    key: str
    finding: Finding
    entry: PlainData
    again: Callable[[], PlainData]

    @property
    def id(self) -> str:
        """The claim's id in reports."""
        return self.finding.claim.id

    @property
    def claim(self) -> str:
        """The claim, in words."""
        return self.finding.statement

    @property
    def verdict(self) -> Verdict:
        """The verdict on the claim."""
        return self.finding.verdict

    @property
    def estimate(self) -> Evidence | None:
        """The measured number with its interval; None of a check that failed."""
        outcome = self.finding.outcome
        return None if outcome is None else outcome.evidence

    @property
    def power(self) -> Power | None:
        """The smallest violation that would have been refuted; None where that is unknown."""
        outcome = self.finding.outcome
        return None if outcome is None else outcome.power

    @property
    def proof(self) -> Proof | None:
        """Why the claim holds in every case; None of what is not proved."""
        outcome = self.finding.outcome
        return None if outcome is None else outcome.proof

    @property
    def witness(self) -> PlainData:
        """Plain data that runs the very case again; empty of a check that failed."""
        outcome = self.finding.outcome
        return {} if outcome is None else outcome.witness

    @property
    def error(self) -> str:
        """Why the check failed; empty where it did not."""
        return self.finding.error

    @property
    def figures(self) -> list[PlainData]:
        """The figures, as plain data; ``plot`` draws them."""
        figures: list[PlainData] = self.entry["figures"]
        return figures

    def plot(self, ax: Axes | None = None, *, figure: int = 0) -> Axes:
        """Draw a figure of this claim; without one, its interval beside the promise.

        Parameters
        ----------
        ax : Axes, optional
            The axes to draw on; by default those of a new figure of pyplot.
        figure : int
            The index in ``figures``.

        Raises
        ------
        ValueError
            If there is no such figure.
        MissingExtraError
            If matplotlib is not installed.
        """
        from dpcp_audit.reports.chart_axes import plot_figure  # noqa: PLC0415

        _validate.integer(figure=figure, at_least=0)
        figures = self.figures or _interval(self.entry)
        if figure >= len(figures):
            raise errors.value_error(
                f"figure must be below {len(figures)}, the number of figures of {self.key!r}, "
                f"got {figure!r}",
                "0 is the first",
            )
        axes: Axes = plot_figure(figures[figure], ax)
        if not self.figures:
            axes.yaxis.set_visible(False)
        return axes

    def replay(self) -> bool:
        """Test the claim again with its seed; True if verdict, evidence and witness are the same.

        A function that draws from the system's entropy does not repeat.
        """
        again = self.again()
        return all(agree(self.entry[key], again[key]) for key in _SAME)

    def __bool__(self) -> NoReturn:
        raise TypeError(result_text.NO_TRUTH)

    def __repr__(self) -> str:
        return result_text.card(self.key, self.entry)

    def _repr_html_(self) -> str:
        return result_text.preformatted(repr(self))


def _interval(entry: PlainData) -> list[PlainData]:
    """Return a figure of a claim's interval and promise as plain data; none of a failed check."""
    if entry["evidence"] is None:
        return []
    shown = shown_estimate(entry)
    name = Quantity(shown["quantity"]).label
    ends = [to_float(shown[end]) for end in ("lower", "value", "upper")]
    line = Series(name=f"found: {entry['verdict']}", x=ends, y=[0.0] * len(ends))
    figure = Figure(
        kind=FigureKind.LINES,
        title=str(entry["statement"]),
        x_label=name,
        y_label="",
        series=[line],
        description=headline(entry),
        marks={f"promised {Bound(shown['bound']).sign}": to_float(shown["claimed"])},
    )
    return [asdict(figure)]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Result:
    """The results of an audit or a run, one ``ClaimResult`` for each claim.

    Iterate over it, or index it: ``result["zcdp"]`` is the result of one claim, by its kind or its
    id, and ``result[0]`` that of the first. A result has no truth value, because a claim that is
    not refuted need not be true: test its verdict.

    Parameters
    ----------
    document : dict
        The results document: all that reports are made of, as plain data.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> def flip(values, *, rng):
    ...     return values ^ (rng.random(values.shape) < 0.1)
    >>> result = dp.audit(flip, dp.LocalDP(1.0), domain=2, vectorised=True)
    >>> result.verdict
    <Verdict.REFUTED: 'REFUTED'>
    >>> result["local_dp"].estimate.lower > 1.0
    True
    >>> result.replay()
    True
    """

    claims: tuple[ClaimResult, ...]
    document: PlainData

    @property
    def verdict(self) -> Verdict:
        """The worst verdict: REFUTED before ERROR, INCONCLUSIVE, CONSISTENT and PROVED.

        ERROR where nothing was checked.
        """
        found = [each.verdict for each in self.claims]
        return min(found, key=_WORST_FIRST.index, default=Verdict.ERROR)

    def to_frame(self, library: str = "pandas") -> Any:
        """Return a table with a row for each claim, as a data frame.

        Parameters
        ----------
        library : str
            "pandas" or "polars".

        Raises
        ------
        ImportError
            If it is not installed.
        """
        rows = [result_text.row(each.key, each.entry) for each in self.claims]
        return frame_of(
            {name: [row[name] for row in rows] for name in result_text.COLUMNS}, library
        )

    def plot(self, ax: Axes | None = None, *, figure: int = 0) -> Axes:
        """Draw a figure of the worst claim that has one; ``result[...].plot`` draws another's.

        The parameters are those of ``ClaimResult.plot``.
        """
        drawn = [each for each in self.claims if each.figures]
        drawn = drawn or [each for each in self.claims if each.entry["evidence"] is not None]
        if not drawn:
            raise ValueError("result has no figures: its checks failed")
        worst = min(drawn, key=lambda each: _WORST_FIRST.index(each.verdict))
        return worst.plot(ax, figure=figure)

    def report(self, path: str | Path) -> Path:
        """Write a report, in the format of the path's suffix, and return the path.

        Parameters
        ----------
        path : str or Path
            Ends in .html, .json, .md, .csv, .sarif or .xml (JUnit), for example.

        Raises
        ------
        ValueError
            If it is no path, no format has the suffix, or it cannot be written to.
        MissingExtraError
            If a package that the format needs is not installed.
        """
        _validate.instance(str, Path, path=path)
        wanted = Path(path)
        found = format_for(wanted)
        found.require()
        require_writable(wanted, option="path")
        write_whole(wanted, found.render(self.document))
        return wanted

    def replay(self) -> bool:
        """Test every claim again; True if all come out the same (see ``ClaimResult.replay``)."""
        return all(each.replay() for each in self.claims)

    def __iter__(self) -> Iterator[ClaimResult]:
        return iter(self.claims)

    def __len__(self) -> int:
        return len(self.claims)

    def __getitem__(self, key: str | int) -> ClaimResult:
        if isinstance(key, int):
            return self.claims[key]
        names = {key, str(key).replace("-", "_")}
        for each in self.claims:
            if {each.key, each.id} & names:
                return each
        known = [each.key for each in self.claims]
        near = difflib.get_close_matches(str(key), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join(known[:8])}"
        raise KeyError(f"no claim is called {key!r}: {hint}")

    def __bool__(self) -> NoReturn:
        raise TypeError(result_text.NO_TRUTH)

    def __repr__(self) -> str:
        return result_text.table(self.document, self._rows)

    def _repr_html_(self) -> str:
        return result_text.html_table(self.document, self._rows)

    @property
    def _rows(self) -> list[PlainData]:
        worst = sorted(self.claims, key=lambda each: _WORST_FIRST.index(each.verdict))
        return [result_text.row(each.key, each.entry) for each in worst]
