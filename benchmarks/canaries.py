"""What canary audits certify of a training that is accounted at ε = 4, δ = 1e-5.

Prints the table of the README's section on canaries; ``--check`` exits with 1 when a target is
missed. On two cores; the white-box audit of DP-SGD alone takes about ten minutes.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from dpcp_audit.engine.suites import matching
from dpcp_audit.words.checks import Context
from dpcp_audit.words.errors import UsageError
from dpcp_ledger.claims.training_canaries import rows

if TYPE_CHECKING:
    from dpcp_audit.audits.training.canary_audit import CanaryAudit
    from dpcp_audit.words.results import Outcome, PlainData

USUAL = 0.05
_TARGETS = {"dpskin.dp-sgd[audit=white-box]": 0.7, "dpskin.dp-sgd[audit=one-run]": 0.4}


def main() -> int:
    """Run the audits and print their table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--effort", type=float, default=20.0, help="20 is the full profile")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", action="append", default=[], metavar="GLOB", help="ids to run; repeatable"
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    options = parser.parse_args()
    canaries = {row.claim.id: row for row in rows() if "[audit=" in row.claim.id}
    try:
        chosen = matching(options.only, list(canaries), what="audit")
    except UsageError as error:
        parser.error(str(error))
    print("| audit | canary trials | certified ε | of the accounted | seconds |")
    print("|---|---|---|---|---|")
    missed = False
    for id_ in chosen:
        row = canaries[id_]
        context = Context(
            seed=options.seed, name=id_, significance=2 * USUAL, effort=options.effort
        )
        begun = time.perf_counter()
        outcome = _in_parallel(row.check, context, options.jobs)  # type: ignore[arg-type]
        seconds = time.perf_counter() - begun
        evidence = outcome.evidence
        share = evidence.lower / (evidence.claimed or 1)
        missed |= share < _TARGETS.get(id_, 0.0)
        print(
            f"| `{id_}` | {evidence.n_samples:,} | {evidence.lower:.3g} | {share:.2f} | "
            f"{seconds:.0f} |",
            flush=True,
        )
        print(f"  {outcome.note}", flush=True)
    return int(options.check and missed)


def _in_parallel(check: CanaryAudit, context: Context, jobs: int) -> Outcome:
    """Run the chunks in so many processes; half of the error, 0.05, goes to the bound shown."""
    results = Parallel(n_jobs=jobs)(
        delayed(_chunk)(check, context, index) for index in range(check.chunks(context))
    )
    return check.combine(context, results)


def _chunk(check: CanaryAudit, context: Context, index: int) -> PlainData:
    import torch  # noqa: PLC0415  (an extra)

    torch.set_num_threads(1)
    with threadpool_limits(1):
        return check.chunk(context, index)


if __name__ == "__main__":
    raise SystemExit(main())
