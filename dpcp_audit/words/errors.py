"""Errors that end a command with one line, a hint and an exit code; and files written whole.

A hint is the second line of an error, which says what to write instead of a wrong value.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import tempfile
from importlib.util import find_spec
from numbers import Real
from pathlib import Path

_EVERYONE = 0o666
HINT = "\nhint: "
"""Between what is wrong and what to do about it."""


def write_whole(path: Path, content: str | bytes) -> None:
    """Write bytes, or a text as UTF-8, beside the file, and put them in its place.

    A full disk, or the end of this process at whatever moment, leaves the old file as it was. A
    link stays a link, and a file's permissions stay; a device or a pipe is written to as it is.

    Raises
    ------
    OSError
        If it cannot be written.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "page.md"), "twice")
    ...     write_whole(Path(folder, "page.md"), "once")
    ...     print(*(file.read_text() for file in Path(folder).iterdir()))
    once
    """
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    place = Path(os.path.realpath(path))
    descriptor, name = tempfile.mkstemp(prefix=f".{place.name[:80]}.", dir=place.parent)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123
            file.write(data)
            file.flush()
            os.fchmod(descriptor, _permissions(place))
            os.fsync(descriptor)
        Path(name).replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    _sync_folder(place.parent)


def _permissions(place: Path) -> int:
    """Return those of the file, or those that a new one has."""
    if place.exists():
        return place.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return _EVERYONE & ~mask


def _sync_folder(folder: Path) -> None:
    """See to it that the new name is on the disk too, where the system can be asked for it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class UsageError(ValueError):
    """A command or a function was called with something it cannot use (exit code 2).

    Parameters
    ----------
    message : str
        The argument, what it must be and what it got, in a line.
    hint : str
        Advice for the second line, if there is something to add.

    Examples
    --------
    >>> print(UsageError("unknown keyword 'alpah'", hint="did you mean 'alpha'?"))
    unknown keyword 'alpah'
    hint: did you mean 'alpha'?
    """

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(f"{message}{HINT}{hint}" if hint else message)


class IncompleteError(RuntimeError):
    """Something could not be completed, for example a report not written (exit code 3)."""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(f"{message}{HINT}{hint}" if hint else message)


class MissingExtraError(RuntimeError):
    """An optional dependency is not installed; the message says how to get it (exit code 2)."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed{HINT}pip install 'dpcp-audit[{extra}]'")


def require_package(package: str, extra: str, *, name: str = "") -> None:
    """Refuse to go on without an optional package; called before any long work.

    Parameters
    ----------
    package : str
        The name that it is imported by.
    extra : str
        The extra of this package that installs it.
    name : str
        Name in the message, where it is not the imported one.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    UsageError
        If it is matplotlib, and the environment variable ``MPLBACKEND`` names no backend of it.
    """
    if find_spec(package) is None:
        raise MissingExtraError(name or package, extra)
    if package == "matplotlib" and "MPLBACKEND" in os.environ:
        try:
            import matplotlib as mpl  # noqa: F401, PLC0415  # pyright: ignore[reportUnusedImport]
        except ValueError as error:
            raise UsageError(
                "the environment variable MPLBACKEND must name a backend of matplotlib, got "
                f"{os.environ['MPLBACKEND']!r}",
                hint="unset it, or set it to agg",
            ) from error


def value_error(message: str, hint: str) -> ValueError:
    """Return an error of a line that says what is wrong, and of one that says what to do."""
    return ValueError(f"{message}{HINT}{hint}")


def for_number(value: object, example: str = "0.5") -> str:
    """Return advice for a place that takes a number.

    Examples
    --------
    >>> for_number("0.25")
    'write the number without quotes: 0.25'
    >>> for_number(None)
    'give a number, such as 0.5'
    """
    if isinstance(value, str) and not math.isnan(_number(value)):
        return f"write the number without quotes: {value.strip()}"
    return f"give a number, such as {example}"


def for_probability(value: object) -> str:
    """Return advice for a place that takes a probability; a percentage is divided by 100.

    Examples
    --------
    >>> for_probability(95)
    'give a share of 1: 95 % is 0.95'
    """
    number = _number(value)
    if 1 < number < 100 and not isinstance(value, str):
        return f"give a share of 1: {number:g} % is {number / 100:g}"
    return for_number(value, "0.1")


def for_whole(value: object, *, at_least: int = 1, at_most: int | None = None) -> str:
    """Return advice for a place that takes a whole number.

    Examples
    --------
    >>> for_whole(20.0)
    'write 20'
    >>> for_whole(2.5, at_least=600)
    'give a whole number, such as 600'
    """
    number = _number(value)
    top = math.inf if at_most is None else at_most
    if number.is_integer() and at_least <= number <= top and not isinstance(value, bool):
        return f"write {int(number)}"
    nearest = at_least if at_most is None or not number > top else at_most
    return f"give a whole number, such as {nearest if nearest > 1 else min(20, top)}"


def _number(value: object) -> float:
    """Return the number that a value is, or that a text writes; NaN where it is none."""
    if isinstance(value, bool) or not isinstance(value, Real | str):
        return math.nan
    try:
        return float(value)
    except (OverflowError, ValueError):
        return math.nan


def shown(value: object, limit: int) -> str:
    """Return a value as messages show it, cut off; of an integer too long to print, its kind.

    Examples
    --------
    >>> shown([1, 2], 60), shown("abcdefgh", 8), shown(10**5000, 60)
    ('[1, 2]', "'abcd...", 'an integer of more than 4300 digits')
    """
    try:
        text = repr(value)
    except ValueError:
        text = f"an integer of more than {sys.get_int_max_str_digits()} digits"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
