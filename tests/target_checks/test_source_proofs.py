"""Checks prove a claim from the source first; what is not proved is sampled and says why."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import quantiles_to_prove
from support.quantiles_to_prove import (
    constant,
    counts_of_classes,
    drawn_again,
    enough_noise,
    less_noise,
    noisy_histogram,
    of_a_slice,
    often_true,
    other_generator,
    quantile,
    raises,
    spare_noise,
    sparer_noise,
    true_by_its_type,
)

import dpcp_audit as dp
from dpcp_audit.faces.cli.main import main
from dpcp_audit.reports.sentences import sentence
from dpcp_audit.target_checks.claim_audits import PrivacyAudit
from dpcp_audit.words.results import Verdict

FILE = Path(quantiles_to_prove.__file__)
FEW = {"n": 20, "draws": 600, "false_alarm": 1e-7}


def audited(function: Any, *claims: Any, **settings: Any) -> Any:
    return dp.audit(function, *claims, **(FEW | settings))[0]


@pytest.mark.parametrize(
    ("function", "claim", "settings"),
    [
        (quantile, dp.ZCDP(0.5), {}),
        (quantile, dp.GaussianDP(1.0), {}),
        (quantile, dp.GaussianDP(2.0), {}),
        (quantile, dp.RenyiDP(2.0, 1.0), {}),
        (quantile, dp.ApproxDP(5.0, 1e-3), {}),
        (enough_noise, dp.ZCDP(0.5), {"neighbours": "add-remove"}),
        (noisy_histogram, dp.PureDP(1.0), {"kind": "vector"}),
        (counts_of_classes, dp.PureDP(1.0), {"kind": "calibrator", "domain": 3}),
        (
            counts_of_classes,
            dp.PureDP(0.5),
            {"kind": "calibrator", "domain": 3, "neighbours": "add-remove"},
        ),
    ],
)
def test_a_correct_function_is_proved_for_every_input(function, claim, settings) -> None:
    found = audited(function, claim, **settings)
    assert found.verdict is Verdict.PROVED
    assert found.estimate.n_samples is None
    assert 0 < found.estimate.value <= found.estimate.claimed
    assert found.estimate.detail == "at most, for every input"
    if isinstance(claim, dp.GaussianDP):
        assert (found.estimate.value, found.estimate.claimed) == (1.0, claim.mu)
    assert all(premise.holds for premise in found.proof.premises)


def test_a_calibrator_of_an_unknown_number_of_classes_is_sampled() -> None:
    found = audited(counts_of_classes, dp.PureDP(1.0), kind="calibrator", trace=False)
    assert found.estimate.n_samples


def test_prove_of_the_command_line_takes_calibrators(capsys) -> None:
    target = [f"{FILE}:counts_of_classes", "--kind=calibrator", "--pure-dp=1"]
    assert main(["prove", *target, "--domain=3"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("PROVED: counts_of_classes")
    assert "a row of 3 finite numbers in [0, 1], and a label of 0, ..., 2" in shown
    assert main(["prove", *target]) == 2
    assert "prove takes K classes" in capsys.readouterr().err


def test_a_proof_names_its_sizes_its_account_and_its_assumptions() -> None:
    asked = audited(of_a_slice, dp.PureDP(1.0), n=50)
    sizes = asked.proof.parameters["n"]
    assert 50 in sizes
    assert 1 in sizes
    assert len(asked.proof.premises) == len(sizes)
    named = f", for records in [0, 1] and n = {', '.join(map(str, sizes))} alone."
    assert asked.claim.endswith(named)
    assert asked.entry["statement"] == asked.claim
    added = audited(enough_noise, dp.ZCDP(0.5), neighbours="add-remove")
    found = audited(quantile, dp.ZCDP(0.5), n=50)
    for every in (added, found):
        assert every.claim.endswith(", for records in [0, 1] and every n ≥ 1.")
        assert len(every.proof.premises) == 1
    lines, start = inspect.getsourcelines(quantile)
    spends = start + next(i for i, line in enumerate(lines) if "rng.normal" in line)
    place = f"{FILE.relative_to(Path.cwd())}:{spends}"
    assert f"{place} spends ρ = 0.5" in found.entry["note"]
    assert found.proof.parameters["account"] == {place: pytest.approx(0.5)}
    assert found.entry["assumptions"] == "; ".join(found.proof.parameters["assumptions"])
    assert [said.partition(":")[0] for said in found.proof.parameters["rules"]] == [
        "len",
        "np.count_nonzero",
        "Gaussian noise",
        "ρ adds up",
    ]


@pytest.mark.parametrize(
    ("function", "line", "reason"),
    [
        (often_true, 0, "the source proves only δ ≤ "),
        (true_by_its_type, 2, "an output of one value that another value never has"),
    ],
)
@pytest.mark.statistical(false_alarm=1e-7)
def test_shuffled_reports_that_are_not_proved_say_which_line_stops_the_proof(
    function, line, reason
) -> None:
    given = {"kind": "randomizer", "domain": 4, "shuffle_n": 100, "draws": 600}
    (found,) = dp.audit(function, dp.ApproxDP(0.2, 1e-6), false_alarm=1e-7, **given)
    unproved = found.entry["unproved"]
    assert unproved["location"]["line"] == inspect.getsourcelines(function)[1] + line
    assert unproved["reason"].startswith(reason)


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=2e-7)
def test_a_tenth_less_noise_is_not_proved_and_names_the_line() -> None:
    bad = audited(less_noise, dp.ZCDP(0.5), trace=False)
    start = inspect.getsourcelines(less_noise)[1]
    assert bad.verdict is not Verdict.PROVED
    unproved = bad.entry["unproved"]
    place = {"file": str(FILE.relative_to(Path.cwd())), "line": start + 1}
    text = inspect.getsource(less_noise).splitlines()[1].strip()
    assert unproved["location"] == place | {"text": text}
    assert unproved["hint"] == "σ ≥ 1 would prove it"
    assert audited(enough_noise, dp.ZCDP(0.5)).verdict is Verdict.PROVED


@pytest.mark.statistical(false_alarm=3e-7)
def test_outputs_do_not_support_a_claim_of_which_a_proof_leaves_twice_as_much() -> None:
    """Of ε = 1 the proof leaves 2; of ε = 1.5 it leaves less than the outputs would show."""
    open_still = audited(spare_noise, dp.PureDP(1.0), draws=20_000, trace=False)
    assert open_still.verdict is Verdict.INCONCLUSIVE
    assert open_still.entry["power"] is None
    assert "leaves a loss of up to 2 times the claim" in open_still.entry["note"]
    assert sentence(open_still.entry).startswith("Undecided: ")
    alone = audited(spare_noise, dp.PureDP(1.0), draws=20_000, trace=False, prove=False)
    assert alone.verdict is Verdict.CONSISTENT
    of_mu = audited(sparer_noise, dp.GaussianDP(1.2), draws=20_000, trace=False)
    assert of_mu.verdict is Verdict.INCONCLUSIVE
    assert "leaves a loss of up to 2.3 times the claim" in of_mu.entry["note"]
    nearly = audited(spare_noise, dp.PureDP(1.5), draws=20_000, trace=False)
    assert nearly.verdict is Verdict.CONSISTENT


@pytest.mark.known_bad
def test_outputs_do_not_support_noise_that_is_drawn_again() -> None:
    found = audited(drawn_again, dp.PureDP(1.0), draws=20_000, trace=False)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "drawn again" in found.entry["unproved"]["reason"]
    assert "costs more than one use of it" in found.entry["note"]


@pytest.mark.known_bad
@pytest.mark.parametrize("settings", [{}, {"randomness": "generator"}])
def test_a_generator_that_is_never_handed_over_proves_nothing(settings) -> None:
    """The verifier reads every argument of a generator's name as one; calls hand over only rng."""
    assert audited(other_generator, dp.ZCDP(0.5), **settings).verdict is Verdict.REFUTED


@pytest.mark.parametrize("function", [raises, constant])
def test_code_that_cannot_be_sampled_stays_an_error(function) -> None:
    assert audited(function, dp.ZCDP(0.5)).verdict is Verdict.ERROR


@pytest.mark.statistical(false_alarm=3e-7)
@pytest.mark.parametrize(
    "settings",
    [{"prove": False}, {"pair": ([0.0], [1.0])}, {"given_as": "list"}],
)
def test_what_the_verifier_does_not_take_is_sampled(settings) -> None:
    found = audited(enough_noise, dp.ZCDP(0.5), trace=False, **settings)
    assert found.verdict is not Verdict.PROVED
    assert found.entry["unproved"] is None


@pytest.mark.statistical(false_alarm=1e-7)
def test_a_vectorised_function_says_that_it_is_not_read() -> None:
    def noisy(scores: Any, size: int, *, rng: Any) -> Any:
        return len(scores) + rng.normal(0, 1, size=size)

    found = audited(noisy, dp.ZCDP(0.5), vectorised=True, trace=False)
    assert found.entry["unproved"]["reason"] == "the verifier does not read vectorised functions"


@pytest.mark.statistical(false_alarm=2e-7)
def test_the_command_line_proves_or_says_why_not(capsys, tmp_path) -> None:
    given = ["check", f"{FILE}:enough_noise", "--kind", "quantile", "--n", "20", "--zcdp", "0.5"]
    assert main([*given, "-v"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "PROVED" in out
    assert "every record is a finite number in [0, 1]" in out
    assert main([*given, "--no-prove", "--draws", "600", "--false-alarm", "1e-7"]) == 0
    assert "PROVED" not in capsys.readouterr().out
    config = tmp_path / "checks.toml"
    config.write_text(
        f'[[check]]\ntarget = "{FILE}:less_noise"\nkind = "quantile"\nn = 20\n'
        "zcdp = 0.5\ndraws = 600\ntrace = false\n",
        encoding="utf-8",
    )
    assert main(["check", "--config", str(config), "--false-alarm", "1e-7"]) == 0
    assert "the source proves only" in " ".join(capsys.readouterr().out.split())


def nearly_always_one(scores, *, rng) -> float:
    return float(np.clip(np.mean(scores) + rng.laplace(scale=1 / len(scores)) + 2.0, 0.0, 1.0))


def test_a_proof_that_is_not_taken_because_the_output_does_not_vary_says_so() -> None:
    found = audited(nearly_always_one, dp.PureDP(1.0), trace=False)
    assert found.verdict is not Verdict.PROVED
    why = found.finding.outcome.unproved
    assert why is not None
    assert "all calls on one input returned the same" in why.reason


def textbook(scores, *, rng) -> float:
    return float(np.mean(scores) + rng.laplace(scale=10 / len(scores)))


def last_bit(value, *, rng) -> float:
    noisy = np.array([value + rng.laplace()])
    return float(((noisy.view(np.int64) & ~1) | int(value > 0.5)).view(np.float64)[0])


@pytest.mark.known_bad
def test_a_proof_of_ideal_numbers_does_not_end_a_strict_check_of_the_last_bits(monkeypatch) -> None:
    """What outputs say of last bits stands in place of sampling, which shows it now and then."""
    found = dp.audit(last_bit, dp.LocalDP(1), kind="local", draws=6000, representation="strict")
    outputs = [found[0].finding.outcome]
    assert outputs[0].verdict is Verdict.REFUTED
    monkeypatch.setattr(PrivacyAudit, "sampled", lambda *_: outputs[0])
    claim, settings = dp.PureDP(0.1), {"n": 100, "representation": "strict"}
    assert dp.audit(textbook, claim, **settings)[0].verdict is Verdict.REFUTED
    assert dp.audit(textbook, claim, n=100)[0].verdict is Verdict.PROVED
    outputs[0] = replace(outputs[0], verdict=Verdict.CONSISTENT)
    proved = dp.audit(textbook, claim, **settings)[0]
    assert proved.verdict is Verdict.PROVED
    assert "the last bits were sampled" in proved.finding.outcome.note
