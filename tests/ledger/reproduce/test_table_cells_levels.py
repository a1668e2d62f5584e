"""The false-alarm probability of a reproduced table, and that it is spent."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Verdict
from dpcp_ledger.claims.reproduced_tables import Reproduced
from dpcp_ledger.reproduce import experiments
from dpcp_ledger.reproduce.table_cells import Experiment, Form, Printed, ReproducedNumber, TableCell

RUNS, CELLS, SIGNIFICANCE = 600, 20, 0.1


def table(rng: np.random.Generator, *, trials: int) -> list[TableCell]:
    """Return cells whose printed numbers and ours have the same law."""
    printed = rng.normal(0.9, 0.01, size=(CELLS, 1000))
    ours = rng.normal(0.9, 0.01, size=(CELLS, trials))
    return [
        TableCell(
            row=str(place),
            column="coverage",
            printed=Printed(value=round(theirs.mean(), 6), spread=theirs.std(ddof=1), decimals=6),
            as_written=ReproducedNumber.of(here),
        )
        for place, (theirs, here) in enumerate(zip(printed, ours, strict=True))
    ]


def refuted(trials: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many of the runs are refuted."""
    rng = np.random.default_rng(seed)
    made = Experiment(
        id="made",
        title="t",
        source="P, Table 0",
        compute=lambda _: table(rng, trials=trials),
        compared=tuple(Form),
    )
    monkeypatch.setattr(experiments, "experiments", lambda: {"made": made})
    check = Reproduced(experiment="made", form=Form.WRITTEN)
    context = Context(seed=0, name="made", significance=SIGNIFICANCE)
    return sum(check(context).verdict is Verdict.REFUTED for _ in range(RUNS))


@pytest.mark.statistical(false_alarm=2e-7)
@pytest.mark.parametrize("trials", [5, 300])
def test_true_tables_are_refuted_no_more_often_than_promised(
    trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """False alarm 2e-7: two binomial tails of 1e-7, at the promised 10 %."""
    most = stats.binom.isf(1e-7, RUNS, SIGNIFICANCE)
    assert refuted(trials, trials, monkeypatch) <= most


@pytest.mark.statistical(false_alarm=1e-7)
def test_the_level_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """False alarm 1e-7: at 300 trials both spreads are well known; half the level is expected."""
    least = stats.binom.ppf(1e-7, RUNS, SIGNIFICANCE / 2)
    assert refuted(300, 0, monkeypatch) >= max(1, least)
