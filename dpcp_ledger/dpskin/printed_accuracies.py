"""Exact checks of what DP-SKIN prints: its accuracies, its parameter counts, its data.

A share of N cases is one of N + 1 numbers. Printed to d decimals it must be one of those, rounded
or cut off; where the shares lie closer than the digits, any digits pass and nothing is tested.
Brown and Heathers (2017), "The GRIM test", Social Psychological and Personality Science 8(4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.claims import Computation, ProofMethod, Quantity, Standing, Verdict
from dpcp_audit.extensions.statistics import at_most
from dpcp_ledger.paper import Paper, largest
from dpcp_ledger.reproduce import experiments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedRate:
    """A rate as it is printed, digit for digit.

    Parameters
    ----------
    digits : str
        As printed, as "59.83" or "0.9005".
    whole : int
        The printed number for a rate of 1: 100 where it is in percent.

    Examples
    --------
    >>> rate = PrintedRate(digits="60.12", whole=100)
    >>> rate.counts(1512)
    (909,)
    >>> PrintedRate(digits="59.83", whole=100).counts(1512)
    ()
    """

    digits: str
    whole: int = 1

    @property
    def rate(self) -> Fraction:
        """The rate, from 0 to 1, as the exact decimal."""
        return Fraction(self.digits) / self.whole

    @property
    def unit(self) -> Fraction:
        """A unit of the last digit, as a rate."""
        return Fraction(1, self.whole * 10 ** len(self.digits.partition(".")[2]))

    def counts(self, cases: int) -> tuple[int, ...]:
        """Return every count of so many cases that is printed so, rounded or cut off."""
        low = (self.rate - self.unit / 2) * cases
        high = (self.rate + self.unit) * cases
        first = max(0, -(-low.numerator // low.denominator))
        return tuple(k for k in range(first, min(cases, int(high)) + 1) if k < high)


def impossible(rates: Iterable[PrintedRate], cases: int) -> tuple[str, ...]:
    """Return the digits that are no share of so many cases, in the order of the rates.

    Examples
    --------
    >>> impossible([PrintedRate(digits="0.5"), PrintedRate(digits="0.4")], 2)
    ('0.4',)
    """
    return tuple(rate.digits for rate in rates if not rate.counts(cases))


def constant_rate(classes: Mapping[str, int]) -> Fraction:
    """Return the accuracy of the best constant classifier: the share of the largest class.

    Examples
    --------
    >>> constant_rate({"yes": 3, "no": 1})
    Fraction(3, 4)
    """
    return Fraction(max(classes.values()), sum(classes.values()))


paper = Paper(title="DP-SKIN", subject="DP-SKIN, the printed tables")
_TEST = {"cases": 1512}
_BEST = "DP-Adam, ResNet18"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Accuracies:
    """A table of DP-SKIN: the accuracy without privacy, and one at each ε."""

    plain: PrintedRate
    private: tuple[PrintedRate, ...]


def accuracy_tables() -> dict[str, _Accuracies]:
    """Return the four printed accuracy tables, by optimiser and network."""
    tables = experiments.thesis_numbers()["accuracies"]
    return {
        name: _Accuracies(
            plain=PrintedRate(digits=entry["plain"], whole=100),
            private=tuple(PrintedRate(digits=d, whole=100) for d in entry["private"].split()),
        )
        for name, entry in tables.items()
    }


def budgets() -> tuple[str, ...]:
    """Return the printed ε of every table, in its order."""
    return tuple(experiments.thesis_numbers()["budgets"]["epsilon"])


_EPSILONS = {"epsilon": list(map(float, budgets()))}


def nevi() -> Fraction:
    """Return the share of nevi in the test set: what a constant answer scores."""
    return constant_rate(experiments.thesis_numbers()["data"]["test"])


@paper.claim(
    "dpskin.accuracies[baseline=constant]",
    "Sections 4.1 to 4.4",
    Verdict.REFUTED,
    "Every accuracy with DP-SGD and DP-Adam is higher than that of a constant answer.",
    standing=Standing.PRACTICE,
    parameters=_TEST,
)
def above_constant() -> Computation:
    """Count the private accuracies that are no higher than the constant classifier's.

    A printed rate counts as higher where some count that is printed so is.
    """
    cases, constant = total_of_test(), nevi()
    names = [
        f"{name}, ε = {epsilon}"
        for name, table in accuracy_tables().items()
        for epsilon, rate in zip(budgets(), table.private, strict=True)
        if not _may_exceed(rate, constant, cases)
    ]
    every = [rate.rate for table in accuracy_tables().values() for rate in table.private]
    equal = sum(abs(rate - constant) < Fraction(1, 20_000) for rate in every)
    return Computation.counted(
        len(names),
        detail=f"of {len(every)} private accuracies, those no higher than a constant's",
        witness={"constant": _counted(constant, cases), "cases": cases, "not_higher": names},
        note=(
            f"Answering “nevus” always is right on {_counted(constant, cases)} of {cases} test "
            "images, by the labels that the challenge published; the thesis prints none. That is "
            f"{float(100 * constant):.2f} %, and costs no privacy at all. {equal} of the "
            f"{len(every)} printed accuracies are that number, {len(names) - equal} lie below it."
        ),
    )


def _may_exceed(rate: PrintedRate, constant: Fraction, cases: int) -> bool:
    counts = rate.counts(cases)
    return rate.rate > constant if not counts else Fraction(counts[-1], cases) > constant


@paper.claim(
    "dpskin.accuracies[baseline=constant,model=non-private]",
    "Sections 4.1 to 4.4",
    Verdict.PROVED,
    "Every accuracy with SGD and Adam is higher than that of a constant answer.",
    standing=Standing.PRACTICE,
    parameters=_TEST,
)
def plain_above_constant() -> Computation:
    """Compute the least accuracy without privacy, against the constant classifier's."""
    plain = {name: table.plain.rate for name, table in accuracy_tables().items()}
    gaps = {name: nevi() - rate for name, rate in plain.items()}
    return largest(
        gaps,
        0.0,
        quantity=Quantity.DIFFERENCE,
        detail="largest share of nevi less an accuracy without privacy",
        says="share of nevi − accuracy ≤ 0",
        argument="Each of the four printed accuracies is compared, as the decimal that it is.",
        note="The networks do learn; what they learn is what the noise takes away.",
        witness={"accuracy": float(min(plain.values()))},
        key="model",
        parameters={"cases": total_of_test()},
    )


@paper.claim(
    "dpskin.observation[degradation=small]",
    "Section 4.5",
    Verdict.REFUTED,
    "“The performance degradation caused by the integration of Differential Privacy (DP) is "
    "relatively small”: in one of the 20 cases at least, no more than half of what training gains "
    "over a constant answer is lost.",
    standing=Standing.READING,
    parameters=_TEST,
)
def gain_lost() -> Computation:
    """Compute the least share of what training gains over a constant that privacy takes away."""
    shares = {
        f"{name}, ε = {epsilon}": (table.plain.rate - rate.rate) / (table.plain.rate - nevi())
        for name, table in accuracy_tables().items()
        for epsilon, rate in zip(budgets(), table.private, strict=True)
    }
    best = min(shares, key=lambda case: shares[case])
    cases = total_of_test()
    rounded = Fraction(1, 10_000) / min(t.plain.rate - nevi() for t in accuracy_tables().values())
    return Computation(
        quantity=Quantity.RATIO,
        detail="least share of the gain over a constant classifier that is lost",
        value=float(shares[best]),
        claimed=0.5,
        error=float(rounded / shares[best]),
        witness={"case": best, "constant": _counted(nevi(), cases), "cases": cases},
        note=(
            f"At {best} privacy takes {float(100 * shares[best]):.4g} % of what training had "
            "gained over a constant answer, at most "
            f"{float(100 * max(shares.values())):.4g} % elsewhere. In points of accuracy the "
            "losses look small because six of ten images are nevi."
        ),
    )


@paper.claim(
    "dpskin.observation[best=resnet18-dp-adam]",
    "Section 4.5",
    Verdict.REFUTED,
    "“ResNet18 combined with the DP-Adam optimizer gives the best trade-off”: no other of the "
    "four is more accurate at any of the five ε.",
    standing=Standing.READING,
    parameters=_EPSILONS,
    model=_BEST,
)
def best_at_every_budget(model: str) -> Computation:
    """Count the ε at which another of the four has a higher accuracy than this one."""
    tables = accuracy_tables()
    beaten = {
        epsilon: better
        for place, epsilon in enumerate(budgets())
        if (better := _better(tables, model, place))
    }
    means = {
        name: float(100 * sum(rate.rate for rate in table.private) / len(table.private))
        for name, table in tables.items()
    }
    said = ", ".join(f"{name} {mean:.2f} %" for name, mean in means.items())
    return Computation.counted(
        len(beaten),
        detail="values of ε at which another of the four is better",
        witness={"model": model, "better": beaten},
        note=f"On the mean over ε it is the best of the four: {said}. None beats a constant.",
    )


def _better(tables: dict[str, _Accuracies], model: str, place: int) -> list[str]:
    here = tables[model].private[place].rate
    return [name for name, table in tables.items() if table.private[place].rate > here]


@paper.claim(
    "dpskin.observation[best=resnet18-dp-adam,by=mean]",
    "Section 4.5",
    Verdict.PROVED,
    "“ResNet18 combined with the DP-Adam optimizer gives the best trade-off”: on the mean over "
    "the five ε no other of the four is more accurate.",
    standing=Standing.READING,
    parameters=_EPSILONS,
    model=_BEST,
)
def best_on_the_mean(model: str) -> Computation:
    """Compute how much more accurate another of the four is than this one, on the mean over ε."""
    means = {
        name: sum(rate.rate for rate in table.private) / len(table.private)
        for name, table in accuracy_tables().items()
    }
    gaps = {name: mean - means[model] for name, mean in means.items() if name != model}
    second, cases = max(gaps, key=lambda name: gaps[name]), total_of_test()
    spread = math.sqrt(means[model] * (1 - means[model]) / cases)
    return largest(
        gaps,
        0.0,
        quantity=Quantity.DIFFERENCE,
        detail="largest mean accuracy of another of the four less its own",
        says="mean of another − its mean ≤ 0",
        argument="The means of the printed accuracies are compared, as the decimals that they are.",
        note=(
            f"The second is {second}, {-float(gaps[second] * cases):.1f} of {cases} images behind, "
            f"where one accuracy has a standard error of {spread * cases:.0f} images. At some ε "
            "another one is better, and none beats a constant."
        ),
        witness={"model": model},
        key="second",
        parameters={"epsilon": [float(epsilon) for epsilon in budgets()]},
    )


@paper.claim(
    "dpskin.table-2.1",
    "Table 2.1",
    Verdict.REFUTED,
    "The parameters of each stage of ResNet-18 are those of its convolutions.",
    standing=Standing.ERRATUM,
)
def parameter_counts() -> Computation:
    """Count the stages of Table 2.1 whose parameters are not those of their convolutions."""
    stages = experiments.thesis_numbers()["resnet18"]
    counted = {name: _convolution_weights(stage) for name, stage in stages.items()}
    wrong = {
        name: [int(stage["parameters"]), counted[name]]
        for name, stage in stages.items()
        if int(stage["parameters"]) != counted[name]
    }
    extra = {name: _normalisation_weights(stages[name]) for name in wrong}
    said = [
        f"{name} is printed as {printed:,} and has {count:,}: {printed - count:,} more, where its "
        f"four batch normalisations hold {extra[name]:,}."
        for name, (printed, count) in wrong.items()
    ]
    return Computation.counted(
        len(wrong),
        detail=f"of {len(stages)} stages, those whose printed count is another",
        witness={"printed_and_counted": wrong},
        note=" ".join(said),
    )


def _convolution_weights(stage: Mapping[str, Any]) -> int:
    """Return the weights of a stage's convolutions and of its projection, without biases."""
    first, filters = stage["filters"]
    area = stage["side"] ** 2
    weights = area * first * filters + (stage["convolutions"] - 1) * area * filters**2
    projected = stage["convolutions"] > 1 and first != filters
    return int(weights + (first * filters if projected else 0))


def _normalisation_weights(stage: Mapping[str, Any]) -> int:
    """Return the weights and biases of the batch normalisations after a stage's convolutions."""
    return int(2 * stage["filters"][1] * stage["convolutions"])


@paper.claim(
    "dpskin.classes",
    "Section 3.4",
    Verdict.PROVED,
    "The classes of the training set add up to its images.",
    parameters={"images": 10_015},
)
def class_total() -> Computation:
    """Compute how far the training set's printed classes are from its printed size."""
    data = experiments.thesis_numbers()["data"]
    total, stated = sum(data["training"].values()), data["training_total"]
    found = Computation(
        quantity=Quantity.DIFFERENCE,
        detail="|sum of the classes − images|",
        value=float(abs(total - stated)),
        claimed=0.0,
        witness={"classes": data["training"], "sum": total},
    )
    return found.between(
        at_most("|sum of the classes − images| ≤ 0", abs(total - stated), 0),
        method=ProofMethod.ENUMERATION,
        argument="The seven printed counts are added.",
        parameters={"images": stated},
    )


def _counted(share: Fraction, cases: int) -> int:
    return int(share * cases)


def total_of_test() -> int:
    """Return the number of test images."""
    return int(experiments.thesis_numbers()["data"]["test_total"])


_BATCH = 20
"""The batch size of Chapter 4."""


@paper.claim(
    "dpskin.accuracies[grim]",
    "Sections 4.1 to 4.4",
    Verdict.REFUTED,
    "Every printed accuracy is a share of the test images.",
    standing=Standing.ERRATUM,
    parameters={"cases": 1512},
)
def shares_of_the_test_set() -> Computation:
    """Count the printed accuracies that are no share of the test images (GRIM)."""
    data = experiments.thesis_numbers()["data"]
    rates = [rate for table in accuracy_tables().values() for rate in (table.plain, *table.private)]
    wrong = impossible(rates, data["test_total"])
    elsewhere = [d for d in wrong if not impossible(_rates([d]), data["validation_total"])]
    return Computation.counted(
        len(wrong),
        detail=f"of {len(rates)} printed accuracies, those that no count of images gives",
        witness={"cases": data["test_total"], "impossible": list(wrong)},
        note=(
            f"{', '.join(wrong)} % are k/{data['test_total']} for no k, rounded or cut off. "
            f"Of the {data['validation_total']} validation images, {', '.join(elsewhere) or 'none'}"
            " is one. The other "
            f"{len({r.digits for r in rates} - set(wrong))} distinct accuracies are shares of the "
            f"test images. Means over batches of {_BATCH}, the last of them smaller, do not give "
            f"{', '.join(d for d in wrong if not _mean_of_batches(d, data['test_total']))} either; "
            "other batches could."
        ),
    )


def _mean_of_batches(digits: str, cases: int) -> bool:
    """Return True if a mean of the batches' accuracies, with equal weights, is printed so."""
    rate = PrintedRate(digits=digits, whole=100)
    full, rest = divmod(cases, _BATCH)
    for last in range(rest + 1):
        ends = [
            _BATCH * ((rate.rate + side) * (full + 1) - Fraction(last, rest))
            for side in (-rate.unit / 2, rate.unit)
        ]
        if math.ceil(ends[0]) < ends[1]:
            return True
    return False


def _rates(digits: list[str]) -> list[PrintedRate]:
    return [PrintedRate(digits=each, whole=100) for each in digits]
