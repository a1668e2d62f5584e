"""The settings that identify a run, and the provenance of its results.

Provenance changes no verdict: two runs of the same settings differ in it and in times alone.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import os
import platform
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import dpcp_audit
from dpcp_audit.engine.suites import entries, find
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Skipped
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.values import is_file, is_list, is_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dpcp_audit.targets import TargetSpec


LEAST_FALSE_ALARM = 1e-100
"""Below it the intervals' own arithmetic gives out."""


class Profile(StrEnum):
    """The effort of a run."""

    SMOKE = "smoke"
    """Seconds: a first look."""
    CI = "ci"
    """Minutes: for every commit."""
    FULL = "full"
    """The largest samples."""

    @property
    def effort(self) -> float:
        """The factor on every sample size."""
        return {Profile.SMOKE: 0.5, Profile.CI: 2.0, Profile.FULL: 20.0}[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings that identify a run: the same settings give the same findings.

    Parameters
    ----------
    suite : str
        Name of the suite (see ``suites.names``).
    pools, targets, options : tuple of str, tuple of CheckSpec, mapping
        The suite's arguments: files of saved pools, third-party code, and plain data by name.
    """

    seed: int = 0
    profile: Profile = Profile.CI
    false_alarm: float = 1e-3
    strict: bool = False
    suite: str = "papers"
    pools: tuple[str, ...] = ()
    targets: tuple[CheckSpec, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    skipped: tuple[Skipped, ...] = ()

    def __post_init__(self) -> None:
        _validate.integer(seed=self.seed, at_least=0, at_most=None)
        _validate.choice(Profile, profile=self.profile)
        _validate.open_unit(false_alarm=self.false_alarm)
        if self.false_alarm < LEAST_FALSE_ALARM:
            raise ValueError(
                f"false_alarm must be at least {LEAST_FALSE_ALARM:g}, got {self.false_alarm!r}"
            )

    @property
    def effort(self) -> float:
        """The factor on every sample size, where the suite does not fix them."""
        return self.profile.effort if find(self.suite).scaled else 1.0

    @property
    def given(self) -> dict[str, Any]:
        """The keyword arguments of the suite (see ``suites.suite``)."""
        return {"pools": self.pools, "targets": self.targets, **self.options}

    def as_data(self) -> dict[str, Any]:
        """Return the settings as the keys of a results document."""
        return {
            "suite": self.suite,
            "pools": list(self.pools),
            "targets": [spec.as_data() for spec in self.targets],
            "options": dict(self.options),
            "skipped": [each.as_data() for each in self.skipped],
            "seed": self.seed,
            "profile": self.profile,
            "false_alarm": self.false_alarm,
            "strict": self.strict,
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the settings that a results document was made with."""
        try:
            _require_shapes(document)
            return cls(
                seed=document["seed"],
                profile=Profile(document["profile"]),
                false_alarm=document["false_alarm"],
                strict=document["strict"],
                suite=document["suite"],
                pools=tuple(document["pools"]),
                targets=tuple(
                    CheckSpec.from_data(each, claimed=False) for each in document.get("targets", [])
                ),
                options=document.get("options", {}),
                skipped=tuple(map(Skipped.from_data, document.get("skipped", []))),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"the results file does not say how it was run: {error}") from error


def _require_shapes(document: Mapping[str, Any]) -> None:
    """Refuse what a constructor would take for something else: a text is a sequence, too."""
    for name in ("pools", "targets", "skipped"):
        if not is_list(document.get(name, [])):
            raise ValueError(f"{name} must be a list, got {document[name]!r}")
    if not all(isinstance(path, str) for path in document["pools"]):
        raise ValueError(f"pools must be paths, got {document['pools']!r}")
    if not is_record(document.get("options", {})):
        raise ValueError(f"options must be a table, got {document['options']!r}")
    _validate.instance(str, suite=document["suite"])
    _validate.instance(bool, strict=document["strict"])


DIGITS = 12
"""The digits of a digest that pages show."""
_INSTALLED = {"site-packages", "dist-packages"}
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
    """Return the version of the package that registers a suite, and its code's digest."""
    known = "dpcp-audit"  # whose version is asked for anyway
    dists = [entry.dist for entry in entries(suite) if entry.dist is not None]
    versions = {dist.name: dist.version for dist in dists if dist.name != known}
    return versions | {f"code of {name}": of[:DIGITS] for name, of in digests(suite).items()}


def digests(suite: str) -> dict[str, str]:
    """Return digests of the packages that register a suite, by the distribution or the package."""
    found: dict[str, str] = {}
    for entry in entries(suite):
        if entry.dist is not None:
            package = entry.module.partition(".")[0]
            spec = find_spec(package)
            name = package if entry.dist.name == "dpcp-audit" else entry.dist.name
            found[name] = _digest_of(Path(spec.origin) if spec and spec.origin else None)
    return found


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
    return _digests_of(names)


def imported(settings: RunSettings) -> dict[str, str]:
    """Return digests of the user's own files that the targets' code imports."""
    names = (name for spec in settings.targets for name in _imported(spec.target))
    return _digests_of(map(_from_here, names))


def _digests_of(names: Iterable[str]) -> dict[str, str]:
    return {
        name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in names if is_file(name)
    }


def _from_here(place: str | Path) -> str:
    path, here = Path(place).resolve(), Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


def _imported(target: TargetSpec) -> Iterator[Path]:
    """Yield the files that a target's code imports, directly or by others, below its own root.

    The root is the folder from which it is imported; of installed code its package. The tool's
    own code has a digest of its own.
    """
    place = target.target.rpartition(":")[0]
    names = [name for name in _code(target) if not target.command and is_file(name)]
    if not names:
        return
    first = Path(names[0]).resolve()
    depth = 0 if place.endswith(".py") else place.count(".") + (first.name == "__init__.py")
    root = first.parents[depth]
    own = first.parent if root.name in _INSTALLED else root
    tool = Path(dpcp_audit.__file__).parent
    files = [first]
    for file in files:  # which grows
        for each in _imports(file, root):
            if each not in files and each.is_relative_to(own) and not each.is_relative_to(tool):
                files.append(each)
                yield each


def _imports(file: Path, root: Path) -> Iterator[Path]:
    """Yield the files that a file's import statements name, where they lie below a root."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (OSError, RecursionError, SyntaxError, ValueError):
        return
    for node in nodes:
        start, names = root, list[str]()
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            folders = file.parents
            start = folders[min(node.level, len(folders)) - 1] if node.level else root
            names = [".".join(filter(None, [node.module, each.name])) for each in node.names]
        for name in names:
            for end in itertools.accumulate(name.split("."), "{}/{}".format):
                places = (start / f"{end}.py", start / end / "__init__.py")
                yield from filter(is_file, places)


def _code(target: TargetSpec) -> list[str]:
    """Return the names of files that hold a target's code, as far as they can be told."""
    place = target.target.rpartition(":")[0]
    if target.command or place.endswith(".py"):
        return [*target.command, place]
    found = None
    folders: list[str] | None = [str(Path.cwd()), *sys.path]
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
    return hashlib.sha256(place.read_bytes()).hexdigest()


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


_GIT_SECONDS = 10.0
"""More than git needs; a repository on a network that does not answer holds no run up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """When, how and from which code results were made.

    Parameters
    ----------
    finished : str
        The end of the run, in UTC (ISO 8601).
    command : str
        The program's arguments, as a shell reads them.
    platform : str
        The operating system and processor.
    code : dict of str to str
        The SHA-256 of the tool's own code (``dpcp-audit``), of packages that register the suite,
        and of the files that were audited or read, such as pools and files of checks.
    imported : dict of str to str
        SHA-256 digests of the user's own files that the audited code imports.
    revision : str
        The git commit of the working directory; empty where there is none.
    changed : bool
        True if files that git tracks differed from that commit.
    uncommitted : dict of str to str
        The files that were audited, read or imported and that the commit does not hold as they
        are: "untracked", "changed", or "outside" of the repository.
    repository : str
        The address of git's remote ``origin`` without user and password; may be empty.
    folder : str
        The working directory, relative to the root of the repository; empty at the root itself, and
        without git.
    """

    finished: str
    command: str
    platform: str
    code: dict[str, str]
    imported: dict[str, str] = field(default_factory=dict[str, str])
    revision: str = ""
    changed: bool = False
    uncommitted: dict[str, str] = field(default_factory=dict[str, str])
    repository: str = ""
    folder: str = ""


def provenance(settings: RunSettings, *, config: Path | None = None) -> Provenance:
    """Return the provenance of a run that ends now in this process.

    Parameters
    ----------
    config : Path, optional
        The file that the checks were read from.

    Examples
    --------
    >>> from dpcp_audit.engine.run_settings import RunSettings
    >>> sorted(provenance(RunSettings(suite="theorems", seed=0)).code)
    ['dpcp-audit', 'dpcp_ledger']
    """
    revision, own = _git("rev-parse", "HEAD"), imported(settings)
    checks = [] if config is None else [Path(os.path.relpath(config)).as_posix()]
    named = inputs(settings) | _digests_of(checks)
    finished, command = end_of_run()
    return Provenance(
        finished=finished,
        command=command,
        platform=f"{platform.system()} {platform.release()}, {platform.machine()}",
        code={
            "dpcp-audit": environment(settings.suite)["code"],
            **digests(settings.suite),
            **named,
        },
        imported={name: digest for name, digest in own.items() if name not in named},
        revision=revision,
        changed=bool(revision and _git("status", "--porcelain", "--untracked-files=no")),
        uncommitted=_uncommitted([*named, *own]) if revision else {},
        repository=_public_address(_git("remote", "get-url", "origin")) if revision else "",
        folder=_git("rev-parse", "--show-prefix").rstrip("/"),
    )


def end_of_run() -> tuple[str, str]:
    """Return the time, in UTC, and the program's arguments as a shell reads them."""
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", command


def _uncommitted(names: Iterable[str]) -> dict[str, str]:
    """Return the files that differ from git's commit, with the kind of difference."""
    top = Path(_git("rev-parse", "--show-toplevel"))
    files = {Path(name).resolve(): name for name in names}
    outside = {name: "outside" for path, name in files.items() if not path.is_relative_to(top)}
    inside = [str(path) for path in files if path.is_relative_to(top)]
    options = ("--porcelain", "-z", "--ignored", "--untracked-files=all")
    states = _git("status", *options, "--", *inside) if inside else ""
    found: dict[str, str] = {}
    for state in states.split("\0"):
        if name := files.get(top / state[3:]):
            found[name] = "untracked" if state[:1] in {"?", "!", "A"} else "changed"
    return outside | found


def _git(*arguments: str) -> str:
    """Return git's output, or "" where it is missing, fails or does not answer."""
    try:
        done = subprocess.run(  # noqa: S603  (fixed arguments)
            ["git", *arguments],  # noqa: S607  (the user's own git)
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.rstrip("\n")


def _public_address(remote: str) -> str:
    """Return a remote's address as a URL without user and password; "" for a folder.

    Examples
    --------
    >>> _public_address("git@example.org:team/code.git")
    'https://example.org/team/code.git'
    >>> _public_address("https://me:secret@example.org/team/code")
    'https://example.org/team/code'
    """
    host, colon, path = remote.partition(":")
    if colon and "@" in host and "/" not in host:
        return f"https://{host.rpartition('@')[2]}/{path}"
    parts = urlsplit(remote)
    if parts.scheme not in {"http", "https", "ssh", "git"} or not parts.hostname:
        return ""
    port = f":{parts.port}" if parts.port and parts.scheme in {"http", "https"} else ""
    scheme = "http" if parts.scheme == "http" else "https"
    return f"{scheme}://{parts.hostname}{port}{parts.path}"
