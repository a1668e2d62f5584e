"""Mechanisms of public repositories in a user's clones, as ``dpcp-audit check`` calls them.

Repositories call their modules ``utils``, ``common`` or ``mechanisms``. Each is imported with
its repository first on the path, and its modules are then taken out of ``sys.modules``, so that
those of another repository do not meet them.

Nothing is added to what a repository does: an adapter names the arguments, as the repository's
own experiments give them, and hands over the data. The code draws from NumPy's global state.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.targets import recipes

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from dpcp_audit.extensions.claims import FloatArray


@cache
def module_of(repository: str, name: str, *, under: str = "") -> Any:
    """Return a module of a clone.

    Parameters
    ----------
    repository : str
        ``OWNER/NAME``; its clone lies in ``$DPCP_CHECKOUTS/NAME``.
    name : str
        Name of the module, as the repository's own code imports it.
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


_BOUNDS = (0.0, 1.0)


def private_prediction_sets(scores: FloatArray, *, alpha: float, epsilon: float) -> float:
    """Return the threshold of Angelopoulos et al., with γ = 0.01 and 1,000 bins."""
    core = module_of(
        "aangelopoulos/private_prediction_sets", "private_conformal_utils", under="core"
    )
    bins = np.linspace(0, 1, 1000)
    return float(core.get_private_quantile(scores, alpha, epsilon, 0.01, bins))


def approximate_quantile(
    scores: FloatArray, *, level: float, epsilon: float, swap: bool = False
) -> float:
    """Return the exponential mechanism's quantile of DP_AQ."""
    single = module_of("NynsenFaber/DP_CC_quantiles", "DP_AQ.single_quantile_algo")
    return float(single.single_quantile(np.sort(scores), _BOUNDS, level, epsilon, swap))


def approximate_quantiles(scores: FloatArray, *, levels: list[float], epsilon: float) -> FloatArray:
    """Return the quantiles of Kaplan, Schnapp and Stemmer's recursion, as DP_AQ has it."""
    recursion = module_of("NynsenFaber/DP_CC_quantiles", "DP_AQ").approximate_quantiles_algo
    return np.asarray(recursion(np.sort(scores), np.array(levels), _BOUNDS, epsilon))


def continual_counts(scores: FloatArray, *, epsilon: float) -> FloatArray:
    """Return the running counts of a stream of 0 and 1 with the noise of ``KaryTreeNoise``."""
    tree = module_of(
        "NynsenFaber/DP_CC_quantiles", "quantiles_with_continual_counting.k_ary_tree_noise"
    ).KaryTreeNoise(eps=epsilon, max_time=scores.size)
    noise = [tree.prefix_noise(place) for place in range(1, scores.size + 1)]
    return np.cumsum(np.round(scores)) + np.asarray(noise, dtype=np.float64)


def smooth_median(scores: FloatArray, *, epsilon: float, delta: float) -> float:
    """Return the median of Tiresias with noise of its smooth sensitivity."""
    mechanisms = module_of("DAI-Lab/Tiresias", "tiresias.core.mechanisms")
    return float(mechanisms.median(scores, epsilon, delta))


def categorical(value: int, *, k: int, epsilon: float) -> int:
    """Return a value of Tiresias' randomised response over k values."""
    mechanisms = module_of("DAI-Lab/Tiresias", "tiresias.core.mechanisms")
    return int(mechanisms.finite_categorical(value, range(k), epsilon))


def gumbel_median(scores: FloatArray, *, epsilon: float) -> float:
    """Return the inverse-sensitivity median of dp_inference."""
    mechanisms = module_of("comptastics/dp_inference", "dp_inference.priv_mech")
    return float(mechanisms.priv_med_gumbel(scores, epsilon))


def exponential_median(scores: FloatArray, *, epsilon: float, granularity: float) -> float:
    """Return the exponential mechanism's median of dp-medians."""
    median = module_of("anonymous-conf-medians/dp-medians", "exponential_median")
    about = {"em_granularity": granularity}
    return float(median.dpMedianExponential(scores, *_BOUNDS, epsilon, about, 1)[0])


def learned_quantile(scores: FloatArray, *, level: float, epsilon: float) -> float:
    """Return one quantile of the learning-augmented release, with a uniform prior on [0, 1]."""
    repository = "mkhodak/learning-augmented-private-quantiles"
    prior = module_of(repository, "prior").Uniform(*_BOUNDS)
    release = module_of(repository, "quantiles").multiple_quantiles
    (found,) = release(np.sort(scores), (level,), epsilon, [prior])
    return float(found["out"])


def sketched_quantile(scores: FloatArray, *, level: float, epsilon: float) -> float:
    """Return the exponential mechanism's quantile of a sketch, with room for every item."""
    found = module_of("alabid/dp_quantiles_bounded_space", "Greenwald_Khanna").GK(1e-4)
    for score in scores.tolist():
        found.insert(score)
    return float(found.dp_exp(level, epsilon))


def thesis_quantile(
    scores: FloatArray, *, level: float, epsilon: float, omega: float = 0.0
) -> float:
    """Return the quantile of DP_Quantiles: EXP, or CEXP where ``omega`` is positive."""
    repository = "moatazaymane/DP_Quantiles"
    data, none = np.sort(scores), np.array([])
    if not omega:
        release = module_of(repository, "mechanisms.exp").exponential_mechanism
        return float(release(data, level, none, epsilon, *_BOUNDS, point_estimator=True)[1])
    release = module_of(repository, "mechanisms.cexp").centered_exponential_mechanism
    found = release(data, none, level, epsilon, 0.0, 0.0, omega, *_BOUNDS, point_estimator=True)
    return float(np.ravel(found[1])[0])


def answered_bit(value: int, *, epsilon: float) -> int:
    """Return dpinf's randomised response of a bit."""
    tools = module_of("Biaomei536/dpinf", "tool_function")
    return int(tools.rr_mechansim(np.array([value == 1]), epsilon)[0])


def gradient_of_one_user(value: int, *, rate: float) -> int:
    """Return the sign of the gradient that a user of fed-ldp-quantile-reg reports."""
    made: Any = module_of("Amber-nannan/fed-ldp-quantile-reg", "DPQuantile").DPQuantile(r=rate)
    made.q_est = 0.5
    return int(made._compute_gradient(float(value)) > 0)  # noqa: SLF001  (what a user sends)


def estimated_by_users(scores: FloatArray, *, rate: float) -> float:
    """Return fed-ldp-quantile-reg's estimate from a stream, as its ``fit`` is called."""
    made: Any = module_of("Amber-nannan/fed-ldp-quantile-reg", "DPQuantile").DPQuantile(r=rate)
    made.fit(scores)
    return float(made.Q_avg)


def catalogued_quantile(scores: FloatArray, *, level: float, epsilon: float) -> float:
    """Return morie's ``dp_quantile``."""
    function = module_of("rootcoder007/morie", "fn.dpqua", under="src/morie").dp_quantile
    return float(function(scores, level, epsilon)["estimate"])


def bounded_mean(scores: FloatArray, *, epsilon: float) -> float:
    """Return Tiresias' mean of data in [0, 1]."""
    mechanisms = module_of("DAI-Lab/Tiresias", "tiresias.core.mechanisms")
    return float(mechanisms.mean(scores, epsilon, 0.0, bounds=_BOUNDS))


class _Scored:
    """A conformal method whose calibration scores are its labels, as DPConformal reads them."""

    def fit(self, _: FloatArray, scores: FloatArray) -> None:
        self._state = SimpleNamespace(calib_scores=scores)


def noisy_conformal_quantile(scores: FloatArray, *, epsilon: float, delta: float) -> float:
    """Return the quantile of Federated-Chemometrics' ``DPConformal``, of scores in [0, 1]."""
    made = module_of(
        "dabdul-wahab1988/Federated-Chemometrics", "fedchem.conformal.dp_conformal", under="src"
    ).DPConformal
    conformal = made(
        _Scored(), alpha=0.1, clip_bound=1.0, dp_config={"target_epsilon": epsilon, "delta": delta}
    )
    conformal.fit(np.empty((scores.size, 1)), scores)
    return float(conformal._q_alpha_noisy)  # noqa: SLF001  (what predict_interval adds)
