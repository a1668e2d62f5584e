"""What is to be checked of a target, as data: one shape for options, TOML files and results."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from dpcp_audit import _validate
from dpcp_audit.errors import UsageError
from dpcp_audit.guarantees import (
    ZCDP,
    ApproxDP,
    Coverage,
    LocalDP,
    PrivacyGuarantee,
    PureDP,
    RenyiDP,
)
from dpcp_audit.neighbours import Relation
from dpcp_audit.results import SourceLocation
from dpcp_audit.target_checks import plain_reading
from dpcp_audit.targets import Kind, RandomStyle, TargetSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_SECONDS = 60.0
"""The budget of one target, if none is given."""
_FEWEST_DRAWS, _FEWEST_CALIBRATIONS = 600, 100
"""Of calls for a privacy claim, and for a claim of coverage."""
_KINDS_OF_CLAIM = "pure-dp, approx-dp, zcdp, renyi-dp, local-dp, coverage-at-least"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSpec:
    """A target, what it claims, and how it is to be tried.

    Parameters
    ----------
    target : TargetSpec
        The code.
    privacy : tuple of PrivacyGuarantee
        What it claims of privacy.
    coverage : Coverage or None
        What it claims of coverage.
    name : str
        What the findings are called.
    alpha : float or None
        The miscoverage level that the target aims at, in (0, 1); it tells the search for
        neighbours which rank matters.
    sizes : tuple of int
        The numbers n of scores; empty for the default ones.
    relation : Relation
        The neighbour relation of the privacy claims.
    ties : bool
        Whether the coverage claim is for scores with ties too.
    open_sets : bool
        Whether sets are {y : score < threshold}; by default they are {y : score <= threshold}.
    tolerance : float
        By how much larger thresholds might be, in units of the scores, before a shortfall of
        coverage counts; single-precision code misses atoms by its rounding.
    seconds : float
        Time for all claims together, from which ``draws`` is planned.
    draws : int or None
        Calls of the target for each claim; None before it is planned.
    location : SourceLocation or None
        Where the target is written, once that is known.
    """

    target: TargetSpec
    privacy: tuple[PrivacyGuarantee, ...]
    coverage: Coverage | None
    name: str
    alpha: float | None = None
    sizes: tuple[int, ...] = ()
    relation: Relation = Relation.SUBSTITUTION
    ties: bool = True
    open_sets: bool = False
    tolerance: float = 0.0
    seconds: float = DEFAULT_SECONDS
    draws: int | None = None
    location: SourceLocation | None = None

    @property
    def claims(self) -> int:
        """The number of claims."""
        return len(self.privacy) + (self.coverage is not None)

    @classmethod
    def from_data(cls, data: Mapping[str, Any], *, where: str = "") -> Self:
        """Read a specification from plain data, as a TOML table holds it.

        Parameters
        ----------
        data : mapping
            Keys as the options of ``dpcp-audit check`` are called, without the dashes in front.
        where : str
            The place, for messages.

        Raises
        ------
        UsageError
            Naming the key, with what it got.
        """
        with plain_reading.named(where):
            plain_reading.known(data, _KEYS)
            kind = plain_reading.choice(Kind, data, "kind")
            if kind is None:
                raise UsageError(f"kind is missing, use one of {', '.join(Kind)}")
            target = _target(data, kind)
            spec = cls(
                target=target,
                privacy=_privacy(data, kind),
                coverage=_coverage(data, kind),
                name=plain_reading.text(data, "name") or _name_of(target),
                alpha=plain_reading.checked(_validate.open_unit, data, "alpha"),
                sizes=plain_reading.sizes(data, "n"),
                relation=relation_of(data),
                ties=plain_reading.flag(data, "ties", default=True),
                open_sets=plain_reading.flag(data, "open-sets", default=False),
                tolerance=plain_reading.checked(_validate.non_negative, data, "tolerance") or 0.0,
                seconds=plain_reading.duration(data, "budget", default=DEFAULT_SECONDS),
                draws=plain_reading.whole(data, "draws"),
                location=_location(data),
            )
            if not spec.claims:
                raise UsageError(f"nothing is claimed: give at least one of {_KINDS_OF_CLAIM}")
            fewest = _FEWEST_DRAWS if spec.privacy else _FEWEST_CALIBRATIONS
            if spec.draws is not None and spec.draws < fewest:
                raise UsageError(f"draws must be a whole number >= {fewest}, got {spec.draws}")
            return spec

    def as_data(self) -> dict[str, Any]:
        """Return the specification as plain data that ``from_data`` reads."""
        data: dict[str, Any] = self.target.as_data() | {"name": self.name}
        for key, kind in _GUARANTEES.items():
            values = [list(g.parameters.values()) for g in self.privacy if type(g) is kind]
            if values:
                data[key] = values if kind in _OF_TWO else [value for (value,) in values]
        if self.coverage is not None:
            data["coverage-at-least"] = self.coverage.at_least
            if self.coverage.confidence < 1:
                data["with-confidence"] = self.coverage.confidence
        optional = {
            "alpha": self.alpha,
            "n": list(self.sizes) or None,
            "draws": self.draws,
            "open-sets": self.open_sets or None,
            "tolerance": self.tolerance or None,
            "location": self.location and asdict(self.location),
        }
        return (
            data
            | {"neighbours": str(self.relation), "ties": self.ties, "budget": self.seconds}
            | {key: value for key, value in optional.items() if value is not None}
        )


_GUARANTEES: Mapping[str, type[PrivacyGuarantee]] = {
    "pure-dp": PureDP,
    "approx-dp": ApproxDP,
    "zcdp": ZCDP,
    "local-dp": LocalDP,
    "renyi-dp": RenyiDP,
}
_OF_TWO = frozenset({ApproxDP, RenyiDP})
_TARGET_KEYS = frozenset(
    {"target", "command", "kind", "vectorised", "rng", "bounds", "domain", "options"}
    | {"call-seconds"}
)
_KEYS = _TARGET_KEYS | {
    *_GUARANTEES,
    *("coverage-at-least", "with-confidence", "ties"),
    *("open-sets", "tolerance", "location"),
    *("name", "alpha", "n", "neighbours", "public-n", "budget", "draws"),
}


def _target(data: Mapping[str, Any], kind: Kind) -> TargetSpec:
    bounds = plain_reading.pair(data, "bounds")
    settings: dict[str, Any] = {
        "kind": kind,
        "target": plain_reading.text(data, "target") or "",
        "command": plain_reading.words(data, "command"),
        "vectorised": plain_reading.flag(data, "vectorised", default=False),
        "rng": plain_reading.choice(RandomStyle, data, "rng"),
        "domain": plain_reading.whole(data, "domain"),
        "options": plain_reading.table(data, "options"),
    }
    if bounds is not None:
        settings["bounds"] = bounds
    if "call-seconds" in data:
        settings["call_seconds"] = plain_reading.duration(data, "call-seconds", default=0.0)
    try:
        return TargetSpec(**settings)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _privacy(data: Mapping[str, Any], kind: Kind) -> tuple[PrivacyGuarantee, ...]:
    found: list[PrivacyGuarantee] = []
    for key, guarantee in _GUARANTEES.items():
        for values in plain_reading.claims(data, key, numbers=2 if guarantee in _OF_TWO else 1):
            try:
                found.append(guarantee(*values))
            except ValueError as error:
                raise UsageError(f"{key}: {error}") from error
    local = any(isinstance(claim, LocalDP) for claim in found)
    if local and kind is not Kind.RANDOMIZER:
        raise UsageError(f"local-dp is a claim of randomizers, not of a {kind}: use pure-dp")
    return tuple(found)


def _coverage(data: Mapping[str, Any], kind: Kind) -> Coverage | None:
    at_least = plain_reading.checked(_validate.open_unit, data, "coverage-at-least")
    confidence = plain_reading.checked(_validate.open_unit, data, "with-confidence")
    if at_least is None:
        if confidence is not None:
            raise UsageError("with-confidence needs coverage-at-least")
        return None
    if kind is Kind.RANDOMIZER:
        raise UsageError("coverage-at-least is no claim of a randomizer")
    return Coverage(at_least=at_least, confidence=1.0 if confidence is None else confidence)


def relation_of(data: Mapping[str, Any]) -> Relation:
    """Return the relation that the claims speak of; zero-out is one of trainings alone."""
    relation = plain_reading.choice(Relation, data, "neighbours") or Relation.SUBSTITUTION
    if relation is Relation.ZERO_OUT:
        raise UsageError(
            "neighbours must be one of substitution, add-remove, one-label, got 'zero-out'"
        )
    if plain_reading.flag(data, "public-n", default=False) and relation is Relation.ADD_REMOVE:
        raise UsageError(
            "public-n contradicts neighbours = 'add-remove', where n differs: use 'substitution'"
        )
    return relation


def _location(data: Mapping[str, Any]) -> SourceLocation | None:
    place = plain_reading.table(data, "location")
    if not place:
        return None
    plain_reading.known(place, {"file", "line"})
    return SourceLocation(
        file=plain_reading.text(place, "file") or "", line=plain_reading.whole(place, "line") or 1
    )


def _name_of(target: TargetSpec) -> str:
    name = target.target or " ".join(target.command)
    return "_".join(name.split()) or "target"
