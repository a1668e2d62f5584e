"""Noise that is made of uniform draws: identities of laws that keep it traced.

−log U is exponential, and −log of that is Gumbel. The size of a symmetric uniform draw and its sign
are independent, and a fair sign times an exponential draw is Laplace. A draw that another was made
of cannot be used again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Protocol

from dpcp_audit.tracing.noise_laws import EXPONENTIAL, GUMBEL, LAPLACE, UNIFORM, CategoricalLaw
from dpcp_audit.tracing.traced_numbers import NumberPath, Traced

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.tracing.draws import NoiseDraw
    from dpcp_audit.tracing.noise_laws import NoiseLaw
    from dpcp_audit.tracing.source_lines import Line


# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false


_COIN = CategoricalLaw((0.5, 0.5))
_SLACK = 1e-12


class DrawPath(NumberPath, Protocol):
    """The path that a draw belongs to, to which draws can be added."""

    live: ClassVar[bool]
    values: bool
    halves: dict[NoiseDraw, tuple[NoiseDraw, NoiseDraw]]

    def new_draw(
        self, law: NoiseLaw | None, name: str, line: Line, standard: float = ..., /
    ) -> NoiseDraw:
        """Add a draw, with its Z where that is known."""
        ...


def made(path: DrawPath, name: str, number: Traced) -> Traced | None:
    """Return a function of a number as a number with a draw of its own; None where it has none.

    Parameters
    ----------
    name : str
        "log", "log1p", "absolute" or "sign".
    """
    draw = _single(number)
    if draw is None or path.values:
        return None
    return _MADE[name](path, number, draw)


def product(path: DrawPath, first: Traced, second: Traced) -> Traced | None:
    """Return a fair sign times an exponential draw as a Laplace draw; None of other products."""
    for sign, size in ((first, second), (second, first)):
        coin, draw = _single(sign), _single(size, law=EXPONENTIAL)
        if coin is None or draw is None or coin.law is not _COIN or path.values:
            continue
        if size.offset == 0 and 2 * sign.offset == -sign.terms[coin]:
            scale = abs(sign.offset * size.terms[draw])
            value = first.value * second.value
            coin.settled = True
            new = _new(path, LAPLACE, draw, value / scale)
            return Traced(path, value, 0.0, {new: scale}, pure=True)
    return None


def _single(number: Traced, law: NoiseLaw | None = None) -> NoiseDraw | None:
    """Return the only draw of a number, of which nothing has been seen or made."""
    if len(number.terms) != 1:
        return None
    draw = next(iter(number.terms))
    seen = draw.point is not None or draw.joined or draw.settled or not draw.region.whole
    return None if seen or (law is not None and draw.law is not law) else draw


def _new(path: DrawPath, law: NoiseLaw, draw: NoiseDraw, standard: float) -> NoiseDraw:
    draw.settled = True
    return path.new_draw(law, draw.name, draw.line, standard)


def _log(path: DrawPath, number: Traced, draw: NoiseDraw) -> Traced | None:
    """Return log of a number that is uniform from 0, or exponential."""
    law: NoiseLaw
    first, width = number.offset, number.terms[draw]
    ends = sorted((first, first + width))
    if draw.law is UNIFORM and abs(ends[0]) <= _SLACK * ends[1]:
        law, offset = EXPONENTIAL, math.log(ends[1])
    elif draw.law is EXPONENTIAL and first == 0 and width > 0:
        law, offset = GUMBEL, math.log(width)
    else:
        return None
    value = math.log(number.value) if number.value > 0 else math.nan
    return Traced(path, value, offset, {_new(path, law, draw, offset - value): -1.0}, pure=True)


def _log1p(path: DrawPath, number: Traced, draw: NoiseDraw) -> Traced | None:
    return _log(path, 1 + number, draw)


def _split(path: DrawPath, number: Traced, draw: NoiseDraw) -> tuple[NoiseDraw, NoiseDraw] | None:
    """Return the size and the sign of a uniform draw, of a number that is symmetric."""
    if abs(2 * number.offset + number.terms[draw]) > _SLACK * abs(number.offset):
        return None
    size = _new(path, UNIFORM, draw, abs(2 * draw.standard - 1))
    return size, path.new_draw(_COIN, draw.name, draw.line, float(draw.standard > 0.5))


def halves(path: DrawPath, number: Traced, name: str) -> Traced | None:
    """Return the size or the sign of a number with a symmetric uniform draw."""
    draw = next(iter(number.terms), None)
    if draw is None or len(number.terms) != 1 or draw.law is not UNIFORM:
        return None
    found = path.halves.get(draw)
    if found is None:
        return made(path, name, number)
    width = number.terms[draw]
    if abs(2 * number.offset + width) > _SLACK * abs(width):
        return None
    size, coin = found
    if name == "absolute":
        return Traced(path, abs(number.value), 0.0, {size: abs(width) / 2}, pure=True)
    turn = math.copysign(1.0, width)
    sign = math.copysign(1.0, number.value) if path.live else math.nan
    return Traced(path, sign, -turn, {coin: 2 * turn}, pure=True)


def _halved(path: DrawPath, number: Traced, draw: NoiseDraw, name: str) -> Traced | None:
    if draw.law is not UNIFORM:
        return None
    found = _split(path, number, draw)
    if found is None:
        return None
    path.halves[draw] = found
    return halves(path, number, name)


_MADE: dict[str, Callable[[DrawPath, Traced, NoiseDraw], Traced | None]] = {
    "log": _log,
    "log1p": _log1p,
    "absolute": lambda path, number, draw: _halved(path, number, draw, "absolute"),
    "sign": lambda path, number, draw: _halved(path, number, draw, "sign"),
}
