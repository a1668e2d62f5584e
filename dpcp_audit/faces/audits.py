"""``audit`` and ``plan``: check what code promises, and how many draws that needs."""

from __future__ import annotations

import math
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from dpcp_audit.engine import runner, suites
from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import Engine
from dpcp_audit.engine.tasks import CheckFinished
from dpcp_audit.faces.keywords import (
    RUN_DEFAULTS,
    coverage_of,
    label,
    run_settings_of,
    seed_of,
    spec_of,
    spec_of_kind,
    takes_options,
    telling_calls,
)
from dpcp_audit.faces.result import ClaimResult, Result
from dpcp_audit.reports.document import to_document
from dpcp_audit.target_checks.battery import DUTIES, duty_rows
from dpcp_audit.target_checks.check_options import key_of
from dpcp_audit.target_checks.target_rows import check_of, rows_of_targets
from dpcp_audit.targets import Kind
from dpcp_audit.targets.fitted_objects import kind_of
from dpcp_audit.words import options as tables
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Context, Row
from dpcp_audit.words.errors import UsageError, shown
from dpcp_audit.words.evidence import reaches
from dpcp_audit.words.formatting import all_digits
from dpcp_audit.words.guarantees import Coverage, PrivacyGuarantee
from dpcp_audit.words.options import RUN_OPTIONS
from dpcp_audit.words.values import Choice, Probability, is_sequence, wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from dpcp_audit.faces.keywords import AuditKeywords, CheckKeywords
    from dpcp_audit.target_checks.check_options import Guarantee
    from dpcp_audit.target_checks.planned_calls import ClaimAudit
    from dpcp_audit.words.checks import Row
    from dpcp_audit.words.results import Finding, PlainData, Power


_TARGETS = "targets"
_N = 50
"""Records that a calibrator is fitted to, unless an option says otherwise."""
_HERE = "__main__"
"""The file of a function that has none."""


@takes_options(*RUN_OPTIONS, **RUN_DEFAULTS)
def audit(
    function: Callable[..., Any] | str,
    *guarantees: Guarantee,
    rng: int | np.random.Generator | None = None,
    **options: Unpack[AuditKeywords],
) -> Result:
    """Test the promises of a function, on the worst neighbours and score laws that a search finds.

    The function runs in this process, so closures and lambdas work. All claims share one
    false-alarm probability.

    Parameters
    ----------
    function : callable or str
        A private quantile ``f(scores, *, rng) -> float`` of an (n,) array of scores. With
        ``kind="vector"`` it returns an array. A "calibrator" is ``f(probabilities, labels, *,
        rng)``, and returns a threshold on 1 − p_y. A "randomizer" is ``f(value, *, rng) -> int``;
        "local" is the same for numbers or arrays. Or a name: 'package.module:function' or
        'path/to/file.py:function'.
    *guarantees
        The promises: ``PureDP``, ``ApproxDP``, ``ZCDP``, ``RenyiDP``, ``LocalDP``,
        ``GaussianDP``, ``Coverage``; one or several.
    rng : int or Generator, optional
        The seed of the audit, or a generator that draws it; the same as ``seed``. Use
        ``randomness`` to say how the function takes its own randomness.

    Returns
    -------
    Result
        A verdict with its evidence for each claim.

    Raises
    ------
    ValueError
        If an argument or the function cannot be used; the message says which, and why.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> def mean(scores, size, *, rng):
    ...     return scores.mean() + rng.laplace(scale=1 / len(scores), size=size)
    >>> dp.audit(mean, dp.PureDP(0.5), n=20, vectorised=True).verdict
    <Verdict.REFUTED: 'REFUTED'>
    """
    given, said = run_settings_of({"rng": rng, **options})
    spec = spec_of(function, guarantees, given, file=_HERE)
    settings = RunSettings(suite=_TARGETS, targets=(spec,), **said)
    rows = rows_of_targets([spec])
    return checked_here(rows, keys_of(guarantees), settings)


@takes_options(*RUN_OPTIONS, **RUN_DEFAULTS)
def covers(
    function: Callable[..., Any] | str,
    *,
    at_least: float,
    confidence: float | None = None,
    rng: int | np.random.Generator | None = None,
    **options: Unpack[AuditKeywords],
) -> Result:
    """Test how often the sets of a threshold cover, on the worst score law that a search finds.

    Parameters
    ----------
    function : callable or str
        A function, as in ``audit``; a score is covered where it is at most the threshold returned.
    at_least : float
        Marginal coverage claimed, in (0, 1): over calibration data, noise and test point.
    confidence : float, optional
        The share of calibrations that the coverage is claimed for, in (0, 1); unless given, it is
        claimed on average.
    rng : int or Generator, optional
        The seed, as in ``audit``.

    Returns
    -------
    Result
        The result, with the claim "coverage".

    Raises
    ------
    ValueError
        If an argument or the function cannot be used; the message says which, and why.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> import numpy as np
    >>> def no_correction(scores):
    ...     return np.quantile(scores, 0.9)
    >>> result = dp.covers(no_correction, at_least=0.9, n=20, randomness="none", draws=2000)
    >>> result["coverage"].verdict
    <Verdict.REFUTED: 'REFUTED'>
    """
    return audit(function, coverage_of(at_least, confidence), rng=rng, **options)


def run(
    suite: str = "papers",
    *,
    only: str | Sequence[str] = (),
    profile: Literal["smoke", "ci", "full"] = "ci",
    jobs: int | None = None,
    seed: int = 0,
    rng: int | np.random.Generator | None = None,
    false_alarm: float = 1e-3,
    strict: bool = False,
    **given: Any,
) -> Result:
    """Test the claims of a suite, as ``dpcp-audit run`` does; progress is shown on a terminal.

    Parameters
    ----------
    suite : str
        "papers", "theorems", "tables", "training", "zoo", or one that a package registers.
    only : str or sequence of str
        Claims whose id matches; "*" and "?" are wildcards. All unless given.
    profile : str
        The effort: "smoke", "ci" or "full".
    jobs : int, optional
        Worker processes, by default one a core; results do not depend on it.
    seed : int
        Seed of every random stream, >= 0.
    rng : int or Generator, optional
        The seed, as in ``audit``.
    false_alarm : float
        Probability that the run refutes any true claim, in (0, 1).
    strict : bool
        True if an inconclusive verdict contradicts the expected one.
    **given
        Arguments of the suite, such as ``pools``.

    Returns
    -------
    Result
        A verdict with its evidence for each claim, by its id.

    Raises
    ------
    ValueError
        If an argument is invalid; the message names it and its value.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> result = dp.run(only="ldpcp.krr", profile="smoke", jobs=1)
    >>> result["ldpcp.krr"].verdict
    <Verdict.PROVED: 'PROVED'>
    """
    run_options = {"seed": seed_of(seed, rng), "false_alarm": false_alarm, "strict": strict}
    _validate.instance(str, suite=suite)
    settings = RunSettings(
        suite=suite,
        profile=Choice(Profile).read(profile, "profile"),
        **tables.read(RUN_OPTIONS, run_options),
        **_of_suite(suite, given),
    )
    rows = suites.select(_patterns(only), suite, **settings.given)
    suites.require(suite)
    started = time.perf_counter()
    findings = _checked(rows, settings, Engine.parse("local", jobs=jobs))
    seconds = time.perf_counter() - started
    share = runner.share(settings, rows)
    ids = [row.claim.id for row in rows]
    return _result(rows, ids, findings, settings, seconds=seconds, share=share)


def checked_here(
    rows: Sequence[Row],
    keys: Sequence[str],
    settings: RunSettings,
    *,
    replayable: bool = True,
) -> Result:
    """Check all rows of a run in this process, and return what became of them.

    The sampled ones share its false-alarm probability equally.

    Parameters
    ----------
    keys : sequence of str
        The key of each claim in the result.
    replayable : bool
        True if the settings say all that the command line needs to check the rows again.
    """
    significance = settings.false_alarm / max(1, sum(row.check.sampled for row in rows))
    started = time.perf_counter()
    findings: list[Finding] = []
    for row in rows:
        with telling_calls(row, _tell_terminal):
            findings.append(runner.check_row(row, settings, significance=significance))
    seconds = time.perf_counter() - started
    return _result(
        *(rows, keys, findings, settings),
        seconds=seconds,
        share=significance,
        replayable=replayable,
    )


def _tell_terminal(line: str) -> None:
    """Print a line on stderr, if that is a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{line}\n")


def keys_of(guarantees: Sequence[Guarantee]) -> list[str]:
    """Return the key of each claim; parameters distinguish claims of one kind."""
    kinds = [key_of(each) for each in guarantees]
    return [
        f"{kind}({', '.join(f'{all_digits(value)}' for value in each.parameters.values())})"
        if isinstance(each, PrivacyGuarantee) and kinds.count(kind) > 1
        else kind
        for kind, each in zip(kinds, guarantees, strict=True)
    ]


def _patterns(only: object) -> list[str]:
    listed = [only] if isinstance(only, str) else only
    if not is_sequence(listed) or not all(isinstance(each, str) for each in listed):
        raise wrong("only", "a pattern or a list of them", only, hint="such as only='pcoqs.*'")
    return list(listed)


def _of_suite(suite: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a run that its suite takes."""
    takes = suites.find(suite).takes - {_TARGETS}
    for name in given:
        if name not in takes:
            known = ", ".join(sorted(takes)) or "nothing"
            raise UsageError(
                f"{name} is no argument of the suite {suite!r}", hint=f"it takes {known}"
            )
    pools: Any = given.get("pools", ())
    paths = [pools] if isinstance(pools, str | Path) else pools
    return {
        "pools": tuple(map(str, paths)),
        "options": {k: v for k, v in given.items() if k != "pools"},
    }


def _checked(rows: Sequence[Row], settings: RunSettings, engine: Engine) -> list[Finding]:
    from dpcp_audit.reports.terminal import Progress  # noqa: PLC0415  (slow to import)

    findings: dict[str, Finding] = {}
    with Progress() as progress, closing(runner.run(rows, settings, engine=engine)) as events:
        for event in events:
            if sys.stderr.isatty():
                progress.show(event)
            if isinstance(event, CheckFinished):
                findings[event.finding.claim.id] = event.finding
    return [findings[row.claim.id] for row in rows]


def _result(
    rows: Sequence[Row],
    keys: Sequence[str],
    findings: Sequence[Finding],
    settings: RunSettings,
    *,
    seconds: float,
    share: float,
    replayable: bool = True,
) -> Result:
    document = to_document(
        settings, findings, seconds=seconds, complete=True, replayable=replayable
    )

    def again(row: Row) -> PlainData:
        finding = runner.check_row(row, settings, significance=share)
        once = to_document(settings, [finding], seconds=0.0, complete=True)
        entry: PlainData = once["findings"][0]
        return entry

    claims = tuple(
        ClaimResult(key=key, finding=finding, entry=entry, again=partial(again, row))
        for row, key, finding, entry in zip(rows, keys, findings, document["findings"], strict=True)
    )
    return Result(claims=claims, document=document)


_KINDS = (Kind.PREDICTOR, Kind.REGRESSION)


@takes_options(*RUN_OPTIONS, **RUN_DEFAULTS | {"n": _N})
def check_calibrator(
    estimator: Any,
    *guarantees: Guarantee,
    at_least: float = 0.9,
    rng: int | np.random.Generator | None = None,
    **options: Unpack[AuditKeywords],
) -> Result:
    """Test a conformal predictor for the properties that its users rely on.

    The checks: coverage on the worst law of rows that a search finds; the same sets for the same
    seed; the same sets for records in another order, as lists or as data frames; inputs left
    unchanged; ties, tiny data sets and empty sets; and the privacy that is claimed.

    Parameters
    ----------
    estimator : object
        An object with ``fit(X, y)`` and ``predict_set(X)`` or ``predict_interval(X)``, or the names
        that MAPIE, crepes, TorchCP and puncc use; its class; or, with ``kind``, a function that
        makes one, or the name of it. Where ``calibrate(X, y)`` or ``conformalize(X, y)`` needs
        ``fit`` first, the first half of the records is fitted to, and the rest calibrated on.
    *guarantees
        Further promises, such as ``PureDP(1.0)``.
    at_least : float
        The coverage that it promises, in (0, 1).
    rng : int or Generator, optional
        The seed, as in ``audit``.

    Returns
    -------
    Result
        A finding for each check: "coverage", "repeats", "order", "inputs", "forms", "ties", "tiny"
        and "empty", and one for each guarantee.

    Raises
    ------
    ValueError
        If an argument is invalid; the message names it and its value.

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
    given, said = run_settings_of({"rng": rng, **options})
    covering = [each for each in guarantees if isinstance(each, Coverage)]
    claims = [*([] if covering else [Coverage(at_least=at_least)]), *guarantees]
    _require_fitted(estimator, given.get("kind"))
    spec = spec_of(estimator, claims, {"n": _N} | given, file="__main__")
    rows = [*rows_of_targets([spec]), *duty_rows(spec, label(estimator), at_least=at_least)]
    settings = RunSettings(suite="targets", targets=(spec,), **said)
    keys = [*keys_of(claims), *DUTIES]
    return checked_here(rows, keys, settings, replayable=False)


def _require_fitted(estimator: object, kind: object) -> None:
    if kind is not None and kind not in _KINDS:
        raise UsageError(
            f"kind must be one of {', '.join(_KINDS)}, got {shown(kind, 60)}",
            hint="dp.audit takes the other kinds",
        )
    if kind is None and kind_of(estimator) is None:
        what = (
            shown(estimator, 60) if isinstance(estimator, str) else f"a {type(estimator).__name__}"
        )
        raise UsageError(
            "estimator must be an object with fit(X, y) and predict_set(X) or "
            f"predict_interval(X), got {what}",
            hint="give kind='predictor' or kind='regression' if its methods have other names, or "
            "if it makes such an object",
        )


_ROOM, _STEPS = 4, 500
"""Power is solved on a grid: calls are added in small steps until it says what was asked for."""
_FALSE_ALARM: float = RUN_DEFAULTS["false_alarm"]


@takes_options()
def power(
    target: Callable[..., Any] | str,
    guarantee: Guarantee,
    *,
    false_alarm: float = _FALSE_ALARM,
    **options: Unpack[CheckKeywords],
) -> Power:
    """Return the smallest violation that an audit refutes with probability 0.95.

    Parameters
    ----------
    target : callable or str
        A function as ``audit`` takes it, or a kind of target, such as "quantile".
    guarantee
        The claim: ``PureDP``, ``ZCDP``, ``Coverage``, ...
    false_alarm : float
        Probability that the audit refutes a true claim, in (0, 1).

    Returns
    -------
    Power
        ``smallest``, in the claim's unit (nats for ε and ρ), and ``factor``, the same as a
        multiple of the claim.

    Raises
    ------
    ValueError
        If an argument is invalid; the message names it and its value.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> found = dp.power("quantile", dp.ZCDP(0.5), draws=20_000)
    >>> 0.5 < found.smallest < 2.0, found.detection
    (True, 0.95)
    """
    audit = _audit(target, guarantee, dict(options)).planned()
    return audit.smallest_violation(_context(false_alarm))


@takes_options()
def draws_needed(
    target: Callable[..., Any] | str,
    guarantee: Guarantee,
    *,
    false_alarm: float = _FALSE_ALARM,
    **options: Unpack[CheckKeywords],
) -> int:
    """Return the calls with which an audit refutes a violation with probability 0.95.

    The violation is noise that is too small by the factor ``detect``.

    Parameters
    ----------
    target : callable or str
        A function as ``audit`` takes it, or a kind of target, such as "quantile".
    guarantee
        The claim: ``PureDP``, ``ZCDP``, ``Coverage``, ...
    false_alarm : float
        Probability that the audit refutes a true claim, in (0, 1).

    Returns
    -------
    int
        Calls of the target. ``audit`` plans more where its search for the worst inputs needs them.

    Raises
    ------
    ValueError
        If an argument is invalid, or if no number of calls is enough.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> few = dp.draws_needed("quantile", dp.ZCDP(0.5), detect=2)
    >>> many = dp.draws_needed("quantile", dp.ZCDP(0.5), detect=1.2)
    >>> few < many
    True
    """
    for name in ("draws", "budget"):
        if options.get(name) is not None:
            raise UsageError(f"draws_needed takes no {name}", hint="it returns the draws")
    audit = _audit(target, guarantee, dict(options))
    context, detect = _context(false_alarm), audit.spec.detect
    needed = audit.draws_needed(audit.violation(detect), significance=context.significance)
    most = _ROOM * max(audit.few, needed)
    draws = math.ceil(max(audit.few, needed)) if math.isfinite(needed) else 0
    while 0 < draws <= most:
        if reaches(audit.of(draws).smallest_violation(context), detect):
            return draws
        draws += 1 + draws // _STEPS
    raise ValueError(
        f"no number of draws detects noise that is too small by a factor of {detect:g}"
    )


def _audit(target: Any, guarantee: Guarantee, given: dict[str, Any]) -> ClaimAudit:
    """Return the audit of a claim, of a function or of any target of a kind."""
    if given.get("budget") is not None:
        raise UsageError(
            "power takes no budget: a budget needs a target whose calls can be timed",
            hint="give draws",
        )
    if not isinstance(target, str) or ":" in target:
        return check_of(spec_of(target, [guarantee], given, file=_HERE), guarantee).audit
    kind = Choice(Kind).read(target, "target")
    if given.get("kind", kind) != kind:
        raise UsageError(
            f"kind must be {str(kind)!r}, as target, got {given['kind']!r}", hint="leave kind out"
        )
    return check_of(spec_of_kind(kind, guarantee, given), guarantee).audit


def _context(false_alarm: float) -> Context:
    share = Probability().read(false_alarm, "false_alarm")
    return Context(seed=0, name="plan", significance=share)
