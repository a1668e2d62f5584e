"""A specimen of the zoo: a target with its claims, what it really does, and who must see it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.targets import CheckSpec, Kind, TargetSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcp_audit.extensions.claims import Check, Computation, Coverage, PrivacyGuarantee


HERE = "dpcp_ledger.zoo"


class SpecimenCheck(StrEnum):
    """The checks that a specimen is put to."""

    BLACK_BOX = "black-box"
    """The search over neighbours, of code that can only be called."""
    TRACED = "traced"
    """The noise of the code, followed: all that it spends, by composition."""
    COVERAGE = "coverage"
    """The search over score laws, of code that can only be called."""
    EXACT = "exact"
    """The law of what is released, computed."""
    THEOREM = "theorem"
    """A theorem of a paper, simulated or computed for the form that is run."""
    PIPELINE = "pipeline"
    """Coverage of the whole pipeline, from fitting a classifier to fresh rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """A target: a mutant with its correct twin, or a correct twin.

    Parameters
    ----------
    name : str
    words : str
        What it does wrong; of a twin, what it is.
    twin : str
        The name of its correct twin; empty for a correct one.
    target : str
        The function, as ``dpcp-audit check`` takes it; empty where there is none to call.
    options : mapping
        Keyword arguments for it.
    privacy : PrivacyGuarantee or None
    coverage : Coverage or None
        What it claims.
    draws, calls : int
        Calls at effort 1, of the privacy audit and of the coverage audit.
    sizes : tuple of int
        Numbers of scores; empty for the default ones.
    strict : bool
        True if its sets are {score < threshold}.
    exact : callable or None
        Computes what it really does.
    theorem, pipeline : Check or None
    traced : bool
        True if its noise is followed.
    caught_by : frozenset of SpecimenCheck
        The checks whose claim is false, and that are meant to see it.
    hidden : frozenset of SpecimenCheck
        The checks whose claim is false too, and out of reach of any budget; ``unseen`` says why.
    unseen : mapping
        Of the other checks: why they cannot see it, in words.
    """

    name: str
    words: str
    twin: str = ""
    target: str = ""
    kind: Kind = Kind.QUANTILE
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    privacy: PrivacyGuarantee | None = None
    coverage: Coverage | None = None
    alpha: float | None = None
    draws: int = 20_000
    calls: int = 20_000
    sizes: tuple[int, ...] = ()
    bounds: tuple[float, float] = (0.0, 1.0)
    domain: int | None = None
    vectorised: bool = True
    strict: bool = False
    exact: Callable[[], Computation] | None = None
    theorem: Check | None = None
    pipeline: Check | None = None
    traced: bool = False
    caught_by: frozenset[SpecimenCheck] = frozenset()
    hidden: frozenset[SpecimenCheck] = frozenset()
    unseen: Mapping[SpecimenCheck, str] = field(default_factory=dict[SpecimenCheck, str])

    @property
    def spec(self) -> CheckSpec:
        """The specimen as a check of ``dpcp-audit check``."""
        return CheckSpec(
            target=TargetSpec(
                kind=self.kind,
                target=self.target,
                vectorised=self.vectorised,
                bounds=self.bounds,
                domain=self.domain,
                options=self.options,
            ),
            guarantees=tuple(each for each in (self.privacy, self.coverage) if each is not None),
            name=self.name,
            alpha=self.alpha,
            n=self.sizes,
            draws=self.draws,
        )


def mutant_of(
    twin: Specimen, name: str, words: str, function: str = "", **changes: Any
) -> Specimen:
    """Return a broken twin: the same claims, other code.

    Every check of what it claims is meant to see it, but those that are hidden or named in
    ``unseen``.
    """
    module = twin.target.partition(":")[0]
    target = f"{module}:{function}" if function else twin.target
    own: dict[str, Any] = {"name": name, "words": words, "twin": twin.name, "target": target}
    broken = replace(twin, **({"exact": None} | own | changes))
    tried = {
        SpecimenCheck.BLACK_BOX: broken.privacy,
        SpecimenCheck.COVERAGE: broken.coverage,
        SpecimenCheck.EXACT: broken.exact,
        SpecimenCheck.THEOREM: broken.theorem,
        SpecimenCheck.PIPELINE: broken.pipeline,
    }
    seen = {check for check, by in tried.items() if by is not None}
    return replace(broken, caught_by=frozenset(seen - {*broken.hidden, *broken.unseen}))
