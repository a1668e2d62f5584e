"""What an audit would have refuted with probability 0.95, in a few words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcp_audit._format import number, to_float
from dpcp_audit.quantities import Bound, Quantity
from dpcp_audit.reports.findings.severity import amount
from dpcp_audit.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping


def power_of(finding: Mapping[str, Any]) -> str:
    """Return the power of a finding of a results document, for a column of a table.

    Examples
    --------
    >>> power = {"quantity": "epsilon", "bound": "at most", "smallest": 2.0, "factor": 2.0,
    ...          "detail": "at the event that shows it best"}
    >>> power_of({"verdict": "CONSISTENT", "power": power})
    'ε = 2 (2x the claim), at the event that shows it best'
    """
    if finding["verdict"] == Verdict.REFUTED:
        return "refuted"
    power = finding["power"]
    if power is None or math.isinf(to_float(power["smallest"])):
        return "nothing"
    quantity = Quantity(power["quantity"])
    sign = "" if quantity.unit else Bound(power["bound"]).opposite.sign
    words = f"{quantity.label} " if not quantity.unit else ""
    factor = to_float(power["factor"])
    times = f" ({number(factor, digits=3)}x the claim)" if math.isfinite(factor) else ""
    detail = f", {power['detail']}" if power["detail"] else ""
    return f"{words}{amount(quantity, power['smallest'], sign)}{times}{detail}"
