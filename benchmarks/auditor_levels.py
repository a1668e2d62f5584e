"""Measure how often the sampled auditors refute true claims, and find broken ones.

    python benchmarks/auditor_levels.py [--repetitions 2000] [--detections 200] [--jobs 2]

Every mechanism meets its claim with equality (P-COQS: the exact ρ of its released threshold), and
every run includes the search for the event. Exits with 1 where a rate of refusals is too high for
the level of 5 %: with probability at most 1e-6 a table, if all levels hold.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import binom

from dpcp_audit.audits.certificates import Certificate
from dpcp_audit.audits.sampled import SampledPrivacy
from dpcp_audit.audits.sequential import SequentialPrivacy
from dpcp_audit.checks import Check, Context
from dpcp_audit.guarantees import ZCDP, LocalDP, PureDP
from dpcp_audit.mechanisms.laws import FinitePair
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.neighbours import Neighbours, Relation
from dpcp_audit.results import Verdict
from dpcp_audit.stats.intervals import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit._types import FloatArray
    from dpcp_audit.guarantees import PrivacyGuarantee

LEVEL, FALSE_ALARM = 0.05, 1e-6
N_SAMPLES = 1000
SCALES = (1.0, 0.9, 0.8, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """A mechanism whose noise is ``scale`` times what its claim asks for."""

    kind: str
    scale: float = 1.0

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Draw outputs."""
        return SAMPLERS[self.kind](value, size, self.scale, rng)


def _response(value: Any, size: int, scale: float, rng: np.random.Generator) -> FloatArray:
    reports = KaryRandomizedResponse(2.0 / scale, 10).sample(np.full(size, value), rng=rng)
    return reports.astype(np.float64)


SAMPLERS: dict[str, Callable[[Any, int, float, np.random.Generator], FloatArray]] = {
    "Laplace": lambda value, size, scale, rng: value + rng.laplace(scale=scale, size=size),
    "Gaussian": lambda value, size, scale, rng: value + rng.normal(scale=scale, size=size),
    "k-RR": _response,
    "P-COQS": lambda value, size, scale, rng: quantile(scale).sample(value, size, rng=rng),
}


def quantile(scale: float = 1.0) -> PCOQS:
    """Return P-COQS with five rounds."""
    return PCOQS(alpha=0.1, rho=0.5 / scale**2, resolution=2**-5)


def quantile_claim(inputs: tuple[FloatArray, FloatArray]) -> ZCDP:
    """Return the exact ρ between P-COQS's released thresholds on two inputs."""
    pair = FinitePair(*quantile().laws(*inputs))
    return ZCDP(max(pair.rho(), pair.reversed().rho()))


def cases() -> list[tuple[str, PrivacyGuarantee, tuple[Any, Any]]]:
    """Return the mechanisms with their claims and inputs."""
    scores = quantile().worst_pair(50)
    return [
        ("Laplace", PureDP(1.0), (0.0, 1.0)),
        ("k-RR", LocalDP(2.0), (0, 1)),
        ("Gaussian", ZCDP(0.5), (0.0, 1.0)),
        ("P-COQS", quantile_claim(scores), scores),
    ]


def checks(
    kind: str, guarantee: PrivacyGuarantee, inputs: tuple[Any, Any], scale: float
) -> dict[str, Check]:
    """Return every auditor that can judge the claim."""
    common: dict[str, Any] = {
        "sample": Noise(kind=kind, scale=scale),
        "guarantee": guarantee,
        "neighbours": Neighbours(
            relation=Relation.SUBSTITUTION, value=inputs[0], neighbour=inputs[1]
        ),
    }
    found: dict[str, Check] = {
        str(certificate): SampledPrivacy(**common, n_samples=N_SAMPLES, certificate=certificate)
        for certificate in Certificate
        if certificate.fits(guarantee)
    }
    if isinstance(guarantee, PureDP):
        half = N_SAMPLES // 2
        found["betting"] = SequentialPrivacy(**common, n_pilot=half, n_samples=half)
    return found


def refusals(check: Check, seeds: range) -> int:
    """Count the seeds on which the check refutes."""
    return sum(
        check(Context(seed=seed, name="study", significance=LEVEL)).verdict is Verdict.REFUTED
        for seed in seeds
    )


def rate(check: Check, repetitions: int, jobs: int) -> int:
    """Count refusals over ``repetitions`` seeds, on ``jobs`` processes."""
    edges = np.linspace(0, repetitions, 4 * jobs + 1).astype(int).tolist()
    parts = (range(a, b) for a, b in pairwise(edges))
    return sum(Parallel(n_jobs=jobs)(delayed(refusals)(check, part) for part in parts))


def row(
    kind: str, guarantee: PrivacyGuarantee, inputs: tuple[Any, Any], arguments: argparse.Namespace
) -> list[tuple[str, bool]]:
    """Return the table's lines of one mechanism, each with whether its level holds."""
    lines: list[tuple[str, bool]] = []
    for auditor in checks(kind, guarantee, inputs, 1.0):
        cells, holds = [f"{kind}, {guarantee}", auditor], True
        for scale in SCALES:
            repetitions = arguments.repetitions if scale == 1 else arguments.detections
            check = checks(kind, guarantee, inputs, scale)[auditor]
            count = rate(check, repetitions, arguments.jobs)
            low, high = clopper_pearson(count, repetitions, significance=0.05)
            cells.append(f"{count / repetitions:.3f} [{low:.3f}, {high:.3f}]")
            if scale == 1:
                holds = count <= binom.isf(FALSE_ALARM / 8, repetitions, LEVEL)
        lines.append((f"| {' | '.join(cells)} |", bool(holds)))
    return lines


def main() -> int:
    """Print the table; return 1 where a level does not hold."""
    parser = argparse.ArgumentParser(description="The level and power of the sampled auditors.")
    parser.add_argument("--repetitions", type=int, default=2000, help="runs on correct mechanisms")
    parser.add_argument("--detections", type=int, default=200, help="runs on each broken one")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    print(f"Refusals at level {LEVEL} with {N_SAMPLES} outputs of each input, pilot included.")
    print("| mechanism, claim | auditor |" + "".join(f" noise × {scale:g} |" for scale in SCALES))
    print("|---|---|" + "---|" * len(SCALES))
    held = True
    for kind, guarantee, inputs in cases():
        for line, holds in row(kind, guarantee, inputs, arguments):
            print(line if holds else f"{line} LEVEL BROKEN", flush=True)
            held = held and holds
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
