"""Write the gallery: figures of the reports, drawn from results files.

Usage: dpcp-audit run --report json=papers.json
       dpcp-audit selftest --report json=zoo.json
       python docs/update_gallery.py papers.json zoo.json
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpcp_audit.reports.charts import figure_svg
from dpcp_audit.reports.document import load
from dpcp_audit.reports.entry import entries_of
from dpcp_audit.reports.formats.markdown import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.words.results import PlainData

DOCS = Path(__file__).parent


class Picture(NamedTuple):
    """A figure of a finding: the claim's id, its place among the figures, its file and heading."""

    claim: str
    place: int
    name: str
    heading: str


PICTURES = (
    Picture("exponq.privacy[normaliser=published]", 1, "trade_off", "What an attacker can reach"),
    Picture(
        "exponq.privacy[normaliser=published,attack=membership]", 0, "roc", "What an attack reaches"
    ),
    Picture("pcoqs.epsilon-equivalence", 0, "profile", "The privacy profile"),
    Picture(
        "pcoqs.corollary-1[coverage=marginal,n=50,rho=0.05]", 0, "coverage", "Coverage, by trials"
    ),
    Picture("dpskin.rdp-batch[anywhere]", 0, "orders", "A formula against the truth"),
    Picture("ldpcp.shuffle[table]", 0, "shuffled", "Bounds from both sides"),
)
"""The gallery, in its order."""

_PAGE = """\
# Gallery

Figures of the reports. Each is drawn from a run's results file by `docs/update_gallery.py`; the
command below a figure runs its claim and writes the page that holds it.

## A whole run

![The first screen of the report on the papers' claims](report.png)

`dpcp-audit run --report html=audit.html`

## Which check catches which planted bug

![{zoo_title}](gallery_zoo.svg)

{zoo_said}

`dpcp-audit selftest --report html=selftest.html`
{pictures}
"""


def page(papers: PlainData, zoo: PlainData) -> str:
    """Return the page's text."""
    (matrix,) = zoo["overview"]["figures"]
    entries = {entry.id: entry for entry in entries_of(papers)}
    parts: list[str] = []
    for picture, figure in _figures(papers):
        entry = entries[picture.claim]
        claimed = f", promised {entry.breach.promised}" if entry.limit is not None else ""
        parts.append(
            f"\n## {picture.heading}\n\n![{figure['title']}](gallery_{picture.name}.svg)\n\n"
            f"{escaped(entry.statement)} {entry.verdict}: {entry.breach.found}{claimed}. "
            f"{escaped(figure['description'])}\n\n"
            f"`dpcp-audit run --only '{picture.claim}' --report html=audit.html`"
        )
    return _PAGE.format(
        zoo_title=matrix["title"],
        zoo_said=escaped(matrix["description"]),
        pictures="\n".join(parts),
    )


def drawings(papers: PlainData, zoo: PlainData) -> dict[str, str]:
    """Return the figures' SVG, by the names of their files."""
    (matrix,) = zoo["overview"]["figures"]
    drawn = {picture.name: figure for picture, figure in _figures(papers)} | {"zoo": matrix}
    return {f"gallery_{name}.svg": figure_svg(figure) for name, figure in drawn.items()}


def _figures(papers: PlainData) -> Iterator[tuple[Picture, PlainData]]:
    """Yield the pictures with their figures."""
    findings: dict[str, Any] = {finding["id"]: finding for finding in papers["findings"]}
    for picture in PICTURES:
        yield picture, findings[picture.claim]["figures"][picture.place]


def main(arguments: list[str]) -> int:
    """Write ``docs/gallery.md`` and its figures."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    papers, zoo = (load(Path(path)) for path in arguments)
    (DOCS / "gallery.md").write_text(page(papers, zoo), encoding="utf-8")
    for name, svg in drawings(papers, zoo).items():
        (DOCS / name).write_text(svg + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
