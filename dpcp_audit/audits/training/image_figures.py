"""Figures of small images, as heat maps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit.figures import Figure, FigureKind, Series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit._types import FloatArray


def gallery(
    columns: Mapping[str, FloatArray], *, rows: Sequence[str], title: str, description: str
) -> Figure:
    """Return a heat map of images side by side: a cell for each pixel.

    Parameters
    ----------
    columns : mapping
        By name, images of shape (rows, f), square, row by row, all of one size.
    rows : sequence of str
        What the images of each row show.
    """
    shapes = sorted({images.shape for images in columns.values()})
    side = math.isqrt(shapes[0][1])
    if shapes != [(len(rows), side * side)] or not side:
        raise ValueError(f"columns must hold {len(rows)} square images each, got shapes {shapes}")
    labels = [_in_the_middle(name, place, side) for name in columns for place in range(side)]
    places = [float(place) for place in range(len(labels))]
    series = [
        Series(
            name=_in_the_middle(row, line, side),
            x=places,
            y=[float(v) for images in columns.values() for v in _line(images[image], line, side)],
            texts=[" "] * len(labels),
        )
        for image, row in enumerate(rows)
        for line in range(side)
    ]
    return Figure(
        kind=FigureKind.HEATMAP,
        title=title,
        x_label="pixels",
        y_label="",
        series=series,
        columns=labels,
        description=description,
    )


def _line(image: FloatArray, line: int, side: int) -> FloatArray:
    return image[line * side : (line + 1) * side]


def _in_the_middle(name: str, place: int, side: int) -> str:
    return name if place == side // 2 else " "
