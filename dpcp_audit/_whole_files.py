"""Files written whole: until the new content is on the disk, the old one stays."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

_EVERYONE = 0o666


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
