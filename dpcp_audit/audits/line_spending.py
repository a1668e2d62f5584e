"""What a line of the code spends of a claim's budget, in a sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit.guarantees import ZCDP, ApproxDP, LocalDP, PureDP, RenyiDP

if TYPE_CHECKING:
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.tracing.line_losses import LineLoss

_NORMAL, _LAPLACE = "normal", "laplace"


def spent_by_a_draw(guarantee: PrivacyGuarantee, line: LineLoss) -> float | None:
    """Return what one draw of a line costs at its realised sensitivity, if it is released.

    In the unit of the claim's ε or ρ, which adds up over the draws; None where that has no such
    number: of other laws, and of a δ or μ.
    """
    shift = line.sensitivity / line.scale if line.scale > 0 else math.nan
    if math.isnan(shift):
        return None
    if line.law == _NORMAL and isinstance(guarantee, ZCDP):
        return shift**2 / 2
    if line.law == _NORMAL and isinstance(guarantee, RenyiDP):
        return guarantee.alpha * shift**2 / 2
    pure = isinstance(guarantee, PureDP | LocalDP) and not isinstance(guarantee, ApproxDP)
    return shift if pure and line.law == _LAPLACE else None


def line_sentence(guarantee: PrivacyGuarantee, line: LineLoss) -> str:
    """Return what a line spends; "" where it is not known in the claim's unit.

    Examples
    --------
    >>> from dpcp_audit.results import SourceLocation
    >>> from dpcp_audit.tracing.line_losses import LineLoss
    >>> line = LineLoss(
    ...     location=SourceLocation(file="mine.py", line=17), draws=10.0, law="normal", scale=1.0,
    ...     sensitivity=1.0, mean_loss=2.9, largest_loss=1.1, share=1.0,
    ... )
    >>> line_sentence(ZCDP(0.5), line)
    'mine.py:17 spends 0.5 in each of 10 normal draws: 5 of the 0.5 claimed.'
    """
    each = spent_by_a_draw(guarantee, line)
    if not each:
        return ""
    place = f"{line.location.file}:{line.location.line}"
    total = each * line.draws
    claimed = guarantee.parameters["rho" if isinstance(guarantee, ZCDP) else "epsilon"]
    draws = "its one" if line.draws == 1 else f"each of {line.draws:.4g}"
    plural = "" if line.draws == 1 else "s"
    return (
        f"{place} spends {each:.4g} in {draws} {line.law} draw{plural}: {total:.4g} of the "
        f"{claimed:.4g} claimed."
    )
