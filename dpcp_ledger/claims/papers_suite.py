"""The suite of the papers' claims, and the record of every statement."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.claims import (
    Overview,
    Printed,
    Standing,
    Suite,
    Table,
    TableColumn,
    Verdict,
)
from dpcp_ledger.dpskin import gaussian_claims, printed_accuracies, proof_steps, training_budgets
from dpcp_ledger.ldpcp import ldpcp_scores, ldpcp_theorems, reports, shuffling, table_rows, widths
from dpcp_ledger.pcoqs import (
    algorithm,
    marginal_grid,
    other_quantiles,
    pcoqs_theorems,
    printed_settings,
    privacy,
    published_tables,
    remarks,
    zcdp,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dpcp_audit.extensions.claims import Row

    Found = Mapping[str, tuple[Standing, Verdict]]


PAPERS = {
    "LDP-CP": "Privacy-Preserving Conformal Prediction Under Local Differential Privacy",
    "P-COQS": "Differentially Private Conformal Prediction via Quantile Binary Search",
    "DP-SKIN": "Differential Privacy Enabled Deep Skin Image Classification Model Development",
}
"""The titles of the papers, by the names that their claims use."""
_PAGE = "https://github.com/dpcp-audit/dpcp-audit/blob/main/docs/statements_{}.md"


class Quantifier(StrEnum):
    """Over what a statement speaks."""

    FOR_ALL = "for all"
    """It says so of every case within its hypotheses."""
    EXISTS = "there exists"
    """It says that some algorithm, or some number, does."""
    PRINTED = "printed numbers"
    """It speaks of numbers that stand in the paper."""
    OPEN = "left open"
    """A word such as "negligible" or "similar" leaves open what would break it."""


class StatementVerdict(StrEnum):
    """A run's verdict on a statement; repaired forms do not count."""

    REFUTED = "refuted as printed"
    VACUOUS = "vacuous as printed"
    PROVED = "proved"
    CONSISTENT = "not refuted"
    UNDECIDED = "undecided"
    ERRATUM = "erratum"
    """A proof's step, a constant or a caption is wrong; no theorem falls with it."""
    APART = "tested in another form"
    """Another reading, a case outside the hypotheses, a practice or a control is tested."""
    SEEN = "read, not run"
    """The print itself decides it."""
    UNTESTED = "cannot be tested here"
    UNKNOWN = "not in these runs"


_NOT_RUN = (StatementVerdict.SEEN, StatementVerdict.UNTESTED, StatementVerdict.UNKNOWN)
_OWN = {
    Verdict.REFUTED: StatementVerdict.REFUTED,
    Verdict.VACUOUS: StatementVerdict.VACUOUS,
    Verdict.ERROR: StatementVerdict.UNDECIDED,
    Verdict.INCONCLUSIVE: StatementVerdict.UNDECIDED,
    Verdict.CONSISTENT: StatementVerdict.CONSISTENT,
    Verdict.PROVED: StatementVerdict.PROVED,
}
"""The worst verdict of the claims that stand as printed decides, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedStatement:
    """A statement of a paper.

    Parameters
    ----------
    paper, place, says : str
        Paper and place of the statement, and a short form of it.
    quote : str
        The sentence as printed; … stands for what is left out, formulas are set as plain text.
        Empty of tables, figures and what no sentence says.
    quantifier : Quantifier
        Over what it speaks.
    hypotheses : str
        Hypotheses as printed, where there are any.
    rows : tuple of str
        Ids of the claims that test it, or a part of it.
    repaired : tuple of str
        Ids of the rows that test a corrected form, which never takes the printed one's place.
    note : str
        Remarks beside the rows.
    untested, seen : str
        Why it cannot be tested here; or what its print shows without a run.
    """

    paper: str
    place: str
    says: str
    quote: str = ""
    quantifier: Quantifier = Quantifier.FOR_ALL
    hypotheses: str = ""
    rows: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    note: str = ""
    untested: str = ""
    seen: str = ""

    def __post_init__(self) -> None:
        if self.reason_alone and self.rows:
            raise ValueError(f"a statement that cannot be tested has no rows: {self.says}")
        if not (self.rows or self.reason_alone):
            raise ValueError(f"a statement needs rows or a reason: {self.says}")
        if others := {*self.repaired} - {*self.rows}:
            raise ValueError(f"{', '.join(sorted(others))} must be among the rows: {self.says}")

    @property
    def reason_alone(self) -> str:
        """The reason why there is no row; "" where there are rows."""
        return self.untested or self.seen

    @property
    def printed(self) -> tuple[str, ...]:
        """The rows that test the form that is printed, or a reading of it."""
        return tuple(row for row in self.rows if row not in self.repaired)

    @property
    def as_printed(self) -> Printed:
        """The statement as the source of its claims holds it."""
        return Printed(
            title=PAPERS[self.paper],
            quote=self.quote,
            quantifier=str(self.quantifier),
            hypotheses=self.hypotheses,
            corrected=self.repaired,
            note=self.note,
            page=_PAGE.format(self.paper.lower().replace("-", "")),
        )

    def verdict(self, found: Found) -> StatementVerdict:
        """Return the verdict of the runs.

        Parameters
        ----------
        found : dict
            Standing and verdict of claims, by id.
        """
        if self.reason_alone:
            return StatementVerdict.UNTESTED if self.untested else StatementVerdict.SEEN
        known = [found[row] for row in self.printed if row in found]
        own = {verdict for standing, verdict in known if standing is Standing.PAPER}
        if own:
            return next(_OWN[verdict] for verdict in _OWN if verdict in own)
        if (Standing.ERRATUM, Verdict.REFUTED) in known:
            return StatementVerdict.ERRATUM
        return StatementVerdict.APART if known else StatementVerdict.UNKNOWN


@cache
def listed_statements() -> tuple[ListedStatement, ...]:
    """Return the statements, in the papers' order."""
    return tuple(_statement(entry) for entry in _read("statements.toml")["statement"])


def with_statements(rows: Iterable[Row]) -> list[Row]:
    """Return the rows; each claim's source holds the printed statement that it tests first."""
    printed: dict[tuple[str, str], Printed] = {}
    for statement in listed_statements():
        for id_ in statement.rows:
            printed.setdefault((statement.paper, id_), statement.as_printed)
    return [_with_statement(row, printed) for row in rows]


def _with_statement(row: Row, printed: Mapping[tuple[str, str], Printed]) -> Row:
    source = row.claim.source
    source = replace(source, printed=printed.get((source.paper, row.claim.id)))
    return replace(row, claim=replace(row.claim, source=source))


def found_in(document: Mapping[str, Any]) -> dict[str, tuple[Standing, Verdict]]:
    """Return standing and verdict of each finding of a results document, by id."""
    return {
        each["id"]: (Standing(each["standing"]), Verdict(each["verdict"]))
        for each in document["findings"]
    }


def counted(found: Found, paper: str = "") -> Counter[StatementVerdict]:
    """Return the number of statements with each verdict, of one paper or of all."""
    statements = (each for each in listed_statements() if paper in {"", each.paper})
    return Counter(each.verdict(found) for each in statements)


def in_words(counts: Mapping[StatementVerdict, int], verdicts: Iterable[StatementVerdict]) -> str:
    """Return such as "3 refuted as printed, 2 proved"; verdicts of none are left out."""
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in verdicts if counts[verdict])


def headline(found: Found) -> str:
    """Return the number of statements refuted as printed, among those that a run tests."""
    counts = counted(found)
    tested = sum(counts[verdict] for verdict in StatementVerdict if verdict in _OWN.values())
    refuted = counts[StatementVerdict.REFUTED]
    if not tested:
        return ""
    verb = "is" if refuted <= 1 else "are"
    return f"{refuted or 'None'} of {tested} statements tested as printed {verb} refuted"


def summary(found: Found, *, runs: str = "this run tests") -> str:
    """Return the numbers of statements tested and of their verdicts, in a sentence or two."""
    counts = counted(found)
    own = [verdict for verdict in StatementVerdict if verdict in _OWN.values()]
    as_printed = sum(counts[verdict] for verdict in own)
    told = f", each by one claim or more: {in_words(counts, own)}" if as_printed else ""
    errata, apart = counts[StatementVerdict.ERRATUM], counts[StatementVerdict.APART]
    rest = "; ".join(in_words(counts, [verdict]) for verdict in _NOT_RUN if counts[verdict])
    return (
        f"The three papers make {sum(counts.values())} statements. Of these, {runs} "
        f"{as_printed} as printed{told}. Errata: {errata}. Tested in another form, such as another "
        f"reading of the sentence: {apart}.{f' The others: {rest}.' if rest else ''}"
    )


def _read(name: str) -> dict[str, Any]:
    folder = resources.files("dpcp_ledger.claims")
    return tomllib.loads(folder.joinpath(name).read_text(encoding="utf-8"))


def _statement(entry: dict[str, Any]) -> ListedStatement:
    given: dict[str, Any] = entry | {
        "rows": tuple(entry.get("rows", ())),
        "repaired": tuple(entry.get("repaired", ())),
        "quantifier": Quantifier(entry.get("quantifier", Quantifier.FOR_ALL)),
    }
    return ListedStatement(**given)


_PAPERS = (
    reports.paper,
    ldpcp_theorems.paper,
    ldpcp_scores.paper,
    ldpcp_scores.ranges,
    widths.paper,
    shuffling.paper,
    table_rows.paper,
    table_rows.channels,
    privacy.paper,
    zcdp.paper,
    algorithm.paper,
    pcoqs_theorems.ranks,
    pcoqs_theorems.paper,
    marginal_grid.paper,
    remarks.paper,
    algorithm.steps,
    printed_settings.paper,
    published_tables.paper,
    other_quantiles.exponq,
    other_quantiles.histlap,
    other_quantiles.conformal,
    shuffling.bounds,
    gaussian_claims.paper,
    gaussian_claims.analytic,
    gaussian_claims.sampled,
    training_budgets.paper,
    proof_steps.paper,
    printed_accuracies.paper,
)
"""The papers' topics, in the order of the reports."""


def rows() -> list[Row]:
    """Return the rows of every paper."""
    return with_statements(row for paper in _PAPERS for row in paper.rows)


def overview(document: Mapping[str, Any]) -> Overview:
    """Return a table of the verdicts of each paper's statements, each counted once."""
    found = found_in(document)
    counts = {paper: counted(found, paper) for paper in PAPERS}
    table = Table(
        title="Statements of the papers, each counted once",
        columns=[
            TableColumn(name="paper", texts=[*PAPERS]),
            *(
                TableColumn(name=str(verdict), values=[counts[paper][verdict] for paper in PAPERS])
                for verdict in StatementVerdict
                if any(counts[paper][verdict] for paper in PAPERS)
            ),
        ],
    )
    return Overview(tables=(table,), headline=headline(found), summary=summary(found))


SUITE = Suite(
    summary="What the papers claim, at the parameters that matter most.",
    rows=rows,
    overview=overview,
    longest=(
        "ldpcp.theorem-4[scores=searched,admissible]",
        "ldpcp.theorem-4[scores=searched,on-miss=upper-end]",
        "pcoqs.theorem-1[coverage=marginal,scores=digits-logistic]",
        "ldpcp.theorem-1[event=uniform,sides=2]",
        "ldpcp.theorem-1[event=uniform]",
        "pipeline.budget",
        "pcoqs.table-14[resolution=varied]",
        "dpskin.rdp-total[epsilon]",
        "pcoqs.remark-5[attack=threshold]",
        "histlap.privacy[scale=1/epsilon,release=quantile]",
        "shuffle.bounds[k=10]",
        "dpskin.epsilon-table[formula]",
    ),
)
