"""``check_calibrator``: a battery of checks of a conformal object, as ``check_estimator`` is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcp_audit import _validate
from dpcp_audit import options as tables
from dpcp_audit._plain_data import shown
from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.errors import UsageError
from dpcp_audit.frontends.function_checks import label, spec_of, takes_options
from dpcp_audit.frontends.python_api.audits import checked_here, keys_of
from dpcp_audit.guarantees import Coverage
from dpcp_audit.results import Claim, Source, Verdict
from dpcp_audit.rows import Row
from dpcp_audit.target_checks.battery import Duty, DutyCheck
from dpcp_audit.target_checks.battery_calls import FittedCalls
from dpcp_audit.target_checks.row_data import rows_for
from dpcp_audit.target_checks.run_options import RUN_OPTIONS
from dpcp_audit.target_checks.target_rows import rows_of_targets
from dpcp_audit.targets import Kind
from dpcp_audit.targets.fitted_objects import kind_of

if TYPE_CHECKING:
    from dpcp_audit.frontends.python_api.result import Result
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.claim_options import Guarantee

_N = 50
_KINDS = (Kind.PREDICTOR, Kind.REGRESSION)


@takes_options(*RUN_OPTIONS)
def check_calibrator(
    estimator: Any, *guarantees: Guarantee, at_least: float = 0.9, **options: Any
) -> Result:
    """Check what a conformal object owes its users, whatever method is behind it.

    Coverage on the worst law of rows that a search finds; that it repeats, under a seed; that
    the order of the records, lists and frames change nothing; that its data are left as they were;
    ties, tiny data sets and empty sets; and the privacy that is claimed.

    Parameters
    ----------
    estimator : object
        With ``fit(X, y)`` and ``predict_set(X)`` or ``predict_interval(X)``, or the names that
        MAPIE, crepes, TorchCP and puncc use; its class; or, with ``kind``, a function that makes
        one, or the name of it.
    *guarantees
        What it promises besides, such as ``PureDP(1.0)``.
    at_least : float
        The coverage that it promises.

    Returns
    -------
    Result
        A finding for each check: "coverage", "repeats", "order", "inputs", "forms", "ties", "tiny"
        and "empty", and one for each guarantee.

    Raises
    ------
    ValueError
        Naming the argument, with what it got.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> import numpy as np
    >>> class Everything:
    ...     def fit(self, X, y):
    ...         return self
    ...     def predict_set(self, X):
    ...         return np.ones((len(X), 3))
    >>> result = dp.check_calibrator(Everything(), draws=100)
    >>> result["order"].verdict, result["coverage"].verdict
    (<Verdict.CONSISTENT: 'CONSISTENT'>, <Verdict.CONSISTENT: 'CONSISTENT'>)
    """
    _validate.open_unit(at_least=at_least)
    names = {each.name for each in RUN_OPTIONS}
    said = tables.read(
        RUN_OPTIONS, {name: value for name, value in options.items() if name in names}
    )
    given = {name: value for name, value in options.items() if name not in names}
    covering = [each for each in guarantees if isinstance(each, Coverage)]
    claims = [*([] if covering else [Coverage(at_least=at_least)]), *guarantees]
    _require_fitted(estimator, given.get("kind"))
    spec = spec_of(estimator, claims, {"n": _N} | given, file="__main__")
    rows = [*rows_of_targets([spec]), *_duties(spec, label(estimator), at_least)]
    settings = RunSettings(suite="targets", targets=(spec,), **said)
    share = settings.false_alarm / max(1, sum(row.check.sampled for row in rows))
    keys = [*keys_of(claims), *map(str, Duty)]
    return checked_here(rows, keys, settings, share, replayable=False)


def _require_fitted(estimator: object, kind: object) -> None:
    if kind is not None and kind not in _KINDS:
        raise UsageError(f"kind must be one of {', '.join(_KINDS)}, got {shown(kind, 60)}")
    if kind is None and kind_of(estimator) is None:
        what = (
            shown(estimator, 60) if isinstance(estimator, str) else f"a {type(estimator).__name__}"
        )
        raise UsageError(
            f"estimator must be an object with fit(X, y) and predict_set(X) or "
            f"predict_interval(X), got {what}: say kind='predictor' or kind='regression' if its "
            "methods have other names, or if it makes such an object"
        )


def _duties(spec: CheckSpec, name: str, at_least: float) -> list[Row]:
    pool = rows_for(spec.target.kind, spec.data)
    calls = FittedCalls(target=spec.target, pool=pool, n=max(spec.n))
    return [
        Row(
            claim=Claim(
                id=f"{name}[{duty}]",
                statement=duty.says,
                source=Source(paper=name, section="what a conformal predictor owes its users"),
                expected=Verdict.CONSISTENT,
                subject=name,
            ),
            check=DutyCheck(duty=duty, calls=calls, at_least=at_least),
        )
        for duty in Duty
    ]
