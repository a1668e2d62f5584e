# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportPrivateImportUsage=false
"""A user's ``PrivacyEngine``, model, optimizer and loader, which are used and left as they were."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from dpcp_audit import _validate
from dpcp_audit._plain_data import shown
from dpcp_audit.audits.training.private_engines.accounted_steps import AccountedSteps
from dpcp_audit.targets.target_errors import one_line

if TYPE_CHECKING:
    from collections.abc import Generator

Loop = Callable[[Any, Any, Iterable[Any]], object]
"""``train(model, optimizer, batches)``: one pass, a step for each batch."""
_NEEDED = {
    "engine": ("accountant", "get_epsilon"),
    "model": ("parameters", "state_dict", "train"),
    "optimizer": ("params", "noise_multiplier", "max_grad_norm", "expected_batch_size", "pre_step"),
    "loader": ("dataset", "batch_sampler", "collate_fn"),
}
"""What ``make_private`` gives its objects."""
_ARGUMENTS = {"engine": "privacy_engine"}
"""What users call them, where it is another name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EngineTraining:
    """What ``PrivacyEngine.make_private`` returned, and the loop that it is used in.

    Parameters
    ----------
    engine, model, optimizer, loader : object
        The ``PrivacyEngine``, and its private model, optimizer and data loader.
    epochs : int
        Passes over the loader.
    train : callable or None
        ``train(model, optimizer, batches)``, one pass of the user's own loop; by default cross
        entropy is descended, a step for each batch.
    """

    engine: Any
    model: Any
    optimizer: Any
    loader: Any
    epochs: int = 1
    train: Loop | None = None

    def __post_init__(self) -> None:
        _validate.integer(epochs=self.epochs, at_least=1)
        for name, needed in _NEEDED.items():
            given = getattr(self, name)
            lacking = [each for each in needed if not hasattr(given, each)]
            if lacking:
                raise ValueError(
                    f"{_ARGUMENTS.get(name, name)} must be what PrivacyEngine.make_private works "
                    f"with or returns, got a {type(given).__name__} without {', '.join(lacking)}"
                )
        if self.loader.batch_sampler is None:
            raise ValueError("loader must have a batch_sampler, which draws the lots, got None")
        if self.train is not None and not callable(self.train):
            raise ValueError(f"train must be callable, got {shown(self.train, 60)}")
        own = {id(each) for each in self.model.parameters()}
        if any(id(each) not in own for each in self.optimizer.params):
            raise ValueError("model must be the one whose parameters the optimizer has")

    @property
    def size(self) -> int:
        """The number N of records."""
        return len(self.loader.dataset)

    @property
    def steps(self) -> int:
        """T, of all epochs."""
        return self.epochs * len(self.loader)

    @property
    def clip_norm(self) -> float:
        """C, of a record's whole gradient."""
        norm = self.optimizer.max_grad_norm
        parts = norm if isinstance(norm, Sequence) else [norm]
        return float(sum(float(part) ** 2 for part in parts) ** 0.5)

    @property
    def place(self) -> torch.device:
        """Where the model's parameters are."""
        found: torch.device = next(self.model.parameters()).device
        return found

    def parameters(self) -> list[Any]:
        """Return the parameters that are trained."""
        return [each for each in self.model.parameters() if each.requires_grad]

    def batch(self, items: Sequence[Any]) -> Any:
        """Return records as a batch of the loader's own form."""
        return self.loader.collate_fn(list(items))

    def run(self, batches: Iterable[Any]) -> None:
        """Make one pass of the loop."""
        if self.train is not None:
            self.train(self.model, self.optimizer, batches)
            return
        try:
            _descend(self.model, self.optimizer, batches)
        except Exception as error:
            raise ValueError(
                "train must be given where cross entropy on (features, label) cannot be descended: "
                f"{one_line(error)}"
            ) from error

    @contextmanager
    def untouched(self, *, seed: int | None = None) -> Generator[None]:
        """Put parameters, buffers, the optimizer, the account and random states back afterwards."""
        history = copy.deepcopy(self.engine.accountant.history)
        model = copy.deepcopy(self.model.state_dict())
        states = copy.deepcopy(self.optimizer.original_optimizer.state_dict())
        was, noise = self.model.training, self.optimizer.noise_multiplier
        generator = self.optimizer.generator
        kept = None if generator is None else generator.get_state()
        with torch.random.fork_rng():
            if seed is not None:
                torch.manual_seed(seed)
            try:
                yield
            finally:
                self.model.load_state_dict(model)
                self.optimizer.original_optimizer.load_state_dict(states)
                self.optimizer.zero_grad(set_to_none=True)
                self.engine.accountant.history = history
                self.model.train(was)
                self.optimizer.noise_multiplier, self.optimizer.generator = noise, generator
                if generator is not None:
                    generator.set_state(kept)

    @contextmanager
    def watched(self, see: Callable[[list[Any]], None], *, steps: bool) -> Generator[None]:
        """Hand the noisy gradients of every step of the inner optimizer to ``see``.

        Parameters
        ----------
        steps : bool
            Whether the parameters then move.
        """
        inner = self.optimizer.original_optimizer
        plain = inner.step

        def step(*arguments: Any, **keywords: Any) -> Any:
            see([each.grad for each in self.parameters()])
            if steps:
                return plain(*arguments, **keywords)
            for each in self.parameters():
                each.grad = None
            return None

        inner.step = step
        try:
            yield
        finally:
            del inner.step

    def gradients(self, items: Sequence[Any]) -> list[Any]:
        """Return the noisy gradients of the step that the loop takes on a batch.

        Raises
        ------
        ValueError
            If it takes no step, or several.
        """
        seen: list[list[Any]] = []
        with self.watched(seen.append, steps=False):
            self.run([self.batch(items)])
        if len(seen) != 1 or any(each is None for each in seen[0]):
            raise ValueError(
                f"train must take one step of the optimizer for a batch, got {len(seen)}"
            )
        return seen[0]

    def accounted(self) -> AccountedSteps:
        """Return what the engine accounts: of what was trained, or else of all epochs to come."""
        found = AccountedSteps.of(self.engine.accountant.history)
        if found.parts:
            return found
        with self.untouched(seed=0):
            self.gradients([self.loader.dataset[0]])
            step = AccountedSteps.of(self.engine.accountant.history)
        return step.times(self.steps)

    def accounted_epsilon(self, steps: AccountedSteps, delta: float) -> float:
        """Return ε at δ as the engine's own accountant says."""
        with self.untouched(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the orders that its accountant tries
            self.engine.accountant.history = [
                (each.noise_multiplier, each.sampling_rate, each.steps) for each in steps.parts
            ]
            return float(self.engine.get_epsilon(delta))

    def loader_of(self, items: Sequence[Any]) -> Any:
        """Return a loader of other records that draws its lots as the user's does."""
        rate = getattr(self.loader.batch_sampler, "sample_rate", None)
        records: Any = list(items)
        if rate is not None:
            from opacus.data_loader import DPDataLoader  # noqa: PLC0415  (an extra)

            return DPDataLoader(records, sample_rate=rate)
        return DataLoader(
            records,
            batch_size=self.loader.batch_size,
            shuffle=True,
            drop_last=self.loader.drop_last,
            collate_fn=self.loader.collate_fn,
        )


def _descend(model: Any, optimizer: Any, batches: Iterable[Any]) -> None:
    place = next(model.parameters()).device
    model.train()
    for inputs, labels in batches:
        optimizer.zero_grad()
        # inputs that want gradients: torch warns of hooks that fire without any
        wanting = inputs.to(place)
        if wanting.is_floating_point():
            wanting = wanting.requires_grad_()
        torch.autograd.backward(cross_entropy(model(wanting), labels.to(place)))
        optimizer.step()
