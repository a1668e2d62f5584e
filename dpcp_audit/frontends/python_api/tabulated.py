"""Tables of results in other people's forms: frames of pandas and polars, and LaTeX."""

from __future__ import annotations

import importlib
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpcp_audit import _validate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dpcp_audit.outcome_tables import Table


class FrameLibrary(StrEnum):
    """Whose data frames a table becomes."""

    PANDAS = "pandas"
    POLARS = "polars"


def frame_of(columns: Mapping[str, Sequence[Any]], library: str) -> Any:
    """Return columns as a data frame.

    Parameters
    ----------
    columns : mapping
        The values of each column, None where there is none.
    library : str
        "pandas" or "polars".

    Raises
    ------
    ValueError
        If the library is another.
    ImportError
        If it is not installed.
    """
    wanted = FrameLibrary(library) if library in set(FrameLibrary) else library
    _validate.choice(FrameLibrary, library=wanted)
    try:
        frames = importlib.import_module(wanted)
    except ImportError as error:
        raise ImportError(f"to_frame needs {wanted}: pip install {wanted}") from error
    return frames.DataFrame({name: list(values) for name, values in columns.items()})


def columns_of(table: Table) -> dict[str, list[Any]]:
    """Return a table's columns: numbers in full precision, where a column has them."""
    return {each.name: list(each.values or each.texts) for each in table.columns}


def latex_of(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return rows of texts as a ``tabular`` of plain LaTeX, for whatever engine.

    Examples
    --------
    >>> print(latex_of(["verdict", "ε"], [["REFUTED", "1.2 [1, ∞)"]]))
    \begin{tabular}{ll}
    \hline
    verdict & $\varepsilon$ \\
    \hline
    REFUTED & 1.2 [1, $\infty$) \\
    \hline
    \end{tabular}
    """
    lines = [" & ".join(map(_escaped, row)) + r" \\" for row in (head, *rows)]
    begin = rf"\begin{{tabular}}{{{'l' * len(head)}}}"
    return "\n".join([begin, r"\hline", lines[0], r"\hline", *lines[1:], r"\hline", _END])


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


_END = r"\end{tabular}"
_SYMBOLS = {
    "α": r"\alpha",
    "δ": r"\delta",
    "ε": r"\varepsilon",
    "μ": r"\mu",
    "ρ": r"\rho",
    "σ": r"\sigma",
    "∞": r"\infty",
    "≤": r"\leq",
    "≥": r"\geq",
    "−": "-",
    "·": r"\cdot",
    "×": r"\times",
    "√": r"\surd",
    "…": r"\dots",
    "<": "<",
    ">": ">",
    "⁻": "^{-}",
}
_DIGITS = {letter: f"^{{{i}}}" for i, letter in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {
    letter: f"_{{{i}}}" for i, letter in enumerate("₀₁₂₃₄₅₆₇₈₉")
}
_LATEX = (
    {letter: rf"\{letter}" for letter in "#$%&_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {letter: f"${command}$" for letter, command in (_SYMBOLS | _DIGITS).items()}
)
"""What LaTeX has a meaning of its own for, and letters that not every engine knows."""
