"""The duties of a conformal calibrator, as checks of one object (``check_calibrator``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.laws.pools import within
from dpcp_audit.stats.bounded_mean import MeanBets
from dpcp_audit.target_checks.given_inputs import rows_for
from dpcp_audit.targets import Kind, TargetSpec
from dpcp_audit.targets.answers import DataForm, TargetError, TargetRaisedError, handed_over
from dpcp_audit.targets.calls import FunctionCaller
from dpcp_audit.targets.fitted_objects import in_two_steps
from dpcp_audit.words.checks import Row
from dpcp_audit.words.evidence import decide, exact_power, refutes
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Claim, Evidence, EvidenceKind, Outcome, Power, Source, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.laws.pools import RowPool
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_CALLS, _FEW = 600, 4
_SMALL = (1, 2, 5)
_ROUNDING = 1e-6
"""The rounding error of sums in another order."""
_SWAP = 0.05
"""The largest effect that the order of the records may seem to have on sets that are drawn."""
_SEED, _AGAIN, _FAR = 2**31, 200, 1 / 3
"""Fits of either order that tell what is drawn from what is not, and by which share they do."""
_FORMS = (DataForm.LIST, DataForm.FRAME)


class Duty(StrEnum):
    """A check of an object, beside coverage and privacy."""

    REPEATS = "repeats"
    """The same data and the same seed give the same sets."""
    ORDER = "order"
    """The order of the records does not matter."""
    INPUTS = "inputs"
    """Its data are left as they were."""
    FORMS = "forms"
    """Lists and frames give what arrays give."""
    TIES = "ties"
    """If all records are equal, their label is covered."""
    TINY = "tiny"
    """Few records are covered for, or refused."""
    EMPTY = "empty"
    """Sets are empty no more often than they may miss."""

    @property
    def says(self) -> str:
        """The claim."""
        return _SAYS[self]


_SAYS = {
    Duty.REPEATS: "The same records and seed give the same predictions.",
    Duty.ORDER: "The order of the records does not change what is predicted.",
    Duty.INPUTS: "Fitting and predicting leave the data as they were.",
    Duty.FORMS: "Lists and data frames give what arrays give.",
    Duty.TIES: "If all records are equal, their label is covered as often as promised.",
    Duty.TINY: f"With {', '.join(map(str, _SMALL))} records, sets cover as often as promised.",
    Duty.EMPTY: "Predictions are empty no more often than they may miss.",
}


DUTIES = tuple(map(str, Duty))
"""The names of the duties."""


def duty_rows(spec: CheckSpec, name: str, *, at_least: float) -> list[Row]:
    """Return a row for each duty of a fitted object, whose claims are called by its name."""
    pool = rows_for(spec.target.kind, spec.data)
    calls = _FittedCalls(target=spec.target, pool=pool, n=max(spec.n))
    return [
        Row(
            claim=Claim(
                id=f"{name}[{duty}]",
                statement=duty.says,
                source=Source(paper=name, section="the duties of a conformal predictor"),
                expected=Verdict.CONSISTENT,
                subject=name,
            ),
            check=DutyCheck(duty=duty, calls=calls, at_least=at_least),
        )
        for duty in Duty
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class DutyCheck:
    """Check one duty of a fitted object.

    :Null hypothesis: One duty of ``Duty``: predictions repeat under one seed, do not depend on the
        order of the records, leave the data as they were; all-equal, few or empty cases cover as
        often as promised.
    :Statistic: The number of predictions that differ; or means over fits: of the share covered, or
        of the share of empty sets.
    :Level: No false alarms for counts of predictions that nothing random decides. Means: at most
        the significance, by betting limits.
    :Power: The claim moved by the width of the interval.
    :Reference: Waudby-Smith and Ramdas (2024); Hoeffding (1963), Theorem 2, for drawn predictions
        in two orders.

    Parameters
    ----------
    duty : Duty
    calls : _FittedCalls
    at_least : float
        The coverage that is promised.
    """

    duty: Duty
    calls: _FittedCalls
    at_least: float

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget where predictions are drawn."""
        return self.duty in {Duty.ORDER, Duty.TIES, Duty.TINY, Duty.EMPTY}

    def __call__(self, context: Context) -> Outcome:
        """Call the object and judge what it does."""
        evidence, note = _TESTS[self.duty](self, context)
        power = None if refutes(evidence) else exact_power(evidence)
        if evidence.kind is EvidenceKind.CERTIFIED and not refutes(evidence):
            power = _power(evidence)
        witness: PlainData = {"n": self.calls.n, "seed": context.seed}
        verdict = decide(evidence, power=power)
        return Outcome(verdict=verdict, evidence=evidence, power=power, witness=witness, note=note)


def _repeats(check: DutyCheck, context: Context) -> tuple[Evidence, str]:
    rows = check.calls.draw(context.rng())
    one, other = (check.calls.outputs(rows, seed=1) for _ in range(2))
    return _differing(one, other), "Two fits with the same seed."


def _order(check: DutyCheck, context: Context) -> tuple[Evidence, str]:
    rng = context.rng()
    rows = check.calls.draw(rng)
    steps = np.split(rows, [len(rows) // 2]) if check.calls.in_two_steps(rows) else [rows]
    ways = [rows, np.concatenate([np.sort(part) for part in steps])]
    ways += [np.concatenate([rng.permutation(part) for part in steps]) for _ in range(_FEW)]
    fits = [check.calls.outputs(way, seed=seed) for seed, way in enumerate([rows, *ways])]
    differing = [_differing(fits[0], fit) for fit in fits]
    worst = max(range(len(fits)), key=lambda i: differing[i].value)
    if not differing[worst].value or _apart(check, rows, ways[worst - 1], fits[0]):
        return differing[worst], f"One data set in {len(ways)} orders."
    drawn = [check.calls.calls(rng, count=_CALLS, rows=way)[0] for way in ways[:2]]
    shares = [check.calls.covered(part).mean(axis=1) for part in drawn]
    (low, high), (least, most) = (
        _limits(each, significance=context.significance / 2) for each in shares
    )
    return _certified(
        Quantity.DIFFERENCE,
        abs(float(shares[0].mean() - shares[1].mean())),
        (max(0.0, low - most, least - high), max(high - least, most - low)),
        claimed=_SWAP,
        context=context,
        detail="of the share covered, between two orders of the records",
    ), f"{_CALLS} fits in either order."


def _apart(check: DutyCheck, rows: IntArray, other: IntArray, first: FloatArray) -> bool:
    """Return True if a prediction is far more frequent in one order of the records than in another.

    If the order has no part in it, shares of k fits differ by t with probability at most exp(−kt²)
    (Hoeffding 1963, theorem 2): here 3·10⁻¹⁰.
    """
    often, seldom = (
        np.mean([not _differing(first, each[None]).value for each in fits])
        for fits in (check.calls.outputs(way, seed=_SEED, size=_AGAIN) for way in (rows, other))
    )
    return bool(often - seldom >= _FAR)


def _inputs(check: DutyCheck, context: Context) -> tuple[Evidence, str]:
    rng = context.rng()
    data = [np.array(each) for each in check.calls.data(check.calls.draw(rng))]
    before = [each.copy() for each in data]
    with check.calls.target.open() as target:
        caller = target.caller
        assert isinstance(caller, FunctionCaller)  # noqa: S101  (what is fitted is in Python)
        given, named = caller.convention.named(data)
        random = caller.convention.keywords(rng)
        caller.function(*given, **named, **random, **caller.options)
    moved = sum(not np.array_equal(one, other) for one, other in zip(before, data, strict=True))
    evidence = _count(float(moved), "of features, labels and new rows that were changed")
    return evidence, "One fit, to arrays that may be written to."


def _forms(check: DutyCheck, context: Context) -> tuple[Evidence, str]:
    rows = check.calls.draw(context.rng())
    plain = check.calls.outputs(rows, seed=1)
    others: list[str] = []
    for form in _FORMS:
        try:
            handed_over(rows, form)
        except TargetError:  # the form's package is not installed
            continue
        try:
            given = check.calls.outputs(rows, seed=1, form=form)
            others += [f"{form}: other predictions"] if _differing(plain, given).value else []
        except TargetError as error:
            others.append(f"{form}: {error}")
    evidence = _count(float(len(others)), "of forms that are refused or answered otherwise")
    return evidence, "; ".join(others) + "." if others else "As lists, and as frames."


def _ties(check: DutyCheck, context: Context) -> tuple[Evidence, str]:
    rng = context.rng()
    found: list[tuple[FloatArray, str]] = []
    chosen = rng.choice(len(check.calls.labels), size=_FEW, replace=False)
    for row in chosen.tolist():
        rows = np.full(check.calls.n, row)
        outputs, refusal = check.calls.calls(rng, count=_CALLS // _FEW, rows=rows)
        hits = check.calls.covered(outputs)[:, row] if len(outputs) else np.empty(0)
        found.append((hits.astype(np.float64), refusal))
    return _worst(check, found, context, "where all records are equal")


def _tiny(check: DutyCheck, context: Context) -> tuple[Evidence, str]:
    rng = context.rng()
    found: list[tuple[FloatArray, str]] = []
    for n in _SMALL:
        outputs, refusal = check.calls.calls(rng, count=_CALLS // len(_SMALL), n=n)
        shares = check.calls.covered(outputs).mean(axis=1) if len(outputs) else np.empty(0)
        found.append((shares, refusal))
    return _worst(check, found, context, "of few records")


def _empty(check: DutyCheck, context: Context) -> tuple[Evidence, str]:
    outputs, refusal = check.calls.calls(context.rng(), count=_CALLS)
    if len(outputs) < _FEW:
        return _unknown(Quantity.MISCOVERAGE, 1 - check.at_least), f"Refused: {refusal}."
    shares = check.calls.empty(outputs).mean(axis=1)
    low, high = _limits(shares, significance=context.significance)
    return _certified(
        Quantity.MISCOVERAGE,
        float(shares.mean()),
        (low, high),
        claimed=1 - check.at_least,
        context=context,
        detail="by predictions that are empty",
    ), f"{len(outputs)} fits."


def _worst(
    check: DutyCheck, found: list[tuple[FloatArray, str]], context: Context, detail: str
) -> tuple[Evidence, str]:
    """Return evidence of the case that covers least, at its share of the significance."""
    refusals = [refusal for _, refusal in found if refusal]
    values = [each for each, _ in found if each.size >= _FEW]
    note = f"Refused: {refusals[0]}." if refusals else f"{len(found)} cases."
    if not values:
        return _unknown(Quantity.COVERAGE, check.at_least, Bound.AT_LEAST), note
    part = context.significance / len(found)
    limits = [_limits(each, significance=part) for each in values]
    uppers = [high for _, high in limits]
    at = min(range(len(values)), key=lambda i: (uppers[i], float(values[i].mean())))
    return _certified(
        Quantity.COVERAGE,
        float(values[at].mean()),
        limits[at],
        claimed=check.at_least,
        context=context,
        detail=detail,
        bound=Bound.AT_LEAST,
    ), note


def _limits(values: FloatArray, *, significance: float) -> tuple[float, float]:
    """Return limits of a mean of numbers in [0, 1], each at half of the significance."""
    bets, half = MeanBets(), significance / 2
    return (
        bets.lower_limit(values, significance=half),
        bets.upper_limit(values, significance=half),
    )


def _differing(one: FloatArray, other: FloatArray) -> Evidence:
    same = one.shape == other.shape
    alike = np.isclose(one, other, rtol=_ROUNDING, equal_nan=True) if same else np.zeros(one.size)
    apart = float(alike.size - alike.sum())
    return _count(apart, "of predicted numbers that differ")


def _count(value: float, detail: str) -> Evidence:
    return Evidence.exact(Quantity.COUNT, value, claimed=0.0, error=0.0, detail=detail)


def _certified(
    quantity: Quantity,
    value: float,
    interval: tuple[float, float],
    *,
    claimed: float,
    context: Context,
    detail: str,
    bound: Bound = Bound.AT_MOST,
) -> Evidence:
    low, high = interval
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=quantity,
        value=min(max(value, low), high),
        lower=low,
        upper=high,
        claimed=claimed,
        confidence=1 - context.significance,
        n_samples=_CALLS,
        bound=bound,
        detail=detail,
    )


def _unknown(quantity: Quantity, claimed: float, bound: Bound = Bound.AT_MOST) -> Evidence:
    nothing = Evidence.exact(quantity, claimed, claimed=claimed)
    return replace(nothing, kind=EvidenceKind.INDICATIVE, lower=0.0, upper=1.0, bound=bound)


def _power(evidence: Evidence) -> Power:
    """Return the power: a value beyond the claim by the interval's width."""
    assert evidence.claimed is not None  # noqa: S101  (the caller's)
    width = evidence.upper - evidence.lower
    below = evidence.bound is Bound.AT_LEAST
    smallest = max(0.0, evidence.claimed - width) if below else evidence.claimed + width
    return Power(
        quantity=evidence.quantity,
        smallest=smallest,
        claimed=evidence.claimed,
        bound=evidence.bound,
        detail="in intervals as wide",
    )


_TESTS: dict[Duty, Callable[[DutyCheck, Context], tuple[Evidence, str]]] = {
    Duty.REPEATS: _repeats,
    Duty.ORDER: _order,
    Duty.INPUTS: _inputs,
    Duty.FORMS: _forms,
    Duty.TIES: _ties,
    Duty.TINY: _tiny,
    Duty.EMPTY: _empty,
}


_ENDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _FittedCalls:
    """A fitted object, the rows that its data are drawn from, and how many it is fitted to.

    Parameters
    ----------
    target : TargetSpec
        A target of kind PREDICTOR or REGRESSION.
    pool : RowPool
        The rows to calibrate on, and to predict.
    n : int
        Records of a fit.
    """

    target: TargetSpec
    pool: RowPool
    n: int

    @property
    def labels(self) -> Any:
        """The rows' labels: whole numbers of classes."""
        whole = self.target.kind is Kind.PREDICTOR
        return self.pool.labels.astype(np.int64) if whole else self.pool.labels

    def draw(self, rng: np.random.Generator, n: int | None = None) -> IntArray:
        """Return the rows of a data set, drawn with replacement."""
        return rng.integers(len(self.pool.labels), size=self.n if n is None else n)

    def data(self, rows: IntArray) -> tuple[Any, Any, Any]:
        """Return features, labels and all rows as new ones."""
        return self.pool.features[rows], self.labels[rows], self.pool.features

    def outputs(
        self, rows: IntArray, *, seed: int, size: int = 1, form: DataForm = DataForm.ARRAY
    ) -> FloatArray:
        """Return the predictions for all rows, ``size`` times, shape (size, d)."""
        with replace(self.target, given_as=form).open() as target:
            found = target(self.data(rows), size, rng=np.random.default_rng(seed))
            return found.reshape(size, -1)

    def in_two_steps(self, rows: IntArray) -> bool:
        """Return True if a fit trains on the first half of the rows and calibrates on the rest."""
        with self.target.open() as target:
            target(self.data(rows), 1, rng=np.random.default_rng(1))
            assert isinstance(target.caller, FunctionCaller)  # noqa: S101  (it is in Python)
            return in_two_steps(target.caller.function)

    def covered(self, outputs: FloatArray) -> BoolArray:
        """Tell of each row whether its label is in its set or interval, shape (size, m)."""
        labels = self.labels
        if self.target.kind is Kind.REGRESSION:
            return within(outputs.reshape(len(outputs), -1, _ENDS), labels)
        sets = outputs.reshape(len(outputs), len(labels), -1) > 0
        return np.asarray(sets[:, np.arange(len(labels)), labels])

    def empty(self, outputs: FloatArray) -> BoolArray:
        """Tell of each row whether nothing is in its set or interval, shape (size, m)."""
        parts = outputs.reshape(len(outputs), len(self.labels), -1)
        if self.target.kind is Kind.REGRESSION:
            return np.asarray(parts[..., 1] < parts[..., 0])
        return np.asarray(~(parts > 0).any(axis=2))

    def calls(
        self, rng: np.random.Generator, *, count: int, n: int | None = None, rows: Any = None
    ) -> tuple[FloatArray, str]:
        """Return the outputs of fits to fresh data, and why some were refused.

        Parameters
        ----------
        rows : ndarray of int, optional
            The data of all of them.
        """
        found: list[FloatArray] = []
        refusal = ""
        with self.target.open() as target:
            for _ in range(count):
                chosen = self.draw(rng, n) if rows is None else rows
                try:
                    found.append(target(self.data(chosen), 1, rng=rng).reshape(-1))
                except TargetRaisedError as error:
                    refusal = str(error)
        return np.array(found), refusal
