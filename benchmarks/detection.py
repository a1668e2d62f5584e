"""How often a search refutes planted twins, beside the probability that is stated.

Usage: python benchmarks/detection.py [--twins laplace-1 …] [--factor 2] [--seeds 20]
       python benchmarks/detection.py --noise 0.7 [--calls 131072] [--seeds 10]

Without ``--noise`` each twin has 1/FACTOR of its noise, and as many calls as are stated to
refute it with probability 0.95; with ``--times`` as many as so many times what the best event of
the worst pair takes. The factors of ``dpcp_audit.audits.guessing_game`` are from such runs. With
``--noise`` it has that much of it, and the calls of the usual plan. The sizes and pairs are those
of ``dpcp-audit check``. The standard error of 18 refutations of 20 is 0.07.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.guessing_game import Twin
from dpcp_audit.audits.search.record_pairs import NumberPairs, ValuePairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.engine.tasks import one_thread
from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import noise_factor
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, GaussianDP, LocalDP, PureDP, RenyiDP
from dpcp_audit.words.results import Verdict
from dpcp_ledger.zoo import broken_mechanisms

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import PairSpace, Sampler
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import FloatArray

_SIGNIFICANCE = 2.25e-5
"""That of one of two tests of a session of pytest."""
_VALUES = 10
_GRID = 2**12
"""A release is rounded to multiples of 1/_GRID: the bits of a sum of floats show its summands, at
ε = 0.1 more than the noise does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedTwin:
    """A mechanism with a part of the noise that its claim asks for.

    Parameters
    ----------
    name : str
        Its noise, as in ``TWINS``, before the hyphen.
    guarantee : PrivacyGuarantee
        What it keeps with all of its noise.
    scale : float
        The scale of all of its noise, of a release of scores.
    """

    name: str
    guarantee: PrivacyGuarantee
    scale: float = 1.0

    def sampler(self, noise: float) -> Sampler:
        """Return the mechanism with so much of its noise."""
        kind = self.name.partition("-")[0]

        def bisected(scores: FloatArray, size: int, /, *, rng: np.random.Generator) -> FloatArray:
            return broken_mechanisms.search(scores, size=size, rng=rng, noise=noise)

        def responded(value: int, size: int, /, *, rng: np.random.Generator) -> FloatArray:
            odds = math.exp(self.guarantee.parameters["epsilon"] / noise)
            kept = rng.random(size) < odds / (odds + _VALUES - 1)
            other = (value + rng.integers(1, _VALUES, size=size)) % _VALUES
            return np.where(kept, value, other).astype(float)

        def released(scores: FloatArray, size: int, /, *, rng: np.random.Generator) -> FloatArray:
            drawn = rng.laplace if kind == "laplace" else rng.normal
            shown: FloatArray = np.quantile(scores, 0.9, method="higher") + drawn(
                scale=noise * self.scale, size=size
            )
            return np.round(shown * _GRID) / _GRID

        def noisy(value: float, size: int, /, *, rng: np.random.Generator) -> FloatArray:
            drawn = rng.laplace if isinstance(self.guarantee, LocalDP) else rng.normal
            return np.round((value + drawn(scale=noise * self.scale, size=size)) * _GRID) / _GRID

        def cumulated(scores: FloatArray, size: int, /, *, rng: np.random.Generator) -> FloatArray:
            bins = int(self.name.partition("-")[2])
            counts = np.histogram(scores, bins=bins, range=(0, 1))[0]
            noisy = counts + rng.laplace(scale=noise * self.scale, size=(size, bins))
            reached = noisy.cumsum(axis=1) >= 0.9 * len(scores)
            return np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, bins) / bins

        others: dict[str, Sampler] = {
            "bisection": bisected,
            "histogram": cumulated,
            "response": responded,
            "number": noisy,
        }
        return others.get(kind, released)

    @property
    def pairs(self) -> PairSpace:
        """The neighbours that a check searches."""
        if self.of_numbers:
            return NumberPairs(limits=(0.0, 1.0))
        if isinstance(self.guarantee, LocalDP):
            return ValuePairs(n_values=_VALUES)
        return ScorePairs(alpha=broken_mechanisms.ALPHA)

    @property
    def stated(self) -> Twin:
        """What power is stated of."""
        local = isinstance(self.guarantee, LocalDP) and not self.of_numbers
        return Twin(
            guarantee=self.guarantee,
            inputs=_VALUES if local else None,
            of_numbers=self.of_numbers,
        )

    @property
    def of_numbers(self) -> bool:
        """Whether it is of one user's number."""
        return self.name.startswith("number-")


TWINS = (
    *(
        PlantedTwin(name=f"laplace-{epsilon:g}", guarantee=PureDP(epsilon), scale=1 / epsilon)
        for epsilon in (0.1, 0.3, 1.0, 3.0, 8.0)
    ),
    *(
        PlantedTwin(name=f"histogram-{bins}", guarantee=PureDP(1.0), scale=2.0)
        for bins in (10, 20, 50)
    ),
    PlantedTwin(name="laplace-delta", guarantee=ApproxDP(1.0, 1e-5)),
    PlantedTwin(name="response-2", guarantee=LocalDP(2.0)),
    PlantedTwin(name="bisection-zcdp", guarantee=ZCDP(broken_mechanisms.RHO)),
    PlantedTwin(name="gaussian-zcdp", guarantee=ZCDP(0.5)),
    PlantedTwin(name="gaussian-gdp", guarantee=GaussianDP(1.0)),
    *(
        PlantedTwin(
            name=f"number-laplace-{epsilon:g}", guarantee=LocalDP(epsilon), scale=1 / epsilon
        )
        for epsilon in (0.3, 1.0, 3.0)
    ),
    PlantedTwin(name="number-zcdp", guarantee=ZCDP(0.5)),
    PlantedTwin(name="number-zcdp-0.05", guarantee=ZCDP(0.05), scale=math.sqrt(10)),
    PlantedTwin(name="number-gdp", guarantee=GaussianDP(1.0)),
    PlantedTwin(name="number-renyi", guarantee=RenyiDP(2.0, 1.0)),
)


def refuted(twin: PlantedTwin, noise: float, *, calls: int, seed: int) -> bool:
    """Return True if a search refutes a twin."""
    audit = BlackBoxPrivacy(
        sample=twin.sampler(noise), guarantee=twin.guarantee, pairs=twin.pairs, draws=calls
    )
    context = Context(seed=seed, name=twin.name, significance=_SIGNIFICANCE)
    with one_thread():
        return audit(context).verdict is Verdict.REFUTED


def _calls_stated(twin: PlantedTwin, factor: float, times: float | None) -> int:
    """Return the calls that are said to refute a twin; or ``times`` what its best event takes."""
    stated = twin.stated
    needed = stated.calls(factor, significance=_SIGNIFICANCE)
    if times is None:
        return math.ceil(needed)
    return math.ceil(times * needed / stated.searched(bisecting=stated.bisects))


def _least_noise(twin: PlantedTwin, calls: int) -> float:
    """Return the largest part of the noise that so many calls are said to refute."""
    power = twin.stated.power(calls, significance=_SIGNIFICANCE)
    return 1 / noise_factor(power.smallest, power.quantity, power.claimed)


def main() -> None:
    """Print, for each twin, how many seeds refute it, and the processor time of one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--twins", nargs="*", default=[twin.name for twin in TWINS])
    parser.add_argument("--factor", type=float, default=2.0)
    parser.add_argument("--times", type=float)
    parser.add_argument("--noise", type=float)
    parser.add_argument("--calls", type=int, default=2**17)
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    print("twin              noise      calls  0.95 stated for noise of  refuted")
    for twin in (each for each in TWINS if each.name in options.twins):
        noise, calls = options.noise, options.calls
        if noise is None:
            noise, calls = 1 / options.factor, _calls_stated(twin, options.factor, options.times)
        started = time.process_time()
        found = sum(refuted(twin, noise, calls=calls, seed=seed) for seed in range(options.seeds))
        seconds = (time.process_time() - started) / options.seeds
        rate = f"{found}/{options.seeds}"
        stated = f"{_least_noise(twin, calls):.2f}"
        print(
            f"{twin.name:16} {noise:6.3g} {calls:10,} {stated:>24}  {rate:7} {seconds:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
