"""Rows for what DP-SKIN prints: its accuracies, its network's parameters, its data."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Standing, Verdict, claims_of
from dpcp_ledger.claims.computed_rows import ComputedCase, computed_rows
from dpcp_ledger.computations import printed_accuracies

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import Row


_SUBJECT = "DP-SKIN, the printed tables"
_claim = claims_of("DP-SKIN", subject=_SUBJECT)
_TEST = {"cases": 1512}
_BEST = "DP-Adam, ResNet18"


def rows() -> list[Row]:
    """Return the rows on the printed numbers of DP-SKIN."""
    paper, reading, erratum = Standing.PAPER, Standing.READING, Standing.ERRATUM
    practice = Standing.PRACTICE
    refuted, proved = Verdict.REFUTED, Verdict.PROVED
    cases = (
        ComputedCase(
            "dpskin.accuracies[baseline=constant]",
            "Sections 4.1 to 4.4",
            practice,
            refuted,
            "Every accuracy with DP-SGD and DP-Adam is higher than that of a constant answer.",
            _TEST,
            printed_accuracies.above_constant,
        ),
        ComputedCase(
            "dpskin.accuracies[baseline=constant,model=non-private]",
            "Sections 4.1 to 4.4",
            practice,
            proved,
            "Every accuracy with SGD and Adam is higher than that of a constant answer.",
            _TEST,
            printed_accuracies.plain_above_constant,
        ),
        ComputedCase(
            "dpskin.observation[degradation=small]",
            "Section 4.5",
            reading,
            refuted,
            "“The performance degradation caused by the integration of Differential Privacy "
            "(DP) is relatively small”: in one of the 20 cases at least, no more than half of "
            "what training gains over a constant answer is lost.",
            _TEST,
            printed_accuracies.gain_lost,
        ),
        ComputedCase(
            "dpskin.observation[best=resnet18-dp-adam]",
            "Section 4.5",
            reading,
            refuted,
            "“ResNet18 combined with the DP-Adam optimizer gives the best trade-off”: no other "
            "of the four is more accurate at any of the five ε.",
            {"epsilon": list(map(float, printed_accuracies.budgets()))},
            partial(printed_accuracies.best_at_every_budget, _BEST),
        ),
        ComputedCase(
            "dpskin.observation[best=resnet18-dp-adam,by=mean]",
            "Section 4.5",
            reading,
            proved,
            "“ResNet18 combined with the DP-Adam optimizer gives the best trade-off”: on the "
            "mean over the five ε no other of the four is more accurate.",
            {"epsilon": list(map(float, printed_accuracies.budgets()))},
            partial(printed_accuracies.best_on_the_mean, _BEST),
        ),
        ComputedCase(
            "dpskin.accuracies[grim]",
            "Sections 4.1 to 4.4",
            erratum,
            refuted,
            "Every printed accuracy is a share of the test images.",
            _TEST,
            printed_accuracies.shares_of_the_test_set,
        ),
        ComputedCase(
            "dpskin.table-2.1",
            "Table 2.1",
            erratum,
            refuted,
            "The parameters of each stage of ResNet-18 are those of its convolutions.",
            {},
            printed_accuracies.parameter_counts,
        ),
        ComputedCase(
            "dpskin.classes",
            "Section 3.4",
            paper,
            proved,
            "The classes of the training set add up to its images.",
            {"images": 10_015},
            printed_accuracies.class_total,
        ),
    )
    return computed_rows(_claim, cases)
