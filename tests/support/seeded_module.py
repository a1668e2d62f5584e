"""A module that seeds NumPy's global generator when it is loaded."""

import numpy as np


def seed_all() -> None:
    """Make every draw that follows known."""
    np.random.seed(0)  # noqa: NPY002


def noisy_sum(scores):  # noqa: ANN201
    """Return a sum with noise of the generator that the file seeds."""
    return np.sum(scores) + np.random.laplace(0, 100)  # noqa: NPY002
