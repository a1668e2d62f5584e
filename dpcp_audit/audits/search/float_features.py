"""Features of how a number is written: its last bits, its trailing zeros, decimals and digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray, IntArray
    from dpcp_audit.results import PlainData

_MANTISSA = 53
_MOST_DECIMALS = 16


@dataclass(frozen=True, slots=True)
class LastBits:
    """The last bits of a number's mantissa, as a number; −1 where it is not finite."""

    bits: int = 8

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return 0, …, 2^bits − 1, shape (size,)."""
        mantissa, finite = _mantissa(outputs)
        return np.where(finite, (mantissa & (2**self.bits - 1)).astype(np.float64), -1.0)

    def as_data(self) -> PlainData:
        """Return the feature as plain data."""
        return {"kind": "last-bits", "bits": self.bits}


@dataclass(frozen=True, slots=True)
class Digit:
    """One of a number's decimals; −1 where it is not finite."""

    place: int

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return 0, …, 9, shape (size,)."""
        finite = np.isfinite(outputs)
        moved = np.abs(np.where(finite, outputs, 0.0)) * 10.0**self.place
        return np.where(finite, np.floor(moved) % 10, -1.0)

    def as_data(self) -> PlainData:
        """Return the feature as plain data."""
        return {"kind": "digit", "place": self.place}


@dataclass(frozen=True, slots=True)
class TrailingZeros:
    """How many zeros a number's mantissa ends with: the binary grid that it lies on."""

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return 0, …, 53, or −1 where the number is not finite; shape (size,)."""
        mantissa, finite = _mantissa(outputs)
        lowest = mantissa & -mantissa  # a power of two, or 0
        zeros = np.where(lowest > 0, np.log2(np.maximum(lowest, 1)), _MANTISSA)
        return np.where(finite, zeros, -1.0)

    def as_data(self) -> PlainData:
        """Return the feature as plain data."""
        return {"kind": "trailing-zeros"}


@dataclass(frozen=True, slots=True)
class DecimalPlaces:
    """How many decimals a number needs: the rounding that it has been through."""

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return 0, …, 17, where 17 stands for more than 16; shape (size,)."""
        needed = np.full(outputs.shape, _MOST_DECIMALS + 1.0)
        for places in range(_MOST_DECIMALS, -1, -1):
            with np.errstate(over="ignore", invalid="ignore"):
                needed[np.round(outputs, places) == outputs] = places
        return needed

    def as_data(self) -> PlainData:
        """Return the feature as plain data."""
        return {"kind": "decimals"}


def _mantissa(outputs: FloatArray) -> tuple[IntArray, np.ndarray]:
    """Return the 53-bit mantissas as whole numbers, and which outputs are finite."""
    finite = np.isfinite(outputs)
    shares, _ = np.frexp(np.where(finite, outputs, 0.0))
    return np.abs(np.ldexp(shares, _MANTISSA)).astype(np.int64), finite
