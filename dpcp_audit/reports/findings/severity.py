"""How bad a refutation is: what of the promise is gone, and how to say so in plain words.

Everything is written from the evidence's fields: the quantity knows its unit, its consequence and
how to tell how many times worse than promised a value is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcp_audit._format import (
    DASH,
    confidence,
    end,
    interval,
    number,
    share,
    telling_digits,
    to_float,
)
from dpcp_audit.quantities import Bound, Promise, Quantity, Scale
from dpcp_audit.results import EvidenceKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.results import PlainData


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
    times : float
        How many times worse than promised, at the end of the interval that is nearest to the
        claim; 1 where the evidence does not exclude the claim.
    """

    promise: Promise
    consequence: str
    promised: str
    found: str
    quantity: str
    surety: str
    times: float

    @property
    def severity(self) -> float:
        """The share of what was found that was not promised, in [0, 1)."""
        return 1 - 1 / self.times


_NOTHING = Breach(
    promise=Promise.STATEMENT,
    consequence="",
    promised=DASH,
    found=DASH,
    quantity="",
    surety="",
    times=1.0,
)


def breach(evidence: Mapping[str, Any] | None) -> Breach:
    """Say what evidence means for its claim.

    Parameters
    ----------
    evidence : mapping or None
        The finding's evidence; None where the check could not be completed.
    """
    if not evidence:
        return _NOTHING
    quantity, bound = Quantity(evidence["quantity"]), bound_of(evidence)
    digits = telling_digits(evidence)
    nearest = evidence["lower" if bound is Bound.AT_MOST else "upper"]
    claimed = evidence.get("claimed")
    return Breach(
        promise=quantity.promise,
        consequence=quantity.consequence(bound),
        promised=DASH if claimed is None else amount(quantity, claimed, bound.sign, digits=digits),
        found=amount(quantity, evidence["value"], digits=digits),
        quantity="" if quantity.unit else named(evidence),
        surety=_surety(evidence, quantity, bound, digits),
        times=1.0 if claimed is None else _times(quantity, nearest, claimed, bound),
    )


def times_of(evidence: Mapping[str, Any] | None) -> tuple[float, float, float] | None:
    """Return how many times worse than promised the number and its interval's ends are.

    None without evidence, or where nothing is claimed. 1 is as promised.
    """
    if not evidence or evidence.get("claimed") is None:
        return None
    quantity, claimed = Quantity(evidence["quantity"]), to_float(evidence["claimed"])
    value, lower, upper = (
        quantity.times_worse(to_float(evidence[end]), claimed, bound_of(evidence))
        for end in ("value", "lower", "upper")
    )
    return value, lower, upper


def bound_of(evidence: Mapping[str, Any]) -> Bound:
    """Return the side that the claim bounds."""
    return Bound(evidence.get("bound", Bound.AT_MOST))


def named(evidence: Mapping[str, Any]) -> str:
    """Return what a number is, with its parameters, as people read it."""
    at: PlainData = evidence.get("at") or {}
    return Quantity(evidence["quantity"]).described(
        {name: to_float(value) for name, value in at.items()},
        str(evidence.get("detail", "")),
    )


def estimate_sentences(finding: Mapping[str, Any]) -> list[str]:
    """Return the two-sided estimates of a finding, a sentence each.

    Examples
    --------
    >>> found = {"quantity": "rho", "at": {}, "detail": "over a partition into 9 cells"}
    >>> numbers = {"value": 0.31, "lower": 0.284, "upper": 0.352, "confidence": 0.95}
    >>> estimate_sentences({"estimates": [found | numbers]})
    ['zCDP loss ρ, over a partition into 9 cells: 0.31 [0.284, 0.352], confidence 0.95']
    """
    return [
        f"{named(each)}: {number(each['value'])} {interval(each)}".rstrip()
        + f", confidence {confidence(each['confidence'])}"
        for each in finding.get("estimates") or ()
    ]


def power_sentence(power: Mapping[str, Any] | None) -> str:
    """Return what a check would have refuted, in a sentence; "" where that is unknown.

    Examples
    --------
    >>> power_sentence(
    ...     {"quantity": "rho", "bound": "at most", "smallest": 1.0, "claimed": 0.5,
    ...      "detection": 0.95, "factor": 2.0, "at": {}, "detail": "if Gaussian"}
    ... )
    'ρ = 1 (2 times the claim), if Gaussian, would have been refuted with probability 0.95'
    """
    if not power:
        return ""
    sure = number(power["detection"], digits=3)
    able = math.isfinite(to_float(power["smallest"]))
    certain = to_float(power["smallest"]) == to_float(power["claimed"]) or not able
    words = "would have been refuted"
    return f"{violation(power)} {words if certain else f'{words} with probability {sure}'}"


def violation(power: Mapping[str, Any]) -> str:
    """Return the smallest violation that a check refutes, with its claim and of what it is.

    Examples
    --------
    >>> violation({"quantity": "rho", "bound": "at most", "smallest": 1.0, "claimed": 0.5,
    ...            "detection": 0.95, "factor": 2.0, "at": {}, "detail": ""})
    'ρ = 1 (2 times the claim)'
    """
    quantity, factor = Quantity(power["quantity"]), to_float(power["factor"])
    detail = f", {power['detail']}," if power["detail"] else ""
    if math.isinf(to_float(power["smallest"])):
        return f"no violation{detail}"
    if to_float(power["smallest"]) == to_float(power["claimed"]):
        return f"anything beyond the claim{detail}"
    smallest = amount(quantity, power["smallest"])
    worse = smallest if quantity.unit else f"{quantity.label} = {smallest}"
    of_miss = quantity is Quantity.COVERAGE and power["bound"] == Bound.AT_LEAST
    allowed = "the miscoverage allowed" if of_miss else "the claim"
    times = f" ({number(factor, digits=3)} times {allowed})" if math.isfinite(factor) else ""
    return f"{worse}{times}{detail}"


def amount(quantity: Quantity, value: object, sign: str = "", *, digits: int = 4) -> str:
    """Return a value with its unit: "ρ ≤ 0.5", "ρ = 5", "at least 90 % of runs".

    Examples
    --------
    >>> amount(Quantity.RHO, 0.5, "≤"), amount(Quantity.COVERAGE, 0.9, "≥")
    ('ρ ≤ 0.5', '≥ 90 %')
    """
    words = {
        Scale.NUMBER: lambda: number(value, digits=digits),
        Scale.SHARE: lambda: share(value, digits=digits),
        Scale.RUNS: lambda: f"{share(value, digits=digits)} of runs",
        Scale.TIMES: lambda: f"{number(value, digits=digits)} times",
    }[quantity.scale]()
    sign = sign or ("=" if quantity.unit else "")
    return " ".join(filter(None, [quantity.unit, sign, words]))


def _surety(evidence: Mapping[str, Any], quantity: Quantity, bound: Bound, digits: int) -> str:
    kind = EvidenceKind(evidence["kind"])
    if kind is EvidenceKind.EXACT:
        return "exact"
    if kind is EvidenceKind.INDICATIVE:
        return "an indication only"
    nearest, beyond = end(evidence, upper=bound is Bound.AT_LEAST)
    sign = {"≥": ">", "≤": "<"}[bound.opposite.sign] if beyond else bound.opposite.sign
    return f"{amount(quantity, nearest, sign, digits=digits)}, sampled"


def _times(quantity: Quantity, nearest: object, claimed: object, bound: Bound) -> float:
    times = quantity.times_worse(to_float(nearest), to_float(claimed), bound)
    return 1.0 if math.isnan(times) else max(1.0, times)
