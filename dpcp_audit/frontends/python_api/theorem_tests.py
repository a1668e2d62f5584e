"""``theorem``: one theorem on scores and at parameters of anybody's choice, from Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit import options as tables
from dpcp_audit._values import Choice
from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.errors import UsageError
from dpcp_audit.frontends.python_api.audits import checked_here
from dpcp_audit.target_checks.run_options import RUN_OPTIONS
from dpcp_audit.theorems.score_laws import law_of_probabilities, law_of_scores
from dpcp_audit.theorems.theorem_case import SUITE_NAME, TheoremCase

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.frontends.python_api.result import Result
    from dpcp_audit.theorems.score_laws import ScoreLaw


def theorem(
    name: str,
    *,
    pool: str | Path | None = None,
    scores: str | Path | ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    profile: str = "ci",
    seed: int | None = None,
    false_alarm: float | None = None,
    strict: bool | None = None,
    **parameters: Any,
) -> Result:
    """Test a theorem on scores of your own, or on a named law, at parameters of your own.

    As ``dpcp-audit theorem`` does: the same case and seed give the same result.

    Parameters
    ----------
    name : str
        Such as "ldpcp-4" or "pcoqs-theorem-1"; ``dpcp-audit theorem --list`` shows all, with
        their parameters.
    pool : str or Path, optional
        Saved probabilities and labels (``FILE.npz``), or the name of a pool that is fitted here,
        such as "digits-logistic".
    scores : str or array_like, shape (m,), optional
        A law, "uniform" or "beta(5,0.2)", or scores at hand, from which calibration scores are
        drawn with replacement.
    probabilities, labels : array_like, shapes (m, k) and (m,), optional
        A classifier's probabilities at hand, and the true labels in {0, ..., k−1}; the score is
        1 − p_y.
    profile : str
        How much effort to spend: "smoke", "ci" or "full".
    seed : int, optional
        Of every random stream; 0 unless given.
    false_alarm : float, optional
        Probability that the run refutes a true theorem; 0.001 unless given.
    strict : bool, optional
        Whether an inconclusive verdict contradicts what is expected.
    **parameters
        Those of the theorem.

    Raises
    ------
    ValueError
        Naming the argument, with what it got.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> result = dp.theorem("ldpcp-4", scores="uniform", n=20_000, epsilon=2, delta=0.05)
    >>> result["ldpcp-4"].estimate.value < 0.05
    True
    >>> [each.claim for each in dp.theorem("split-conformal", scores=[0.1, 0.4, 0.7], n=9)]
    ... # doctest: +ELLIPSIS
    ['Sets calibrated by split conformal prediction cover at least 1−α, ...']
    """
    said = tables.read(RUN_OPTIONS, {"seed": seed, "false_alarm": false_alarm, "strict": strict})
    law, sources = _law(pool, scores, probabilities, labels)
    asked = TheoremCase.of(name, parameters | sources, law=law)
    source = sources if law is None else {"scores": law.name}
    case = {"theorem": name} | source | asked.as_data()
    settings = RunSettings(
        suite=SUITE_NAME,
        profile=Choice(Profile).read(profile, "profile"),
        options={"case": case},
        **said,
    )
    return checked_here(
        [asked.row()], [name], settings, settings.false_alarm, replayable=law is None
    )


def _law(
    pool: object, scores: Any, probabilities: ArrayLike | None, labels: ArrayLike | None
) -> tuple[ScoreLaw | None, dict[str, str]]:
    """Return the law of arrays at hand, or else what names one; no more than one is given."""
    named = {
        key: str(value)
        for key, value in (("pool", pool), ("scores", scores))
        if isinstance(value, str | Path)
    }
    at_hand = {"scores": scores, "probabilities": probabilities}
    arrays = [key for key, value in at_hand.items() if value is not None and key not in named]
    given = [*named, *arrays]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} are two laws of the scores: give one")
    if (probabilities is None) is not (labels is None):
        raise UsageError("probabilities and labels go together: give both")
    if pool is not None and "pool" not in named:
        raise UsageError(f"pool must name a file or a pool, got {type(pool).__name__}")
    if not arrays:
        return None, named
    if probabilities is not None and labels is not None:
        return law_of_probabilities(probabilities, labels), {}
    return law_of_scores(scores), {}
