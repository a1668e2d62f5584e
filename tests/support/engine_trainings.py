"""Trainings of digits by Opacus, as users write them, and optimizers with a planted bug."""

from __future__ import annotations

from typing import Any

from sklearn.datasets import load_digits

RECORDS, BATCH, NOISE = 400, 40, 1.0


def made(*, poisson: bool = True, noise: float = NOISE, records: int = RECORDS) -> list[Any]:
    """Return a ``PrivacyEngine``, and the model, optimizer and loader that it makes private."""
    import torch  # noqa: PLC0415  (an extra)
    from opacus import PrivacyEngine  # noqa: PLC0415  (an extra)
    from torch.utils.data import DataLoader, TensorDataset  # noqa: PLC0415  (an extra)

    features, labels = load_digits(return_X_y=True)
    features, labels = features[:records], labels[:records]
    data = TensorDataset(torch.tensor(features / 16).float(), torch.tensor(labels))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = torch.nn.Linear(64, 10)
    engine = PrivacyEngine(accountant="rdp")
    private = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        data_loader=DataLoader(data, batch_size=BATCH, shuffle=not poisson),
        noise_multiplier=noise,
        max_grad_norm=1.0,
        poisson_sampling=poisson,
    )
    return [engine, *private]


def without_clipping(optimizer: Any) -> None:
    """Plant a bug: sums of whole gradients."""

    def plain() -> None:
        for each in optimizer.params:
            each.summed_grad = optimizer._get_flat_grad_sample(each).sum(dim=0)

    optimizer.clip_and_accumulate = plain


def without_noise(optimizer: Any) -> None:
    """Plant a bug: the sum is released as it is."""

    def none() -> None:
        for each in optimizer.params:
            each.grad = each.summed_grad.clone().view_as(each)

    optimizer.add_noise = none


def with_half_the_noise(optimizer: Any) -> None:
    """Plant a bug: noise of half the standard deviation that the accountant is told."""
    full = type(optimizer).add_noise

    def half() -> None:
        told = optimizer.noise_multiplier
        optimizer.noise_multiplier = told / 2
        full(optimizer)
        optimizer.noise_multiplier = told

    optimizer.add_noise = half
