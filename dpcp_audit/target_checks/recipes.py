"""The recipes there are, which of them can run here, and the checks that they make.

A recipe is of a library that pip installs, or of a repository that is cloned into the folder
that the environment variable ``DPCP_CHECKOUTS`` names.

Another package registers a recipe by an entry point of the group ``dpcp_audit.recipes``: its
name is the recipe's, its value the package that ``NAME.toml`` lies in.
"""

from __future__ import annotations

import difflib
import importlib
import os
import shutil
import sys
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata, resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dpcp_audit.target_checks import config_file as config
from dpcp_audit.target_checks.config_file import Config
from dpcp_audit.targets.answers import one_line
from dpcp_audit.words import options
from dpcp_audit.words.checks import Skipped
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.values import Flag, KeywordTable, Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


ALL = "all"
"""Stands for every recipe."""
EFFORTS = ("budget", "detect", "draws")
"""The options that a caller may set in place of the recipe."""
GROUP = "dpcp_audit.recipes"
CHECKOUTS = "DPCP_CHECKOUTS"
"""The environment variable that names the folder of clones."""
_DISTRIBUTION = "dpcp-audit"
_KEYS = frozenset({
    "summary", "documentation", "promise", "distribution", "module", "repository", "commit",
    "audited",
})  # fmt: skip
_FINDING = ("check", "title", "where", "report", "reproduce")
_READING = "reading"


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownFinding:
    """A check of which it is known that it refutes, as one reports it to the library's authors.

    Parameters
    ----------
    check : str
        Name of the check.
    title : str
        The finding, in a line.
    where : str
        In the library's code.
    report : str
        The error, the reading under which it is one, and the remedy.
    reproduce : str
        A program that shows it, without this package.
    reading : bool
        True if the library leaves open what is refuted, or says otherwise: then the fault is the
        reader's.
    """

    check: str
    title: str
    where: str
    report: str
    reproduce: str
    reading: bool = False

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Read a table ``[[finding]]``."""
        table = KeywordTable().read(data, "finding")
        options.require_known(table, (*_FINDING, _READING))
        texts = {key: Text().read(table.get(key), key).strip() for key in _FINDING}
        return cls(**texts, reading=Flag().read(table.get(_READING, False), _READING))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The checks of one library, and where it promises what they check.

    Parameters
    ----------
    name : str
        File name without ``.toml``.
    summary : str
        One line that says what is checked.
    documentation : str
        Address or place of the promise.
    promise : str
        The promise, with its neighbour relation.
    distribution : str
        Name to install by pip; empty where nothing is needed.
    module : str
        Name of the module to import; for a repository, a module that its code needs.
    repository : str
        ``OWNER/NAME`` on GitHub, in place of a distribution; see ``checkout``.
    commit : str
        Commit of the repository at which the findings were seen, in hexadecimal digits.
    audited : str
        The date of that, YYYY-MM-DD.
    config : Config
        The checks.
    findings : tuple of _KnownFinding
        The claims that are known to be refuted.
    """

    name: str
    summary: str
    documentation: str
    promise: str
    distribution: str = ""
    module: str = ""
    repository: str = ""
    commit: str = ""
    audited: str = ""
    config: Config
    findings: tuple[_KnownFinding, ...] = ()

    @classmethod
    def from_data(cls, data: Mapping[str, Any], *, name: str) -> Self:
        """Read a recipe from plain data: a table ``recipe`` beside the checks of a config file."""
        about = KeywordTable().read(data.get("recipe", {}), "recipe")
        with options.in_place(name):
            options.require_known(about, _KEYS)
            texts = {key: Text().read(about[key], key) if key in about else "" for key in _KEYS}
            known = tuple(map(_KnownFinding.from_data, data.get("finding", [])))
        checks = {key: value for key, value in data.items() if key not in {"recipe", "finding"}}
        read = config.from_data(checks, where=name)
        for each in known:
            if each.check not in {spec.name for spec in read.checks}:
                raise UsageError(
                    f"{name}: finding: no check is called {each.check!r}",
                    hint="the check's key 'name' is what it is called",
                )
        return cls(name=name, config=read, findings=known, **texts)

    def finding_of(self, check: str) -> _KnownFinding | None:
        """Return the known findings of a check."""
        return next((each for each in self.findings if each.check == check), None)

    def version(self) -> str:
        """Return the library with its version; of this package where none is needed.

        Of a repository, with the commit of the clone that is here.
        """
        if self.repository:
            return f"{self.repository} {head(checkout(self.repository))[:7]}".rstrip()
        name = self.distribution or "dpcp-audit"
        return f"{name} {metadata.version(name)}"

    def obstacle(self) -> str:
        """Return the reason why the recipe cannot run here, with advice; empty where it can."""
        if self.repository:
            return self._missing()
        if not self.distribution:
            return ""
        try:
            version = metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return f"{self.distribution} is not installed: pip install {self.distribution}"
        try:
            importlib.import_module(self.module)
        except Exception as error:  # noqa: BLE001  (whatever a library raises when it loads)
            reason = " ".join(str(error).split())
            return (
                f"{self.distribution} {version} cannot be imported here "
                f"({type(error).__name__}: {reason})"
            )
        return ""

    def _missing(self) -> str:
        try:
            checkout(self.repository)
        except UsageError as error:
            return one_line(error)
        if self.module and not find_spec(self.module):
            return f"{self.repository} needs {self.module}: pip install {self.module}"
        commands = (spec.target.command for spec in self.config.checks)
        programs = {words[0] for words in commands if words}
        return "; ".join(f"{each} is not installed" for each in programs if not shutil.which(each))


def checkout(repository: str) -> Path:
    """Return the folder of a user's clone of a repository.

    Parameters
    ----------
    repository : str
        ``OWNER/NAME``; the clone lies in ``$DPCP_CHECKOUTS/NAME``.

    Raises
    ------
    UsageError
        If the variable is not set, or no such folder is there.

    Examples
    --------
    >>> checkout("octocat/no-such-repository")
    Traceback (most recent call last):
        ...
    dpcp_audit.words.errors.UsageError: no checkout of octocat/no-such-repository
    hint: git clone https://github.com/octocat/no-such-repository ...
    """
    folder = os.environ.get(CHECKOUTS, "")
    name = repository.rpartition("/")[2]
    if folder and (found := Path(folder) / name).is_dir():
        return found
    where = folder or "FOLDER"
    then = "" if folder else f", and set {CHECKOUTS}=FOLDER"
    raise UsageError(
        f"no checkout of {repository}",
        hint=f"git clone https://github.com/{repository} {where}/{name}{then}",
    )


def head(folder: Path) -> str:
    """Return the commit that a clone stands at, in hexadecimal digits; empty where none is told."""
    for git in (folder / ".git", folder):
        try:
            told = (git / "HEAD").read_text(encoding="utf-8").strip()
            name = told.removeprefix("ref: ")
            return (git / name).read_text(encoding="utf-8").strip() if name != told else told
        except (OSError, UnicodeDecodeError):
            continue
    return ""


def names() -> list[str]:
    """Return the names of all recipes, in alphabetical order: first those of this distribution."""
    own = own_names()
    return own + sorted({entry.name for entry, _ in _entries(tuple(sys.path))} - set(own))


def load(name: str, efforts: Mapping[str, object] | None = None) -> Recipe:
    """Return a recipe by its name.

    Parameters
    ----------
    efforts : mapping, optional
        ``budget`` or ``draws``, in place of the recipe's.

    Raises
    ------
    UsageError
        If there is none, two packages register it, its file cannot be read, or ``budget`` or
        ``draws`` cannot be used.
    """
    if name not in names():
        near = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join([*names(), ALL])}"
        raise UsageError(f"no recipe is called {name!r}", hint=hint)
    data = _registered(name)
    if efforts:
        checks = [{key: one[key] for key in one if key not in EFFORTS} for one in data["check"]]
        data["check"] = [one | dict(efforts) for one in checks]
    return Recipe.from_data(data, name=name)


def own_names() -> list[str]:
    """Return the recipes of this distribution, whose names are nobody else's."""
    return sorted({entry.name for entry, is_own in _entries(tuple(sys.path)) if is_own})


@lru_cache(maxsize=1)
def _entries(path: tuple[str, ...]) -> tuple[tuple[metadata.EntryPoint, bool], ...]:  # noqa: ARG001  (where they lie)
    """Return all registered recipes, and which are of this distribution; it reads many files."""
    return tuple(
        (entry, entry.dist is not None and entry.dist.name == _DISTRIBUTION)
        for entry in metadata.entry_points(group=GROUP)
    )


def _data(folder: str, name: str) -> dict[str, Any]:
    text = resources.files(folder).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _registered(name: str) -> dict[str, Any]:
    """Return the data of a registered recipe; this distribution's own come first."""
    found = [each for each in _entries(tuple(sys.path)) if each[0].name == name]
    entries = [entry for entry, is_own in found if is_own] or [entry for entry, _ in found]
    if len(entries) > 1:
        rivals = " and ".join(sorted(entry.dist.name for entry in entries if entry.dist))
        raise UsageError(
            f"--recipe {name}: the name is registered by {rivals}", hint="uninstall one"
        )
    try:
        return _data(entries[0].value, name)
    except Exception as error:  # whatever another package raises when it loads
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(
            f"--recipe {name}: {entries[0].value} must be a package with a file {name}.toml "
            f"({reason})",
            hint="correct the entry point",
        ) from error


def select(
    wanted: Sequence[str], efforts: Mapping[str, object] | None = None
) -> tuple[Recipe, ...]:
    """Return the recipes of these names, each once; ``all`` stands for every one.

    ``efforts`` are those of ``load``.
    """
    found = [name for given in wanted for name in (names() if given == ALL else [given])]
    return tuple(load(name, efforts) for name in dict.fromkeys(found))


def runnable(recipes: Iterable[Recipe]) -> tuple[Config, tuple[Skipped, ...]]:
    """Return the checks of all recipes that can run here, and the recipes that cannot."""
    obstacles = [(recipe, recipe.obstacle()) for recipe in recipes]
    checks = tuple(
        spec for recipe, reason in obstacles if not reason for spec in recipe.config.checks
    )
    skipped = tuple(
        Skipped(name=recipe.name, reason=reason) for recipe, reason in obstacles if reason
    )
    return Config(checks=checks), skipped
