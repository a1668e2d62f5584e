"""``estimate``: how much a function, or a sample of its outputs, loses of its input's privacy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

import numpy as np

from dpcp_audit.audits.loss_bracket import Asked
from dpcp_audit.audits.pair_estimate import estimate_pair, outcome_of
from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.faces.audits import checked_here
from dpcp_audit.faces.keywords import RUN_DEFAULTS, run_settings_of, spec_of, takes_options
from dpcp_audit.faces.result import NO_TRUTH, aligned, frame_of, preformatted
from dpcp_audit.target_checks.loss_rows import (
    ESTIMATE_DRAWS,
    ESTIMATE_OPTIONS,
    FALSE_ALARM,
    estimation,
    unclaimed,
)
from dpcp_audit.target_checks.target_rows import row_for
from dpcp_audit.words import options as tables
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Context, Row, Sampled
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import PrivacyGuarantee
from dpcp_audit.words.options import RUN_OPTIONS
from dpcp_audit.words.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from dpcp_audit.audits.pair_estimate import PairEstimate
    from dpcp_audit.faces.keywords import EstimateKeywords
    from dpcp_audit.faces.result import Result
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.words.results import Claim, Estimate, Outcome, PlainData, Table
    from dpcp_audit.words.validate import FloatArray


_HERE = "__main__"
_PILOT = 1 / 3
"""The share of outputs drawn beforehand that choose the partition."""
_FEWEST = 60


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class LossEstimates:
    """The privacy loss on a pair: every number with its interval, all valid at once.

    Parameters
    ----------
    pair : PairEstimate
        The bounds on the loss of the pair.
    claim : PrivacyGuarantee or None
        The claim, if one was given.
    result : Result
        The estimates as a report shows them.
    """

    pair: PairEstimate
    claim: PrivacyGuarantee | None
    result: Result

    @property
    def confidence(self) -> float:
        """The probability that all intervals hold, however many are asked for; 1 if exact."""
        return self.pair.confidence

    @property
    def witness(self) -> PlainData:
        """The pair of inputs, as plain data."""
        return self.result[0].witness

    def epsilon(self, delta: float = 0.0) -> Estimate:
        """Return ε at δ."""
        _validate.closed_unit(delta=delta)
        return self._of(Quantity.EPSILON, **({"delta": float(delta)} if delta else {}))

    def delta(self, epsilon: float) -> Estimate:
        """Return δ at ε."""
        _validate.non_negative(epsilon=epsilon)
        return self._of(Quantity.DELTA, epsilon=float(epsilon))

    def renyi(self, alpha: float) -> Estimate:
        """Return the Rényi divergence D_α, in nats, for ``alpha`` >= 1 (1 is Kullback–Leibler)."""
        _validate.order(alpha=alpha)
        return self._of(Quantity.RENYI_DIVERGENCE, alpha=float(alpha))

    def tpr(self, fpr: float) -> Estimate:
        """Return the best attack's true-positive rate at a rate of false positives."""
        _validate.closed_unit(fpr=fpr)
        return self._of(Quantity.TRUE_POSITIVE_RATE, fpr=float(fpr))

    @property
    def rho(self) -> Estimate:
        """The ρ of zCDP."""
        return self._of(Quantity.RHO)

    @property
    def mu(self) -> Estimate:
        """The μ of Gaussian differential privacy."""
        return self._of(Quantity.MU)

    @property
    def advantage(self) -> Estimate:
        """The membership advantage TPR − FPR of the best attack: the total variation."""
        return self._of(Quantity.ADVANTAGE)

    def to_frame(self, library: str = "pandas") -> Any:
        """Return the table as a data frame of pandas or "polars", a row for each measure.

        Raises
        ------
        ImportError
            If the library is not installed.
        """
        named = {column.name: column for column in self._table.columns}
        ends = named["estimate"].details
        columns: dict[str, Any] = {
            "measure": named["measure"].texts,
            "value": named["estimate"].values,
            "lower": ends["lower"],
            "upper": ends["upper"],
            "partition_upper": ends["partition_upper"],
            "of": named["of"].texts,
        }
        if "claimed" in named:
            columns["claimed"] = named["claimed"].values
        return frame_of(columns, library)

    def plot(self, ax: Axes | None = None, *, figure: int = 0) -> Axes:
        """Draw the law of log(P/Q), or with ``figure=1`` log(P/Q) along the outputs."""
        return self.result[0].plot(ax, figure=figure)

    def report(self, path: str | Path) -> Path:
        """Write a report, in the format of the path's suffix, and return the path."""
        return self.result.report(path)

    @property
    def _table(self) -> Table:
        return self.pair.table(self.claim)

    def _of(self, quantity: Quantity, **at: float) -> Estimate:
        return self.pair.estimate(Asked(quantity, at))

    def __bool__(self) -> NoReturn:
        raise TypeError(NO_TRUTH)

    def __repr__(self) -> str:
        kept = [
            each for each in self._table.columns if each.name != "of" or len(set(each.texts)) > 1
        ]
        return aligned(replace(self._table, columns=kept))

    def _repr_html_(self) -> str:
        return preformatted(repr(self))


@takes_options(
    *(*RUN_OPTIONS, *ESTIMATE_OPTIONS),
    **RUN_DEFAULTS | {"false_alarm": FALSE_ALARM, "draws": ESTIMATE_DRAWS},
)
def estimate(
    function: Callable[..., Any] | str | None = None,
    *guarantees: PrivacyGuarantee,
    samples: tuple[ArrayLike, ArrayLike] | None = None,
    rng: int | np.random.Generator | None = None,
    **options: Unpack[EstimateKeywords],
) -> LossEstimates:
    """Estimate the privacy loss of a function, with intervals.

    The loss is estimated on the worst pair of neighbours that a search finds, or on a given pair.
    Lower ends come from outputs. Upper ends come from the trace of the noise or its exact law, if
    the function can be followed. Otherwise ``upper`` is infinite, and ``partition_upper`` bounds
    the loss over a partition of the outputs, which the loss of the release may exceed.

    Parameters
    ----------
    function : callable or str
        The function, as in ``audit``; None where ``samples`` are given.
    *guarantees
        The claim, at most one. It is shown beside the estimates and directs the search for a pair.
    samples : tuple of array_like, optional
        Outputs of two neighbouring inputs that were drawn beforehand, each of shape (size,) or
        (size, d) and independent of each other.
    rng : int or Generator, optional
        The seed, as in ``audit``.

    Returns
    -------
    LossEstimates
        ε, δ, ρ, μ, Rényi divergences and attack rates, in nats or as probabilities, each an
        ``Estimate`` with its interval.

    Raises
    ------
    ValueError
        If an argument or the function cannot be used; the message says which, and why.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> found = dp.estimate(samples=(rng.laplace(size=9000), 1 + rng.laplace(size=9000)))
    >>> tv = found.advantage
    >>> tv.lower < 0.3935, tv.upper, round(tv.partition_upper - tv.lower, 1), found.confidence
    (True, inf, 0.1, 0.95)
    >>> def flip(x, *, rng):
    ...     return x ^ int(rng.random() < 0.25)
    >>> round(dp.estimate(flip, domain=2, draws=2000).epsilon().value, 6)
    1.098612
    """
    if len(guarantees) > 1:
        raise UsageError(
            f"guarantees must hold one at most, got {len(guarantees)}",
            hint="dp.audit tests several at once",
        )
    for each in guarantees:
        _validate.instance(PrivacyGuarantee, guarantees=each)
    given, run = run_settings_of({"rng": rng, **options})
    own = tables.read(ESTIMATE_OPTIONS, {"paths": given.pop("paths", None)})
    defaults: dict[str, Any] = {"false_alarm": FALSE_ALARM}
    settings = RunSettings(suite="estimates", **defaults | run)
    claim = guarantees[0] if guarantees else None
    if samples is not None:
        if function is not None or given:
            raise UsageError(
                "samples must be given alone, without a function, a pair or options",
                hint="seed, rng and false_alarm are the only others",
            )
        return _of_samples(samples, claim, settings)
    if given.get("budget") is not None:
        raise UsageError("estimate takes no budget", hint="give draws")
    if function is None:
        raise UsageError(
            "function must be given, or samples of its outputs",
            hint="dp.estimate(f, n=20), or dp.estimate(samples=(outputs, outputs_of_neighbour))",
        )
    spec = spec_of(function, guarantees, given, file=_HERE, draws=ESTIMATE_DRAWS, claimed=False)
    return _of_target(spec, claim, settings, own.get("paths", 1000))


@dataclass(frozen=True, slots=True)
class _Found(Sampled):
    """A check whose outcome is known."""

    outcome: Outcome

    def __call__(self, context: Context) -> Outcome:  # noqa: ARG002  (known already)
        """Return the outcome."""
        return self.outcome


def _of_target(
    spec: CheckSpec,
    claim: PrivacyGuarantee | None,
    settings: RunSettings,
    paths: int,
) -> LossEstimates:
    name = unclaimed(spec.name, spec)
    context = Context(seed=settings.seed, name=name.id, significance=settings.false_alarm)
    with spec.target.open() as target:
        check = estimation(spec, target, claim, paths)
        found, witness = check.found(context)
        made = name if claim is None else row_for(spec, claim, check).claim
    return _shown(found, claim, made, outcome_of(found, claim, witness), settings)


def _of_samples(
    samples: tuple[ArrayLike, ArrayLike], claim: PrivacyGuarantee | None, settings: RunSettings
) -> LossEstimates:
    if not isinstance(samples, tuple) or len(samples) != 2:
        raise UsageError(
            "samples must be a tuple of two arrays, one for each input",
            hint="dp.estimate(samples=(outputs, outputs_of_neighbour))",
        )
    first, second = (_outputs(each) for each in samples)
    if first.ndim != second.ndim or first.shape[1:] != second.shape[1:]:
        raise UsageError(
            f"samples must be alike, got shapes {first.shape} and {second.shape}",
            hint="only the numbers of outputs may differ",
        )
    rng = np.random.default_rng(settings.seed)
    size = round(_PILOT * min(len(first), len(second)))
    mixed = [rng.permutation(each) for each in (first, second)]
    pilot, fresh = (mixed[0][:size], mixed[1][:size]), (mixed[0][size:], mixed[1][size:])
    found = estimate_pair(pilot, fresh, None, significance=settings.false_alarm)
    made = unclaimed("samples")
    return _shown(found, claim, made, outcome_of(found, claim, {}), settings)


def _outputs(sample: ArrayLike) -> FloatArray:
    array = _validate.reals(sample, name="samples")
    if array.ndim not in (1, 2) or len(array) < _FEWEST:
        raise UsageError(
            f"samples must have shape (size,) or (size, d) with {_FEWEST} outputs or more, got "
            f"shape {array.shape}",
            hint="draw more outputs of each input",
        )
    if np.isnan(array).any():
        raise UsageError(
            "samples must be numbers, got nan", hint="give an output that is missing a number"
        )
    return array


def _shown(
    found: PairEstimate,
    claim: PrivacyGuarantee | None,
    made: Claim,
    outcome: Outcome,
    settings: RunSettings,
) -> LossEstimates:
    row = Row(claim=made, check=_Found(outcome))
    result = checked_here([row], [made.id], settings, replayable=False)
    return LossEstimates(pair=found, claim=claim, result=result)
