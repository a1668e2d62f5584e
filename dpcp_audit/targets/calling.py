"""Tell from a function's signature how it is to be called."""

from __future__ import annotations

import importlib
import inspect
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpcp_audit.targets.answers import TargetError
from dpcp_audit.targets.kinds import Kind, RandomStyle, Takes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np


_GENERATORS = ("rng", "generator")
_SEEDS = ("seed", "random_state", "key")
_SEED_LIMIT = 2**31
_CALLED = {
    "probabilities": frozenset({"probabilities", "probs", "proba", "probas", "p", "y_prob"}),
    "labels": frozenset({"labels", "label", "y", "y_true", "targets"}),
}
"""The names of the two inputs of a calibrator, whatever their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """The keyword arguments of a function besides its data.

    Parameters
    ----------
    style : RandomStyle
        How it takes its randomness.
    rng : str
        The keyword of the generator that it is handed; empty for none.
    seed : str
        The keyword of the integer that it is handed; empty for none.
    torch : bool
        True if the generator is one of PyTorch.
    data : tuple of str
        The keywords of its data, where they are not its first arguments in order.
    """

    style: RandomStyle
    rng: str = ""
    seed: str = ""
    torch: bool = False
    data: tuple[str, ...] = ()

    def keywords(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the keywords that carry the randomness of one call."""
        keywords: dict[str, Any] = {}
        if self.rng:
            keywords[self.rng] = _torch_generator(draw_seed(rng)) if self.torch else rng
        if self.seed:
            seed = draw_seed(rng)
            keywords[self.seed] = _jax_key(seed) if self.seed == "key" else seed
        return keywords

    def named(self, data: Sequence[Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Return data as the positional arguments and the keywords that carry them."""
        if not self.data:
            return data, {}
        return (), dict(zip(self.data, data, strict=True))


def _torch_generator(seed: int) -> Any:
    torch: Any = importlib.import_module("torch")
    return torch.Generator().manual_seed(seed)


def _jax_key(seed: int) -> Any:
    """Return JAX's key of a seed where the target has loaded JAX, else the seed."""
    jax: Any = sys.modules.get("jax")
    return seed if jax is None else jax.random.PRNGKey(seed)


def draw_seed(rng: np.random.Generator) -> int:
    """Return an integer in [0, 2³¹), which every language takes for a seed."""
    return int(rng.integers(_SEED_LIMIT))


def convention(
    function: Callable[..., Any],
    *,
    name: str,
    kind: Kind,
    vectorised: bool,
    style: RandomStyle | None,
    options: Mapping[str, Any],
    tensors: bool = False,
) -> Convention:
    """Read a signature, and make sure that the function can be called.

    Without a style, a keyword ``rng`` (or ``generator``) says GENERATOR, ``seed`` (or
    ``random_state``, or a required ``key``) SEED, and neither GLOBAL. With ``tensors``, or where
    the annotation says so, the generator is PyTorch's. A required ``rng`` or ``seed`` is handed
    over whatever the style. Of a function of C code that has no signature, nothing is known
    before it is called.

    Raises
    ------
    TargetError
        If the function needs other arguments.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        seed = "seed" if style is RandomStyle.SEED else ""
        return Convention(
            style=style or RandomStyle.GLOBAL,
            rng="rng" * (style is RandomStyle.GENERATOR),
            seed=seed,
        )
    carry = _carriers(signature, kind)
    accepted = _keywords(signature, carry)
    found = _read(accepted, style)
    torch = tensors or "torch" in str(getattr(accepted.get(found.rng), "annotation", ""))
    found = replace(found, torch=torch, data=_in_order(signature, carry, kind))
    keywords = dict(options)
    keywords |= {found.rng: None} if found.rng else {}
    keywords |= {found.seed: 0} if found.seed else {}
    keywords |= {"size": 1} if vectorised and kind.takes is not Takes.VALUE else {}
    try:
        positional, named = found.named(kind.inputs)
        signature.bind(*positional, **named, **keywords)
    except TypeError as error:
        shown = ", ".join([*kind.inputs, *(f"{key}=…" for key in keywords)])
        raise TargetError(
            f"{name}{_show(signature)} cannot be called as a {kind}, with ({shown}): {error}",
            hint=_mistaken(signature, kind) or _advice(accepted, keywords, options),
        ) from None
    return found


def _carriers(signature: inspect.Signature, kind: Kind) -> list[str]:
    """Return the parameters that carry data: the first that are not of randomness.

    Parameters that are given by name alone carry it where they are called as the data are.
    """
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    others = {*_GENERATORS, *_SEEDS, "size"} - {"key"}
    found = signature.parameters.values()
    names = [p.name for p in found if p.kind in positional and p.name not in others]
    by_name = {p.name for p in found if p.kind is p.KEYWORD_ONLY}
    if not names and by_name >= {*kind.inputs}:
        return list(kind.inputs)
    return names[: len(kind.inputs)]


def _in_order(signature: inspect.Signature, carry: list[str], kind: Kind) -> tuple[str, ...]:
    """Return the parameters of the data in the kind's order; none where that is their own."""
    known = [
        next((name for name in carry if name in _CALLED.get(each, ())), "") for each in kind.inputs
    ]
    told = all(known) and len(set(known)) == len(kind.inputs)
    order = known if told else carry
    first = list(signature.parameters.values())[: len(order)]
    in_place = [p.name for p in first if p.kind is not p.KEYWORD_ONLY] == order
    return () if in_place or len(order) < len(kind.inputs) else tuple(order)


def _keywords(signature: inspect.Signature, carry: list[str]) -> dict[str, inspect.Parameter]:
    """Return the parameters that can be given by keyword, but for those that carry data."""
    parameters = list(signature.parameters.values())
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {p.name: p for p in parameters if p.kind in named and p.name not in carry}


def _read(accepted: Mapping[str, inspect.Parameter], style: RandomStyle | None) -> Convention:
    seeds = [name for name in _SEEDS if name in accepted]
    seed = next((name for name in seeds if name != "key" or _required(accepted, name)), "")
    rng = next((name for name in _GENERATORS if name in accepted), "")
    if style is None:
        style = RandomStyle.SEED if seed else RandomStyle.GLOBAL
        style = RandomStyle.GENERATOR if rng else style
    return Convention(
        style=style,
        rng=(rng or _GENERATORS[0])
        if style is RandomStyle.GENERATOR
        else rng * _required(accepted, rng),
        seed=(seed or _SEEDS[0]) if style is RandomStyle.SEED else seed * _required(accepted, seed),
    )


def _required(accepted: Mapping[str, inspect.Parameter], name: str) -> bool:
    return name in accepted and accepted[name].default is inspect.Parameter.empty


def _mistaken(signature: inspect.Signature, kind: Kind) -> str:
    """Return what a signature looks like instead, if its first names tell; else nothing."""
    names = list(signature.parameters)
    if names[:1] == ["self"]:
        return (
            "it is a method without its object: name one of an object that the module makes, "
            "as in module:object.method, or wrap it in a function"
        )
    others = (
        k for k in Kind if k.takes is not kind.takes and names[: len(k.inputs)] == [*k.inputs]
    )
    other = next(others, None)
    return "" if other is None else f"it looks like a {other}: set kind to {other}"


def _advice(
    accepted: Mapping[str, inspect.Parameter],
    keywords: Mapping[str, Any],
    options: Mapping[str, Any],
) -> str:
    missing = [name for name in accepted if _required(accepted, name) and name not in keywords]
    refused = [name for name in keywords if name not in accepted]
    if "size" in missing:
        return "a function that takes 'size' is vectorised: set vectorised"
    if missing:
        return f"give {missing[0]!r} a value in the target's options"
    if any(name in options for name in refused):
        return f"its options are {', '.join(accepted) or 'none'}"
    if "size" in refused:
        return "a vectorised one takes the keyword 'size': add it, or leave vectorised out"
    return (
        f"add the keyword {refused[0]!r}, or set randomness to how it takes its own"
        if refused
        else "wrap it in a function of this form"
    )


def _show(signature: inspect.Signature) -> str:
    """Return the parameters without their annotations."""
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
