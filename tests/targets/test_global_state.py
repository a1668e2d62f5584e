"""Global random generators: seeded for the call, and left as they were."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support.made_targets import drawn, quantile, refusal


@pytest.mark.parametrize("fails", [False, True])
def test_global_generators_are_left_as_they_were(fails) -> None:
    def draws(scores) -> float:
        np.random.random(), random.random()  # noqa: NPY002, S311
        if fails:
            raise ValueError("no")
        return 1.0

    def next_ones() -> tuple[float, float]:
        return np.random.random(), random.random()  # noqa: NPY002, S311

    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    expected = next_ones()
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    if fails:
        refusal(quantile(draws))
    else:
        drawn(quantile(draws))
    assert next_ones() == expected


def test_torch_is_seeded_where_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Generator:
        state = 7

        def get_state(self) -> int:
            return self.state

        def set_state(self, state: int) -> None:
            self.state = state

        manual_seed = set_state

    class FakeTorch:
        default_generator = Generator()

    monkeypatch.setitem(__import__("sys").modules, "torch", FakeTorch)
    target = quantile(lambda scores: FakeTorch.default_generator.state)
    assert drawn(target) == drawn(target) != drawn(target, seed=1)
    assert FakeTorch.default_generator.state == 7
