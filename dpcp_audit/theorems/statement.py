"""What a theorem object says of itself: its words, formula, source, assumptions and bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from dpcp_audit.theorems.theorem import FailureRate, Theorem
from dpcp_audit.words.formatting import in_setting
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Claim, Source, Standing, Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.results import PlainData

_DERIVED = frozenset({"window_width", "tau", "limits", "scores"})
"""What a theorem's parameters hold beside the inputs, for its witness."""


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
    """A theorem object: a statement, and the check that tests it."""

    __slots__ = ()
    about: ClassVar[Statement]

    @property
    def failure(self) -> Quantity:
        """What the failure probability is of: a coverage, unless a theorem says otherwise."""
        return Quantity.COVERAGE_FAILURE

    @property
    def says(self) -> Statement:
        """What it says of this case: of a variant, its own words."""
        return self.about

    def check(self: Theorem, *, n_trials: int = 20_000) -> Check:
        """Return the best check of the failure probability: computed where its law is known.

        Else sampled, with ``n_trials`` trials at effort 1.
        """
        return FailureRate(theorem=self, n_trials=n_trials)


class Stating(Protocol):
    """What states a theorem in one case, however its check goes about it."""

    @property
    def says(self) -> Statement:
        """What it says of this case."""
        ...

    @property
    def parameters(self) -> PlainData:
        """Everything that identifies the case, as plain data."""
        ...


class StatedTheorem(Theorem, Stating, Protocol):
    """A theorem that states itself."""


def claim_of(
    theorem: Stating,
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


def promises_nothing(theorem: Stating) -> str:
    """Return why a coverage theorem promises nothing in its case, as a sentence; else nothing.

    Its bounds hold of every coverage in [0, 1], or its algorithm asks for a level above 1, which
    the set of all labels meets and no calibration can tell from any other level above 1.
    """
    if getattr(theorem, "statistic", "") != "coverage":
        return ""
    case: Any = theorem
    lower, *upper = case.bounds.values()
    if lower <= 0 and all(bound >= 1 for bound in upper):
        most = "".join(f" and ≤ {bound:.3g}" for bound in upper)
        least = f"{lower:.3g}".replace("-", "−")
        return f"Vacuous: it promises coverage ≥ {least}{most}, which every set satisfies."
    search: Any = getattr(case, "mechanism", None)
    level = 1 - search.alpha + search.window_width if getattr(search, "starred", False) else 0.0
    if level > 1:
        return f"Vacuous: it is calibrated at {level:.3g}, above 1, as the set of all labels is."
    return ""


def inputs_of(theorem: Theorem | Stating) -> PlainData:
    """Return the parameters of a theorem's case that no other parameters give."""
    return {name: v for name, v in theorem.parameters.items() if name not in _DERIVED}
