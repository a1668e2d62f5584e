"""The specimens of the zoo: every mutant beside its correct twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_ledger.zoo.coverage_specimens import coverage_specimens
from dpcp_ledger.zoo.privacy_specimens import privacy_specimens

if TYPE_CHECKING:
    from dpcp_ledger.zoo.specimen import Specimen


def specimens() -> tuple[Specimen, ...]:
    """Return all specimens, each mutant after its twin."""
    return (*privacy_specimens(), *coverage_specimens())


def mutants() -> tuple[Specimen, ...]:
    """Return the broken ones."""
    return tuple(specimen for specimen in specimens() if specimen.twin)


def twins() -> tuple[Specimen, ...]:
    """Return the correct ones."""
    return tuple(specimen for specimen in specimens() if not specimen.twin)
