"""How bad a refutation is: what of the promise is gone, and how to say so in plain words."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit._format import DASH, number, printable, share, to_float
from dpcp_audit.results import Bound, EvidenceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Promise(IntEnum):
    """What a claim promises to the people concerned; the order is that of the report."""

    GUARANTEE = 0
    """Privacy, or coverage."""
    STATEMENT = 1
    """A bound, an estimate or an observation on the way to a guarantee."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """What a finding says of its promise, in few words.

    Parameters
    ----------
    consequence : str
        What a refutation means, without numbers.
    promised, found : str
        The numbers, with their units.
    quantity : str
        What the numbers are of, where their units do not say it.
    surety : str
        How sure ``found`` is.
    severity : float
        Share of the promise that is gone, in [0, 1], judged by the end of the interval that is
        nearest to the claim: 0 where the evidence does not exclude the claim.
    """

    promise: Promise
    consequence: str
    promised: str
    found: str
    quantity: str
    surety: str
    severity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """How a kind of quantity is spoken of, and how its excess is judged."""

    promise: Promise
    consequence: str
    unit: str
    words: Callable[[object], str]
    excess: Callable[[float, float], float]


def breach(evidence: Mapping[str, Any] | None, claim: str) -> Breach:
    """Say what evidence means for its claim.

    Parameters
    ----------
    evidence : mapping or None
        The finding's evidence; None where the check could not be completed.
    claim : str
        The claim's words: they tell a theorem about coverage from one about ranks.
    """
    if not evidence:
        return Breach(
            promise=Promise.STATEMENT,
            consequence="",
            promised=DASH,
            found=DASH,
            quantity="",
            surety="",
            severity=0.0,
        )
    scale = _scale(str(evidence["quantity"]), claim)
    at_least = evidence.get("bound") == Bound.AT_LEAST
    nearest = evidence["upper" if at_least else "lower"]
    consequence = scale.consequence
    if at_least and scale is _MEAN_COVERAGE:
        consequence = "Covers less than promised"
    return Breach(
        promise=scale.promise,
        consequence=consequence,
        promised=_promised(evidence, scale, at_least=at_least),
        found=f"{scale.unit}{'= ' if scale.unit else ''}{scale.words(evidence['value'])}",
        quantity=""
        if scale.unit or scale.words is not _digits
        else printable(evidence["quantity"]),
        surety=_surety(evidence, scale.words(nearest), at_least=at_least),
        severity=_severity(evidence, scale, to_float(nearest), at_least=at_least),
    )


def _promised(evidence: Mapping[str, Any], scale: _Scale, *, at_least: bool) -> str:
    claimed = evidence.get("claimed")
    if claimed is None:
        return DASH
    sign = "≥" if at_least else "≤"
    return f"{scale.unit}{sign} {scale.words(claimed)}"


def _surety(evidence: Mapping[str, Any], nearest: str, *, at_least: bool) -> str:
    kind = EvidenceKind(evidence["kind"])
    if kind is EvidenceKind.EXACT:
        return "exact"
    if kind is EvidenceKind.INDICATIVE:
        return "an indication only"
    return f"{'≤' if at_least else '≥'} {nearest}, sampled"


def _severity(
    evidence: Mapping[str, Any], scale: _Scale, nearest: float, *, at_least: bool
) -> float:
    if evidence.get("claimed") is None:
        return 0.0
    claimed = to_float(evidence["claimed"])
    if math.isnan(nearest) or math.isnan(claimed):
        return 0.0
    gone = _shortfall(nearest, claimed) if at_least else scale.excess(nearest, claimed)
    return min(max(gone, 0.0), 1.0)


def _shortfall(value: float, claimed: float) -> float:
    return (claimed - value) / abs(claimed) if claimed else float(value < claimed)


def _of_the_rest(value: float, claimed: float) -> float:
    """Of the room between what is claimed of a probability and certainty, the share taken."""
    return (value - claimed) / (1 - claimed) if claimed < 1 else float(value > claimed)


def _of_secrecy(value: float, claimed: float) -> float:
    """Of the doubt that ε leaves to an attacker, 1 − tanh(ε/2), the share taken."""
    if value == claimed:
        return 0.0
    return -math.expm1(float(np.logaddexp(0.0, claimed) - np.logaddexp(0.0, value)))


def _of_the_amount(value: float, claimed: float) -> float:
    """Of the amount found, the share that was not claimed."""
    if value <= claimed:
        return 0.0
    return 1.0 if math.isinf(value) or claimed <= 0 else 1 - claimed / value


def _digits(value: object) -> str:
    return number(value, digits=3)


def _runs(value: object) -> str:
    return f"{share(value)} of runs"


def _times(value: object) -> str:
    return f"{_digits(value)} times"


_LEAKS = "Leaks more than promised"
_MEAN_COVERAGE = _Scale(
    promise=Promise.GUARANTEE,
    consequence="Covers more than promised",
    unit="",
    words=share,
    excess=_of_the_rest,
)
_MISCOVERAGE = replace(_MEAN_COVERAGE, consequence="Covers less than promised")
_FAILING_COVERAGE = _Scale(
    promise=Promise.GUARANTEE,
    consequence="Misses its coverage bound",
    unit="",
    words=_runs,
    excess=_of_the_rest,
)
_FAILING = _Scale(
    promise=Promise.STATEMENT,
    consequence="Misses its bound",
    unit="",
    words=_runs,
    excess=_of_the_rest,
)
_NUMBERS = _Scale(
    promise=Promise.STATEMENT,
    consequence="Prints numbers that do not come out",
    unit="",
    words=share,
    excess=_of_the_rest,
)
_OTHER = _Scale(
    promise=Promise.STATEMENT,
    consequence="Not true as stated",
    unit="",
    words=_digits,
    excess=_of_the_amount,
)


def _privacy(
    unit: str,
    excess: Callable[[float, float], float],
    words: Callable[[object], str] = _digits,
    consequence: str = _LEAKS,
) -> _Scale:
    return _Scale(
        promise=Promise.GUARANTEE, consequence=consequence, unit=unit, words=words, excess=excess
    )


# The first pattern that is found in the quantity's name decides.
_SCALES: tuple[tuple[str, _Scale], ...] = (
    (r"^share of the printed numbers", _NUMBERS),
    (r"^printed ", _OTHER),
    (r"in units of", _privacy("", _of_the_amount, _times)),
    (r"log-ratio|^ε", _privacy("ε ", _of_secrecy)),
    (r"^δ\(", _privacy("δ ", _of_the_rest)),
    (
        r"advantage",
        _privacy("", _of_the_rest, consequence="Members are recognised too well"),
    ),
    (r"best guess", _privacy("", _of_the_rest, share)),
    (r"D_α/α|\bρ\b", _privacy("ρ ", _of_the_amount)),
    (r"D_α", _privacy("D_α ", _of_the_amount)),
    (r"\bmiscoverage", _MISCOVERAGE),
    (r"\bcoverage", _MEAN_COVERAGE),
)
_COVERAGE_WORDS = re.compile(r"\bcover(s|age|ed)?\b", re.IGNORECASE)


def _scale(quantity: str, claim: str) -> _Scale:
    if "failure probability" in quantity:
        return _FAILING_COVERAGE if _COVERAGE_WORDS.search(claim) else _FAILING
    return next((scale for pattern, scale in _SCALES if re.search(pattern, quantity)), _OTHER)
