"""``dp.audit_training``: planted bugs of a user's Opacus training are found, each at its part.

Where the training is right, the false-alarm probability of an audit is set to 1e-8.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from support import engine_trainings as trainings

import dpcp_audit as dp
from dpcp_audit.words.results import Verdict

torch = pytest.importorskip("torch")
opacus = pytest.importorskip("opacus")
pytestmark = pytest.mark.filterwarnings(
    "ignore:Secure RNG:UserWarning", "ignore:Full backward hook:UserWarning"
)
SELDOM = {"epochs": 2, "canaries": 100, "false_alarm": 1e-8}


def refuted(result: dp.Result) -> set[str]:
    return {each.key for each in result if each.verdict is Verdict.REFUTED}


@pytest.mark.statistical(false_alarm=1e-8)
def test_a_right_training_is_consistent_and_left_as_it_was() -> None:
    engine, model, optimizer, loader = trainings.made()
    before = [each.clone() for each in model.parameters()]
    state = torch.random.get_rng_state()
    result = dp.audit_training(engine, model, optimizer, loader, **SELDOM)
    assert {each.key: str(each.verdict) for each in result} == {
        "accounting": "CONSISTENT",
        "clipping": "CONSISTENT",
        "noise": "CONSISTENT",
        "rate": "CONSISTENT",
        "poisson": "CONSISTENT",
        "epsilon": "CONSISTENT",
        "canaries": str(result["canaries"].verdict),
    }
    assert result["canaries"].verdict in {Verdict.CONSISTENT, Verdict.INCONCLUSIVE}
    assert result["noise"].estimate.value == pytest.approx(1 / trainings.NOISE, rel=1e-3)
    assert all(map(torch.equal, before, model.parameters()))
    assert torch.equal(state, torch.random.get_rng_state())
    assert engine.accountant.history == []
    assert all(each.grad is None for each in model.parameters())


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (trainings.without_clipping, {"clipping", "noise", "epsilon"}),
        (trainings.without_noise, {"noise", "epsilon"}),
        (trainings.with_half_the_noise, {"noise", "epsilon"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_planted_bug_is_found_at_its_part(plant: Any, found: set[str]) -> None:
    engine, model, optimizer, loader = trainings.made()
    plant(optimizer)
    result = dp.audit_training(engine, model, optimizer, loader, epochs=2, canaries=0)
    assert refuted(result) == found


@pytest.mark.known_bad
def test_noise_that_is_missing_costs_infinitely_much_and_canaries_show_it() -> None:
    engine, model, optimizer, loader = trainings.made(noise=4.0, records=800)
    trainings.without_noise(optimizer)
    result = dp.audit_training(engine, model, optimizer, loader, epochs=2)
    assert refuted(result) == {"noise", "epsilon", "canaries"}
    assert result["epsilon"].estimate.lower == math.inf
    assert result["canaries"].estimate.lower > 1
    assert "No noise reaches" in repr(result["noise"])


@pytest.mark.known_bad
def test_shuffled_lots_are_no_poisson_sample_and_nothing_is_said_of_their_epsilon() -> None:
    engine, model, optimizer, loader = trainings.made(poisson=False)
    result = dp.audit_training(engine, model, optimizer, loader, epochs=2, canaries=0)
    assert refuted(result) == {"poisson"}
    assert result["epsilon"].verdict is Verdict.INCONCLUSIVE


@pytest.mark.known_bad
def test_a_loader_of_larger_lots_than_the_account_says_is_found() -> None:
    from opacus.data_loader import DPDataLoader  # noqa: PLC0415  (an extra)

    engine, model, optimizer, loader = trainings.made()
    larger = DPDataLoader(loader.dataset, sample_rate=0.4)
    result = dp.audit_training(engine, model, optimizer, larger, epochs=6, canaries=0)
    assert refuted(result) == {"rate", "epsilon"}


@pytest.mark.known_bad
def test_a_promise_below_what_is_accounted_is_refuted() -> None:
    result = dp.audit_training(*trainings.made(), dp.ApproxDP(0.5, 1e-5), epochs=2, canaries=0)
    assert refuted(result) == {"accounting", "epsilon"}


def own_loop(model, optimizer, batches) -> None:
    """Descend a squared loss, in two halves of a batch."""
    for features, labels in batches:
        optimizer.zero_grad()
        errors = model(features) - torch.nn.functional.one_hot(labels, 10)
        (errors.square().sum() / max(1, len(labels))).backward()
        optimizer.step()


def unprotected_loop(model, optimizer, batches) -> None:
    """Forget the private step: the inner optimizer descends the plain gradient."""
    for features, labels in batches:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(features), labels).backward()
        optimizer.original_optimizer.step()


@pytest.mark.known_bad
def test_the_user_s_own_loop_is_what_is_audited() -> None:
    engine, model, optimizer, loader = trainings.made()
    right = dp.audit_training(engine, model, optimizer, loader, train=own_loop, canaries=0)
    assert refuted(right) == set()
    with pytest.raises(ValueError, match="must account for the optimizer's steps"):
        dp.audit_training(engine, model, optimizer, loader, train=unprotected_loop, canaries=0)


def test_a_model_that_was_trained_is_judged_by_its_history() -> None:
    engine, model, optimizer, loader = trainings.made()
    engine.accountant.history = [(1.0, 0.1, 7), (1.0, 0.1, 3)]
    result = dp.audit_training(engine, model, optimizer, loader, canaries=0)
    assert "10 steps" in result["accounting"].finding.outcome.note
    assert engine.accountant.history == [(1.0, 0.1, 7), (1.0, 0.1, 3)]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"epochs": 0}, "epochs must"),
        ({"canaries": 300}, "canaries must be at most half of the 400 records, got 300"),
        ({"guarantee": dp.PureDP(1.0)}, "guarantee must be ApproxDP"),
        ({"optimizer": object()}, "optimizer must be what PrivacyEngine.make_private"),
        ({"privacy_engine": None}, "privacy_engine must be what PrivacyEngine.make_private"),
        ({"model": None}, "model must be what PrivacyEngine.make_private"),
        ({"model": torch.nn.Linear(64, 10)}, "model must be the one whose parameters"),
        ({"train": "loop"}, "train must be callable, got 'loop'"),
        ({"train": lambda *_: None}, "train must take one step of the optimizer"),
    ],
)
def test_wrong_uses_are_named(wrong: dict[str, Any], says: str) -> None:
    names = ("privacy_engine", "model", "optimizer", "loader")
    with pytest.raises(ValueError, match=says):
        dp.audit_training(**dict(zip(names, trainings.made(), strict=True)) | wrong)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda rows, labels: (rows * math.nan, labels), "loader must hold records of finite"),
        (lambda rows, labels: (rows, labels.float()), "train must be given where cross entropy"),
    ],
    ids=["NaN", "labels of floats"],
)
def test_records_that_no_step_can_be_taken_on_are_named(spoil: Any, says: str) -> None:
    made = trainings.made()
    dataset: Any = made[3].dataset
    dataset.tensors = spoil(*dataset.tensors)
    with pytest.raises(ValueError, match=says):
        dp.audit_training(*made, canaries=0)
