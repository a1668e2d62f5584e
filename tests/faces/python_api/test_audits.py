"""``dpcp_audit.audit``, ``covers`` and ``run``: what they find, and what they refuse."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.messages import require_line_and_hint

import dpcp_audit as dp
from dpcp_audit.faces.cli.main import main

SMALL = {"n": 20, "vectorised": True, "draws": 2000, "false_alarm": 1e-6}
MINE = """
def mean(scores, size, *, rng):
    return scores.mean() + rng.laplace(scale=1 / len(scores), size=size)
"""


class Mine(dp.PureDP):
    """A guarantee that no option claims."""


def mean(scores, size, *, rng) -> np.ndarray:
    return scores.mean() + rng.laplace(scale=1 / len(scores), size=size)


def flip(values, *, rng) -> np.ndarray:
    return np.where(rng.random(values.shape) < 0.9, values, 1 - values)


def conformal(scores) -> float:
    rank = int(np.ceil(0.9 * (len(scores) + 1)))
    return np.inf if rank > len(scores) else float(np.sort(scores)[rank - 1])


@pytest.mark.statistical(false_alarm=1e-6)
def test_several_claims_of_a_closure_at_once() -> None:
    """The true claim is refuted with probability below 1e-6; the other is far off."""
    scale = 0.2

    def closure(scores, size, *, rng) -> np.ndarray:
        return scores.mean() + rng.laplace(scale=scale / len(scores), size=size)

    result = dp.audit(closure, dp.PureDP(5.0), dp.ZCDP(0.1), **SMALL, trace=False)
    assert result["pure-dp"].verdict is not dp.Verdict.REFUTED
    assert result["zcdp"].verdict is dp.Verdict.REFUTED
    assert result.verdict is dp.Verdict.REFUTED
    assert [each.key for each in result] == ["pure_dp", "zcdp"]


@pytest.mark.statistical(false_alarm=1e-9)
def test_a_randomizer_is_told_by_its_claim_or_its_domain() -> None:
    """``flip`` is 2.2-LDP: it spends more than 1 by far."""
    local = dp.audit(flip, dp.LocalDP(1.0), domain=2, vectorised=True, draws=4000)
    assert local.verdict is dp.Verdict.REFUTED
    assert local.document["targets"][0]["kind"] == "randomizer"
    assert (
        dp.audit(flip, dp.PureDP(1.0), domain=2, vectorised=True, draws=4000).verdict == "REFUTED"
    )


@pytest.mark.statistical(false_alarm=1e-6)
def test_coverage_with_and_without_confidence() -> None:
    """The true claim is refuted with probability below 1e-6."""
    exact = dp.covers(
        conformal, at_least=0.9, n=20, randomness="none", draws=1000, false_alarm=1e-6
    )
    assert exact["coverage"].verdict is not dp.Verdict.REFUTED
    likely = dp.covers(
        conformal, at_least=0.9, confidence=0.99, n=20, randomness="none", draws=1000
    )
    assert likely.verdict is dp.Verdict.REFUTED


def test_claims_of_one_kind_are_told_apart() -> None:
    result = dp.audit(mean, dp.PureDP(1.0), dp.PureDP(2.0), **SMALL, trace=False)
    assert [each.key for each in result] == ["pure_dp(1)", "pure_dp(2)"]
    assert result["pure_dp(2)"] is result[1]


def test_a_named_target_gives_what_the_command_line_finds(tmp_path, monkeypatch) -> None:
    """The same draws and seed: the same evidence, which the command line replays."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    result = dp.audit("mine.py:mean", dp.PureDP(0.2), n=20, vectorised=True, draws=2000, seed=3)
    result.report("python.json")
    arguments = ["--kind", "quantile", "--pure-dp", "0.2", "--n", "20", "--vectorised"]
    arguments += ["--draws", "2000", "--seed", "3", "--jobs", "1", "--report", "json=cli.json"]
    assert main(["check", "mine.py:mean", *arguments]) == 1
    python, cli = (
        json.loads((tmp_path / f"{name}.json").read_text()) for name in ("python", "cli")
    )
    assert python["findings"][0]["evidence"] == cli["findings"][0]["evidence"]
    assert python["targets"] == cli["targets"]
    assert main(["replay", result[0].id, "python.json"]) == 0


def test_the_seed_settles_the_result() -> None:
    first, again, other = (
        dp.audit(mean, dp.PureDP(0.2), **SMALL, seed=seed, trace=False).document["findings"][0][
            "evidence"
        ]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dp.audit(mean), "guarantees must hold at least one"),
        (lambda: dp.audit(mean, 1.0), "guarantee must be one such as ZCDP(0.5)"),
        (lambda: dp.audit(mean, dp.ZCDP), "ZCDP'>\nhint: give the class its parameters"),
        (lambda: dp.audit(mean, [dp.ZCDP(1)]), "give several one after the other"),
        (lambda: dp.audit(dp.ZCDP(1), mean), ": the function comes before it"),
        (
            lambda: dp.audit(mean, rho=0.5),
            "unknown keyword 'rho'\nhint: pass the claim as an object: dp.ZCDP(...)",
        ),
        (lambda: dp.audit(mean, zcdp=0.5), "hint: pass the claim as an object: dp.ZCDP(...)"),
        (lambda: dp.Coverage(90), "got 90 and 1.0\nhint: give a share of 1: 90 % is 0.9"),
        (
            lambda: dp.audit(mean, dp.ZCDP(1), pair=([0.0] * 9, [1.0] * 9)),
            "pair must hold neighbours (neighbours substitution: one record is replaced",
        ),
        (lambda: dp.audit(mean, Mine(1.0)), "guarantee must be one such as ZCDP(0.5)"),
        (lambda: dp.run("theorems", pools="none.npz"), "got 'none.npz'"),
        (lambda: dp.audit(mean, dp.ZCDP(1), alpah=1), "'alpah'\nhint: did you mean 'alpha'?"),
        (lambda: dp.audit(mean, dp.ZCDP(1), domain=2), "looks like a quantile"),
        (lambda: dp.audit(flip, dp.LocalDP(1), kind="quantile"), "LocalDP applies to a random"),
        (lambda: dp.audit(flip, dp.LocalDP(1), domain=2, ties=False), "ties applies to a quantile"),
        (lambda: dp.audit(mean, dp.Coverage(0.9, 0.95)), "at_most must be 1"),
        (lambda: dp.audit(mean, dp.Coverage(0.9), dp.Coverage(0.8)), "must be claimed once"),
        (lambda: dp.audit("mine", dp.ZCDP(1)), "target must be 'package.module:function'"),
        (lambda: dp.run("nothing"), "must be one of comparison"),
        (lambda: dp.run(only="no.such.claim"), "no claim matches 'no.such.claim'"),
        (lambda: dp.run(only=3), "only must be a pattern or a list of them, got 3"),
        (lambda: dp.run(pools=["a.npz"]), "pools is no argument of the suite 'papers'"),
        (lambda: dp.run(jobs=0), "jobs must be an integer >= 1, got 0"),
    ],
)
def test_wrong_use_is_told_in_a_line_and_a_hint(call, message) -> None:
    with pytest.raises(ValueError, match=".") as caught:
        call()
    assert message in str(caught.value)
    require_line_and_hint(str(caught.value))
    assert "\nhint: " in str(caught.value)


def test_a_suite_runs_as_on_the_command_line(tmp_path) -> None:
    result = dp.run(only="ldpcp.rr*", profile="smoke", jobs=1)
    assert main(["list"]) == 0
    path = tmp_path / "cli.json"
    main(["run", "--only", "ldpcp.rr*", "--profile", "smoke", "--report", f"json={path}"])
    cli = json.loads(path.read_text())
    found = [(each.id, str(each.verdict)) for each in result]
    assert found == [(each["id"], each["verdict"]) for each in cli["findings"]]
    assert found


def test_a_followed_finding_points_at_the_line_that_spends(tmp_path) -> None:
    """The results, and code scanning that reads SARIF, name the draw and not the function."""
    result = dp.audit(mean, dp.PureDP(0.2), **SMALL)
    (found,) = result.document["findings"]
    first = mean.__code__.co_firstlineno
    assert found["location"]["line"] > first
    result.report(str(tmp_path / "found.sarif"))
    log = json.loads((tmp_path / "found.sarif").read_text("utf-8"))
    (place,) = log["runs"][0]["results"][0]["locations"]
    assert place["physicalLocation"]["region"]["startLine"] == found["location"]["line"]
    assert found["location"] in [each["location"] for each in found["traced"]["draws"]]


def test_a_long_audit_says_on_a_terminal_how_many_calls_are_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dpcp_audit.faces.keywords.QUIET_SECONDS", 0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    dp.audit(mean, dp.PureDP(1.0), **SMALL, trace=False)
    lines = capsys.readouterr().err.splitlines()
    told = [line for line in lines if " calls made, " in line]
    assert len(told) > 1
    assert all(" of 2,000 calls made, " in line for line in told)
