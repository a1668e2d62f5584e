"""Programs that run where packages are really absent, and so do the processes that they start."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

_VARIABLE = "ABSENT_PACKAGES"
_SITE = f"""
import os
from importlib.machinery import PathFinder

ABSENT = frozenset(os.environ["{_VARIABLE}"].split())
found = PathFinder.find_spec


def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in ABSENT else found(name, path, target)


PathFinder.find_spec = find_spec
"""
"""Python imports it in every process that inherits the environment, before anything else."""


def run_without(
    *packages: str, program: str, folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program, whose ``find_spec`` and ``import`` find none of the packages.

    Parameters
    ----------
    packages : str
        The names that they are imported by.
    program : str
        Python code.
    folder : Path
        Where it runs.
    environment : str
        Further environment variables.
    """
    site = folder / ".absent"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(_SITE)
    own = {"PYTHONPATH": str(site), _VARIABLE: " ".join(packages), "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=os.environ | own | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def output_without(*packages: str, program: str, folder: Path) -> str:
    """Return what a program prints, which must succeed."""
    done = run_without(*packages, program=program, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout
