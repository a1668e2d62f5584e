"""The mutation study: ``python benchmarks/mutants/mutation_study.py --sample 150``.

Mutants of the statistics, the laws, the verdicts and the audits that select and certify. Each runs
the tests that mirror its module, and then the others that import it, the shortest first, until
one fails. Those that none fails for are printed; the exit code is 1 where they are more than 2 %.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import asdict
from pathlib import Path

from mutation_operators import Mutant, mutants_of
from mutation_trial import KILLED, TIME, Trial, green, outcome, preload

ROOT = Path(__file__).parents[2]
STUDIED = (
    "stats/*.py",
    "mechanisms/**/*law*.py",
    "decisions.py",
    "checks.py",
    "audits/accounting.py",
    "audits/blackbox.py",
    "audits/certificates.py",
    "audits/event_power.py",
    "audits/exact.py",
    "audits/local*.py",
    "audits/sampled.py",
    "audits/sequential.py",
    "audits/membership/*.py",
    "audits/search/event_search.py",
    "audits/search/pilot_hypotheses.py",
    "audits/guessing/*.py",
)
LARGEST_SHARE = 0.02


def main() -> int:
    """Run the study, or go on with it: what was counted is kept."""
    options = _options()
    found = {json.dumps(asdict(one)): "" for one in _sample(options)}
    kept = Path(options.kept)
    if kept.exists():
        for line in kept.read_text().splitlines():
            mutant, _, result = line.partition("\t")
            if mutant in found:
                found[mutant] = result
    preload()
    durations = _durations(options.durations)
    for number, (key, known) in enumerate(found.items()):
        if known:
            continue
        mutant = Mutant(**json.loads(key))
        found[key] = outcome(Trial(root=ROOT, mutant=mutant, durations=durations))
        with kept.open("a") as file:
            file.write(f"{key}\t{found[key]}\n")
        sys.stderr.write(f"[{number + 1}/{len(found)}] {_shown(mutant)}: {found[key]}\n")
    killers = {each.removeprefix(KILLED) for each in found.values() if each.startswith(KILLED)}
    if not green(ROOT, sorted(killers - {TIME})):
        sys.stdout.write("tests fail without any mutant: what they killed counts for nothing\n")
        return 1
    survivors = [Mutant(**json.loads(key)) for key, result in found.items() if result == "survived"]
    for mutant in survivors:
        sys.stdout.write(f"survived: {_shown(mutant)}\n")
    sys.stdout.write(f"{len(survivors)} of {len(found)} mutants survived\n")
    return int(len(survivors) > LARGEST_SHARE * len(found))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=150, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--only", default="", help="a part of a module's path: all its mutants")
    parser.add_argument("--line", type=int, default=0, help="with --only: of this line")
    parser.add_argument("--kept", default="mutants.tsv", help="the file of what was counted")
    parser.add_argument(
        "--durations", default="", help="a file with what 'pytest -vv --durations=0' printed"
    )
    return parser.parse_args()


def _sample(options: argparse.Namespace) -> list[Mutant]:
    package = ROOT / "dpcp_audit"
    paths = sorted({path for pattern in STUDIED for path in package.glob(pattern)})
    everything = [mutant for path in paths for mutant in mutants_of(path, ROOT)]
    if options.only:
        return [
            each
            for each in everything
            if options.only in each.path and options.line in (0, each.line)
        ]
    rng = random.Random(options.seed)  # noqa: S311  (a sample)
    return rng.sample(everything, min(options.sample, len(everything)))


def _durations(name: str) -> dict[str, float]:
    """Return the seconds of tests, by their ids."""
    found: dict[str, float] = {}
    for line in Path(name).read_text().splitlines() if name else ():
        match line.replace("s ", " ", 1).split(maxsplit=2):
            case [seconds, "call", test]:
                found[test] = float(seconds)
            case _:
                pass
    return found


def _shown(mutant: Mutant) -> str:
    return f"{mutant.path}:{mutant.line}: {mutant.before}  →  {mutant.after}"


if __name__ == "__main__":
    sys.exit(main())
