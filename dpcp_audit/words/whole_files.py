"""Files written whole, and errors that end a command with one line and a documented exit code."""

from __future__ import annotations

import contextlib
import os
import tempfile
from importlib.util import find_spec
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
        What to do about it, if there is something to add: a second line.

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
        Its name in the message, where that is not the imported one.

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
