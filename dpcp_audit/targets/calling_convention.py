"""Tell from a function's signature how it is to be called."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcp_audit.targets.kinds import Kind, RandomStyle, Takes
from dpcp_audit.targets.target_errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

_SEEDS = ("seed", "random_state")
_SEED_LIMIT = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """How a function is called beside its data.

    Parameters
    ----------
    style : RandomStyle
        How it takes its randomness.
    rng : bool
        Whether it is handed a generator, as ``rng``.
    seed : str
        The keyword of the integer that it is handed; empty for none.
    """

    style: RandomStyle
    rng: bool = False
    seed: str = ""

    def keywords(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the keywords that carry the randomness of one call."""
        keywords: dict[str, Any] = {"rng": rng} if self.rng else {}
        return keywords | ({self.seed: draw_seed(rng)} if self.seed else {})


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
) -> Convention:
    """Read a signature, and make sure that the function can be called.

    Without a style, a keyword ``rng`` says GENERATOR, ``seed`` (or ``random_state``) SEED, and
    neither GLOBAL. A required ``rng`` or ``seed`` is handed over whatever the style. Of a
    function of C code that has no signature, nothing is known before it is called.

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
            style=style or RandomStyle.GLOBAL, rng=style is RandomStyle.GENERATOR, seed=seed
        )
    accepted = _keywords(signature, data=len(kind.inputs))
    found = _read(accepted, style)
    keywords = dict(options)
    keywords |= {"rng": None} if found.rng else {}
    keywords |= {found.seed: 0} if found.seed else {}
    keywords |= {"size": 1} if vectorised and kind.takes is not Takes.VALUE else {}
    try:
        signature.bind(*kind.inputs, **keywords)
    except TypeError as error:
        shown = ", ".join([*kind.inputs, *(f"{key}=…" for key in keywords)])
        raise TargetError(
            f"{name}{_show(signature)} cannot be called as a {kind}, with ({shown}): {error}; "
            f"{_mistaken(signature, kind) or _advice(accepted, keywords, options)}"
        ) from None
    return found


def _keywords(signature: inspect.Signature, *, data: int) -> dict[str, inspect.Parameter]:
    """Return the parameters that can be given by keyword, but for those that carry data."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = list(signature.parameters.values())
    carry = [p.name for p in parameters if p.kind in positional][:data]
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {p.name: p for p in parameters if p.kind in named and p.name not in carry}


def _read(accepted: Mapping[str, inspect.Parameter], style: RandomStyle | None) -> Convention:
    seed = next((name for name in _SEEDS if name in accepted), "")
    if style is None:
        style = RandomStyle.SEED if seed else RandomStyle.GLOBAL
        style = RandomStyle.GENERATOR if "rng" in accepted else style
    return Convention(
        style=style,
        rng=style is RandomStyle.GENERATOR or _required(accepted, "rng"),
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
    return "" if other is None else f"it looks like a {other}: --kind {other}"


def _advice(
    accepted: Mapping[str, inspect.Parameter],
    keywords: Mapping[str, Any],
    options: Mapping[str, Any],
) -> str:
    missing = [name for name in accepted if _required(accepted, name) and name not in keywords]
    refused = [name for name in keywords if name not in accepted]
    if "size" in missing:
        return "a function that takes 'size' is vectorised: say so (--vectorised)"
    if missing:
        return f"give a value with --option {missing[0]}=VALUE"
    if any(name in options for name in refused):
        return f"its options are {', '.join(accepted) or 'none'}"
    if "size" in refused:
        return "a vectorised one takes the keyword 'size': add it, or leave --vectorised away"
    return (
        f"add the keyword {refused[0]!r}, or say how it takes its randomness (--rng)"
        if refused
        else "wrap it in a function of this form"
    )


def _show(signature: inspect.Signature) -> str:
    """Return the parameters without their annotations."""
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
