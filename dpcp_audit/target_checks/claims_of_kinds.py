"""Which claims are tested of which kinds of target; of the others, what to do instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.targets import Kind, Takes, kinds_that

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OBJECT = "hand over an object with fit and predict_set (kind predictor)"
_OF_ALL = "claim the coverage of all of them"
_NO_SETS: dict[str, str] = {
    Kind.VECTOR: "return the one threshold that sets are made with (kind quantile)",
    Kind.RANDOMIZER: "claim it of the threshold that is made of the reports (kind quantile)",
    Kind.LOCAL: "claim it of the threshold that is made of the reports (kind quantile)",
    Kind.MODEL: f"{_OBJECT}, or with predict_interval (kind regression)",
}
_NO_LABELS = f"a score has no label: take probabilities and labels (kind calibrator), or {_OF_ALL}"
_NO_CLASSES: dict[str, str] = {
    Kind.QUANTILE: _NO_LABELS,
    Kind.FEDERATED: _NO_LABELS,
    Kind.REGRESSION: f"outcomes have no classes: {_OF_ALL}",
}
_NO_SIZES: dict[str, str] = {
    Kind.QUANTILE: f"a threshold alone has no sets: {_OBJECT}",
    Kind.CALIBRATOR: f"a threshold alone has no sets: {_OBJECT}",
    Kind.FEDERATED: f"a threshold alone has no sets: {_OBJECT}",
    Kind.REGRESSION: "an interval holds no number of labels: claim its coverage",
}
_VALUES = kinds_that(take=Takes.VALUE)


def _others(kinds: Iterable[Kind], advice: str) -> dict[str, str]:
    return {kind: advice for kind in Kind if kind not in kinds}


REFUSED: Mapping[str, Mapping[str, str]] = {
    "local_dp": _others(_VALUES, "it is of one user's report: use PureDP (pure-dp) of a data set"),
    "coverage_at_least": _NO_SETS,
    "class_conditional_coverage": _NO_SETS | _NO_CLASSES,
    "with_confidence": _NO_SETS,
    "set_size_at_most": _NO_SETS | _NO_SIZES,
    "shuffle_n": _others(
        _VALUES, "hand over the function of one user's value (kind randomizer or local)"
    ),
}
"""By the option that claims it, the kinds of which it is not tested, and the advice."""


def kinds_for(claim: str) -> tuple[Kind, ...]:
    """Return the kinds of which a claim is tested.

    Parameters
    ----------
    claim : str
        The name of the option that claims it.

    Examples
    --------
    >>> [str(kind) for kind in kinds_for("class_conditional_coverage")]
    ['calibrator', 'predictor']
    """
    return tuple(kind for kind in Kind if kind not in REFUSED[claim])
