"""One theorem in one case of anybody's choice, as a suite of a single claim."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpcp_audit.stats.rate_power import draws_needed
from dpcp_audit.stats.samples import Spread
from dpcp_audit.theorems.admission import admission, beyond, with_window_count
from dpcp_audit.theorems.catalogue import (
    LAWS,
    NamedTheorem,
    ScoreLaw,
    law_named,
    law_of_classes,
    named_theorem,
)
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem, RankError
from dpcp_audit.theorems.statement import claim_of
from dpcp_audit.theorems.theorem import RESOLUTION, FailureRate, histogram
from dpcp_audit.words.checks import Row, Suite
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.options import Group, Option, dashed, plain, read, require_known
from dpcp_audit.words.plain import is_list
from dpcp_audit.words.results import Standing, Verdict
from dpcp_audit.words.values import Text, Whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dpcp_audit.theorems.theorem import Theorem
    from dpcp_audit.words.checks import Check, Context
    from dpcp_audit.words.options import Spelling
    from dpcp_audit.words.results import Outcome, PlainData

SUITE_NAME = "theorem-case"
"""The suite's registered name."""
MOST_CLASSES = 10_000
"""The most classes of a law of scores without data."""
_MOST_AVERAGED = 10**8
_DRAWN = 10_000
"""Trials of a figure."""
_FEWEST = 500
"""Trials of a slow check; also those of a chunk of it."""
SOURCES = (
    Option(
        name="pool",
        value=Text(),
        help="saved probabilities and labels (FILE.npz), or the name of a pool that is fitted "
        "here, such as digits-logistic",
        group=Group.SCORES,
        metavar="FILE.npz|NAME",
    ),
    Option(
        name="scores",
        value=Text(),
        help=f"the law of the scores: {' or '.join(LAWS)}, or what pool takes",
        group=Group.SCORES,
        metavar="LAW",
    ),
    Option(
        name="k",
        value=Whole(at_least=2, at_most=MOST_CLASSES),
        help="the number of classes, without data: scores of the true labels spread evenly over "
        "[0, 1], the rest of each probability shared equally",
        group=Group.SCORES,
        metavar="K",
    ),
)
"""The keywords for the law of the scores, of which one may be given."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TheoremCase:
    """A theorem by name, with the law of the scores and the parameters that were given.

    Parameters
    ----------
    law : ScoreLaw or None
        Of the scores; None where the theorem's default is meant.
    given : dict
        Values of the theorem's parameters, by name.
    """

    named: NamedTheorem
    law: ScoreLaw | None
    given: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        theorem: object,
        given: Mapping[str, object],
        *,
        law: ScoreLaw | None = None,
        spell: Spelling = plain,
    ) -> TheoremCase:
        """Return the case that was asked for.

        Parameters
        ----------
        theorem : str
            The theorem's name.
        given : mapping
            Its parameters, and ``pool`` or ``scores``, as ``spell`` spells them.
        law : ScoreLaw, optional
            Of scores at hand, in place of ``pool`` and ``scores``.

        Raises
        ------
        UsageError
            Naming the argument.
        MissingExtraError
            If the pool is a network's, and PyTorch is not installed.
        """
        named = named_theorem(theorem)
        known = (*SOURCES, *named.parameters)
        what = "keyword" if spell is plain else "key"
        require_known(given, [spell(each.name) for each in known], what=what)
        values = read(known, given, spell)
        sources = {each.name: values.pop(each.name, None) for each in SOURCES}
        _require_all(named, values, spell)
        return cls(named=named, law=law or _law(named, sources, spell), given=values)

    @property
    def id(self) -> str:
        """The claim's id: the theorem, the law of the scores, and what is not the default."""
        parts = [] if self.law is None else [f"scores={self.law.name}"]
        parts += [f"{dashed(name)}={_word(value)}" for name, value in self._told()]
        return f"theorem.{self.named.name}[{','.join(parts)}]"

    def as_data(self) -> dict[str, Any]:
        """Return what differs from the defaults, as plain data by the names of the suite."""
        return {dashed(name): value for name, value in self._told()}

    def theorem(self) -> Any:
        """Return the theorem object; M(Δ) is what the scores need unless it is given.

        Raises
        ------
        ValueError
            If the theorem does not take the parameters.
        """
        theorem = self.named.on(self.law, self.given)
        _require_within(self.named, theorem)
        if isinstance(theorem, CoverageTheorem | RankError) and "window_count" not in self.given:
            theorem = with_window_count(theorem)
        _require_affordable(theorem)
        return theorem

    def row(self) -> Row:
        """Return the claim with its check.

        Raises
        ------
        ValueError
            If the theorem does not take the parameters.
        """
        theorem = self.theorem()
        found = admission(theorem)
        admitted = found.standing is not Standing.OUTSIDE_HYPOTHESIS
        expected = Verdict.CONSISTENT if found.standing is Standing.PAPER else None
        claim = claim_of(
            theorem,
            self.id,
            expected,
            subject=f"{theorem.says.source}",
            standing=found.standing,
            note="" if admitted else "on scores that it does not admit",
            parameters={
                name: self.named.parameter(name).value.as_data(value)
                for name, value in self.given.items()
                if name not in theorem.parameters
            },
        )
        if not admitted:
            unmet = f"not met here: {found.reason}; assumed: {claim.assumptions}"
            claim = replace(claim, assumptions=unmet)
        check = theorem.check()
        if self.named.needs_probabilities:
            check = _affordable(check, theorem)
        arrays = {} if self.law is None else self.law.arrays
        if arrays or isinstance(check, Computed):
            check = _Shown(check=check, theorem=theorem, arrays=arrays)
        return Row(claim=claim, check=check)

    def _told(self) -> Iterator[tuple[str, Any]]:
        """Yield the parameters that differ from their defaults, as plain data."""
        for each in self.named.parameters:
            value = self.given.get(each.name, each.default)
            if value != each.default or (each.otherwise and each.name in self.given):
                yield each.name, each.value.as_data(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A check whose outcome has a figure, and in its witness the arrays at hand that it ran on.

    The figure decides nothing: that of trials, where the check computes and has none.
    """

    check: Check
    theorem: Theorem
    arrays: PlainData

    @property
    def sampled(self) -> bool:
        """True if the check itself is sampled."""
        return self.check.sampled

    def __call__(self, context: Context) -> Outcome:
        """Run the check, and draw where it did not."""
        outcome = self.check(context)
        figures = outcome.figures
        if not figures:
            trials = self.theorem.trials(_DRAWN, rng=context.rng(1))  # 0 is the check's own
            figures = (histogram(Spread.of(trials.statistic), self.theorem),)
        return replace(outcome, figures=figures, witness=outcome.witness | self.arrays)


def rows(case: Mapping[str, Any] | None = None, pools: Sequence[str] = ()) -> list[Row]:
    """Return the row of a case: "theorem", its parameters, and the pool where there is one.

    Without a case there is no row.
    """
    if case is None:
        return []
    given = dict(case)
    if len(pools) > 1:
        raise UsageError(f"pool may be given once, got {len(pools)}", hint="leave the others out")
    given |= dict(zip(("pool",), pools, strict=False))
    theorem = given.pop("theorem", None)
    try:
        return [TheoremCase.of(theorem, given, spell=dashed).row()]
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from error


def _law(named: NamedTheorem, sources: Mapping[str, Any], spell: Spelling) -> ScoreLaw | None:
    given = {spell(name): text for name, text in sources.items() if text is not None}
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} are two laws of the scores", hint="give one")
    if not given and named.needs_law:
        wanted = "a pool or k classes" if named.needs_probabilities else "a pool or a law of scores"
        few = "k = 10" if named.needs_probabilities else "scores = uniform"
        raise UsageError(
            f"pool must be given: {named.name} is tested on {wanted}", hint=f"such as {few}"
        )
    if (k := sources.get("k")) is not None:
        return law_of_classes(k)
    return next((law_named(text, name=name) for name, text in given.items()), None)


def _require_within(named: NamedTheorem, theorem: Any) -> None:
    """Refuse scores outside of the interval in which a mechanism searches for its threshold."""
    mechanism = getattr(theorem, named.part[0]) if named.part else None
    if mechanism is not None and (outside := beyond(theorem.population, mechanism.bounds)):
        raise UsageError(f"bounds must hold all scores, but {outside}", hint="widen the bounds")


def _require_affordable(theorem: Any) -> None:
    """Refuse a coverage given the noise, which takes O(√n) time and memory, at a huge n."""
    averaged = getattr(theorem, "reading", None) is CoverageReading.MARGINAL
    if averaged and theorem.n > _MOST_AVERAGED:
        raise UsageError(
            f"n must be at most {_MOST_AVERAGED:,} in the marginal reading, got {theorem.n:,}",
            hint="the conditional reading has no such limit",
        )


def _require_all(named: NamedTheorem, values: Mapping[str, Any], spell: Spelling) -> None:
    """Refuse a case that leaves out parameters without a default, naming all of them."""
    missing = [each for each in named.parameters if each.required and each.name not in values]
    if missing:
        names = ", ".join(spell(each.name) for each in missing)
        told = "; ".join(each.help for each in missing)
        typical = ", ".join(
            f"{spell(each.name)} = {named.example[each.name]}"
            for each in missing
            if each.name in named.example
        )
        raise UsageError(
            f"{names} must be given for {named.name} ({told})",
            hint=f"such as {typical}" if typical else "",
        )


def _word(value: object) -> str:
    """Return a value as one word, a number with all of its digits."""
    parts: list[object] = value if is_list(value) else [value]
    return "..".join(str(part).removesuffix(".0") for part in parts)


def _affordable(check: Check, theorem: Any) -> Check:
    """Return the check with as many trials as a failure rate of 1.5 δ takes to be refuted.

    Where a trial is slow, as it is where users' labels are drawn from a pool.
    """
    if not isinstance(check, FailureRate):
        return check
    allowed = theorem.allowed_failure
    needed = draws_needed(allowed, min(RESOLUTION * allowed, (1 + allowed) / 2), significance=1e-3)
    trials = max(_FEWEST, min(needed, check.n_trials))
    return replace(check, n_trials=trials, chunk_trials=_FEWEST)


SUITE = Suite(
    summary="One theorem in one case: what 'dpcp-audit theorem' tests.",
    rows=rows,
    takes=frozenset({"case", "pools"}),
    given_by="theorem",
)
