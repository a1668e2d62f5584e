"""What was asked for and cannot be checked here: said in every report, but no verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Checks that were asked for and cannot run here.

    Parameters
    ----------
    name : str
        Of the recipe that holds the checks.
    reason : str
        Why, and what helps.
    """

    name: str
    reason: str

    def as_data(self) -> dict[str, str]:
        """Return plain data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Read what ``as_data`` returns."""
        return cls(name=data["name"], reason=data["reason"])
