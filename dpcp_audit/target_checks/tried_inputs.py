"""The inputs that a check tries: the pairs of neighbours, and a typical input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.search.record_pairs import (
    SIZES,
    ClientPairs,
    NumberPairs,
    RecordPairs,
    RowPairs,
    ValuePairs,
)
from dpcp_audit.audits.search.score_pairs import ScorePairs, sizes_beside
from dpcp_audit.target_checks.given_inputs import COVERAGE_SIZE, Unit, rows_for
from dpcp_audit.targets import Kind, Takes
from dpcp_audit.targets.kinds import tried
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Relation

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import PairSpace
    from dpcp_audit.target_checks.check_spec import CheckSpec


_CLASSES = 10


def typical(spec: CheckSpec) -> Any:
    """Return an input of the largest size that will be tried, as the target takes it."""
    if spec.pair is not None:
        return spec.pair.value
    takes = spec.target.kind.takes
    if takes is Takes.VALUE:
        return 0 if spec.target.domain is not None else tried(spec.target.bounds)[0]
    if takes in {Takes.ROWS, Takes.CLIENTS}:
        return pair_space(spec).candidates()[0].inputs[0]
    n = max(spec.n or (COVERAGE_SIZE,))
    grid = (np.arange(n) + 0.5) / n
    if takes is Takes.SCORES:
        low, high = tried(spec.target.bounds)
        return low + (high - low) * grid
    classes = spec.target.domain or _CLASSES
    rest = (1 - grid) / (classes - 1)
    probabilities = np.repeat(rest[:, None], classes, axis=1)
    probabilities[:, 0] = grid
    return probabilities, np.zeros(n, dtype=np.int64)


_FEWEST_CLASSES = 2


def pair_space(spec: CheckSpec) -> PairSpace:
    """Return the neighbours to search for the privacy claims of a check, or the pair given."""
    if spec.pair is not None:
        return spec.pair.space(spec.neighbours, tried(spec.target.bounds))
    return _searched(spec)


def _searched(spec: CheckSpec) -> PairSpace:
    target = spec.target
    if target.kind.takes is Takes.VALUE:
        if target.domain is None:
            return NumberPairs(limits=tried(target.bounds))
        return ValuePairs(n_values=target.domain)
    if target.kind.takes is Takes.ROWS:
        return _row_pairs(spec)
    one_label = spec.neighbours is Relation.ONE_LABEL
    of_scores = target.kind.takes is not Takes.RECORDS
    if of_scores and one_label:
        raise UsageError(f"neighbours: a {target.kind} has no labels", hint="use 'substitution'")
    settings: dict[str, Any] = {"sizes": sizes_beside(spec.n)} if spec.n else {}
    try:
        scores = ScorePairs(
            bounds=tried(target.bounds) if of_scores else (0.0, 1.0),
            relation=Relation.SUBSTITUTION if one_label else spec.neighbours,
            alpha=spec.alpha,
            **settings,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    if target.kind.takes is Takes.CLIENTS:
        of_clients = spec.unit is Unit.CLIENT
        return ClientPairs(scores=scores, clients=spec.clients, of_clients=of_clients)
    if of_scores:
        return scores
    return RecordPairs(
        scores=scores, relation=spec.neighbours, n_classes=target.domain or _FEWEST_CLASSES
    )


def _row_pairs(spec: CheckSpec) -> PairSpace:
    kind = spec.target.kind
    if kind is Kind.REGRESSION and spec.neighbours is Relation.ONE_LABEL:
        raise UsageError(
            "neighbours: outcomes of a regression are no labels", hint="use 'substitution'"
        )
    pool = rows_for(kind, spec.data)
    sizes = {"sizes": (*spec.n, *SIZES)} if spec.n else {}
    return RowPairs(
        pool=pool,
        relation=spec.neighbours,
        whole=kind is not Kind.REGRESSION,
        alpha=spec.alpha,
        **sizes,
    )
