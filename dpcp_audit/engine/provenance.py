"""Where results come from: when and how they were made, and digests of the code that made them.

None of it changes a verdict, and two runs of the same settings differ in nothing else but times.
"""

from __future__ import annotations

import platform
import shlex
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dpcp_audit.engine.run_settings import digests, environment, inputs

if TYPE_CHECKING:
    from dpcp_audit.engine.run_settings import RunSettings

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
        The first 12 hexadecimal digits of the SHA-256 of the tool's own code (``dpcp-audit``),
        of packages that register the suite, and of the files that were audited or read.
    revision : str
        The git commit of the working directory; empty where there is none.
    changed : bool
        Whether files that git tracks differed from that commit.
    repository : str
        The address of git's remote ``origin`` without user and password; may be empty.
    """

    finished: str
    command: str
    platform: str
    code: dict[str, str]
    revision: str = ""
    changed: bool = False
    repository: str = ""


def provenance(settings: RunSettings) -> Provenance:
    """Return the provenance of a run that ends now in this process.

    Examples
    --------
    >>> from dpcp_audit.engine.run_settings import RunSettings
    >>> sorted(provenance(RunSettings(suite="theorems", seed=0)).code)
    ['dpcp-audit', 'dpcp_ledger']
    """
    revision = _git("rev-parse", "HEAD")
    return Provenance(
        finished=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        command=shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        platform=f"{platform.system()} {platform.release()}, {platform.machine()}",
        code={
            "dpcp-audit": environment(settings.suite)["code"],
            **digests(settings.suite),
            **inputs(settings),
        },
        revision=revision,
        changed=bool(revision and _git("status", "--porcelain", "--untracked-files=no")),
        repository=_public_address(_git("remote", "get-url", "origin")) if revision else "",
    )


def _git(*arguments: str) -> str:
    """Return what git says, or "" where it is missing, fails or does not answer."""
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
    return done.stdout.strip()


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
