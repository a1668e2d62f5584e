"""The statement of a theorem object: its words, formula, source, assumptions and bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from dpcp_audit.theorems.theorem import FailureRate
from dpcp_audit.theorems.tightness import with_tightness
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.formatting import in_setting, rounded_down, rounded_up
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Claim, Source, Standing, Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.results import PlainData

_DERIVED = frozenset({"window_width", "tau", "limits", "scores"})
"""A theorem's parameters that are not inputs, for its witness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A theorem in words.

    Parameters
    ----------
    words, formula : str
        What it says.
    source : Source
        Where it is stated.
    assumptions : str
        On what it rests; outside of them the checks report what happens.
    bound : str
        The bound as a function of the parameters, with its unit and explicit constant.
    """

    words: str
    formula: str
    source: Source
    assumptions: str
    bound: str


class Stated:
    """A theorem object: what it says, the check that tests it, and its planted errors.

    A subclass is a dataclass with ``bounds``, ``parameters`` and ``allowed_failure``. Where its
    failure probability is computed, it sets ``computed`` and defines ``failure_probability`` and
    ``exact``; else ``trials``.
    """

    __slots__ = ()
    about: ClassVar[Statement]
    correction_name = "the correction"
    """The correction that its bound adds, as a letter."""
    failure = Quantity.COVERAGE_FAILURE
    """The quantity of the failure probability."""

    @property
    def says(self) -> Statement:
        """The statement in this case; a variant has its own words."""
        return self.about

    @property
    def computed(self) -> bool:
        """True if ``check`` computes the failure probability."""
        return False

    def scaled(self, factor: float) -> Self:
        """Return the theorem with its correction multiplied by ``factor`` ≥ 0."""
        theorem: Any = self
        return cast("Self", replace(theorem, correction=factor))

    def check(self, *, n_trials: int = 20_000) -> Check:
        """Return the best check of the failure probability.

        Computed where its law is known, with how tight the theorem is; else sampled, with
        ``n_trials`` trials at effort 1.
        """
        theorem: Any = self
        if self.computed:
            return Computed(partial(with_tightness, theorem))
        return FailureRate(theorem=theorem, n_trials=n_trials)


def claim_of(
    theorem: Stated,
    id_: str,
    expected: Verdict | None,
    *,
    subject: str,
    standing: Standing = Standing.PAPER,
    note: str = "",
    source: Source | None = None,
    parameters: PlainData | None = None,
) -> Claim:
    """Return the claim of a theorem in one case, in the theorem object's own words.

    Parameters
    ----------
    note : str
        What the words leave open, such as where the case comes from; it follows them.
    source : Source, optional
        Where it is stated, if not where the theorem object says.
    parameters : dict, optional
        What the check fixes beside the theorem's own parameters, or in their place.
    """
    says = theorem.says
    vacuous = promises_nothing(theorem)
    fixed = inputs_of(theorem) | (parameters or {})
    words = f"{says.words.rstrip('.')}, {note}." if note else says.words
    return Claim(
        id=id_,
        statement=f"{vacuous} {in_setting(words, fixed)}".lstrip(),
        source=source or says.source,
        expected=expected,
        formula=says.formula,
        subject=subject,
        standing=standing,
        assumptions=says.assumptions,
        parameters=fixed,
        vacuous=vacuous,
    )


def promises_nothing(theorem: Stated) -> str:
    """Return why a coverage theorem promises nothing in its case, as a sentence; else nothing.

    Its bounds hold of every coverage in [0, 1], or its algorithm asks for a level above 1, which
    the set of all labels meets and no calibration can tell from any other level above 1.
    """
    if getattr(theorem, "statistic", "") != "coverage":
        return ""
    case: Any = theorem
    lower, *upper = case.bounds.values()
    if lower <= 0 and all(bound >= 1 for bound in upper):
        most = "".join(f" and ≤ {rounded_up(bound)}" for bound in upper)
        least = rounded_down(lower).replace("-", "−")
        return f"Vacuous: it promises coverage ≥ {least}{most}, which every set satisfies."
    search: Any = getattr(case, "mechanism", None)
    level = 1 - search.alpha + search.window_width if getattr(search, "starred", False) else 0.0
    if level > 1:
        return f"Vacuous: it is calibrated at {level:.3g}, above 1, as the set of all labels is."
    return ""


def inputs_of(theorem: Stated) -> PlainData:
    """Return the parameters of a theorem's case that no other parameters give."""
    case: Any = theorem
    return {name: v for name, v in case.parameters.items() if name not in _DERIVED}
