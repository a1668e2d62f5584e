"""The HTML report: one self-contained page, without scripts, that escapes what it prints."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.charts import image
from dpcp_audit.reports.document import ReportFormat
from dpcp_audit.reports.families import TICKS, position
from dpcp_audit.reports.summary import ORIGIN, SIGN_OFF, SIGNED, read, run_facts
from dpcp_audit.reports.terminal import lines, numeric
from dpcp_audit.words.errors import require_package
from dpcp_audit.words.formatting import clipped, counted, printable
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import jinja2

    from dpcp_audit.reports.summary import Reading

_GLYPHS = {
    Verdict.REFUTED: "✕",
    Verdict.ERROR: "!",
    Verdict.VACUOUS: "∅",
    Verdict.INCONCLUSIVE: "?",
    Verdict.CONSISTENT: "≈",
    Verdict.PROVED: "✓",
}
_MOST_ROWS = 400
"""The most rows of a table; with every row, a full comparison would be larger than 20 MB."""
_KEYS = {
    Verdict.REFUTED: "refuted: the evidence excludes the claim",
    Verdict.ERROR: "error: the check was not completed",
    Verdict.VACUOUS: "vacuous: promises nothing, every output satisfies it",
    Verdict.INCONCLUSIVE: "inconclusive: too little power to say",
    Verdict.CONSISTENT: "consistent: tested with power, not refuted",
    Verdict.PROVED: "proved: for every case that the statement names",
}
_SHOWS = {
    "all": ("all claims", frozenset(Verdict)),
    "refuted": ("refuted", {Verdict.REFUTED}),
    "open": ("undecided", {Verdict.VACUOUS, Verdict.INCONCLUSIVE, Verdict.ERROR}),
    "standing": ("not refuted", {Verdict.CONSISTENT, Verdict.PROVED}),
}
"""The page's filters: the label, and the verdicts of the claims that each one keeps."""
_MOST_SOURCES = 12
"""Sources among which a page offers a choice."""


def render_html(document: Mapping[str, Any]) -> str:
    """Render a results document as one HTML page.

    Parameters
    ----------
    document : mapping
        The results document, as :func:`dpcp_audit.reports.document.load` returns it.

    Returns
    -------
    str
        The page; it asks nothing of the network and is the same for the same document.

    Raises
    ------
    MissingExtraError
        If jinja2 or matplotlib is not installed.
    ValueError
        If the document is of another schema version, or a figure cannot be drawn.
    """
    template = page_environment().get_template("report.html.jinja")
    reading = read(document)
    place_of = {source: place for place, source in enumerate(reading.sources, start=1)}
    choices = 1 < len(place_of) <= _MOST_SOURCES
    return template.render(
        document=document,
        reading=reading,
        glyphs=_GLYPHS,
        keys=_KEYS,
        run=run_facts(document),
        sign_off=SIGN_OFF,
        signed=[fact for fact in run_facts(document) if fact[0] in SIGNED],
        origin=[fact for fact in run_facts(document) if fact[0] in ORIGIN],
        image=image,
        overview=document.get("overview", {"figures": [], "tables": []}),
        lines=lines,
        numeric=numeric,
        most_rows=_MOST_ROWS,
        ticks=TICKS,
        shows=[
            (name, said, sum(entry.verdict in verdicts for entry in reading.entries))
            for name, (said, verdicts) in _SHOWS.items()
        ],
        choices=Counter(entry.paper for entry in reading.entries) if choices else {},
        filters=list(_filters(reading, place_of if choices else {})),
        place_of=place_of,
    )


def _filters(reading: Reading, place_of: Mapping[str, int]) -> Iterator[tuple[str, str, bool]]:
    """Yield for each filter when it holds, which claims it leaves, and if there are any."""
    for name, (_, verdicts) in _SHOWS.items():
        classes = ", ".join(sorted(f".v-{verdict.lower()}" for verdict in verdicts))
        for paper, place in {"": 0, **place_of}.items():
            if name == "all" and not paper:
                continue
            when = f":root:has(#show-{name}:checked)"
            when += f":has(#of-{place}:checked)" if place_of else ""
            left = f":is({classes})" + (f".of-{place}" if paper else "")
            found = any(
                entry.verdict in verdicts and paper in {"", entry.paper}
                for entry in reading.entries
            )
            yield when, left, found


def page_environment() -> jinja2.Environment:
    """Return the renderer of this package's templates: self-contained pages, all escaped."""
    require_package("jinja2", "report")
    import jinja2  # noqa: PLC0415

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dpcp_audit.reports.formats"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = environment.filters
    filters |= {each.__name__: each for each in (clipped, counted, position, printable)}
    return environment


FORMATS = {
    "html": ReportFormat(
        suffix=".html",
        help="one self-contained page with figures",
        render=render_html,
        packages=("jinja2", "matplotlib"),
        extra="report",
    ),
}
