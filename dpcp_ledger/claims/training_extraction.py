"""Rows of the training suite: extraction of models and reconstruction of examples.

The thesis leaves these attacks to future work and claims nothing. What DP promises against
reconstruction is stated as a claim; against extraction it promises nothing, and the statements
are what one might hope for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import Row, Standing, Verdict, claims_of
from dpcp_audit.extensions.mechanisms import SubsampledGaussian
from dpcp_ledger.paper import Heading
from dpcp_ledger.training.examples import DPSGD, SGD, Adam, Flaw, Poisson, digits
from dpcp_ledger.training.extraction import (
    Answers,
    HarderToExtract,
    Victim,
)
from dpcp_ledger.training.reconstruction import Prior, Reconstruction, TraceAttack, simplex_prior

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import Check, PlainData
    from dpcp_ledger.training.examples import Examples


_claim = claims_of("DP-SKIN", standing=Standing.PRACTICE)
_SECTION = "Future work (model extraction and reconstruction)"
_FULL = SubsampledGaussian(sampling_rate=1.0, steps=10, noise_multiplier=3.0)
_SAMPLED = SubsampledGaussian(sampling_rate=0.25, steps=20, noise_multiplier=1.5)
_CLASSIFIER = SubsampledGaussian(sampling_rate=0.1, steps=100, noise_multiplier=3.95)
"""(1, 1e-5)-DP: ε is 0.998 by PLD."""


def rows() -> list[Row]:
    """Return the rows."""
    data = digits()
    return [*_reconstruction_rows(data), *_extraction_rows(data)]


def _row(
    variant: dict[str, str],
    expected: Verdict | None,
    statement: str,
    formula: str,
    check: Check,
    *,
    subject: str,
    standing: Standing = Standing.PRACTICE,
    fixed: PlainData | None = None,
) -> Row:
    claim = _claim(
        f"dpskin.attacks[{','.join(f'{name}={value}' for name, value in variant.items())}]",
        _SECTION,
        expected,
        statement,
        formula,
        subject=subject,
        standing=standing,
        parameters=(fixed or {}) | variant,
    )
    return Row(claim=claim, check=check)


class _Traced(NamedTuple):
    """A training whose whole trace is seen, and what is said of it."""

    who: str
    what: str
    subject: str
    guarantee: SubsampledGaussian = _FULL
    noise: float = 1.0
    flaw: Flaw = Flaw.NONE


_RIGHT = _Traced("DP-SGD", "its accounted guarantee allows", "Trained models, reconstruction")
_PLAIN = _Traced(
    "a training without noise", "DP-SGD's guarantee would allow", Heading.WITHOUT_NOISE, noise=0.0
)
_HALVED = _Traced(
    "DP-SGD with half of its noise",
    "its guarantee allows",
    Heading.PLANTED_BUGS,
    flaw=Flaw.HALF_NOISE,
)


def _reconstruction_rows(data: Examples) -> list[Row]:
    features = data.inputs.shape[1]
    priors = {
        "simplex": tuple(simplex_prior(k, n_features=features) for k in (2, 4, 16, features)),
        "digits": _image_priors(data),
    }
    cases: tuple[tuple[dict[str, str], _Traced], ...] = (
        ({"prior": "simplex"}, _RIGHT),
        ({"prior": "digits"}, _RIGHT),
        ({"prior": "simplex", "sampling": "poisson"}, _RIGHT._replace(guarantee=_SAMPLED)),
        ({"prior": "digits", "model": "non-private"}, _PLAIN),
        ({"prior": "simplex", "noise": "half"}, _HALVED),
    )
    return [_reconstructed(data, variant, priors[variant["prior"]], of) for variant, of in cases]


def _reconstructed(
    data: Examples, variant: dict[str, str], priors: tuple[Prior, ...], of: _Traced
) -> Row:
    right = of.who == _RIGHT.who
    prior = "digits" if variant["prior"] == "digits" else "the worst case"
    return _row(
        {"attack": "reconstruction"} | variant,
        Verdict.CONSISTENT if right else Verdict.REFUTED,
        f"An example out of a prior of {prior} is reconstructed from the whole trace of {of.who} "
        f"no more often than {of.what}.",
        "success ≤ power(κ)",
        Reconstruction(
            attack=_trace_attack(data, of.guarantee, noise=of.noise, flaw=of.flaw),
            guarantee=of.guarantee,
            priors=priors,
        ),
        subject=of.subject,
        standing=Standing.PRACTICE if right else Standing.CONTROL,
        fixed=dict(of.guarantee.parameters),
    )


def _image_priors(data: Examples) -> tuple[Prior, ...]:
    images = data.take(np.arange(100, 164))
    return (
        *(
            Prior(name=f"{k} digits", candidates=images.take(np.arange(k)))
            for k in (2, 4, 16, len(images))
        ),
        Prior(name=f"{len(images)} digits within 1.5", candidates=images, radius=1.5),
    )


def _trace_attack(
    data: Examples, guarantee: SubsampledGaussian, *, noise: float, flaw: Flaw
) -> TraceAttack:
    return TraceAttack(
        training=DPSGD(
            sampling=Poisson(guarantee.sampling_rate),
            lot_size=100,
            steps=guarantee.steps,
            noise_multiplier=noise * guarantee.noise_multiplier,
            learning_rate=0.1,
            flaw=flaw,
        ),
        assumed_noise=guarantee.noise_multiplier if noise else 0.1,
        known=data.take(np.arange(16)),
    )


def _extraction_rows(data: Examples) -> list[Row]:
    private, plain = _training(private=True), _training(private=False)
    adam, plain_adam = _training(private=True, adam=True), _training(private=False, adam=True)
    told = Victim(name="DP-SGD, probabilities", training=private, answers=Answers.PROBABILITIES)
    labels = Victim(name="DP-SGD, labels", training=private, answers=Answers.LABELS)
    sets = Victim(name="DP-SGD, sets", training=private, answers=Answers.SETS)
    reference = Victim(name="non-private, labels", training=plain, answers=Answers.LABELS)
    adaptive = Victim(name="DP-Adam, labels", training=adam, answers=Answers.LABELS)
    other = Victim(name="non-private Adam, labels", training=plain_adam, answers=Answers.LABELS)
    hidden = "that returns labels is harder to extract than one trained without privacy"
    shown = "that returns probabilities is harder to extract than one trained without privacy"
    cases = (
        ("dp-sgd", "labels", Verdict.CONSISTENT, hidden, labels, reference),
        ("dp-adam", "labels", Verdict.CONSISTENT, hidden, adaptive, other),
        (
            "dp-sgd",
            "probabilities",
            Verdict.REFUTED,
            f"{shown} that returns labels",
            told,
            reference,
        ),
        (
            "dp-sgd",
            "sets",
            None,
            "that returns prediction sets is harder to extract than one that returns labels",
            sets,
            labels,
        ),
    )
    return [
        _row(
            {"attack": "extraction", "model": model, "answers": answers},
            expected,
            f"A model of {harder.name.partition(',')[0]}, which is (ε, δ)-DP, {words}; DP does "
            "not promise so.",
            "P(fidelity > fidelity′) ≤ 1/2",
            HarderToExtract(data=data, harder=harder, easier=easier),
            subject="Trained models, extraction",
            fixed={"epsilon": 1.0, "delta": 1e-5},
        )
        for model, answers, expected, words, harder, easier in cases
    ]


def _training(*, private: bool, adam: bool = False) -> DPSGD:
    """Return the training of a victim on 700 examples; on more, its lots are larger."""
    rate = 1.0 if private else 2.0
    return DPSGD(
        sampling=Poisson(_CLASSIFIER.sampling_rate),
        lot_size=70,
        steps=_CLASSIFIER.steps,
        noise_multiplier=_CLASSIFIER.noise_multiplier if private else 0.0,
        clip_norm=1.0 if private else math.inf,
        learning_rate=(0.03 if private else 0.05) if adam else rate,
        optimiser=Adam() if adam else SGD(),
    )
