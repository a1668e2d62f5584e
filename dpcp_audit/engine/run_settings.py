"""The settings of a run: what identifies it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from dpcp_audit import _validate
from dpcp_audit._plain_data import is_list, is_record
from dpcp_audit.engine.suites import find
from dpcp_audit.errors import UsageError
from dpcp_audit.skipped import Skipped
from dpcp_audit.target_checks.check_spec import CheckSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAST_FALSE_ALARM = 1e-100
"""Below it the intervals' own arithmetic gives out."""


class Profile(StrEnum):
    """How much effort a run spends."""

    SMOKE = "smoke"
    """Seconds: a first look."""
    CI = "ci"
    """Minutes: for every commit."""
    FULL = "full"
    """The largest samples."""

    @property
    def effort(self) -> float:
        """The factor on every sample size."""
        return {Profile.SMOKE: 0.5, Profile.CI: 2.0, Profile.FULL: 20.0}[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What identifies a run: the same settings give the same findings.

    Parameters
    ----------
    suite : str
        Its name (see ``suites.names``).
    pools, targets, options : tuple of str, tuple of CheckSpec, mapping
        What the suite takes: files of saved pools, third-party code, and plain data by name.
    """

    seed: int = 0
    profile: Profile = Profile.CI
    false_alarm: float = 1e-3
    strict: bool = False
    suite: str = "papers"
    pools: tuple[str, ...] = ()
    targets: tuple[CheckSpec, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    skipped: tuple[Skipped, ...] = ()

    def __post_init__(self) -> None:
        _validate.integer(seed=self.seed, at_least=0, at_most=None)
        _validate.choice(Profile, profile=self.profile)
        _validate.open_unit(false_alarm=self.false_alarm)
        if self.false_alarm < LEAST_FALSE_ALARM:
            raise ValueError(
                f"false_alarm must be at least {LEAST_FALSE_ALARM:g}, got {self.false_alarm!r}"
            )

    @property
    def effort(self) -> float:
        """The factor on every sample size, where the suite does not fix them."""
        return self.profile.effort if find(self.suite).scaled else 1.0

    @property
    def given(self) -> dict[str, Any]:
        """The keyword arguments of the suite (see ``suites.suite``)."""
        return {"pools": self.pools, "targets": self.targets, **self.options}

    def as_data(self) -> dict[str, Any]:
        """Return the settings as the keys of a results document."""
        return {
            "suite": self.suite,
            "pools": list(self.pools),
            "targets": [spec.as_data() for spec in self.targets],
            "options": dict(self.options),
            "skipped": [each.as_data() for each in self.skipped],
            "seed": self.seed,
            "profile": self.profile,
            "false_alarm": self.false_alarm,
            "strict": self.strict,
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the settings that a results document was made with."""
        try:
            _require_shapes(document)
            return cls(
                seed=document["seed"],
                profile=Profile(document["profile"]),
                false_alarm=document["false_alarm"],
                strict=document["strict"],
                suite=document["suite"],
                pools=tuple(document["pools"]),
                targets=tuple(
                    CheckSpec.from_data(each, claimed=False) for each in document.get("targets", [])
                ),
                options=document.get("options", {}),
                skipped=tuple(map(Skipped.from_data, document.get("skipped", []))),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"the results file does not say how it was run: {error}") from error


def _require_shapes(document: Mapping[str, Any]) -> None:
    """Refuse what a constructor would take for something else: a text is a sequence, too."""
    for name in ("pools", "targets", "skipped"):
        if not is_list(document.get(name, [])):
            raise ValueError(f"{name} must be a list, got {document[name]!r}")
    if not all(isinstance(path, str) for path in document["pools"]):
        raise ValueError(f"pools must be paths, got {document['pools']!r}")
    if not is_record(document.get("options", {})):
        raise ValueError(f"options must be a table, got {document['options']!r}")
    _validate.instance(str, suite=document["suite"])
    _validate.instance(bool, strict=document["strict"])
