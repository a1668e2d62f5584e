"""The result of a proof, in words: the verdict, the account, the source with remarks beside it."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import ast
import html
import linecache
import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.proving.charges import GEOMETRIC, SQUARED, decimal
from dpcp_audit.proving.distances import Leak, Line, Suspect
from dpcp_audit.proving.spending import total
from dpcp_audit.stats.enclosures import ball, upper
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.formatting import rounded, wrapped
from dpcp_audit.words.guarantees import PrivacyGuarantee
from dpcp_audit.words.results import AnnotatedLine, SourceLocation, source_listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dpcp_audit.proving.charges import Account, Charge
    from dpcp_audit.proving.distances import Refusal
    from dpcp_audit.proving.paths import Note
    from dpcp_audit.proving.sources import FunctionSource
    from dpcp_audit.proving.spending import Spending, Total
    from dpcp_audit.words.guarantees import Coverage

_EPSILONS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
_ROUNDING = 1e-12
"""More than doubles round a rate or a factor."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProofResult:
    """A proof for every input, or the first line that stops it.

    Parameters
    ----------
    name : str
        The function.
    claims : tuple
        The claims.
    totals : tuple of Total
        The cost of the whole function in each claim's unit; none where the reading stopped.
    spending : Spending or None
        What the account spends; None of coverage, and where the reading stopped.
    rules : tuple of str
        The rules that the proof rests on, with their references.
    assumptions : tuple of str
        Further assumptions of the proof.
    stop : Refusal or None
        The line and reason that stopped the reading.
    source : FunctionSource or None
        The function's source.
    notes : mapping
        Remarks on the lines of the source, by file and line.
    n : int or None
        The number of records; None where the proof is for every number, or of one user's report.
    differing : str
        What the claims are about where it is not one record or one report, in words: "where up to 3
        records are replaced". Else "".
    changes : str
        How two neighbours differ, a clause: "one is replaced by another".
    domain : int or None
        The number of values that one user may have; None of a function of records.
    other_n : str
        Where the proof is for ``n`` alone, what stops one for every number of records: the place
        and the reason. Else "".
    """

    name: str
    claims: tuple[PrivacyGuarantee | Coverage, ...]
    totals: tuple[Total, ...]
    spending: Spending | None
    rules: tuple[str, ...]
    assumptions: tuple[str, ...]
    stop: Refusal | None
    source: FunctionSource | None
    notes: Mapping[tuple[str, int], list[Note]]
    n: int | None = None
    differing: str = ""
    changes: str = ""
    domain: int | None = None
    other_n: str = ""

    @property
    def proved(self) -> bool:
        """Return True if every claim holds for every input."""
        return self.stop is None and all(each.within for each in self.totals)

    @property
    def total(self) -> float | None:
        """The cost in the first claim's unit, rounded upwards; None where there is none."""
        value = self.totals[0].value if self.totals else None
        return None if value is None else upper(ball(value))

    def delta_at(self, epsilon: float) -> float:
        """Return the δ at which (ε, δ)-DP is proved, from above, for ``epsilon`` >= 0.

        1 where nothing is proved.

        Examples
        --------
        >>> import math
        >>> import dpcp_audit as dp
        >>> dp.prove(math.sqrt, dp.PureDP(1.0)).delta_at(0.5)
        1.0
        """
        _validate.non_negative(epsilon=epsilon)
        spending = None if self.stop is not None else self.spending
        found = None if spending is None else spending.delta_at(epsilon).value
        return 1.0 if found is None else min(1.0, upper(ball(found)))

    def tradeoff(self, fpr: float, epsilons: Sequence[float] = _EPSILONS) -> float:
        """Return the proved false-negative rate, from below, of any attack of this ``fpr``.

        (ε, δ)-DP at each of the ``epsilons`` bounds it (Dong, Roth and Su 2022, Proposition 3): a
        claim of a trade-off curve that consists of lines is proved as one ``ApproxDP`` for each.

        Parameters
        ----------
        fpr : float
            The false-positive rate, in [0, 1].
        epsilons : sequence of float
            The ε at which δ is computed, each >= 0.
        """
        _validate.closed_unit(fpr=fpr)
        lines = [(each, 1 - self.delta_at(each)) for each in epsilons]
        rates = [math.exp(-e) * (y - fpr) for e, y in lines]
        rates += [y for _, y in lines if not fpr]
        rates += [y - fpr / math.exp(-e) for e, y in lines if math.exp(-e) > fpr > 0]
        return max(0.0, max(rates, default=0.0) - _ROUNDING)

    @property
    def line(self) -> int | None:
        """The line that stops the proof, or that costs most where the claim is exceeded."""
        if self.stop is not None:
            return self.stop.line
        return self.exponent or self._dearest

    @property
    def _dearest(self) -> int | None:
        over = self._exceeded()
        shares = {} if over is None else over.shares
        return max(shares, key=lambda line: shares[line], default=None)

    @property
    def exponent(self) -> int:
        """The line of the exponent if the line that costs most chooses by one; else 0."""
        dearest = self._dearest
        found = {each.exponent for path in self.paths for each in path if each.line == dearest}
        return found.pop() if len(found) == 1 else 0

    @property
    def paths(self) -> tuple[Account, ...]:
        """The account of each path that was read to its end."""
        return () if self.spending is None else self.spending.ledger.paths

    @property
    def leak(self) -> int | None:
        """The line at which noise is missing, or too little; None where another thing stops it."""
        if self.proved or (self.stop is not None and not isinstance(self.stop, Leak | Suspect)):
            return None
        return self.line

    @property
    def place(self) -> str:
        """The file, relative to the working directory, and line of ``line``; "" where unknown."""
        return "" if self.line is None else place_of(self.line, self.file)

    @property
    def file(self) -> str:
        """The file of ``line``; "" where there is no source."""
        stopped = self.stop.file if self.stop is not None else ""
        own = self.source.file if self.source is not None else ""
        return stopped or getattr(self.line, "file", "") or own

    @property
    def reason(self) -> str | None:
        """The reason why the claims are not proved; None where they are."""
        if self.stop is not None:
            return self.stop.reason
        over = self._exceeded()
        return None if over is None else exceeded(over)

    @property
    def stopped(self) -> str:
        """The place and the reason why the claims are not proved; "" where they are."""
        where = f"{self.place}: " if self.place else ""
        return "" if self.reason is None else f"{where}{self.reason}"

    @property
    def bound(self) -> float | None:
        """The loss that is proved where it exceeds a claim, as the claim's own number; else None.

        Rounded upwards; None, too, where nothing bounds it, or a line stops the proof.
        """
        over = self._exceeded() if self.stop is None else None
        return None if over is None else over.number

    @property
    def hint(self) -> str:
        """A change with which the proof may go through, where one is known."""
        if self.stop is not None:
            return self.stop.hint
        over = self._exceeded()
        if over is None or self.spending is None:
            return ""
        claims = [each for each in self.claims if isinstance(each, PrivacyGuarantee)]
        return remedy(over, self.spending, claims)

    @property
    def remark(self) -> str:
        """A remark on a proof that says less than it seems, such as on a constant; else ""."""
        spent = self.spending is None or any(map(any, self.paths))
        if not self.proved or spent or self.source is None:
            return ""
        nodes = ast.walk(self.source.node)
        if any(isinstance(each, ast.Return) and each.value is not None for each in nodes):
            return "what it returns does not depend on the data"
        return "it returns None whatever the data are: a return statement may be missing"

    @property
    def annotated(self) -> tuple[AnnotatedLine, ...]:
        """The source, line by line: what is private there, the noise on it, its cost and share.

        The function's own lines first, then those of others that it calls of which something is
        said; empty where there is no source to read.

        Examples
        --------
        >>> import dpcp_audit as dp
        >>> dp.prove(dp.Coverage.holds, dp.PureDP(1.0)).annotated[0].text.strip()
        'def holds(self, coverage: ArrayLike) -> np.ndarray:'
        """
        return () if self.source is None else _annotated(self, self.source)

    def _exceeded(self) -> Total | None:
        return next((each for each in self.totals if not each.within), None)

    def __repr__(self) -> str:
        return card(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(card(self))}</pre>"


def place_of(line: int, file: str = "") -> str:
    """Return "file:line" of a line, its own file before the one that is given."""
    file = getattr(line, "file", "") or file
    if not file:
        return f"line {line}"
    return str(SourceLocation.of(file, int(line)))


_TINY = 1e-300
"""A bound that is no more than a rounding of 0."""


def exceeded(total: Total) -> str:
    """Return the reason why a total does not prove its claim."""
    if total.value is None:
        if total.growth != 1:
            return (
                f"no finite {total.unit} bounds what is shown with a small chance, but (ε, δ) does"
            )
        return "no finite ε bounds this: Gaussian noise, or what is shown with a small chance"
    if 0 < total.value < _TINY:
        return f"the source proves only {total.unit} < {_TINY:g}, but {total.unit} ≤ 0 is claimed"
    numbers = float(total.value), float(total.limit)
    told = ([f"{each:.{digits}g}" for each in numbers] for digits in (6, 9, 12, 17))
    proved, claimed = next((each for each in told if each[0] != each[1]), map(repr, numbers))
    unit = total.unit
    return f"the source proves only {unit} ≤ {proved}, but {unit} ≤ {claimed} is claimed"


def remedy(over: Total, spending: Spending, claims: Sequence[PrivacyGuarantee]) -> str:
    """Return the advice on the noise that proves the claims, at the dearest line or at all lines.

    The account is added up again with that noise; what does not prove the claims is no remedy.
    """
    if over.value is None:
        others = "claim zCDP, Gaussian DP or (ε, δ)-DP, or use Laplace noise"
        return others if over.growth == 1 else "claim (ε, δ)-DP"
    charges = {each for path in spending.ledger.paths for each in path if each.size}
    gaussian = bool(charges) and {each.law for each in charges} <= SQUARED
    scaled = all(each.scale or each.exponent for each in charges)
    if not over.limit or not scaled:
        return ""
    dearest = max(over.shares, key=lambda line: over.shares[line])
    here = {each for each in charges if each.line == dearest}
    spent = over.shares[dearest]
    left = float(over.limit) - (float(over.value) - spent)
    power, ratio = 0.5 if gaussian else 1.0, float(over.value / over.limit)
    asked = [(here, (spent / left) ** power if left > 0 else math.inf), (charges, ratio**power)]
    if not over.growth:  # δ is no sum of what the lines cost
        asked = [(charges, _least(charges, ratio**power, spending, claims, _STEPS))]
    elif over.growth != 1 and not gaussian:  # ρ and μ² of Laplace noise are no powers of its scale
        asked = [(charges, _least(charges, ratio, spending, claims, _FINE_STEPS))]
    for which, factor in asked:
        where = " at this line" if which != charges else ""
        if math.isfinite(factor) and (found := _enough(which, factor, spending, claims, where)):
            return f"{found} would prove it"
    return ""


_STEPS = 10
"""Halvings of the logarithm of a factor on noise: it is known to a part in a hundred, about."""
_FINE_STEPS = 30
"""The same where an account is soon added up."""


def _least(
    which: set[Charge],
    high: float,
    spending: Spending,
    claims: Sequence[PrivacyGuarantee],
    steps: int,
) -> float:
    """Return about the least factor on noise with which the claims hold, at most ``high``."""
    low = 1.0
    for _ in range(steps):
        middle = math.sqrt(low * high)
        ledger = spending.ledger.with_noise(which, decimal(middle))
        enough = all(total(replace(spending, ledger=ledger), each).within for each in claims)
        low, high = (low, middle) if enough else (middle, high)
    return high


def _enough(
    which: set[Charge],
    factor: float,
    spending: Spending,
    claims: Sequence[PrivacyGuarantee],
    where: str,
) -> str:
    """Return uses of noise that cost so much less that the claims hold, in words; "" if none."""
    scales, choices = {each.scale for each in which}, [e for e in which if e.exponent]
    alone = scales.pop() if len(scales) == 1 else 0.0
    for room in (-_ROUNDING, _ROUNDING):  # the factor is a double, near the number that is needed
        printed = f"{rounded(factor * (alone or 1.0) * (1 + room), 5, up=True):.12g}"
        times = decimal(float(printed)) / (decimal(alone) if alone else 1)
        cheaper = replace(spending, ledger=spending.ledger.with_noise(which, times))
        if not all(total(cheaper, each).within for each in claims):
            continue
        if alone and all(each.rule == GEOMETRIC for each in which):
            p = -math.expm1(-1 / float(printed))  # smaller p, more noise
            return f"p ≤ {rounded(p * (1 - _ROUNDING), 5, up=False):.12g}{where}"
        if alone:
            symbol = "σ" if all(each.law in SQUARED for each in which) else "a scale"
            return f"{symbol} ≥ {printed}{where}"
        if len(choices) == len(which):
            return f"the exponent divided by {printed}{where}"
        also = f", and exponents divided by {printed}," if choices else ""
        return f"{'' if where else 'all '}noise {printed} times as large{also}{where}"
    return ""


def card(result: ProofResult, width: int = 0) -> str:
    """Return the verdict, the account, the source and what the proof rests on.

    With a width, no line but one of code is longer.
    """
    found = list(_head(result))
    rests = ["rules:", *(f"  {each}" for each in result.rules)] if result.rules else []
    rests += ["assumptions:", *(f"  {each}" for each in result.assumptions)]
    if not width:
        return "\n".join([*found, "", *source_listing(result.annotated), "", *rests])
    source = folded_listing(result.annotated, width)
    return "\n".join([*_folded(found, width), "", *source, "", *_folded(rests, width)])


def _folded(lines: Iterable[str], width: int) -> list[str]:
    """Return lines of which the long ones go on below, as far in as they began."""
    found: list[str] = []
    for each in lines:
        margin = each[: len(each) - len(each.lstrip())]
        indents = {"initial_indent": margin, "subsequent_indent": margin}
        found += wrapped(each.lstrip(), width, break_long_words=False, **indents)
    return found


def folded_listing(lines: Sequence[AnnotatedLine], width: int) -> list[str]:
    """Return ``source_listing(lines)``, with remarks that do not fit below their lines.

    Examples
    --------
    >>> long = AnnotatedLine(file="a.py", line=3, text="x = 1", noise=("noise " * 9,))
    >>> folded_listing([long], 60)[:2]
    ['   3  x = 1', '      # noise noise noise noise noise noise noise noise']
    """
    found: list[str] = []
    for i, each in enumerate(lines):
        *before, shown = source_listing(lines[max(0, i - 1) : i + 1])[i > 0 :]
        found += before
        if not each.remarks or len(shown) <= width:
            found.append(shown)
            continue
        margin = "      # "
        below = {"initial_indent": margin, "subsequent_indent": margin}
        found += [f"{each.line:>4}  {each.text}", *wrapped(each.remarks, width, **below)]
    return found


def _head(result: ProofResult) -> list[str]:
    covered = f"every input of n = {result.n} records, and no other n"
    if result.n is None:
        covered = "every input, of every n ≥ 1"
    if result.domain is not None:
        covered = "every two values of a user"
    differing = f", {result.differing}" if result.differing else ""
    said = f"{result.name} is {', '.join(map(str, result.claims))}, for {covered}{differing}"
    if result.proved:
        shown = ", ".join(f"{each.unit} ≤ {_shown(each)}" for each in result.totals)
        found = [f"PROVED: {said} ({shown})"]
        if result.other_n:
            found.append(f"  not for every n: {result.other_n}")
        return [*found, f"  remark: {result.remark}"] if result.remark else found
    found = [f"not proved: {said}", f"  {result.stopped}"]
    return [*found, f"  hint: {result.hint}"] if result.hint else found


def _shown(total: Total) -> str:
    return "∞" if total.value is None else f"{float(total.value):.6g}"


def _costs_by_line(result: ProofResult) -> dict[int, float]:
    """Return the costs by line; a choice by weights costs at the line of its exponent."""
    choices = (each for path in result.paths for each in path if each.exponent)
    exponents = {each.line: each.exponent for each in choices}
    shares: dict[int, float] = defaultdict(float)
    for line, cost in (result.totals[0].shares if result.totals else {}).items():
        shares[exponents.get(line, line)] += cost
    return dict(shares)


def _annotated(result: ProofResult, source: FunctionSource) -> tuple[AnnotatedLine, ...]:
    """Return the function's own lines, and those of other functions that something is said of."""
    last = source.node.end_lineno or source.node.lineno
    stop, shares = result.stop, _costs_by_line(result)
    own = [Line(each, source.file) for each in range(source.node.lineno, last + 1)]
    told = {Line(line, file) for file, line in result.notes}
    told |= {Line(line, getattr(line, "file", source.file)) for line in shares}
    if stop is not None:
        told.add(Line(stop.line, stop.file or source.file))
    told -= {Line(0, each.file) for each in told}
    others = sorted(told - set(own), key=lambda each: (each.file != source.file, each.file, each))
    spent = sum(shares.values())
    found: list[AnnotatedLine] = []
    for line in (*own, *others):
        notes = result.notes.get((line.file, int(line)), [])
        cost = shares.get(line) or None
        share = None if cost is None else cost / spent if math.isfinite(spent) else 1.0
        adds_up = cost is not None and result.totals[0].growth > 0
        moved = [float(each.sensitivity) for each in notes if each.sensitivity is not None]
        place = SourceLocation.of(line.file, int(line))
        found.append(
            AnnotatedLine(
                file=place.file,
                line=int(line),
                text=linecache.getline(line.file, int(line)).rstrip("\n"),
                private=tuple(str(each) for each in notes if not each.noise),
                sensitivity=max(moved, default=None),
                noise=tuple(str(each) for each in notes if each.noise),
                draws=tuple(each.drawn for each in notes if each.drawn is not None),
                cost=cost if adds_up else None,
                unit=result.totals[0].unit if adds_up else "",
                share=share,
                stops=stop is not None and line == Line(stop.line, stop.file or source.file),
            )
        )
    return tuple(found)
