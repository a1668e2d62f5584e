"""The global generators that a target may draw from: seeded for a batch, and put back."""

from __future__ import annotations

import random
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.targets.calling_convention import draw_seed

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def seeded(rng: np.random.Generator) -> Generator[None]:
    """Seed the global generators of NumPy, ``random`` and torch, where it is loaded, from ``rng``.

    They are left as they were found.
    """
    seed = draw_seed(rng)
    legacy, plain = np.random.get_state(), random.getstate()  # noqa: NPY002
    torch = getattr(sys.modules.get("torch"), "default_generator", None)
    tensor = None if torch is None else torch.get_state()
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    if torch is not None:
        torch.manual_seed(seed)
    try:
        yield
    finally:
        np.random.set_state(legacy)  # noqa: NPY002
        random.setstate(plain)
        if torch is not None:
            torch.set_state(tensor)
