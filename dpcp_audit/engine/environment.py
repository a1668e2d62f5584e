"""What findings depend on beside a run's settings: this tool, Python and the libraries."""

from __future__ import annotations

import hashlib
import itertools
import platform
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import dpcp_audit
from dpcp_audit._values import is_file
from dpcp_audit.engine.suites import entries

if TYPE_CHECKING:
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.targets import TargetSpec

_DIGITS = 12
LIBRARIES = ("numpy", "scipy", "scikit-learn")


@cache
def environment(suite: str = "papers") -> dict[str, str]:
    """Return the versions of all that computes, by name, with digests of the code.

    Parameters
    ----------
    suite : str
        The run's; where another package registers it, that package is among them.
    """
    return {
        "dpcp-audit": dpcp_audit.__version__,
        "code": _digest(Path(dpcp_audit.__file__).parent),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in LIBRARIES},
        **third_party(suite),
    }


def third_party(suite: str) -> dict[str, str]:
    """Return the version of the other package that registers a suite, and its code's digest."""
    versions: dict[str, str] = {}
    for entry in entries(suite):
        if entry.dist is not None:
            found = find_spec(entry.module.partition(".")[0])
            place = Path(found.origin) if found and found.origin else None
            versions[entry.dist.name] = entry.dist.version
            versions[f"code of {entry.dist.name}"] = _digest_of(place)
    return versions


def difference(there: dict[str, str], here: dict[str, str]) -> str:
    """Return in words what differs between two environments; "" where nothing does."""
    return ", ".join(
        f"{name} {there.get(name, 'none')} there, {here.get(name, 'none')} here"
        for name in {**there, **here}
        if there.get(name) != here.get(name)
    )


def inputs(settings: RunSettings) -> dict[str, str]:
    """Return digests of the files that the settings name: pools, and the code of targets."""
    names = [*settings.pools, *(name for spec in settings.targets for name in _code(spec.target))]
    return {
        name: hashlib.sha256(Path(name).read_bytes()).hexdigest()[:_DIGITS]
        for name in names
        if is_file(name)
    }


def _code(target: TargetSpec) -> list[str]:
    """Return the names of files that hold a target's code, as far as they can be told."""
    place = target.target.rpartition(":")[0]
    if target.command or place.endswith(".py"):
        return [*target.command, place]
    found, folders = None, None
    for end in itertools.accumulate(place.split("."), "{}.{}".format):
        found = PathFinder.find_spec(end, folders)
        if found is None:
            return []
        folders = found.submodule_search_locations
    return [found.origin] if found and found.origin else []


def _digest_of(place: Path | None) -> str:
    """Return the digest of a package by its ``__init__``, or of a module."""
    if place is None:
        return "unknown"
    if place.name == "__init__.py":
        return _digest(place.parent)
    return hashlib.sha256(place.read_bytes()).hexdigest()[:_DIGITS]


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:_DIGITS]
