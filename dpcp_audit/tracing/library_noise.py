"""Noise of libraries that draw it in ways of their own, followed where they are loaded.

diffprivlib combines several draws of a generator of the system, against attacks on floating
point: its mechanisms' laws are taken from their parameters. PyTorch has its own module.
"""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from dpcp_audit.tracing.declared_laws import scipy_law
from dpcp_audit.tracing.noise_laws import LAPLACE, NORMAL, DiscreteGaussianLaw
from dpcp_audit.tracing.reachable_names import replaced
from dpcp_audit.tracing.source_lines import UnfollowableError, target_line

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from dpcp_audit.tracing.noise_laws import NoiseLaw
    from dpcp_audit.tracing.recording_generator import RecordingGenerator

_DIFFPRIVLIB = "diffprivlib.mechanisms"


@contextmanager
def recorded_libraries(rng: RecordingGenerator) -> Generator[None]:
    """Follow the noise of the libraries that are loaded, for the length of a call."""
    with ExitStack() as stack:
        module = sys.modules.get(_DIFFPRIVLIB)
        if module is not None:
            ways = {name: _randomised(rng, name, law) for name, law in _LAWS.items()}
            ways |= {name: _refused(name) for name in _UNKNOWN}
            methods = [(getattr(module, name), "randomise", way) for name, way in ways.items()]
            stack.enter_context(replaced(methods))
        if "torch" in sys.modules:
            from dpcp_audit.tracing.torch_noise import recorded_torch  # noqa: PLC0415  (slow)

            stack.enter_context(recorded_torch(rng))
        yield


def _randomised(rng: RecordingGenerator, name: str, law: Callable[..., Any]) -> Any:
    def randomise(self: Any, value: Any) -> Any:
        self._check_all(value)
        standard, loc, scale = law(self, value)
        return rng.additive(name, standard, loc, scale)

    return randomise


def _refused(name: str) -> Any:
    def randomise(self: Any, value: Any) -> Any:
        del self, value
        raise UnfollowableError(f"the law of diffprivlib's {name} is not known", target_line())

    return randomise


def _laplace(mechanism: Any, value: float) -> Any:
    spent = mechanism.epsilon - math.log1p(-mechanism.delta)
    return LAPLACE, value, mechanism.sensitivity / spent


def _gaussian(mechanism: Any, value: float) -> Any:
    return NORMAL, value, mechanism._scale  # noqa: SLF001  (it has no public name)


def _geometric(mechanism: Any, value: int) -> Any:
    rate = -mechanism._scale  # noqa: SLF001  (it has no public name)
    return scipy_law("dlaplace", (float(rate),)), value, 1.0 if math.isfinite(rate) else 0.0


def _discrete(mechanism: Any, value: int) -> Any:
    sigma = float(mechanism._scale)  # noqa: SLF001  (it has no public name)
    return DiscreteGaussianLaw(sigma), value, 1.0 if sigma > 0 else 0.0


_LAWS: dict[str, Callable[[Any, Any], tuple[NoiseLaw, float, float]]] = {
    "Laplace": _laplace,
    "Gaussian": _gaussian,
    "Geometric": _geometric,
    "GaussianDiscrete": _discrete,
}
"""Mechanisms whose noise is added; the truncated and folded ones are made of them."""
_UNKNOWN = (
    "Snapping",
    "Bingham",
    "Vector",
    "Staircase",
    "LaplaceBoundedNoise",
    "LaplaceBoundedDomain",
)
"""Mechanisms whose several draws would be revealed one by one."""
