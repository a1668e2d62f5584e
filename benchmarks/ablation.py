"""What each part of the search for a broken promise catches that the others miss.

    python -m benchmarks.ablation [--share 0.5] [--seeds 2] [--parts "no game" …] [--jobs 1]

Each part of the black box is left out in turn, and the planted privacy bugs of the zoo are tried
with a share of their draws, seen from outside alone. The table counts refutations; a part that
nothing needs, run after run, may leave. With 23 bugs at two seeds, a difference of one or two is
chance.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from unittest import mock

from joblib import Parallel, delayed

from dpcp_audit.audits.search import event_search, pair_race, pilot_hypotheses
from dpcp_audit.audits.search.event_search import ScalarValue
from dpcp_audit.audits.search.record_pairs import ClientPairs, RecordPairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.engine.tasks import one_thread
from dpcp_audit.target_checks.target_claims import TargetPrivacy
from dpcp_audit.targets.answers import DegenerateTargetError
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Verdict
from dpcp_ledger.zoo.specimen import SpecimenCheck
from dpcp_ledger.zoo.zoo_suite import mutants

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_ledger.zoo.specimen import Specimen

_SIGNIFICANCE = 1e-4
_DETECT = 10.0
"""Calls are few: a bug that is not refuted says no more."""
_FEWEST = 600


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A name of a module or class, and what stands there while its part is left out."""

    place: object
    name: str
    value: Any


def _returns(value: object) -> Callable[..., object]:
    return lambda *_args, **_options: value


_MOMENTS = (LeftOut(pilot_hypotheses, "_moments", _returns(None)),)
_GAME = (LeftOut(pilot_hypotheses, "choose_game", _returns(None)),)
_BITS = (
    LeftOut(event_search, "_BITS", ()),
    LeftOut(event_search, "_RESOLUTIONS", ()),
)
_DECIMALS = (LeftOut(event_search, "DecimalPlaces", _returns(ScalarValue())),)
_RARE_ATOMS = (
    LeftOut(pair_race, "promise_of_atoms", _returns(-float("inf"))),
    LeftOut(pair_race, "claims_delta", _returns(value=False)),
)
_UNDECIDED = (LeftOut(pair_race.PairRace, "_balance", _returns([])),)
_EASED = (LeftOut(pilot_hypotheses, "_EASED", ((1.0, 1.0),)),)
_AT_RANDOM = tuple(
    LeftOut(space, "at_random", _returns(None)) for space in (ScorePairs, RecordPairs, ClientPairs)
)
PARTS: dict[str, tuple[LeftOut, ...]] = {
    "all parts": (),
    "no moments": _MOMENTS,
    "no game": _GAME,
    "no bits of a bisection": _BITS,
    "no decimals": _DECIMALS,
    "no rare atoms": _RARE_ATOMS,
    "no undecided pairs": _UNDECIDED,
    "no eased claims": _EASED,
    "no random pairs": _AT_RANDOM,
    "events of the value alone": (*_MOMENTS, *_GAME, *_BITS, *_DECIMALS, *_RARE_ATOMS),
}


def planted() -> list[Specimen]:
    """Return the planted bugs that break a privacy claim and can be seen from outside."""
    return [bug for bug in mutants() if SpecimenCheck.BLACK_BOX in bug.caught_by]


def refuted(bug: Specimen, seed: int, *, share: float, part: str) -> tuple[bool, float]:
    """Return True if a search without a part refutes a bug, and the processor seconds."""
    assert bug.privacy is not None  # noqa: S101  (for the type checker)
    draws = max(_FEWEST, round(share * bug.draws))
    spec = replace(bug.spec, trace=False, detect=_DETECT, draws=draws)
    context = Context(seed=seed, name=bug.name, significance=_SIGNIFICANCE)
    started = time.process_time()
    with ExitStack() as stack:
        stack.enter_context(one_thread())
        for left in PARTS[part]:
            stack.enter_context(mock.patch.object(left.place, left.name, left.value))
        try:
            found = TargetPrivacy(spec=spec, guarantee=bug.privacy)(context).verdict
        except DegenerateTargetError:  # of few draws, all may be alike
            found = Verdict.ERROR
    return found is Verdict.REFUTED, time.process_time() - started


def counted(
    bugs: Sequence[Specimen], part: str, *, share: float, seeds: int, jobs: int
) -> tuple[dict[str, int], float]:
    """Return how many seeds refute each bug without a part, and the processor seconds in all."""
    cases = [(bug, seed) for bug in bugs for seed in range(seeds)]
    tried = Parallel(n_jobs=jobs)(
        delayed(refuted)(bug, seed, share=share, part=part) for bug, seed in cases
    )
    caught = {bug.name: 0 for bug in bugs}
    for (bug, _), (hit, _) in zip(cases, tried, strict=True):
        caught[bug.name] += hit
    return caught, sum(seconds for _, seconds in tried)


def main() -> None:
    """Print a row for each part that is left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.5, help="of each bug's draws")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    bugs = planted()
    tries = len(bugs) * options.seeds
    print(
        f"{len(bugs)} planted bugs, {options.seeds} seeds, {options.share:g} of their draws",
        flush=True,
    )
    whole: dict[str, int] = {}
    for part in dict.fromkeys(["all parts", *options.parts]):
        caught, seconds = counted(
            bugs, part, share=options.share, seeds=options.seeds, jobs=options.jobs
        )
        whole = whole or caught
        missed = {
            name: f"{count} of {whole[name]}"
            for name, count in caught.items()
            if count < whole[name]
        }
        print(
            f"{part:26} {sum(caught.values()):3} of {tries}  {seconds:5.0f} s  fewer: {missed}",
            flush=True,
        )


if __name__ == "__main__":
    main()
