"""A user's own training loop, run again with canaries that are in or out by fair coins.

Features in random directions, longer than the data's, or where these are no real numbers the
records themselves, with a wrong label. The attacker sees the noisy gradient of every step, takes
from it what is to be expected, and scores a canary by the likelihood of its inner
products with that of the canary alone, clipped, at the same parameters (Nasr et al. 2023).
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from dpcp_audit.audits.accounting import AccountedSteps
from dpcp_audit.audits.training.canary_games import GameResults
from dpcp_audit.targets.answers import one_line
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.errors import shown

if TYPE_CHECKING:
    from collections.abc import Generator

    from dpcp_audit.words.validate import BoolArray, FloatArray


# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportPrivateImportUsage=false


Loop = Callable[[Any, Any, Iterable[Any]], object]
"""``train(model, optimizer, batches)``: one pass, a step for each batch."""
_NEEDED = {
    "engine": ("accountant", "get_epsilon"),
    "model": ("parameters", "state_dict", "train"),
    "optimizer": ("params", "noise_multiplier", "max_grad_norm", "expected_batch_size", "pre_step"),
    "loader": ("dataset", "batch_sampler", "collate_fn"),
}
"""The names of the objects that ``make_private`` returns."""
_ARGUMENTS = {"engine": "privacy_engine"}
"""The users' names for these objects, where they differ."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EngineTraining:
    """The objects that ``PrivacyEngine.make_private`` returned, and the loop that uses them.

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
        """The device of the model's parameters."""
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
            True if the parameters then move.
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
        """Return the engine's account: of the steps trained, or else of all epochs to come."""
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


# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false


_PART, _KNOWN = 8, 256
_LEAST, _MOST = 1e-6, 600.0
_LONGER = 10.0
"""Than the data's own features: their gradients are clipped, and stand out by their direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserLoopGame:
    """A game of the user's training: records (features, label), the labels integers.

    Parameters
    ----------
    training : EngineTraining
        The training, which starts from the present parameters of its model.
    canaries : int
        m: they take the places of so many of the last records, and enter by coins.
    """

    training: EngineTraining
    canaries: int

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Train from the start, run after run."""
        played = [self._run(rng) for _ in range(runs)]
        scores, members = (np.array(part) for part in zip(*played, strict=True))
        return GameResults(scores, members)

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Play without the optimizer's noise, an eighth of the runs."""
        with self.training.untouched():
            self.training.optimizer.noise_multiplier = 0.0
            return self.play(-(-runs // _PART), rng=rng)

    def _run(self, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        coins = rng.random(self.canaries) < 0.5
        data = self.training.loader.dataset
        plain = [data[i] for i in range(len(data) - self.canaries)]
        last = [data[i] for i in range(len(data) - self.canaries, len(data))]
        classes = 1 + max(int(item[1]) for item in (*plain, *last))
        odd = [_odd(item, classes, rng) for item in last]
        inside = [item for item, coin in zip(odd, coins, strict=True) if coin]
        scores = np.zeros(self.canaries)
        alone = _Alone(self.training, odd, plain[:_KNOWN])

        rate = 1 / max(1, len(self.training.loader))

        def see(noisy: list[Any]) -> None:
            moved, sizes = alone.along(noisy)
            scores[:] += _likelihood(moved, sizes, rate=rate)

        with self.training.untouched(seed=int(rng.integers(2**62))):
            loader = self.training.loader_of([*plain, *inside])
            with self.training.watched(see, steps=True):
                for _ in range(self.training.epochs):
                    self.training.run(loader)
        return scores, coins


def _odd(item: Any, classes: int, rng: np.random.Generator) -> Any:
    """Return a record that looks like no other, with the label after its own."""
    features, label = torch.as_tensor(item[0]), (torch.as_tensor(item[1]) + 1) % classes
    if not features.is_floating_point():
        return features, label
    direction = torch.as_tensor(rng.normal(size=tuple(features.shape))).to(features)
    return direction / direction.norm() * features.norm() * _LONGER, label


def _likelihood(moved: FloatArray, sizes: FloatArray, *, rate: float) -> FloatArray:
    """Return log-likelihood ratios of a step: in the lot at its rate, against out of it.

    Most canaries are out of a lot: their spread is that of the noise and of all others.
    """
    away = moved - np.median(moved)
    spread = max(_LEAST, 1.4826 * float(np.median(np.abs(away))))
    gain = np.minimum(sizes * (away - sizes / 2) / spread**2, _MOST)
    return np.asarray(np.log1p(rate * np.expm1(gain)))


class _Alone:
    """The clipped gradients of single records, at the parameters of the moment."""

    def __init__(self, training: EngineTraining, canaries: list[Any], plain: list[Any]) -> None:
        wrapped = copy.deepcopy(training.model)
        wrapped.remove_hooks()
        self._model = wrapped._module.eval()  # noqa: SLF001  (the user's own module)
        self._live = training.model._module  # noqa: SLF001
        self._lot = training.optimizer.expected_batch_size
        self._clip, self._count, self._size = training.clip_norm, len(canaries), training.size
        self._inputs, self._labels = (
            torch.stack([torch.as_tensor(item[part]) for item in (*canaries, *plain)]).to(
                training.place
            )
            for part in (0, 1)
        )

    def along(self, noisy: list[Any]) -> tuple[FloatArray, FloatArray]:
        """Return the length of a step in each canary's direction, and that of the canary alone."""
        own = self._clipped()
        canaries, plain = own[: self._count], own[self._count :]
        step = torch.cat([each.detach().reshape(-1) for each in noisy])
        others = self._size - self._count
        expected = (plain.mean(dim=0) * others + canaries.sum(dim=0) / 2) / self._size
        sizes = canaries.norm(dim=1)
        moved = canaries @ (step - expected) * self._lot / torch.clamp(sizes, min=1e-12)
        return _plain(moved), _plain(sizes)

    def _clipped(self) -> Any:
        """Return the gradients of all records, shape (records, d)."""
        live = {
            name: each.detach()
            for name, each in self._live.named_parameters()
            if each.requires_grad
        }

        def loss(parameters: Any, features: Any, label: Any) -> Any:
            answer = functional_call(self._model, parameters, (features[None],))
            return cross_entropy(answer, label[None])

        own = vmap(grad(loss), in_dims=(None, 0, 0))(live, self._inputs, self._labels)
        flat = torch.cat([each.reshape(len(self._labels), -1) for each in own.values()], dim=1)
        return flat * torch.clamp(self._clip / (flat.norm(dim=1, keepdim=True) + 1e-12), max=1.0)


def _plain(values: Any) -> FloatArray:
    return np.asarray(values.cpu().numpy(), dtype=np.float64)
