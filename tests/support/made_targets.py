"""Targets made of a function in one line, and what they answer or refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.messages import require_line_and_hint

from dpcp_audit.targets import (
    Kind,
    Target,
    TargetError,
)

SCORES = np.array([0.75, 0.25, 0.5])


def quantile(function, **settings: Any) -> Target:
    return Target.from_callable(function, kind=Kind.QUANTILE, **settings)


def randomizer(function, domain=5, **settings: Any) -> Target:
    return Target.from_callable(function, kind=Kind.RANDOMIZER, domain=domain, **settings)


def drawn(target: Target, value=SCORES, size=4, seed=0) -> list[float]:
    return target(value, size, rng=np.random.default_rng(seed)).tolist()


def refusal(target: Target, value=SCORES, size=3) -> str:
    with pytest.raises(TargetError) as caught:
        target(value, size, rng=np.random.default_rng(0))
    message = str(caught.value)
    require_line_and_hint(message)
    return message


def plain(scores, level=1.0, *, rng) -> float:
    return level * rng.random()
