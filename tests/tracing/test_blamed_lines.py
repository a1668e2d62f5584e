"""The usual forms of a private quantile: the line that is blamed is the planted one, or none.

Never one that the correct twin gets too.
"""

from __future__ import annotations

import inspect
import io
import json
import math
import re
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats
from support.followed_paths import trace_pair

import dpcp_audit as dp
from dpcp_audit.audits.path_evidence import leaking_line
from dpcp_audit.audits.traced_privacy import Scope
from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import check_row
from dpcp_audit.faces.keywords import spec_of
from dpcp_audit.faces.pytest_plugin.fixture import failure
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.formats.ci import render_sarif
from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.sentences import sentence
from dpcp_audit.reports.terminal import print_summary
from dpcp_audit.target_checks.loss_rows import row_of_trace
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.results import Finding

pytestmark = pytest.mark.known_bad

GRID = np.linspace(0, 1, 9)
RATE = 1.0
CLAIM = dp.PureDP(RATE)


def bisection(x, *, rng, leak=False) -> Any:
    low, high = 0.0, 1.0
    for _ in range(6):
        middle = (low + high) / 2
        below = np.sum(np.asarray(x) <= middle) + rng.laplace(scale=6 / RATE)
        if leak:
            below = np.sum(np.asarray(x) <= middle) + 0.0  # LEAK
        low, high = (middle, high) if below < 0.9 * len(x) else (low, middle)  # USED
    return high


def gaps(x, *, rng, leak=False) -> Any:
    edges = np.concatenate([[0.0], np.sort(x), [1.0]])
    n = len(x)
    utility = -np.abs(np.arange(n + 1) - 0.9 * n)
    weights = np.diff(edges) * np.exp(utility * RATE / 2)
    i = rng.choice(n + 1, p=weights / weights.sum())
    if leak:
        return float(edges[i + 1])  # LEAK
    return rng.uniform(edges[i], edges[i + 1])


def grid(x, *, rng, leak=False) -> Any:
    utility = -np.abs(np.searchsorted(np.sort(x), GRID) - 0.9 * len(x))
    p = np.exp(utility * RATE / 2)
    found = GRID[rng.choice(len(GRID), p=p / p.sum())]
    if leak:
        found = found + 1e-3 * max(x)  # LEAK
    return float(found)


def noisy_max(x, *, rng, leak=False) -> Any:
    utility = -np.abs(np.searchsorted(np.sort(x), GRID) - 0.9 * len(x))
    noisy = utility + rng.gumbel(scale=2 / RATE, size=len(GRID))
    if leak:
        return float(GRID[int(np.argmax(utility))])  # LEAK
    return float(GRID[int(np.argmax(noisy))])


def histogram(x, *, rng, leak=False) -> Any:
    counts = np.histogram(x, bins=GRID)[0]
    noisy = counts + rng.laplace(scale=2 / RATE, size=len(counts))
    if leak:
        noisy = counts + 0.0  # LEAK
    total = np.cumsum(noisy)
    for i, each in enumerate(total):
        if each >= 0.9 * len(x):  # USED
            return float(GRID[i + 1])
    return 1.0


def sparse_vector(x, *, rng, leak=False) -> Any:
    threshold = 0.9 * len(x) + rng.laplace(scale=2 / RATE)
    for edge in GRID:
        count = np.sum(np.asarray(x) <= edge)
        if leak and count >= 0.9 * len(x):  # LEAK
            return float(edge)
        if count + rng.laplace(scale=4 / RATE) >= threshold:
            return float(edge)
    return 1.0


def tree(x, *, rng, leak=False) -> Any:
    leaves = np.histogram(x, bins=GRID)[0]
    nodes = []
    for width in (4, 2, 1):
        sums = leaves.reshape(-1, width).sum(axis=1)
        scale = 6 / RATE
        if leak and width == 1:
            nodes.append(sums + 0.0)  # LEAK
            continue
        nodes.append(sums + rng.laplace(scale=scale, size=len(sums)))
    return [float(each) for level in nodes for each in level]


def order_statistic(x, *, rng, leak=False) -> Any:
    rank = round(0.9 * len(x) + rng.laplace(scale=1 / RATE))
    if leak:
        return float(np.sort(x)[min(max(rank, 0), len(x) - 1)])  # LEAK
    return rank


def smooth_sensitivity(x, *, rng, leak=False) -> Any:
    values = np.sort(x)
    k = math.ceil(0.9 * len(x)) - 1
    beta = RATE / 6
    smooth = max(
        math.exp(-beta * d)
        * (values[min(k + d, len(x) - 1)] - values[max(k - d, 0)] + (d >= len(x) - k))
        for d in range(len(x) + 1)
    )
    if leak:
        smooth = 0.0  # LEAK
        return float(values[k] + smooth)
    return float(values[k] + 6 / RATE * smooth * rng.standard_cauchy())


def descent(x, *, rng, leak=False) -> Any:
    at = 0.5
    for step in range(5):
        gradient = np.mean(np.asarray(x) <= at) - 0.9
        noisy = gradient + rng.normal(scale=5 / len(x))
        if leak and step == 4:
            noisy = gradient  # LEAK
        at = at - 0.3 * noisy
    return float(at)


def clients(x, *, rng, leak=False) -> Any:
    found = []
    for each in x:
        if leak:
            found.append(each)  # LEAK
            continue
        found.append(each + rng.laplace(scale=1 / RATE))
    return float(np.mean(found))


FORMS = [
    bisection,
    gaps,
    grid,
    noisy_max,
    histogram,
    sparse_vector,
    tree,
    order_statistic,
    smooth_sensitivity,
    descent,
    clients,
]
UNDECIDED = [tree, order_statistic, smooth_sensitivity, descent, clients]
"""Leaks of numbers, of which a trace alone does not tell whether the release shows them."""
UNNAMED = [grid]
_X = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
_Y = [*_X[:-1], 0.15]


def _blamed(form: Any, *, leak: bool) -> int | None:
    trace = trace_pair(form, _X, _Y, draws=20, rng=0, options={"leak": leak})
    found = leaking_line(trace)
    return None if found is None else found.line


@pytest.mark.parametrize("form", FORMS)
def test_the_blamed_line_is_the_planted_one_or_none(form: Any) -> None:
    lines, first = inspect.getsourcelines(form)
    (planted,) = (first + place for place, line in enumerate(lines) if "# LEAK" in line)
    blamed = _blamed(form, leak=True)
    assert blamed in {planted, None}
    assert blamed is None or blamed != _blamed(form, leak=False)


def twelve_rounds(x, *, rng, bare=True) -> float:
    low, high = 0.0, 1.0
    for step in range(12):
        middle = (low + high) / 2
        noise = 0.0 if bare and step == 11 else rng.normal(scale=3.5)
        low, high = (middle, high) if np.sum(x <= middle) + noise < 18 else (low, middle)
    return high


@pytest.mark.parametrize(
    ("bare", "verdict"), [(True, Verdict.REFUTED), (False, Verdict.CONSISTENT)]
)
def test_a_last_round_without_noise_refutes_in_the_transcript(bare: bool, verdict: Verdict) -> None:
    x = np.repeat([0.0, 1.0], [17, 3])
    y = np.repeat([0.0, 1.0], [18, 2])
    found = dp.trace(
        twelve_rounds, x, y, dp.ZCDP(0.5), scope="transcript", draws=200, options={"bare": bare}
    )
    assert found.verdict is verdict


def test_noise_of_a_library_is_drawn_at_the_users_own_line() -> None:
    def mean(x, *, rng) -> float:
        noise = stats.laplace.rvs(scale=0.1, random_state=rng)
        return float(np.mean(x) + noise)

    trace = trace_pair(mean, _X, _Y, draws=5, rng=0)
    assert [each.location.line for each in trace.lines] == [mean.__code__.co_firstlineno + 1]
    assert trace.lines[0].location.file.endswith("test_blamed_lines.py")


# Functions of an engineer, each beside its correct twin, through the faces: the whole sentence and
# the location speak of the planted line alone.


def to_the_end(x, *, rng) -> float:
    low, high = 0.0, 1.0
    for _ in range(6):
        middle = (low + high) / 2
        noisy = np.sum(x <= middle) + rng.laplace(0.0, 6.0)
        low, high = (low, middle) if noisy >= 0.9 * len(x) else (middle, high)
    return high


def bare_at_last(x, *, rng) -> float:
    low, high = 0.0, 1.0
    for step in range(6):
        middle = (low + high) / 2
        noisy = np.sum(x <= middle)
        if step < 5:
            noisy = noisy + rng.laplace(0.0, 6.0)
        if noisy >= 0.9 * len(x):  # PLANTED
            high = middle
        else:
            low = middle
    return high


def ends_from_scores(x, *, rng) -> float:
    low, high = x.min(), x.max()  # PLANTED
    for _ in range(6):
        middle = (low + high) / 2
        noisy = np.sum(x <= middle) + rng.laplace(0.0, 6.0)
        low, high = (low, middle) if noisy >= 0.9 * len(x) else (middle, high)
    return high


def drawn_once(x, *, rng) -> float:
    noise = rng.laplace(0.0, 6.0)  # PLANTED
    low, high = 0.0, 1.0
    for _ in range(6):
        middle = (low + high) / 2
        noisy = np.sum(x <= middle) + noise
        if noisy >= 0.9 * len(x):  # PLANTED
            high = middle
        else:
            low = middle
    return high


def between_scores(x, *, rng) -> float:
    n = len(x)
    edges = np.concatenate(([0.0], np.sort(np.clip(x, 0.0, 1.0)), [1.0]))
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges)) - 0.5 * np.abs(np.arange(n + 1) - round(0.9 * n))
    weights = np.exp(logs - logs.max())
    i = rng.choice(n + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def at_a_score(x, *, rng) -> float:
    n = len(x)
    edges = np.concatenate(([0.0], np.sort(np.clip(x, 0.0, 1.0)), [1.0]))
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges)) - 0.5 * np.abs(np.arange(n + 1) - round(0.9 * n))
    weights = np.exp(logs - logs.max())
    i = rng.choice(n + 1, p=weights / weights.sum())
    return edges[i + 1]  # PLANTED


def best_of_grid(x, *, rng) -> float:
    best, found = -math.inf, 0.0
    for edge in GRID:
        noisy = -abs(int(np.sum(x <= edge)) - round(0.9 * len(x))) + rng.laplace(0.0, 2.0)
        if noisy > best:
            best, found = noisy, edge
    return found


def falls_back_to_the_largest(x, *, rng) -> float:
    gaps = np.array([-abs(np.sum(x <= edge) - round(0.9 * len(x))) for edge in GRID])
    i = int(np.argmax(gaps + rng.laplace(0.0, 2.0, size=len(GRID))))
    if i == 0:
        return float(x.max())  # PLANTED
    return GRID[i]


def noisy_mean(x, *, rng) -> float:
    out = np.mean(np.clip(x, 0, 1)) + rng.laplace(0.0, 1.0 / len(x))
    if out > 1.0 or out < 0.0:
        out = 0.5
    return out


def largest_beyond_the_range(x, *, rng) -> float:
    out = np.mean(np.clip(x, 0, 1)) + rng.laplace(0.0, 1.0 / len(x))
    if out > 1.0 or out < 0.0:
        out = np.max(x)  # PLANTED
    return out


def of_bins(x, *, rng) -> float:
    counts, edges = np.histogram(x, bins=5, range=(0.0, 1.0))
    total = np.cumsum(np.maximum(counts + rng.laplace(0.0, 2.0, size=5), 0.0))
    return edges[min(int(np.searchsorted(total, 0.9 * total[-1])) + 1, 5)]


def of_bins_with_half_the_noise(x, *, rng) -> float:
    counts, edges = np.histogram(x, bins=5, range=(0.0, 1.0))
    total = np.cumsum(np.maximum(counts + rng.laplace(0.0, 1.0, size=5), 0.0))  # PLANTED
    return edges[min(int(np.searchsorted(total, 0.9 * total[-1])) + 1, 5)]


def chosen_of_grid(x, *, rng) -> float:
    gaps = -np.abs(np.searchsorted(np.sort(x), GRID, side="right") - round(0.9 * len(x)))
    weights = np.exp(0.5 * (gaps - gaps.max()))
    return GRID[rng.choice(len(GRID), p=weights / weights.sum())]


def chosen_too_well(x, *, rng) -> float:
    gaps = -np.abs(np.searchsorted(np.sort(x), GRID, side="right") - round(0.9 * len(x)))
    weights = np.exp(0.5 * len(x) * (gaps - gaps.max()))  # PLANTED
    return GRID[rng.choice(len(GRID), p=weights / weights.sum())]  # PLANTED


def noisy_order(x, *, rng) -> float:
    return np.sort(np.clip(x, 0, 1))[round(0.9 * len(x)) - 1] + rng.laplace(0.0, 1.0)


def order_of_a_mean(x, *, rng) -> float:
    rank = round(0.9 * len(x))
    return np.sort(np.clip(x, 0, 1))[rank - 1] + rng.laplace(0.0, 1.0 / len(x))  # PLANTED


CORRECT = [
    to_the_end,
    between_scores,
    best_of_grid,
    noisy_mean,
    of_bins,
    chosen_of_grid,
    noisy_order,
]
LEFT_OPEN = [of_bins_with_half_the_noise]
WRONG = [
    bare_at_last,
    ends_from_scores,
    drawn_once,
    at_a_score,
    falls_back_to_the_largest,
    chosen_too_well,
    order_of_a_mean,
    *LEFT_OPEN,
]


def _found(
    function: Any, *, of: Any = CLAIM, scope: Scope = Scope.RELEASE, **given: Any
) -> tuple[Finding, Any]:
    """The trace's finding, and the document that every report is made of."""
    given = {"kind": "quantile", "n": [20], "alpha": 0.1} | given
    spec = spec_of(function, [of], given, file=__file__, draws=600)
    row = row_of_trace(spec, of, scope, paths=40)
    finding = check_row(row, RunSettings(), significance=1e-6)
    return finding, to_document(RunSettings(), [finding], seconds=0.0, complete=True)


def _entry(function: Any) -> dict[str, Any]:
    return _found(function)[1]["findings"][0]


def _named(text: str) -> set[int]:
    """The lines of this file that a text names."""
    return {int(each) for each in re.findall(r"test_blamed_lines\.py:(\d+)", text)}


def _lines(entry: dict[str, Any]) -> set[int]:
    return _named(sentence(entry))


def _told(finding: Finding, document: Any) -> dict[str, set[int]]:
    """The lines that each face names as the place of a broken promise, without the ``def``."""
    terminal = io.StringIO()
    print_summary(document, stream=terminal)
    before_the_note = terminal.getvalue().partition("Not proved for every input")[0]
    assert finding.outcome is not None
    failed = failure("here", finding.claim, finding.outcome, 1e-6, "again")
    (line,) = re.findall(r"^  line .*$", failed, re.MULTILINE) or [""]
    (result,) = json.loads(render_sarif(document))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]["region"]["startLine"]
    head = finding.claim.location
    assert head is not None
    return {
        "terminal": _named(before_the_note.replace("\n    ", "")),
        "sarif": {place} - {head.line},
        "pytest": _named(line),
    }


@pytest.mark.parametrize("form", FORMS)
def test_every_face_names_the_planted_line_or_none(form: Any) -> None:
    given = {"of": dp.ZCDP(0.1)} if form is descent else {}
    given |= {"kind": "vector", "alpha": None} if form is tree else {}
    lines, first = inspect.getsourcelines(form)
    bare = {first + i for i, line in enumerate(lines) if "# LEAK" in line or "# USED" in line}
    leaking, document = _found(form, **given, options={"leak": True})
    assert leaking.verdict is (Verdict.INCONCLUSIVE if form in UNDECIDED else Verdict.REFUTED)
    if leaking.verdict is Verdict.REFUTED:
        told = _told(leaking, document)
        assert told["terminal"] == told["sarif"] == told["pytest"], told
        assert told["sarif"] <= bare, told
        assert bool(told["sarif"]) == (form not in UNNAMED), told
        assert escape(sentence(document["findings"][0])) in render_html(document)
    twin, document = _found(form, **given, options={"leak": False})
    assert twin.verdict is not Verdict.REFUTED
    assert not _lines(document["findings"][0])


def _planted(function: Any) -> set[int]:
    lines, first = inspect.getsourcelines(function)
    return {first + place for place, line in enumerate(lines) if "# PLANTED" in line}


@pytest.mark.parametrize("function", WRONG)
def test_a_finding_speaks_of_the_planted_line_alone(function: Any) -> None:
    found = _entry(function)
    wanted = Verdict.INCONCLUSIVE if function in LEFT_OPEN else Verdict.REFUTED
    assert found["verdict"] == wanted, sentence(found)
    assert _lines(found) <= _planted(function), sentence(found)
    assert found["location"]["line"] in _planted(function)
    assert not re.search(r"(?<![\d.])0 %", sentence(found)), sentence(found)


@pytest.mark.parametrize("function", CORRECT)
def test_of_a_correct_twin_no_line_is_blamed(function: Any) -> None:
    found = _entry(function)
    assert found["verdict"] != Verdict.REFUTED, sentence(found)
    assert not _lines(found), sentence(found)


def test_a_proof_of_the_release_gives_no_reason_in_the_transcript() -> None:
    _, document = _found(between_scores, scope=Scope.TRANSCRIPT)
    (entry,) = document["findings"]
    assert entry["verdict"] == Verdict.INCONCLUSIVE
    assert entry["unproved"] is None


@pytest.mark.parametrize("function", [at_a_score, falls_back_to_the_largest, bare_at_last])
def test_outputs_that_refute_name_the_planted_line(function: Any) -> None:
    found = dp.audit(function, dp.PureDP(1.0), kind="quantile", n=[20], alpha=0.1, draws=4000)
    (entry,) = found.document["findings"]
    assert entry["verdict"] == Verdict.REFUTED
    assert _lines(entry) <= _planted(function), sentence(entry)
    assert entry["location"]["line"] in _planted(function)
