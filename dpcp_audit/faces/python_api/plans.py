"""``power`` and ``draws_needed``: the violation that an audit would refute, before any call.

Both take what ``audit`` takes, and ask the very check that it would run.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from dpcp_audit.faces.function_checks import spec_of, spec_of_kind
from dpcp_audit.faces.keywords import RUN_DEFAULTS, takes_options
from dpcp_audit.target_checks.target_rows import check_of
from dpcp_audit.targets import Kind
from dpcp_audit.words.checks import Context
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.evidence import reaches
from dpcp_audit.words.values import Choice, Probability

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.faces.keywords import CheckKeywords
    from dpcp_audit.target_checks.check_options import Guarantee
    from dpcp_audit.target_checks.target_claims import TargetClaim
    from dpcp_audit.words.results import Power


_ROOM, _STEPS = 4, 500
"""Power is solved on a grid: calls are added in small steps until it says what was asked for."""
_FALSE_ALARM: float = RUN_DEFAULTS["false_alarm"]


@takes_options()
def power(
    target: Callable[..., Any] | str,
    guarantee: Guarantee,
    *,
    false_alarm: float = _FALSE_ALARM,
    **options: Unpack[CheckKeywords],
) -> Power:
    """Return the smallest violation that an audit refutes with probability 0.95.

    Parameters
    ----------
    target : callable or str
        A function as ``audit`` takes it, or a kind of target, such as "quantile".
    guarantee
        The claim: ``PureDP``, ``ZCDP``, ``Coverage``, ...
    false_alarm : float
        Probability that the audit refutes a true claim, in (0, 1).

    Returns
    -------
    Power
        ``smallest``, in the claim's unit (nats for ε and ρ), and ``factor``, how many times the
        claim that is.

    Raises
    ------
    ValueError
        Naming the argument, with what it got.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> found = dp.power("quantile", dp.ZCDP(0.5), draws=20_000)
    >>> 0.5 < found.smallest < 2.0, found.detection
    (True, 0.95)
    """
    check = _check(target, guarantee, dict(options))
    return check.smallest_violation(_context(false_alarm))


@takes_options()
def draws_needed(
    target: Callable[..., Any] | str,
    guarantee: Guarantee,
    *,
    false_alarm: float = _FALSE_ALARM,
    **options: Unpack[CheckKeywords],
) -> int:
    """Return the calls with which an audit refutes a violation with probability 0.95.

    The violation is that of ``detect``: noise that is smaller by this factor.

    Parameters
    ----------
    target : callable or str
        A function as ``audit`` takes it, or a kind of target, such as "quantile".
    guarantee
        The claim: ``PureDP``, ``ZCDP``, ``Coverage``, ...
    false_alarm : float
        Probability that the audit refutes a true claim, in (0, 1).

    Returns
    -------
    int
        Calls of the target. ``audit`` plans more where its search for the worst inputs needs them.

    Raises
    ------
    ValueError
        Naming the argument; or that no number of calls suffices.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> few = dp.draws_needed("quantile", dp.ZCDP(0.5), detect=2)
    >>> many = dp.draws_needed("quantile", dp.ZCDP(0.5), detect=1.2)
    >>> few < many
    True
    """
    for name in ("draws", "budget"):
        if options.get(name) is not None:
            raise UsageError(f"draws_needed takes no {name}", hint="it returns the draws")
    check = _check(target, guarantee, dict(options))
    context, detect = _context(false_alarm), check.spec.detect
    needed = check.draws_needed(check.violation(detect), significance=context.significance)
    most = _ROOM * max(check.few, needed)
    draws = math.ceil(max(check.few, needed)) if math.isfinite(needed) else 0
    while 0 < draws <= most:
        told = replace(check, spec=replace(check.spec, draws=draws))
        if reaches(told.smallest_violation(context), detect):
            return draws
        draws += 1 + draws // _STEPS
    raise ValueError(f"no number of draws refutes noise that is smaller by {detect:g}")


def _check(target: Any, guarantee: Guarantee, given: dict[str, Any]) -> TargetClaim:
    """Return the check of a claim, of a function or of any target of a kind."""
    if given.get("budget") is not None:
        raise UsageError(
            "power takes no budget, which a target must be timed for", hint="give draws"
        )
    if not isinstance(target, str) or ":" in target:
        return check_of(spec_of(target, [guarantee], given, file="__main__"), guarantee)
    kind = Choice(Kind).read(target, "target")
    if given.get("kind", kind) != kind:
        raise UsageError(
            f"kind must be {str(kind)!r}, as target, got {given['kind']!r}", hint="leave kind out"
        )
    return check_of(spec_of_kind(kind, guarantee, given), guarantee)


def _context(false_alarm: float) -> Context:
    share = Probability().read(false_alarm, "false_alarm")
    return Context(seed=0, name="plan", significance=share)
