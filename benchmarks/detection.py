"""How often a search refutes planted twins, with the calls that are planned or with others.

Usage: python benchmarks/detection.py [--calls N] [--seeds 10] [--noise 0.7]

The factors of ``dpcp_audit.audits.twin_power`` are from such runs: the calls with which 95 % of
the seeds refute, over those that the best event of the worst pair takes.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.checks import Context
from dpcp_audit.guarantees import ZCDP, GaussianDP, PureDP
from dpcp_audit.results import Verdict
from dpcp_audit.zoo import broken_quantiles

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.sampled import Sampler
    from dpcp_audit.guarantees import PrivacyGuarantee

_SIGNIFICANCE = 2.25e-5
"""That of one of two tests of a session of pytest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedTwin:
    """A quantile with a part of the noise that its claim asks for.

    Parameters
    ----------
    name : str
    guarantee : PrivacyGuarantee
        What it keeps with all of its noise.
    """

    name: str
    guarantee: PrivacyGuarantee

    def sampler(self, noise: float) -> Sampler:
        """Return the quantile with so much of its noise."""

        def sample(scores: FloatArray, size: int, /, *, rng: np.random.Generator) -> FloatArray:
            if self.name == "bisection":
                return broken_quantiles.search(scores, size=size, rng=rng, noise=noise)
            drawn = rng.laplace if self.name == "laplace" else rng.normal
            released: FloatArray = np.quantile(scores, 0.9, method="higher") + drawn(
                scale=noise, size=size
            )
            return released

        return sample


TWINS = (
    PlantedTwin(name="bisection", guarantee=ZCDP(broken_quantiles.RHO)),
    PlantedTwin(name="laplace", guarantee=PureDP(1.0)),
    PlantedTwin(name="gaussian", guarantee=ZCDP(0.5)),
    PlantedTwin(name="gaussian", guarantee=GaussianDP(1.0)),
)


def refuted(twin: PlantedTwin, noise: float, *, calls: int, seed: int) -> bool:
    """Tell whether a search refutes a twin."""
    audit = BlackBoxPrivacy(
        sample=twin.sampler(noise),
        guarantee=twin.guarantee,
        pairs=ScorePairs(sizes=(500,), alpha=broken_quantiles.ALPHA),
        draws=calls,
    )
    context = Context(seed=seed, name=twin.name, significance=_SIGNIFICANCE)
    return audit(context).verdict is Verdict.REFUTED


def main() -> None:
    """Print, for each twin, at how many seeds it is refuted, and the processor time of one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2**17)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--noise", type=float, default=0.7)
    options = parser.parse_args()
    for twin in TWINS:
        started = time.process_time()
        found = sum(
            refuted(twin, options.noise, calls=options.calls, seed=seed)
            for seed in range(options.seeds)
        )
        seconds = (time.process_time() - started) / options.seeds
        print(f"{twin.name:10} {twin.guarantee!s:20} {found}/{options.seeds} {seconds:.1f} s")


if __name__ == "__main__":
    main()
