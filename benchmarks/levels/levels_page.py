"""The page of the level study, written from what was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from level_limits import LevelTest
from study_counts import Series, Tally

from dpcp_audit.stats.rates import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from level_case import LevelCase

LEVEL = 0.05
_FALSE_ALARM = 1e-2
"""The probability with which any row of auditors of exactly the level fails."""
_TEXT = """# The levels of the auditors, measured

<!-- written by benchmarks/levels/study.py -->

An auditor that is run at the significance {level:g} may refute a true claim with probability
{level:g}. Here every auditor is put to mechanisms that meet their claim *with equality*, where a
refutation is a false alarm, {repetitions} times each, searches and pilots included. The last
columns say how often a mechanism that breaks the claim is refuted. Outputs are rounded to a
grid here: correct mechanisms that nothing rounds are a study of their own
(`python -m pytest -m study tests/faces/test_unrounded.py`). A row of fewer repetitions was
stopped early: it is judged by those that it has, and its upper limit is all that they bound.

**Judged by:** at most {most} false alarms of {repetitions}, so that the upper 99 % limit is at most
{resolved:.3f}: the level, and what {repetitions} repetitions cannot resolve. An auditor of exactly
the level fails with probability at most {false_alarm:.1g}, any of the {rows} rows with probability
at most {total:g}; a true level of {double:g} passes with probability {passes:.1g}. A rate far below
the level is power that is not used: bets on means and on moments are conservative, and audits
that divide their level among several tests pay where these agree.

## The three rules

A sampled claim on a pair of neighbours is decided by one of three rules. A pilot chooses the rule,
and other outputs test the claim (`dpcp_audit.audits.search.pilot_hypotheses`). [The
checks](reference/checks.md) states null hypothesis, statistic and level of each. Each rule finds
something that the others miss:

- **Event**: rare events, which a guess in each round hardly meets (by argument).
- **Moment**: losses spread over many cells, which no single event shows.
- **Game**: many outcomes in no order, each a little likelier on one input.

The columns below have the power at twice the loss; `benchmarks/README.md` says what each part of
the search finds alone. With the best rule given, half of the games refute nine tenths of ε at 95 %
confidence with 1,040 samples of each input for Laplace noise and 633 for ten-ary randomised
response; the Kullback–Leibler limit of any test is 976 and 598. On 23 planted bugs at half of their
draws, with one seed, the three rules catch 22 (2026-11-26). In the ablation of 2026-11, before
representation had a claim of its own, they caught 21: without moments 19, with events of the value
alone 18, and without the game 21, where scattered outcomes are missed twice in two.

The power of the searches of shapes is that of 600 outputs in all. With 2,400, twice the
loss of the vectors and of the regressions is refuted in 15 of 15 runs each (2026-11-26).

## Counted

Each row with its auditor's code of {counted}.{uncounted}

| auditor | claim, met with equality | false alarms | rate [99 % limits] | kept | power | of |
|---|---|---|---|---|---|---|
{table}

`python benchmarks/levels/study.py` repeats the study. Repetition k has the seed k, so that the
counts do not depend on the number of processes, and a study that was stopped goes on where it was.
The default tests run the same cases with fewer repetitions, by a test that fails at three times the
level.
"""
_COUNTED = "2026-11-26"
"""The day on which the rows were counted last."""


def judged(cases: int, repetitions: int) -> LevelTest:
    """Return the test of one row among so many."""
    return LevelTest(level=LEVEL, repetitions=repetitions, false_alarm=_FALSE_ALARM / cases)


def holds(cases: Mapping[str, LevelCase], counted: Mapping[Series, Tally]) -> bool:
    """Return True if every row keeps its level."""
    found = [counted[Series(name, False)] for name in cases if Series(name, False) in counted]
    return all(_kept(tally, len(cases)) for tally in found)


def _kept(tally: Tally, cases: int) -> bool:
    return tally.refuted <= judged(cases, tally.repetitions).most


def page(
    cases: Mapping[str, LevelCase], counted: Mapping[Series, Tally], *, repetitions: int = 2000
) -> str:
    """Return the page; rows of which fewer repetitions are known are judged by those.

    A case that was never counted has no row.
    """
    test = judged(len(cases), repetitions)
    none = Tally(0, 0)
    known = {name: case for name, case in cases.items() if Series(name, twice=False) in counted}
    rows = [
        _row(
            case,
            counted[Series(name, twice=False)],
            counted.get(Series(name, twice=True), none),
            len(cases),
        )
        for name, case in known.items()
    ]
    return _TEXT.format(
        level=LEVEL,
        double=2 * LEVEL,
        repetitions=f"{repetitions:,}",
        most=test.most,
        resolved=test.resolved,
        false_alarm=test.false_alarm,
        total=_FALSE_ALARM,
        rows=len(rows),
        counted=_COUNTED,
        uncounted=_uncounted(name for name in cases if name not in known),
        passes=test.passes(2 * LEVEL),
        table="\n".join(rows),
    )


def _uncounted(names: Iterable[str]) -> str:
    missing = "; ".join(names)
    return f" Never counted, so without a row: {missing}." if missing else ""


def _row(case: LevelCase, tight: Tally, twice: Tally, cases: int) -> str:
    low, high = (float(end) for end in clopper_pearson(*tight, significance=0.01))
    shown = (
        f"{tight.refuted} of {tight.repetitions:,}",
        f"{tight.refuted / tight.repetitions:.4f} [{low:.4f}, {high:.4f}]",
        "yes" if _kept(tight, cases) else "**no**",
    )
    power = f"{twice.refuted} of {twice.repetitions}" if twice.repetitions else ""
    return f"| {' | '.join((case.auditor, case.claim, *shown, power, case.at_twice))} |"
