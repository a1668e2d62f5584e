"""The mutation study: ``python benchmarks/mutants/mutation_study.py --sample 150``.

Mutants of the statistics, the laws, the verdicts and the audits that select and certify. Each runs
the tests that mirror its module, and then the others that import it, the shortest first, until
one fails. Those that none fails for are printed, with the reason that explained_mutants.toml has:
equivalent ones, which no test could kill, are counted apart. The exit code is 1 where more than
2 % of the others survive, or one without a reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tomllib
from collections import Counter
from dataclasses import asdict
from functools import partial
from pathlib import Path

from mutation_operators import Mutant, mutants_of, planted
from mutation_trial import KILLED, SURVIVED, TIME, Trial, green, outcome, preload

ROOT = Path(__file__).parents[2]
STUDIED = (
    "stats/*.py",
    "mechanisms/iid_coverage.py",
    "mechanisms/local_scores.py",
    "decisions.py",
    "checks.py",
    "audits/accounting.py",
    "audits/blackbox.py",
    "audits/certificates.py",
    "audits/exact.py",
    "audits/local*.py",
    "audits/*membership*.py",
    "audits/search/event_search.py",
    "audits/search/pilot_hypotheses.py",
    "audits/gues*.py",
)
PLANTED = (
    planted(
        "dpcp_audit/audits/blackbox.py",
        "outputs = race.bank.fresh(value, size), race.bank.fresh(neighbour, size)",
        "outputs = pilot",
    ),
    planted(
        "dpcp_audit/audits/release_membership.py",
        "share = unprobed(context.significance) / _TESTS",
        "share = unprobed(context.significance)",
    ),
    planted(
        "dpcp_audit/theorems/coverage_audit.py",
        "math.ceil(side.claimed * (n + 1))",
        "math.ceil(side.claimed * n)",
    ),
    planted(
        "dpcp_audit/audits/search/pair_race.py",
        "        rng = self.context.rng(self._streams)\n        self._streams += 1\n        parts",
        "        rng = self.context.rng(self._streams)\n        parts",
    ),
)
"""The central rule, that samples which choose an event do not certify it, and what once got by."""
EXPLAINED = Path(__file__).with_name("explained_mutants.toml")
LARGEST_SHARE = 0.02


def main() -> int:
    """Run the study, or go on with it: what was counted is kept."""
    options = _options()
    mutants, kept = _sample(options), Path(options.kept)
    found = _known(kept)
    preload()
    durations = _durations(options.durations)
    for number, mutant in enumerate(mutants):
        if _key(mutant) in found:
            continue
        trial = Trial(root=ROOT, mutant=mutant, durations=durations, mirrored=options.mirrored)
        result = outcome(trial)
        found[_key(mutant)] = result
        with kept.open("a") as file:
            file.write(f"{_key(mutant)}\t{result}\n")
        sys.stderr.write(f"[{number + 1}/{len(mutants)}] {_shown(mutant)}: {result}\n")
    results = [found[_key(mutant)] for mutant in mutants]
    killers = {each.removeprefix(KILLED) for each in results} - {SURVIVED, TIME}
    if killers and not green(ROOT, sorted(killers)):
        sys.stdout.write("tests fail without any mutant: what they killed counts for nothing\n")
        return 1
    reasons = _reasons()
    outcomes = Counter(each if each == SURVIVED else "killed" for each in results)
    for mutant, each in zip(mutants, results, strict=True):
        if each == SURVIVED:
            kind, why = reasons.get(_change(mutant), ("unexplained", ""))
            outcomes[kind] += 1
            sys.stdout.write(f"{kind}: {_shown(mutant)}{f' ({why})' if why else ''}\n")
    told, left = outcomes["survivor"], outcomes["unexplained"]
    sys.stdout.write(
        f"{len(mutants)} mutants: {outcomes['killed']} killed, {outcomes['equivalent']} "
        f"equivalent, {told + left} survived, {left} of them unexplained\n"
    )
    different = len(mutants) - outcomes["equivalent"]
    return int(left > 0 or told > LARGEST_SHARE * different)


def _reasons() -> dict[tuple[str, str, str], tuple[str, str]]:
    """Return the kinds and reasons of the mutants that no test fails for, by line and change."""
    known = tomllib.loads(EXPLAINED.read_text())
    return {
        (one["path"], one["line"], one["change"]): (kind, str(one["why"]))
        for kind in ("equivalent", "survivor")
        for one in known.get(kind, ())
    }


def _change(mutant: Mutant) -> tuple[str, str, str]:
    """Return what stays as it is when other lines change: path, source line and change."""
    line = (ROOT / mutant.path).read_text().splitlines()[mutant.line - 1].strip()
    change = f"{mutant.before}  →  {mutant.after}"
    return mutant.path.removeprefix("dpcp_audit/"), line, change


def _key(mutant: Mutant) -> str:
    return json.dumps(asdict(mutant))


def _known(kept: Path) -> dict[str, str]:
    """Return what was counted before, by mutants."""
    lines = kept.read_text().splitlines() if kept.exists() else []
    return {key: result for key, _, result in (line.partition("\t") for line in lines)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=150, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--only", default="", help="a part of a module's path: all its mutants")
    parser.add_argument("--again", default="", help="a kept file: what survived there")
    parser.add_argument("--line", type=int, default=0, help="with --only: of this line")
    parser.add_argument(
        "--mirrored", action="store_true", help="run the tests of the module's own test file alone"
    )
    parser.add_argument("--planted", action="store_true", help="the bugs that are named instead")
    parser.add_argument("--kept", default="mutants.tsv", help="the file of what was counted")
    parser.add_argument(
        "--durations", default="", help="a file with what 'pytest -vv --durations=0' printed"
    )
    return parser.parse_args()


def _sample(options: argparse.Namespace) -> list[Mutant]:
    package = ROOT / "dpcp_audit"
    paths = sorted({path for pattern in STUDIED for path in package.glob(pattern)})
    everything = [mutant for path in paths for mutant in mutants_of(path, ROOT)]
    if options.planted:
        return list(PLANTED)
    if options.only:
        return [
            each
            for each in everything
            if options.only in each.path and options.line in (0, each.line)
        ]
    if options.again:
        return _survivors(everything, Path(options.again))
    return sorted(everything, key=partial(_drawn, options.seed))[: options.sample]


def _survivors(everything: list[Mutant], kept: Path) -> list[Mutant]:
    """Return those that survived before, by their changes: lines and places may have moved."""
    old = [Mutant(**json.loads(key)) for key, each in _known(kept).items() if each == SURVIVED]
    found: list[Mutant] = []
    for one in old:
        change = (one.path, one.before, one.after)
        alike = {
            abs(each.line - one.line): each
            for each in everything
            if (each.path, each.before, each.after) == change
        }
        found += [alike[min(alike)]] if alike else []
    return found


def _drawn(seed: int, mutant: Mutant) -> bytes:
    """Return where a mutant stands in the sample: changes of other modules draw no other ones."""
    return hashlib.sha256(f"{seed} {mutant.path} {mutant.place}".encode()).digest()


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
