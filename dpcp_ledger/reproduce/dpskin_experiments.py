"""DP-SKIN: the printed ε, the parameter counts of Table 2.1, the classes of the data."""

from __future__ import annotations

import math
import tomllib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from dpcp_ledger.reproduce.table_cells import Experiment, Form, Printed, ReproducedNumber, TableCell

if TYPE_CHECKING:
    from collections.abc import Iterator


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


@cache
def published() -> dict[str, dict[str, Any]]:
    """Return the printed numbers: ``data``, ``budgets``, ``accuracies``, ``resnet18``."""
    text = (
        resources.files("dpcp_ledger.reproduce")
        .joinpath("dpskin_tables.toml")
        .read_text(encoding="utf-8")
    )
    return tomllib.loads(text)


def experiments() -> tuple[Experiment, ...]:
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
    stage = published()["resnet18"][name]
    first, filters = stage["filters"]
    area = stage["side"] ** 2
    weights = area * first * filters + (stage["convolutions"] - 1) * area * filters**2
    projected = name in _RESIDUAL and first != filters
    return int(weights + (first * filters if projected else 0))


def normalisation_weights(name: str) -> int:
    """Return the weights and biases of the batch normalisations after a stage's convolutions."""
    stage = published()["resnet18"][name]
    return int(2 * stage["filters"][1] * stage["convolutions"])


def _parameter_cells() -> Iterator[TableCell]:
    for name, stage in published()["resnet18"].items():
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
    data = published()["data"]
    return TableCell(
        row="all seven classes",
        column="images",
        printed=Printed.parse(str(data["training_total"])),
        as_published=ReproducedNumber(value=float(sum(data["training"].values()))),
    )


def _budget_cells() -> Iterator[TableCell]:
    table, delta = published()["budgets"], published()["data"]["delta"]
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
