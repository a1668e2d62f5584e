"""``audit_training``: the account, the steps and the leakage of a training with Opacus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.faces.audits import checked_here
from dpcp_audit.faces.keywords import seed_of
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Row
from dpcp_audit.words.errors import UsageError, require_package
from dpcp_audit.words.results import Claim, Source, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np

    from dpcp_audit.audits.training.engine_training import EngineTraining
    from dpcp_audit.faces.result import Result
    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.guarantees import ApproxDP


_DELTA = 1e-5
_SUITE = "targets"
"""Whose claims are those of users."""
_MOST_CANARIES, _GUESSED = 500, 0.25
_OF_CANARIES = "Canaries are recognised no better than the accounted steps allow."


def audit_training(
    privacy_engine: Any,
    model: Any,
    optimizer: Any,
    loader: Any,
    guarantee: ApproxDP | None = None,
    *,
    epochs: int = 1,
    train: Callable[[Any, Any, Iterable[Any]], object] | None = None,
    canaries: int | None = None,
    seed: int = 0,
    rng: int | np.random.Generator | None = None,
    false_alarm: float = 1e-3,
) -> Result:
    """Audit a training of Opacus: its account, clipping, noise and sampling, and canaries in it.

    Model, optimizer, account and random states are left as they were.

    Parameters
    ----------
    privacy_engine : opacus.PrivacyEngine
    model, optimizer, loader
        The objects that ``make_private`` returned. Records are pairs (features, label).
    guarantee : ApproxDP, optional
        The promise, under adding or removing a record; by default the accountant's ε at δ = 1e-5.
    epochs : int
        Passes over the loader, where the model is not trained yet.
    train : callable, optional
        ``train(model, optimizer, batches)``: one pass of your own loop, a step of the optimizer
        for each batch; by default it descends the cross entropy.
    canaries : int, optional
        Mislabelled records that are in or out by coins, in one run of all epochs; by default a
        quarter of the records, at most 500; 0 for none.
    seed : int
        Seed of lots, coins and noise, >= 0.
    rng : int or Generator, optional
        The seed, as in ``audit``.
    false_alarm : float
        Probability that any true claim is refuted, in (0, 1).

    Returns
    -------
    Result
        Seven claims: "accounting" compares the promised ε with the account; "clipping", "noise",
        "rate" and "poisson" measure what the account assumes; "epsilon" is the ε of what was
        measured; "canaries" attacks the training.

    Raises
    ------
    ValueError
        If an argument is not as described.
    MissingExtraError
        If PyTorch is not installed.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> dp.audit_training(engine, model, optimizer, loader, epochs=5)  # doctest: +SKIP
    """
    require_package("torch", "dpsgd", name="PyTorch")
    from dpcp_audit.audits.training.engine_training import (  # noqa: PLC0415
        EngineTraining,  # imports torch, an extra
    )
    from dpcp_audit.laws.losses import loss_of  # noqa: PLC0415  (slow to import)

    seed = seed_of(seed, rng)
    _validate.integer(seed=seed, at_least=0)
    if guarantee is not None and "delta" not in loss_of(guarantee).at:
        raise UsageError(
            f"guarantee must be ApproxDP(epsilon, delta), got {guarantee}",
            hint="such as dp.ApproxDP(3.0, 1e-5)",
        )
    training = EngineTraining(
        engine=privacy_engine,
        model=model,
        optimizer=optimizer,
        loader=loader,
        epochs=epochs,
        train=train,
    )
    if canaries is None:
        canaries = min(training.size // 4, _MOST_CANARIES)
    _validate.integer(canaries=canaries, at_least=0)
    if 2 * canaries > training.size:
        raise ValueError(
            f"canaries must be at most half of the {training.size} records, got {canaries}"
        )
    checks = _checks(training, guarantee, canaries=canaries, seed=seed)
    settings = RunSettings(suite=_SUITE, seed=seed, false_alarm=false_alarm)
    rows = [Row(claim=_claim(key, says), check=check) for key, says, check in checks]
    keys = [key for key, _, _ in checks]
    return checked_here(rows, keys, settings, replayable=False)


def _checks(
    training: EngineTraining, guarantee: ApproxDP | None, *, canaries: int, seed: int
) -> list[tuple[str, str, Check]]:
    from dpcp_audit.audits.training.canary_audit import CanaryAudit  # noqa: PLC0415
    from dpcp_audit.audits.training.engine_checks import EngineChecks, measured_step  # noqa: PLC0415
    from dpcp_audit.audits.training.engine_training import UserLoopGame  # noqa: PLC0415

    steps = training.accounted()
    if not steps.parts:
        raise ValueError(
            "privacy_engine must account for the optimizer's steps, got no step in its history: "
            "use the optimizer that make_private returned"
        )
    delta = _DELTA if guarantee is None else guarantee.delta
    epsilon = training.accounted_epsilon(steps, delta) if guarantee is None else guarantee.epsilon
    step = measured_step(training, seed=seed)
    parts = EngineChecks(training=training, step=step, steps=steps, epsilon=epsilon, delta=delta)
    found: list[tuple[str, str, Check]] = [*parts.table()]
    if canaries and len(steps.parts) == 1:
        game = UserLoopGame(training=training, canaries=canaries)
        audit = CanaryAudit(game=game, claim=steps.parts[0], delta=delta, claim_share=_GUESSED)
        found.append(("canaries", _OF_CANARIES, audit))
    return found


def _claim(key: str, says: str) -> Claim:
    return Claim(
        id=f"training.{key}",
        statement=says[:1].upper() + says[1:],
        source=Source(paper="the training", section="its PrivacyEngine"),
        expected=Verdict.CONSISTENT,
        subject="a private training",
    )
