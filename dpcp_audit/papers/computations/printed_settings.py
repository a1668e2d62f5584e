"""What the abstract of P-COQS says of all settings, against the tables that it prints."""

from __future__ import annotations

from dpcp_audit.computed import Computation
from dpcp_audit.papers.reproduce import pcoqs_experiments
from dpcp_audit.papers.reproduce.table_cells import Printed
from dpcp_audit.quantities import Quantity

_SETTINGS = (1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13)
"""The tables whose rows are nine numbers: coverage, efficiency and informativeness of three."""


def printed_settings() -> dict[str, tuple[float, list[Printed]]]:
    """Return 1−α and the nine printed numbers of every setting of the simulation study."""
    return {
        f"Table {number}, {row}": (
            1 - float(row) if number in (3, 9) else 0.9,
            [Printed.parse(text) for text in line.split()],
        )
        for number in _SETTINGS
        for row, line in pcoqs_experiments.published()[str(number)]["rows"].items()
    }


def smaller_everywhere() -> Computation:
    """Count the settings where P-COQS's printed sets are no smaller than ExponQ's (abstract)."""
    settings = printed_settings()
    larger = [name for name, (_, cells) in settings.items() if cells[5].value >= cells[3].value]
    return Computation(
        quantity=Quantity.COUNT,
        detail=f"of {len(settings)} printed settings, those with sets no smaller than ExponQ's",
        value=float(len(larger)),
        claimed=0.0,
        error=0.0,
        witness={"settings": larger},
        note="From the printed tables alone.",
    )


def targeted_everywhere(*, short: float) -> Computation:
    """Count the settings where P-COQS's printed coverage falls short of 1−α (abstract)."""
    settings = printed_settings()
    low = {
        name: cells[2].value
        for name, (level, cells) in settings.items()
        if cells[2].value < level - short - cells[2].half_unit
    }
    return Computation(
        quantity=Quantity.COUNT,
        detail=f"of {len(settings)} printed settings, those more than {short:g} below 1−α",
        value=float(len(low)),
        claimed=0.0,
        error=0.0,
        witness={"coverage": low},
        note=(
            "From the printed tables alone; a mean over 1,000 runs has a standard error of "
            f"{max(cells[2].spread or 0 for _, cells in settings.values()) / 1000**0.5:.3g} at "
            "most."
        ),
    )
