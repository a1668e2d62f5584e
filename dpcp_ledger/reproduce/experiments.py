"""Every experiment that can be reproduced, and how many of its trials are; the thesis's own.

Of DP-SKIN: the printed ε, the parameter counts of Table 2.1, the classes of the data.
"""

from __future__ import annotations

import math
from enum import StrEnum
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.claims import UsageError
from dpcp_audit.extensions.laws import Classifier, Dataset, classifier_pool
from dpcp_ledger.reproduce import ldpcp_experiments, pcoqs_experiments
from dpcp_ledger.reproduce.simulation import Effort
from dpcp_ledger.reproduce.table_cells import (
    Experiment,
    Form,
    Printed,
    ReproducedNumber,
    TableCell,
    printed_tables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_RESIDUAL = {"Conv_2x", "Conv_3x", "Conv_4x", "Conv_5x"}
_NORMALISED = "Conv_3x"
"""The one stage whose printed count is that with batch normalisation."""
_COUNTED = (
    "As written: the weights of a stage's convolutions, those of its projection among them, "
    "without biases. As published, Conv_3x also holds the weights and biases of its four batch "
    "normalisations, which no other stage does."
)
_RELEASE = (
    "The formula is that of one Gaussian release of sensitivity 1, cut to five decimals. The "
    "thesis does not print its σ: 8.1, 8.3, 8.5, 8.7 and 8.9 give its ε."
)
_DIGIT = 1e-5


def thesis_numbers() -> dict[str, dict[str, Any]]:
    """Return the printed numbers: ``data``, ``budgets``, ``accuracies``, ``resnet18``."""
    return printed_tables("dpskin_tables.toml")


def thesis_experiments() -> tuple[Experiment, ...]:
    """Return the ε of Chapter 4, Table 2.1 and the classes of Section 3.4."""
    return (
        Experiment(
            id="dpskin-table-2.1",
            title="Parameters of ResNet-18",
            source="DP-SKIN, Table 2.1",
            compute=lambda _: list(_parameter_cells()),
            compared=tuple(Form),
            notes=(_COUNTED,),
        ),
        Experiment(
            id="dpskin-classes",
            title="Images of the training set",
            source="DP-SKIN, Section 3.4",
            compute=lambda _: [_total_cell()],
            compared=(Form.PUBLISHED,),
        ),
        Experiment(
            id="dpskin-epsilon",
            title="ε of the accuracy tables, from σ",
            source="DP-SKIN, Chapter 4",
            compute=lambda _: list(_budget_cells()),
            compared=(Form.PUBLISHED,),
            notes=(_RELEASE,),
        ),
    )


def convolution_weights(name: str) -> int:
    """Return the weights of a stage of Table 2.1: its convolutions and its projection."""
    stage = thesis_numbers()["resnet18"][name]
    first, filters = stage["filters"]
    area = stage["side"] ** 2
    weights = area * first * filters + (stage["convolutions"] - 1) * area * filters**2
    projected = name in _RESIDUAL and first != filters
    return int(weights + (first * filters if projected else 0))


def normalisation_weights(name: str) -> int:
    """Return the weights and biases of the batch normalisations after a stage's convolutions."""
    stage = thesis_numbers()["resnet18"][name]
    return int(2 * stage["filters"][1] * stage["convolutions"])


def _parameter_cells() -> Iterator[TableCell]:
    for name, stage in thesis_numbers()["resnet18"].items():
        written = convolution_weights(name)
        extra = normalisation_weights(name) if name == _NORMALISED else 0
        yield TableCell(
            row=name,
            column="parameters",
            printed=Printed.parse(stage["parameters"]),
            as_published=ReproducedNumber(value=float(written + extra)),
            as_written=ReproducedNumber(value=float(written)),
        )


def _total_cell() -> TableCell:
    data = thesis_numbers()["data"]
    return TableCell(
        row="all seven classes",
        column="images",
        printed=Printed.parse(str(data["training_total"])),
        as_published=ReproducedNumber(value=float(sum(data["training"].values()))),
    )


def _budget_cells() -> Iterator[TableCell]:
    table, delta = thesis_numbers()["budgets"], thesis_numbers()["data"]["delta"]
    for text, sigma in zip(table["epsilon"], table["noise_multiplier"], strict=True):
        released = math.sqrt(2 * math.log(1.25 / delta)) / sigma
        yield TableCell(
            row=f"σ = {sigma:g}",
            column="ε",
            printed=Printed.parse(text),
            as_published=ReproducedNumber(value=math.floor(released / _DIGIT) * _DIGIT),
            as_written=ReproducedNumber(value=released),
            comparable=False,
        )


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
        *thesis_experiments(),
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
