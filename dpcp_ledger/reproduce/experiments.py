"""Every experiment that can be reproduced, and how many of its trials are.

Of LDP-CP: Figures 3 to 6 and Table 1, the widths by their formulas, the rest in kind. Of DP-SKIN:
the printed ε, the parameter counts of Table 2.1, the classes of the data.
"""

from __future__ import annotations

import math
from enum import StrEnum
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import UsageError
from dpcp_audit.extensions.laws import Classifier, Dataset, Pool, classifier_pool, hps
from dpcp_audit.extensions.mechanisms import (
    KaryRandomizedResponse,
    LDPCPLabels,
    LDPCPScores,
    dkw_width,
    hoeffding_width,
)
from dpcp_ledger.mechanisms.histlap import SplitConformal
from dpcp_ledger.mechanisms.label_scores import aps
from dpcp_ledger.reproduce import pcoqs_experiments
from dpcp_ledger.reproduce.simulation import Effort, stream
from dpcp_ledger.reproduce.table_cells import (
    Experiment,
    Form,
    Inputs,
    Printed,
    ReproducedNumber,
    TableCell,
    printed_tables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_audit.extensions.laws import ProbabilityPool


_ALPHA, _EPSILON, _DELTA, _ROUNDS, _SEEDS = 0.1, 4.0, 1e-3, 10, 100
_EPSILONS = tuple(float(epsilon) for epsilon in range(1, 9))
_CLASSES, _SIZES = (2, 8, 10, 100, 1000), (10**3, 10**5, 10**7)
_UNSTATED = (
    f"δ = {_DELTA:g} and T = {_ROUNDS} are ours: the paper states neither. δ is the one that "
    "explains Table 1's starred rows of LDP-CP-L best, Δ_S is Hoeffding's explicit form."
)
_CURVES = "The figure prints no numbers; these are what its formulas give."
_IN_KIND = (
    "In kind: the datasets are not at hand. As written is the reference mechanism on another pool, "
    "drawn with replacement at the dataset's n, and is not compared. "
    "--pool FILE.npz (probabilities and labels, as a model of MedMNIST gives them) takes its place."
)
_CUT = (
    "As published, a starred coverage of LDP-CP-L is 1−α+Δ_L, in %, and ε_eff is ε/√n cut, not "
    "rounded, to three decimals."
)


class _Set(NamedTuple):
    """A dataset of Table 1."""

    name: str
    n: int
    classes: int


class _Outcome(NamedTuple):
    """Sizes and coverages of the trials, each of shape (trials,)."""

    size: FloatArray
    coverage: FloatArray


def published_table() -> dict[str, dict[str, Any]]:
    """Return the printed Table 1 by dataset."""
    return printed_tables("ldpcp_table.toml")


def ldpcp_figures_and_table() -> tuple[Experiment, ...]:
    """Return Figures 3 to 6 and Table 1."""
    budget = "Correction terms against ε"
    return (
        _curves(3, f"{budget}, without shuffling", _width_cells),
        _curves(4, f"{budget}/√n, with shuffling", _shuffled_cells),
        _curves(5, "Δ_S/Δ_L against n and the number of classes", _ratio_cells),
        Experiment(
            id="ldpcp-figure-6",
            title="Set size and coverage against ε (APS), in kind",
            source="LDP-CP, Figure 6",
            compute=lambda inputs: list(_figure_6(inputs)),
            notes=(_UNSTATED, _IN_KIND, _CURVES),
        ),
        Experiment(
            id="ldpcp-table-1",
            title="Calibration at ε = 4, α = 0.1 over 100 seeds",
            source="LDP-CP, Table 1",
            compute=lambda inputs: list(_table_1(inputs)),
            compared=tuple(Form),
            notes=(_UNSTATED, _IN_KIND, _CUT),
        ),
    )


def _curves(number: int, title: str, compute: Any) -> Experiment:
    return Experiment(
        id=f"ldpcp-figure-{number}",
        title=title,
        source=f"LDP-CP, Figure {number}",
        compute=lambda _: list(compute()),
        notes=(_UNSTATED, _CURVES),
    )


def _sets() -> list[_Set]:
    return [_Set(name, entry["n"], entry["classes"]) for name, entry in published_table().items()]


def label_width(n: int, *, epsilon: float, k: int) -> float:
    """Return Δ_L (Theorem 1) at the δ of this module."""
    return dkw_width(n=n, beta=KaryRandomizedResponse(epsilon, k).beta, delta=_DELTA)


def score_width(n: int, *, epsilon: float) -> float:
    """Return Δ_S (Hoeffding) at the δ and T of this module."""
    return hoeffding_width(n=n, epsilon=epsilon, rounds=_ROUNDS, delta=_DELTA)


def _widths(row: str, data: _Set, epsilon: float) -> Iterator[TableCell]:
    widths = {
        "Δ_L": label_width(data.n, epsilon=epsilon, k=data.classes),
        "Δ_S": score_width(data.n, epsilon=epsilon),
    }
    for column, value in widths.items():
        yield TableCell(row=row, column=column, as_written=ReproducedNumber(value=value))


def _width_cells() -> Iterator[TableCell]:
    for data in _sets():
        for epsilon in _EPSILONS:
            yield from _widths(f"{data.name}, ε = {epsilon:g}", data, epsilon)


def _shuffled_cells() -> Iterator[TableCell]:
    for data in _sets():
        for epsilon in _EPSILONS:
            effective = epsilon / math.sqrt(data.n)
            yield from _widths(f"{data.name}, ε/√n = {effective:.4f}", data, epsilon)


def _ratio_cells() -> Iterator[TableCell]:
    for k in _CLASSES:
        for n in _SIZES:
            for epsilon in (2.0, 4.0, 8.0):
                ratio = score_width(n, epsilon=epsilon) / label_width(n, epsilon=epsilon, k=k)
                yield TableCell(
                    row=f"k = {k}, n = {n:,}",
                    column=f"ε = {epsilon:g}",
                    as_written=ReproducedNumber(value=ratio),
                )


def _figure_6(inputs: Inputs) -> Iterator[TableCell]:
    tissue = next(data for data in _sets() if data.name == "TissueMNIST")
    for build in inputs.pools:
        pool = build()
        for epsilon in _EPSILONS:
            for method in ("Not-Private-CP", "LDP-CP-L", "LDP-CP-S"):
                found = calibrate(pool, "APS", method, tissue.n, epsilon=epsilon, inputs=inputs)
                row = f"{pool.name}, ε = {epsilon:g}, {method}"
                for column, values in zip(("size", "coverage %"), found, strict=True):
                    yield TableCell(row=row, column=column, as_written=ReproducedNumber.of(values))


def _table_1(inputs: Inputs) -> Iterator[TableCell]:
    for data in _sets():
        entry = published_table()[data.name]
        yield _effective(data, entry["effective"])
        for method, text in entry["rows"].items():
            yield from _method_cells(data, method, text.split(), inputs)


def _effective(data: _Set, printed: str) -> TableCell:
    value = _EPSILON / math.sqrt(data.n)
    return TableCell(
        row=data.name,
        column="ε_eff",
        printed=Printed.parse(printed),
        as_published=ReproducedNumber(value=math.floor(value * 1000) / 1000),
        as_written=ReproducedNumber(value=value),
    )


def _method_cells(
    data: _Set, method: str, printed: list[str], inputs: Inputs
) -> Iterator[TableCell]:
    numbers = [
        Printed(value=p.value, spread=p.spread, decimals=2, runs=_SEEDS)
        for p in map(Printed.parse, printed)
    ]
    formula = ReproducedNumber(
        value=100 * (1 - _ALPHA + label_width(data.n, epsilon=_EPSILON, k=data.classes))
    )
    for number, build in enumerate(inputs.pools):
        pool = build()
        found = {
            score: calibrate(pool, score, method, data.n, epsilon=_EPSILON, inputs=inputs)
            for score in ("HPS", "APS")
        }
        for place, (score, name) in enumerate(
            (score, name) for score in found for name in ("size", "coverage %")
        ):
            stated = method == "LDP-CP-L*" and name != "size" and number == 0
            yield TableCell(
                row=f"{data.name}, {method}" + (f", on {pool.name}" if number else ""),
                column=f"{score} {name}",
                printed=numbers[place] if number == 0 else None,
                as_published=formula if stated else None,
                as_written=ReproducedNumber.of(found[score][place % 2]),
                comparable=False,
                note=f"As written is on {pool.name} where the row names no pool."
                if number == 0
                else "",
            )


def calibrate(
    pool: ProbabilityPool, score: str, method: str, n: int, *, epsilon: float, inputs: Inputs
) -> _Outcome:
    """Calibrate on n users drawn from a pool; sizes, and coverages in %, are over the pool."""
    rng = stream(inputs.seed, "in kind", pool.name, score, method, n, epsilon)
    scores = _pool_scores(pool, score, inputs.seed)
    true = Pool(scores[np.arange(pool.labels.size), pool.labels], pool.name)
    k = scores.shape[1]
    starred = method.endswith("*")
    if method == "Not-Private-CP":
        calibrated = SplitConformal(alpha=_ALPHA).trials(true, n=n, trials=inputs.trials, rng=rng)
        threshold = calibrated.threshold
    elif method.startswith("LDP-CP-L"):
        labels = LDPCPLabels(
            alpha=_ALPHA,
            epsilon=epsilon,
            k=k,
            rounds=_ROUNDS,
            window_width=label_width(n, epsilon=epsilon, k=k),
            starred=starred,
        )
        threshold = labels.trials(scores, pool.labels, n=n, trials=inputs.trials, rng=rng).threshold
    else:
        answers = LDPCPScores(
            alpha=_ALPHA,
            epsilon=epsilon,
            rounds=_ROUNDS,
            window_width=score_width(n, epsilon=epsilon),
            starred=starred,
        )
        threshold = answers.trials(true, n=n, trials=inputs.trials, rng=rng).threshold
    every = Pool(scores.ravel(), pool.name)
    return _Outcome(k * every.cdf(threshold), 100 * true.cdf(threshold))


def _pool_scores(pool: ProbabilityPool, score: str, seed: int) -> FloatArray:
    """Return the scores of every label, shape (m, k); APS randomised, one draw a point."""
    if score == "HPS":
        return hps(pool.probabilities)
    uniforms = stream(seed, "aps", pool.name).random(pool.labels.size)
    return aps(pool.probabilities, u=uniforms)


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
    papers = (*pcoqs_experiments.experiments(), *ldpcp_figures_and_table(), *thesis_experiments())
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
