"""Modules of a user's clone of a public repository, imported under names of their own.

Repositories call their modules ``utils``, ``common`` or ``mechanisms``. Each is imported with
its repository first on the path, and its modules are then taken out of ``sys.modules``, so that
those of another repository do not meet them.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.targets import recipes

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@cache
def module_of(repository: str, name: str, *, under: str = "") -> Any:
    """Return a module of a clone.

    Parameters
    ----------
    repository : str
        ``OWNER/NAME``; its clone lies in ``$DPCP_CHECKOUTS/NAME``.
    name : str
        Of the module, as the repository's own code imports it.
    under : str
        The folder of the clone that such imports start from.

    Raises
    ------
    UsageError
        If there is no such clone.
    """
    folder = recipes.checkout(repository) / under
    with _first_on_the_path(folder):
        return import_module(name)


@contextmanager
def _first_on_the_path(folder: Path) -> Generator[None]:
    known, path = dict(sys.modules), list(sys.path)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(f"{folder}/"):
                del sys.modules[name]
                if name in known:
                    sys.modules[name] = known[name]
