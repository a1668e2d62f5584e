"""Audits from both sides: the trace first, the black box then, and what either says of a pair."""

from __future__ import annotations

import math
import os
import secrets
import uuid
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from dpcp_audit.faces.keywords import spec_of
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.target_checks import two_sided
from dpcp_audit.target_checks.loss_rows import rows_of_traces
from dpcp_audit.target_checks.target_rows import rows_of_targets
from dpcp_audit.target_checks.trace_search import TraceSearch
from dpcp_audit.targets import TargetError
from dpcp_audit.targets.answers import KeptOutputError
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import ZCDP, LocalDP, PureDP
from dpcp_audit.words.results import EvidenceKind, Verdict

UNSEEDED = np.random.default_rng()


def noisy_mean(scores, *, rng, scale=1.0) -> Any:
    return scores.mean() + rng.laplace(scale=scale / len(scores))


def search(scores, *, rng, sigma=2.0) -> float:
    low, high = 0.0, 1.0
    for _ in range(4):
        middle = (low + high) / 2
        count = np.sum(scores <= middle) + rng.normal(scale=sigma)
        low, high = (middle, high) if count < 0.9 * len(scores) else (low, middle)
    return high


def response(value, *, rng, epsilon=2.0, k=4) -> int:
    if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + k - 1):
        return value
    other = int(rng.integers(k - 1))
    return other + (other >= value)


def checked(function, guarantee, **given: Any) -> Any:
    """Return the check of a claim, and its outcome without a proof from the source."""
    given = {"draws": 2000, "prove": False} | ({"n": 20} if "domain" not in given else {}) | given
    spec = spec_of(function, [guarantee], given, file="mine.py")
    (row,) = rows_of_targets([spec])
    context = Context(seed=0, name=row.claim.id, significance=1e-4)
    return row.check, row.check(context)  # type: ignore[return-value]


@cache
def searched() -> Any:
    """Return the outcome of a search that keeps its claim."""
    return checked(search, ZCDP(0.5))[1]


def title_of(found) -> list[str]:
    return [table.title for table in found.tables]


def above_threshold(scores, *, rng, scale=0.2) -> float:
    """Return the first of six grid points with enough scores; the queries' noise is too small."""
    threshold = 0.9 * len(scores) + rng.laplace(0, 2.0)
    for point in np.linspace(0, 1, 6):
        if np.sum(scores <= point) + rng.laplace(0, scale) >= threshold:
            return point
    return 1.0


@pytest.mark.known_bad
def test_the_name_of_a_claim_does_not_change_which_pairs_are_traced() -> None:
    """A command, Python and pytest name one claim differently; further pairs are enumerated.

    The loss counts the type of a number: the last grid point is NumPy's, the 1.0 at the end is not.
    """
    strict = {"n": 10, "draws": 2000, "representation": "strict"}
    check, found = checked(above_threshold, PureDP(1.0), **strict)
    names = ("pure_dp", "test_mine.py::test_f")
    contexts = [Context(seed=0, name=name, significance=1e-4) for name in names]
    again = [check(context) for context in contexts]
    assert {each.evidence.value for each in again} == {found.evidence.value}
    assert {each.verdict for each in [found, *again]} == {Verdict.REFUTED}


@pytest.mark.known_bad
def test_the_trace_refutes_before_any_output_is_drawn() -> None:
    check, found = checked(noisy_mean, PureDP(0.9))
    assert found.verdict is Verdict.REFUTED
    assert "spent" not in found.witness
    assert found.evidence.value == pytest.approx(1.0, abs=1e-6)
    context = Context(seed=5, name="again", significance=1e-4)
    again = check.confirm(found.witness, context)
    assert again.verdict is Verdict.REFUTED
    assert again.evidence.value == found.evidence.value
    assert found.witness["path_loss"] == pytest.approx(1.0)


def test_a_witness_of_paths_does_not_replay_on_mended_code() -> None:
    _, found = checked(noisy_mean, PureDP(0.9))
    mended, _ = checked(lambda scores, *, rng: noisy_mean(scores, rng=rng, scale=2.0), PureDP(0.9))
    context = Context(seed=5, name="again", significance=1e-4)
    assert mended.confirm(found.witness, context).verdict is not Verdict.REFUTED


def test_the_line_that_spends_is_the_location() -> None:
    _, found = checked(noisy_mean, PureDP(0.9))
    first = noisy_mean.__code__.co_firstlineno
    assert found.location.line == first + 1
    assert found.location.file.endswith("test_two_sided.py")


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("claimed", "verdict"),
    [(1.9, Verdict.REFUTED), (2.0, Verdict.PROVED), (2.1, Verdict.PROVED)],
)
def test_every_pair_of_a_small_domain_is_enumerated(claimed, verdict) -> None:
    _, found = checked(response, LocalDP(claimed), domain=4)
    assert found.verdict is verdict
    assert found.evidence.kind is EvidenceKind.EXACT
    assert found.evidence.value == pytest.approx(2.0, abs=1e-9)


@pytest.mark.known_bad
def test_the_one_bad_pair_of_a_domain_is_found() -> None:
    def one_bad(value, *, rng) -> int:
        return response(value, rng=rng, epsilon=8.0 if value == 3 else 1.0)

    _, found = checked(one_bad, LocalDP(2.0), domain=4)
    assert found.verdict is Verdict.REFUTED
    assert 3 in {found.witness["value"], found.witness["neighbour"]}


def test_a_search_that_keeps_its_claim_has_a_bracket() -> None:
    found = searched()
    assert found.verdict is not Verdict.REFUTED
    assert title_of(found)[0] == "The loss from both sides"
    bracket = found.tables[0]
    below, above = next(column.texts for column in bracket.columns if column.name == "loss")
    assert below.startswith("at least ")
    assert float(below.split()[2].strip(",")) <= float(above.split(",")[0])
    assert found.traced is not None
    assert found.location in [line.location for line in found.traced.draws]


def test_without_the_trace_the_check_is_the_black_box() -> None:
    _, found = checked(search, ZCDP(0.5), trace=False)
    assert not found.tables
    assert found.location is None


def test_what_cannot_be_followed_is_audited_as_before() -> None:
    def hidden(scores) -> Any:
        return scores.mean() + np.random.laplace(scale=1.0) + UNSEEDED.normal()  # noqa: NPY002

    _, found = checked(hidden, PureDP(50.0), randomness="global")
    _, before = checked(hidden, PureDP(50.0), randomness="global", trace=False)
    assert found.verdict is before.verdict
    assert "The noise cannot be followed: " in found.note
    assert "test_two_sided.py:" in found.note


def test_draws_from_elsewhere_are_not_taken_for_none() -> None:
    def system(value) -> int:
        return value if UNSEEDED.integers(10**6) else 1 - value

    _, found = checked(system, LocalDP(14.0), domain=2, randomness="global")
    assert found.verdict is not Verdict.REFUTED
    assert "a generator that was made before the call" in found.note


def test_what_the_code_keeps_of_a_traced_call_is_a_number() -> None:
    kept: list[Any] = []

    def caching(scores, *, rng) -> Any:
        if not kept:
            kept.append(rng.laplace(scale=5.0))
        return scores.mean() + kept[0] + rng.normal(scale=2.0)

    _, found = checked(caching, PureDP(50.0))
    assert found.verdict is not Verdict.REFUTED
    assert isinstance(found.evidence.value, float)


def caching_by(key_of, kept: dict[Any, Any]) -> Any:
    def caching(scores) -> Any:
        key = key_of(scores)
        if key not in kept:
            kept[key] = np.random.laplace(scale=10.0, size=3)  # noqa: NPY002
        return np.sort(scores)[:3] + kept[key]

    return caching


def test_noise_that_is_kept_for_each_data_set_is_an_error_with_a_trace_and_without() -> None:
    kept: dict[Any, Any] = {}
    caching = caching_by(lambda scores: scores.tobytes(), kept)
    for trace in (True, False):
        with pytest.raises(KeptOutputError):
            checked(caching, PureDP(1.0), kind="vector", trace=trace)
        assert all(type(each) is np.ndarray and each.dtype == float for each in kept.values())
        kept.clear()


@pytest.mark.known_bad
def test_noise_that_is_kept_has_one_verdict_with_a_trace_and_without() -> None:
    kept: dict[Any, Any] = {}
    caching = caching_by(len, kept)
    _, found = checked(caching, PureDP(1.0), kind="vector")
    assert all(type(each) is np.ndarray and each.dtype == float for each in kept.values())
    kept.clear()
    _, before = checked(caching, PureDP(1.0), kind="vector", trace=False)
    for each in (found, before):
        assert each.verdict is Verdict.REFUTED
        assert each.witness["cause"].startswith("Every call on one input returns the same")
    assert "keeps noise of one call for later ones" in found.note


def test_a_constant_that_is_drawn_once_is_no_error() -> None:
    kept: dict[str, Any] = {}

    def projected(scores, *, rng) -> Any:
        if not kept:
            kept["direction"] = rng.normal(size=2)
        return scores.mean() * kept["direction"] + rng.laplace(scale=2.0, size=2)

    _, found = checked(projected, PureDP(1.0), kind="vector")
    assert found.verdict is not Verdict.REFUTED
    assert type(kept["direction"]) is np.ndarray
    assert kept["direction"].dtype == float


def test_a_target_that_fails_under_the_trace_alone_is_audited_as_before() -> None:
    def choosy(scores, *, rng) -> Any:
        if type(rng) is not np.random.Generator:
            raise SystemExit(7)
        return scores.mean() + rng.laplace(scale=1 / len(scores))

    _, found = checked(choosy, PureDP(0.2))
    assert found.verdict is Verdict.REFUTED
    assert "it exits with 7" in found.note


def test_a_loop_of_coins_is_followed_without_end() -> None:
    def geometric(scores, *, rng) -> Any:
        steps = 0
        while rng.random() < 0.5:
            steps += 1
        return scores.mean() + steps + rng.laplace(scale=1.0)

    _, found = checked(geometric, PureDP(1.0))
    assert found.verdict is not Verdict.REFUTED


def test_the_shares_of_the_significance_add_up(monkeypatch) -> None:
    shares: list[float] = []
    part = two_sided._part

    def noted(context, name, share) -> Context:
        shares.append(share)
        return part(context, name, share)

    monkeypatch.setattr(two_sided, "_part", noted)
    monkeypatch.setattr(two_sided, "_same_pair", lambda *_: False)
    checked(search, ZCDP(0.5))
    assert sum(shares) == pytest.approx(two_sided._TRACED)


def test_the_seed_repeats_the_audit() -> None:
    first, (_, again) = searched(), checked(search, ZCDP(0.5))
    assert first.evidence == again.evidence
    assert first.note == again.note


def test_unseen_noise_that_is_added_to_seen_noise_refutes_nothing() -> None:
    def both(scores) -> Any:
        seen = np.random.laplace(scale=1 / len(scores))  # noqa: NPY002
        return scores.mean() + seen + UNSEEDED.normal(scale=3.0)

    _, found = checked(both, PureDP(1.0), randomness="global")
    assert found.verdict is not Verdict.REFUTED
    assert "randomness that is not followed" in found.note


def among_three(value, rng) -> int:
    """1-LDP, of three values."""
    if rng.random() < math.e / (math.e + 2):
        return value
    other = int(rng.integers(2))
    return other + (other >= value)


def bits(value, *, rng) -> int:
    return value if rng.bit_generator.random_raw() % 64 == 0 else among_three(value, rng)


def spawned_seed(value, *, rng) -> int:
    own = np.random.default_rng(rng.bit_generator.seed_seq.spawn(1)[0])
    return value if own.random() < 1 / 64 else among_three(value, rng)


def jumped(value, *, rng) -> int:
    own = np.random.Generator(rng.bit_generator.jumped())
    return value if own.random() < 1 / 64 else among_three(value, rng)


def system_bytes(value, *, rng) -> int:
    return value if os.urandom(1)[0] < 4 else among_three(value, rng)


def system_secrets(value, *, rng) -> int:
    return value if secrets.token_bytes(1)[0] < 4 else among_three(value, rng)


def system_uuid(value, *, rng) -> int:
    return value if uuid.uuid4().int % 64 == 0 else among_three(value, rng)


def unseeded_bits(value, *, rng) -> int:
    own = np.random.Generator(np.random.PCG64())
    return value if own.random() < 1 / 64 else among_three(value, rng)


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "hidden",
    [bits, spawned_seed, jumped, system_bytes, system_secrets, system_uuid, unseeded_bits],
)
def test_nothing_is_proved_of_draws_that_are_not_recorded(hidden) -> None:
    """Each of them loses 1.027."""
    lines = range(hidden.__code__.co_firstlineno + 1, hidden.__code__.co_firstlineno + 3)
    found = traced(hidden)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert any(f"test_two_sided.py:{line}: " in found.note for line in lines), found.note


def traced(function, **given: Any) -> Any:
    """Return the outcome of the traces alone, of a claim of 1.01-LDP."""
    spec = spec_of(function, [LocalDP(1.01)], {"domain": 3} | given, file="mine.py")
    (row,) = rows_of_traces([spec])
    return row.check(Context(seed=0, name="traced", significance=1e-4))


def test_the_recorded_twin_is_proved() -> None:
    found = traced(lambda value, *, rng: among_three(value, rng))
    assert found.verdict is Verdict.PROVED


@pytest.mark.known_bad
def test_nothing_is_proved_of_global_draws() -> None:
    """Beside those that are seen there may be others, by names that were bound before."""

    def anywhere(value) -> int:
        return among_three(value, np.random.default_rng())

    found = traced(anywhere, randomness="global")
    assert found.verdict is Verdict.CONSISTENT


@pytest.mark.known_bad
def test_a_few_paths_do_not_settle_pure_privacy() -> None:
    """One path in 500 returns the sum itself: its loss is without bound."""

    def rarely_bare(scores, *, rng) -> Any:
        if rng.random() < 0.002:
            return scores.sum()
        return scores.sum() + rng.laplace()

    _, found = checked(rarely_bare, PureDP(1.0), draws=2048, n=2)
    assert found.verdict in {Verdict.REFUTED, Verdict.INCONCLUSIVE}


@pytest.mark.known_bad
@pytest.mark.parametrize(("names_inputs", "raised"), [(True, True), (False, False)])
def test_pairs_that_an_error_tells_apart_are_counted(names_inputs: bool, raised: bool) -> None:
    """Code that refuses an outlier tells by its error who is in the data; nobody sees that here."""

    def refuses_outliers(scores, *, rng) -> Any:
        if names_inputs and scores.max() > 0.99:
            raise ValueError("an outlier")
        return np.sum(scores > 0.5) + rng.laplace()

    _, found = checked(refuses_outliers, PureDP(1.0))
    assert found.verdict is not Verdict.REFUTED
    assert (found.extent.raised > 0) is raised
    assert ("an outlier (line" in found.extent.error) is raised
    assert ("raised_on" in found.witness) is raised
    if raised:
        pair = [found.witness["raised_on"][key] for key in ("value", "neighbour")]
        assert sorted(max(scores) > 0.99 for scores in pair) == [False, True]


@pytest.mark.known_bad
@pytest.mark.parametrize("seed", range(4))
def test_paths_that_lose_more_than_is_claimed_settle_nothing(seed: int) -> None:
    """The reference bisection spends four times the claim; a few paths do not refute it."""
    spent = PCOQS(alpha=0.1, rho=2.0)

    def bisection(scores, size, *, rng) -> Any:
        return spent.sample(np.asarray(scores), size, rng=rng)

    few = {"n": 100, "alpha": 0.1, "vectorised": True, "draws": 2048, "prove": False}
    (row,) = rows_of_targets([spec_of(bisection, [ZCDP(0.5)], few, file="mine.py")])
    found = row.check(Context(seed=seed, name=row.claim.id, significance=1e-3))
    assert found.verdict is not Verdict.CONSISTENT


@pytest.mark.known_bad
@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 2), (1.1, 10), (2.0, 4), (5.0, 2), (5.0, 10)])
def test_a_tight_response_is_proved_and_a_smaller_claim_refuted(epsilon: float, k: int) -> None:
    options = {"epsilon": epsilon, "k": k}
    found = checked(response, LocalDP(epsilon), domain=k, kind="randomizer", options=options)[1]
    assert found.verdict is Verdict.PROVED
    assert "stands for a real number within its rounding" in found.proof.argument
    below = LocalDP(epsilon * (1 - 1e-11))
    short = checked(response, below, domain=k, kind="randomizer", options=options)[1]
    assert short.verdict is Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.parametrize("factor", [0.7, 1.0])
def test_an_enumerated_loss_below_what_the_outputs_certify_is_an_error(
    monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    """A law that the enumeration has wrong, such as NumPy's order of rows, is contradicted."""
    judged = TraceSearch.worst

    def wrong(self: TraceSearch, context: Context) -> Any:
        found = judged(self, context)
        evidence = found.outcome.evidence
        scaled = {each: factor * getattr(evidence, each) for each in ("value", "lower", "upper")}
        return replace(found, outcome=replace(found.outcome, evidence=replace(evidence, **scaled)))

    monkeypatch.setattr(TraceSearch, "worst", wrong)
    if factor == 1:
        found = checked(response, LocalDP(2.5), domain=4, kind="randomizer", draws=20_000)[1]
        assert found.verdict is Verdict.PROVED
        return
    with pytest.raises(TargetError, match=r"at most 1\.4, by the outputs it is at least 1\."):
        checked(response, LocalDP(2.5), domain=4, kind="randomizer", draws=20_000)
