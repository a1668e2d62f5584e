"""``dp.trace``: what it returns, shows and refuses."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from support import user_mechanisms as mine

import dpcp_audit as dp
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.results import Verdict


def noisy_sum(x, *, rng, scale=1.0) -> float:
    return sum(x) + rng.laplace(scale=scale)


def test_a_trace_without_claims_has_the_loss_law_and_the_lines() -> None:
    found = dp.trace(noisy_sum, [0, 1], [0, 0], draws=400)
    assert found.verdict is None
    assert found.claims is None
    assert found.epsilon() == pytest.approx(1.0)
    limits = found.delta(0.5)
    assert limits.lower < 1 - math.exp(-0.25) < limits.upper
    assert found.rho == pytest.approx(0.3679, abs=0.1)
    assert found.renyi(2.0) < 1.0
    (line,) = found.lines
    assert line.location.line == noisy_sum.__code__.co_firstlineno + 1
    assert "which line spends" in repr(found).lower()
    assert found._repr_html_().startswith("<pre>Which line spends")
    assert found.to_frame()["law"].tolist() == ["laplace"]
    with pytest.raises(ValueError, match="claims must be given"):
        found.report("a.html")


def test_claims_have_verdicts_and_reports(tmp_path) -> None:
    found = dp.trace(noisy_sum, [0, 1], [0, 0], dp.PureDP(0.5), dp.PureDP(1.5), draws=100)
    assert found.verdict is dp.Verdict.REFUTED
    assert [str(each.verdict) for each in found.claims] == ["REFUTED", "CONSISTENT"]
    for name in ("a.html", "a.json", "a.sarif"):
        found.report(tmp_path / name)
        assert "test_traces.py" in (tmp_path / name).read_text("utf-8")
    assert found.claims.replay()


def test_a_whole_law_is_exact() -> None:
    found = dp.trace(mine.randomised_response, 0, 1, dp.LocalDP(1.9))
    assert found.epsilon() == pytest.approx(2.0, abs=1e-12)
    assert found.verdict is dp.Verdict.REFUTED
    assert found.leaks == ()
    assert found.delta(2.5).value == 0.0
    assert found.renyi(2.0) < found.epsilon()


def test_what_cannot_be_followed_has_no_numbers() -> None:
    found = dp.trace(lambda x, *, rng: object(), 0, 1)
    assert len(found.unfollowed) == 1
    with pytest.raises(ValueError, match="cannot be followed"):
        found.epsilon()
    assert "What cannot be followed" in repr(found)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"draws": 1}, "draws"),
        ({"scope": "all"}, "scope"),
        ({"neighbours": "far"}, "neighbours"),
    ],
)
def test_bad_options_are_named(options, says) -> None:
    with pytest.raises(ValueError, match=says):
        dp.trace(noisy_sum, [0], [1], **options)


def test_options_reach_the_function() -> None:
    found = dp.trace(noisy_sum, [0, 1], [0, 0], draws=50, options={"scale": 4.0})
    assert found.epsilon() == pytest.approx(0.25)


def test_a_claim_of_coverage_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="guarantee must be a privacy claim, got"):
        dp.trace(lambda x, *, rng: x, [0], [1], dp.Coverage(0.5))


@pytest.mark.known_bad
def test_inputs_that_are_no_neighbours_are_refused_as_everywhere() -> None:
    """A true claim was refuted on them; one changed record is a pair, and is within the claim."""

    def noisy_mean(data, *, rng) -> Any:
        return np.mean(data) + rng.laplace(scale=1 / len(data))

    with pytest.raises(UsageError, match="must hold neighbours .*20 of the first"):
        dp.trace(noisy_mean, np.zeros(20), np.ones(20), dp.PureDP(1))
    with pytest.raises(UsageError, match="must hold neighbours"):
        dp.trace(noisy_mean, [0, 1], [0], dp.PureDP(1))
    one = np.append(np.zeros(19), 1.0)
    assert (
        dp.trace(noisy_mean, np.zeros(20), one, dp.PureDP(1.01), draws=50).verdict == "CONSISTENT"
    )
    added = dp.trace(noisy_mean, [0, 1], [0], dp.PureDP(3), draws=50, neighbours="add-remove")
    assert added.verdict is not None
    features = np.zeros((3, 2))
    pair = (features, np.zeros(3)), (features, np.array([0.0, 0.0, 1.0]))
    labels = dp.trace(
        lambda data, *, rng: sum(data[1]) + rng.laplace(), *pair, dp.PureDP(1.01), draws=50
    )
    assert labels.verdict == "CONSISTENT"


@pytest.mark.known_bad
def test_a_table_of_whole_numbers_releases_no_number_by_chance() -> None:
    """The alarm of a number that is read is all that is seen of it; its twin returns the number."""

    def noisy(data, rng) -> int:
        return int(int(data[0]) + rng.geometric(0.3))

    def alarm(data, *, rng) -> Any:
        return [noisy(data, rng) > 45, *range(-60, 61)]

    def shown(data, *, rng) -> Any:
        return [noisy(data, rng), *range(-60, 61)]

    pair = [0, 1], [1, 1]
    assert dp.trace(alarm, *pair, dp.PureDP(0.1), draws=50).verdict == "INCONCLUSIVE"
    assert dp.trace(shown, *pair, dp.PureDP(0.1), draws=50).verdict == "REFUTED"


@pytest.mark.known_bad
def test_data_beside_the_noise_refute_in_scope_transcript() -> None:
    def leaks(data, *, rng) -> Any:
        return sum(data) + rng.laplace(scale=2), max(data)

    def pays(data, *, rng) -> Any:
        return sum(data) + rng.laplace(scale=2), max(data) + rng.laplace(scale=2)

    found = dp.trace(leaks, [0, 1], [0, 0], dp.PureDP(1.01), draws=50, scope="transcript")
    assert found.verdict == "REFUTED"
    found = dp.trace(pays, [0, 1], [0, 0], dp.PureDP(1.01), draws=50, scope="transcript")
    assert found.verdict == "CONSISTENT"


def test_a_function_is_named_as_audit_takes_it(tmp_path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def f(x, *, rng):\n    return sum(x) + rng.laplace(scale=1)\n")
    trace = dp.trace(f"{file}:f", [0, 1], [0, 0], dp.PureDP(0.5), draws=50)
    assert trace.verdict is dp.Verdict.REFUTED
    proof = dp.prove(f"{file}:f", dp.PureDP(1.0))
    assert proof.proved
    for call in (dp.prove, lambda name, claim: dp.trace(name, [0], [1], claim)):
        with pytest.raises(ValueError, match="no function 'g'\nhint: it has f"):
            call(f"{file}:g", dp.PureDP(1.0))


def test_a_function_without_a_return_is_not_cleared() -> None:
    def forgets(x, *, rng) -> None:
        sum(x) + rng.laplace(scale=1)

    trace = dp.trace(forgets, [0, 1], [0, 0], dp.PureDP(0.5), draws=50)
    assert trace.verdict is dp.Verdict.INCONCLUSIVE
    assert "returns None: return what is released" in repr(trace)


def noise_on_one_branch(scores, *, rng) -> float:
    noise = rng.laplace(scale=1)
    if np.count_nonzero(scores <= 0.5) == 0:
        return 0.0
    return np.count_nonzero(scores <= 0.5) + noise


def test_unknown_keywords_are_named_as_everywhere() -> None:
    def threshold(scores, alpha=0.1) -> float:
        return float(np.sort(scores)[-1])

    with pytest.raises(UsageError, match=r"unknown keyword 'alfa'\nhint: did you mean 'alpha'"):
        dp.prove(threshold, dp.Coverage(0.9), alfa=0.1)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match=r"unknown keyword 'bonds'\nhint: did you mean 'bounds'"):
        dp.prove(threshold, dp.Coverage(0.9), bonds=(0, 1))  # type: ignore[call-arg]
    with pytest.raises(UsageError, match=r"unknown keyword 'drws'\nhint: did you mean 'draws'"):
        dp.trace(threshold, [0.0], [1.0], dp.PureDP(1), drws=3)  # type: ignore[call-arg]


@pytest.mark.known_bad
def test_a_trace_that_decides_nothing_says_why_and_names_no_def() -> None:
    found = dp.trace(noise_on_one_branch, np.ones(5), np.r_[np.zeros(1), np.ones(4)], dp.PureDP(1))
    assert str(found.verdict) == "INCONCLUSIVE"
    (claim,) = found.claims
    assert claim.power is None
    for said in (repr(claim), repr(found)):
        assert "Not decided: a trace bounds the loss of the release from above only" in " ".join(
            said.split()
        )
    first = noise_on_one_branch.__code__.co_firstlineno
    assert {leak.location.line for leak in found.leaks} == {first + 1}


DATA = np.array([0.2, 0.4, 0.6, 0.8, 0.9])
LARGE = np.array([0.2, 0.4, 0.6, 0.8, 50.0])
MISSING = np.array([0.2, 0.4, 0.6, 0.8, np.nan])
CLAIM = dp.PureDP(1.0)


def clipped_mean(data, *, rng) -> Any:
    kept = np.clip(np.nan_to_num(data), 0, 1)
    return (kept.sum() + rng.laplace(scale=1.0)) / len(data)


def unclipped_mean(data, *, rng) -> Any:
    return (data.sum() + rng.laplace(scale=1.0)) / len(data)


def inferred_domain(data, *, rng) -> Any:
    values, counts = np.unique(data, return_counts=True)
    return {
        value: count + rng.laplace(scale=2.0) for value, count in zip(values, counts, strict=True)
    }


def given_domain(data, *, rng) -> Any:
    counts, _ = np.histogram(np.clip(data, 0, 1), bins=4, range=(0, 1))
    return [count + rng.laplace(scale=2.0) for count in counts]


def spends_twice(data, *, rng) -> Any:
    total = np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)
    size = (data > 0.5).sum() + rng.laplace(scale=1.0)
    return total, size


def spends_halves(data, *, rng) -> Any:
    total = np.clip(data, 0, 1).sum() + rng.laplace(scale=2.0)
    size = (data > 0.5).sum() + rng.laplace(scale=2.0)
    return total, size


def keeps_missing(data, *, rng) -> Any:
    return (np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)) / len(data)


def scale_of_epsilon(data, *, rng, epsilon=0.1) -> Any:
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=epsilon)


def small_sensitivity(data, *, rng) -> Any:
    return np.clip(data, 0, 10).sum() + rng.laplace(scale=1.0)


def private_size(data, *, rng) -> Any:
    return (np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0)) / len(data)


@pytest.mark.known_bad
def test_a_private_size_that_divides_is_seen_where_a_record_is_removed() -> None:
    options = {"draws": 200, "neighbours": "add-remove"}
    found = dp.trace(private_size, np.full(3, 0.5), np.full(2, 0.5), CLAIM, **options)
    assert found.verdict is Verdict.REFUTED
    assert found.lines[0].location.line == line_of(private_size, "laplace")


def traced(function, data, neighbour) -> Any:
    return dp.trace(function, data, neighbour, CLAIM, draws=60, scope="transcript")


def line_of(function, text) -> int:
    lines, first = inspect.getsourcelines(function)
    return int(first + next(index for index, line in enumerate(lines) if text in line))


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("function", "neighbour", "epsilon"),
    [
        (unclipped_mean, LARGE, 49.1),
        (spends_twice, np.array([0.2, 0.4, 0.6, 0.8, 0.0]), 1.9),
        (scale_of_epsilon, np.array([0.2, 0.4, 0.6, 0.8, 0.0]), 9.0),
        (small_sensitivity, np.array([0.2, 0.4, 0.6, 0.8, 10.0]), 9.1),
    ],
)
def test_noise_that_does_not_pay_is_refuted_at_its_line(function, neighbour, epsilon) -> None:
    found = traced(function, DATA, neighbour)
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon() == pytest.approx(epsilon, rel=1e-6)
    lines = {line.location.line for line in found.lines}
    assert line_of(function, "laplace") in lines


@pytest.mark.known_bad
def test_both_lines_that_spend_the_whole_budget_are_named() -> None:
    found = traced(spends_twice, DATA, np.array([0.2, 0.4, 0.6, 0.8, 0.0]))
    spent = {line.location.line: line.largest_loss for line in found.lines}
    first, second = line_of(spends_twice, "total ="), line_of(spends_twice, "size =")
    assert spent[first] == pytest.approx(0.9)
    assert spent[second] == pytest.approx(1.0)


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("function", "neighbour"), [(inferred_domain, LARGE), (keeps_missing, MISSING)]
)
def test_data_that_passes_the_noise_by_is_a_leak_with_its_place(function, neighbour) -> None:
    found = traced(function, DATA, neighbour)
    assert found.leaks
    code = function.__code__
    last = code.co_firstlineno + len(inspect.getsourcelines(function)[0])
    assert code.co_firstlineno <= found.leaks[0].location.line < last
    assert found.verdict is not Verdict.CONSISTENT


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("function", "neighbour"),
    [
        (clipped_mean, LARGE),
        (clipped_mean, MISSING),
        (given_domain, LARGE),
        (spends_halves, np.array([0.2, 0.4, 0.6, 0.8, 0.0])),
    ],
)
def test_correct_twins_are_not_refuted_and_leak_nothing(function, neighbour) -> None:
    found = traced(function, DATA, neighbour)
    assert found.verdict is Verdict.CONSISTENT
    assert not found.leaks


@pytest.mark.parametrize("keywords", [{}, {"n": 100}, {"kind": "quantile"}])
def test_a_trace_without_inputs_is_told_its_form(keywords: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"dp\.trace\(f, scores, neighbour, dp\.PureDP\(1\.0\)\)"):
        dp.trace(noisy_sum, dp.PureDP(1.0), **keywords)
