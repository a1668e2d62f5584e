"""The inputs on which a target is tried: neighbours to search, and one to time it on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit._plain_data import shown
from dpcp_audit.audits.search.record_pairs import RecordPairs, ValuePairs
from dpcp_audit.audits.search.score_pairs import ScorePairs, sizes_beside
from dpcp_audit.errors import UsageError
from dpcp_audit.neighbours import Relation
from dpcp_audit.targets import Kind

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import PairSpace
    from dpcp_audit.target_checks.check_spec import CheckSpec

COVERAGE_SIZE = 500
"""The number of scores at which coverage is checked, if none is given."""
_CLASSES = 10
_LARGEST_SIZE = 10**7


def pair_space(spec: CheckSpec) -> PairSpace:
    """Return the neighbours to search for the privacy claims of a check."""
    target = spec.target
    if target.kind is Kind.RANDOMIZER:
        assert target.domain is not None  # noqa: S101  (for the type checker)
        return ValuePairs(n_values=target.domain)
    one_label = spec.neighbours is Relation.ONE_LABEL
    if target.kind is Kind.QUANTILE and one_label:
        raise UsageError("neighbours: a quantile has no labels: use 'substitution'")
    if max(spec.n, default=0) > _LARGEST_SIZE:
        raise UsageError(
            f"n must be at most {_LARGEST_SIZE}, since every call takes n scores, "
            f"got {shown(max(spec.n), 60)}"
        )
    settings: dict[str, Any] = {"sizes": sizes_beside(spec.n)} if spec.n else {}
    try:
        scores = ScorePairs(
            bounds=target.bounds if target.kind is Kind.QUANTILE else (0.0, 1.0),
            relation=Relation.SUBSTITUTION if one_label else spec.neighbours,
            alpha=spec.alpha,
            **settings,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    if target.kind is Kind.QUANTILE:
        return scores
    return RecordPairs(scores=scores, relation=spec.neighbours)


def typical(spec: CheckSpec) -> Any:
    """Return an input of the largest size that will be tried, as the target takes it."""
    kind = spec.target.kind
    if kind is Kind.RANDOMIZER:
        return 0
    n = max(spec.n or (COVERAGE_SIZE,))
    grid = (np.arange(n) + 0.5) / n
    if kind is Kind.QUANTILE:
        low, high = spec.target.bounds
        return low + (high - low) * grid
    rest = (1 - grid) / (_CLASSES - 1)
    probabilities = np.repeat(rest[:, None], _CLASSES, axis=1)
    probabilities[:, 0] = grid
    return probabilities, np.zeros(n, dtype=np.int64)
