"""Every experiment that can be reproduced, and how many of its trials are."""

from __future__ import annotations

from enum import StrEnum
from functools import cache, partial
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import UsageError
from dpcp_audit.extensions.laws import Classifier, Dataset, classifier_pool
from dpcp_ledger.reproduce import (
    dpskin_experiments,
    ldpcp_experiments,
    pcoqs_experiments,
)
from dpcp_ledger.reproduce.simulation_study import Effort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_ledger.reproduce.table_cells import Experiment


DIGITS = (partial(classifier_pool, Dataset.DIGITS, Classifier.LOGISTIC),)
"""The pool of experiments in kind, unless others are given."""


class Extent(StrEnum):
    """The share of the published trials that is run; the values are those of ``--profile``."""

    SMOKE = "smoke"
    """Under a minute."""
    CI = "ci"
    """Minutes: naive Bayes at n = 10,000 in full, a few trials of the forests."""
    FULL = "full"
    """All 1,000 trials of everything: over an hour on two cores."""

    @property
    def effort(self) -> Effort:
        """The trials of the simulation study."""
        return {
            Extent.SMOKE: Effort(main=20, side=10, forest=2),
            Extent.CI: Effort(main=1000, side=150, forest=10),
            Extent.FULL: Effort(main=1000, side=1000, forest=1000),
        }[self]

    @property
    def trials(self) -> int:
        """The trials of experiments in kind."""
        return 20 if self is Extent.SMOKE else 100

    @classmethod
    def at(cls, effort: float) -> Extent:
        """Return the extent of a run's effort (see ``settings.Profile``)."""
        if effort < 1:
            return cls.SMOKE
        return cls.CI if effort < 10 else cls.FULL


@cache
def experiments() -> dict[str, Experiment]:
    """Return all experiments by id, in the order of the papers."""
    papers = (
        *pcoqs_experiments.experiments(),
        *ldpcp_experiments.experiments(),
        *dpskin_experiments.experiments(),
    )
    return {each.id: each for each in papers}


def select(ids: Sequence[str]) -> list[Experiment]:
    """Return the experiments with these ids, each once; ``all`` stands for every one."""
    known = experiments()
    if "all" in ids:
        return list(known.values())
    for given in ids:
        if given not in known:
            raise UsageError(
                f"no experiment has the id {given!r}; 'dpcp-audit reproduce list' shows all"
            )
    return [known[given] for given in dict.fromkeys(ids)]
