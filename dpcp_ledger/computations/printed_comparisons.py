"""Sentences that compare printed numbers, and one on the rounds of a search, computed anew."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import Computation, ProofMethod, Quantity
from dpcp_audit.extensions.laws import Uniform
from dpcp_audit.extensions.statistics import all_at_most
from dpcp_audit.extensions.theorems import ScoreTheorem
from dpcp_ledger.reproduce import ldpcp_experiments, pcoqs_experiments

if TYPE_CHECKING:
    from collections.abc import Sequence

_RUNS = 1_000
_STARRED = ("LDP-CP-L*", "LDP-CP-S*")


def _cells(table: int, row: str) -> list[tuple[float, float]]:
    """Return mean and spread of every printed cell of a row."""
    texts = str(pcoqs_experiments.published()[str(table)]["rows"][row]).split()
    pairs = (text.partition("±") for text in texts)
    return [(float(mean), float(spread)) for mean, _, spread in pairs]


def _rows(table: int) -> list[str]:
    return list(pcoqs_experiments.published()[str(table)]["rows"])


def lower_errors_of_exponq() -> Computation:
    """Count the settings in which ExponQ's printed error is below both others' (Appendix E)."""
    errors = {
        f"Table {table}, {row}": [mean for mean, _ in _cells(table, row)]
        for table in (15, 16)
        for row in _rows(table)
    }
    lower = [name for name, (first, *others) in errors.items() if first < min(others)]
    return Computation.counted(
        len(lower),
        detail="settings in which ExponQ has the lowest error",
        witness={"settings": lower, "compared": len(errors)},
        note="From the printed tables alone: "
        + "; ".join(f"{name}: {errors[name]}" for name in lower)
        + " (ExponQ, HistLap, P-COQS).",
    )


def worse_at_small_budgets(*, budgets: Sequence[str]) -> Computation:
    """Count the settings of small budgets in which P-COQS errs more than HistLap (Appendix E)."""
    cells = {
        f"Table {table}, {row}": _cells(table, row)
        for table in (15, 16)
        for row in _rows(table)
        if row.split()[0] in budgets
    }
    worse = [name for name, (_, other, own) in cells.items() if own[0] > other[0]]
    return Computation.counted(
        len(worse),
        detail="settings in which P-COQS's error is larger than HistLap's",
        witness={"settings": worse, "compared": len(cells)},
        note="From the printed tables alone.",
    )


def shortfall(tables: Sequence[int], *, from_n: int, errors: float) -> Computation:
    """Compute P-COQS's largest shortfall of printed coverage, in its standard errors."""
    short = {
        f"Table {table}, n = {row}": (0.9 - mean) / (spread / math.sqrt(_RUNS))
        for table in tables
        for row in _rows(table)
        if int(row) >= from_n
        for mean, spread in [_cells(table, row)[2]]
    }
    worst = max(short, key=lambda name: short[name])
    found = Computation(
        quantity=Quantity.RATIO,
        detail="largest shortfall of a printed coverage from 0.9, in standard errors of its mean",
        value=short[worst],
        claimed=errors,
        witness={"at": worst, "runs": _RUNS},
        note=f"From the printed tables alone; largest at {worst}.",
    )
    return found.between(
        all_at_most("shortfall over its standard error", list(short.values()), errors),
        method=ProofMethod.ENUMERATION,
        argument="The printed means and spreads of the tables are compared.",
        parameters={"tables": list(tables)},
    )


def further_from_level() -> Computation:
    """Compute the largest mean distance from 1−α, in units of ExponQ's (Section 5.1.3)."""
    shares: dict[str, float] = {}
    for table in (3, 9):
        distances = [
            [abs(mean - 1 + float(row)) for mean, _ in _cells(table, row)[:3]]
            for row in _rows(table)
        ]
        of_exponq, *others = (sum(each) for each in zip(*distances, strict=True))
        for method, distance in zip(("HistLap", "P-COQS"), others, strict=True):
            shares[f"Table {table}, {method}"] = distance / of_exponq
    worst = max(shares, key=lambda name: shares[name])
    found = Computation(
        quantity=Quantity.RATIO,
        detail="largest mean distance of the coverage from 1−α, in units of ExponQ's",
        value=shares[worst],
        claimed=1.0,
        witness={"at": worst},
        note="From the printed tables alone.",
    )
    return found.between(
        all_at_most("distance over ExponQ's ≤ 1", list(shares.values()), 1),
        method=ProofMethod.ENUMERATION,
        argument="The printed coverages of both tables are compared.",
        parameters={},
    )


def starred_short() -> Computation:
    """Compute the largest shortfall of a printed starred coverage from 90 % (Table 1)."""
    missed = {
        f"{data}, {row}, {score}": 90 - float(entry["rows"][row].split()[place].partition("±")[0])
        for data, entry in ldpcp_experiments.published().items()
        for row in _STARRED
        for place, score in ((1, "HPS"), (3, "APS"))
    }
    worst = max(missed, key=lambda name: missed[name])
    found = Computation(
        quantity=Quantity.DIFFERENCE,
        detail="largest 90 − printed coverage of a starred row, in points",
        value=missed[worst],
        claimed=0.0,
        witness={"at": worst, "cells": len(missed)},
        note=f"Of {len(missed)} printed cells the least is {90 - missed[worst]:g}, of {worst}.",
    )
    return found.between(
        all_at_most("90 − coverage ≤ 0", list(missed.values()), 0),
        method=ProofMethod.ENUMERATION,
        argument="The printed coverages are compared.",
        parameters={},
    )


def natural_rounds(*, alpha: float, width: float, spacing: float) -> Computation:
    """Compute the miscoverage of a search without noise in ⌈ln(1/τ)⌉ rounds, on uniform scores.

    No interval of length τ holds more than τ = Δ of their mass, as the theorem assumes.
    """
    rounds = math.ceil(math.log(1 / spacing))
    low, high = Fraction(0), Fraction(1)
    target, room = 1 - Fraction(str(alpha)), Fraction(str(width)) / 2
    middle = (low + high) / 2
    for _ in range(rounds):
        middle = (low + high) / 2
        if abs(middle - target) <= room:
            break
        low, high = (middle, high) if middle < target else (low, middle)
    return Computation(
        quantity=Quantity.MISCOVERAGE,
        value=float(1 - middle),
        error=0.0,
        claimed=alpha + width,
        witness={"rounds": rounds, "threshold": float(middle), "scores": "uniform"},
        note=(
            f"After {rounds} rounds the search, told the exact shares, returns {float(middle):g}; "
            f"{math.ceil(math.log2(1 / spacing))} rounds, by the logarithm to the base 2, are "
            "enough. The paper writes log for both logarithms."
        ),
    )


def close_scores(*, resolution: float) -> Computation:
    """Count the scores in one window where some two of them are closer than Δ (Remark 7)."""
    scores = np.array([0.25, 0.25 + resolution / 2, 0.5, 0.75])
    ends = np.searchsorted(scores, scores + resolution, side="left")
    crowd = int((ends - np.arange(scores.size)).max())
    return Computation.counted(
        crowd,
        detail="scores in a window of length Δ",
        claimed=1,
        witness={"scores": scores.tolist(), "resolution": resolution},
        note=(
            "The smallest distance between scores is below Δ, as the remark assumes, and M(Δ) is "
            "not 1; that takes a distance above Δ. The remark's numbers are right for M(Δ) = 1."
        ),
    )


def failure_without_probability(*, n: int, epsilon: float, delta: float) -> Computation:
    """Compute how often Algorithm 3 covers less than 1−α−Δ_S, which its output line leaves out."""
    theorem = ScoreTheorem(population=Uniform(), n=n, epsilon=epsilon, delta=delta)
    return Computation(
        quantity=Quantity.COVERAGE_FAILURE,
        value=theorem.failure_probability(),
        claimed=0.0,
        error=1e-3,
        witness=theorem.parameters,
        note="Theorem 4 says it with probability 1−δ, which holds; the algorithm's line does not.",
    )
