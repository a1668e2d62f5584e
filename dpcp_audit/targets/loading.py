"""Find a function by 'module:function' or 'path/to/file.py:function', and read how it is called."""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import inspect
import itertools
import os
import sys
import traceback
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit.targets.answers import TargetError, one_line
from dpcp_audit.targets.kinds import Kind, RandomStyle, Takes
from dpcp_audit.words import errors
from dpcp_audit.words.values import is_file

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from types import CodeType, ModuleType


_numbers = itertools.count(1)
_LOADING = "DPCP_AUDIT_LOADING"
"""The variable that names what is being loaded, to processes that it starts meanwhile, too."""
_beside: dict[str, Path] = {}
"""Modules that loaded files imported from their own folder."""
_floating: dict[str, Any] = {}
"""NumPy's handling of floating-point errors in modules that set it while they were loaded."""


def split(target: str) -> tuple[str, str]:
    """Return the module or file, and the function.

    Raises
    ------
    ValueError
        If the text is not of the form 'package.module:function' or 'file.py:function'.
    """
    where, _, function = target.rpartition(":")
    named = all(part.isidentifier() for part in function.split("."))
    a_module = all(part.isidentifier() for part in where.split("."))
    if not (named and (where.endswith(".py") or a_module)):
        raise errors.value_error(
            "target must be 'package.module:function' or 'path/to/file.py:function', "
            f"got {target!r}",
            "such as mine.py:private_quantile",
        )
    return where, function


def load(target: str, *, called: bool = True) -> Callable[..., Any]:
    """Return the function that a target names, which may lie in a class: 'module:Class.method'.

    Where it is not ``called`` itself, it may be an object or a class.

    A file is run under a name of its own, and its folder is importable while it loads; for a
    module it is the working directory.

    Raises
    ------
    TargetError
        If there is no such module, file or function, if loading it raises, or if what is found
        is no function.
    """
    where, name = split(target)
    with np.errstate():
        before = np.geterr()
        module = _file(Path(where)) if where.endswith(".py") else _module(where)
        if np.geterr() != before:
            _floating[module.__name__] = np.geterr()
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise _no_function(found, part, where) from None
    function: Callable[..., Any] = found
    if called:
        require_function(function, target)
    return function


def _body(found: object) -> object:
    """Return the function behind a callable."""
    if isinstance(found, functools.partial):
        return cast("Any", found).func
    return found if inspect.isroutine(found) else getattr(type(found), "__call__", None)  # noqa: B004


def require_function(found: object, name: str) -> None:
    """Refuse what cannot be called for one output: a value, a class, a coroutine or generator."""
    body = _body(found)
    what, hint = "", ""
    if callable(getattr(found, "fit", None)):
        what = "has a fit"
        hint = (
            "its kind is predictor, with predict_set, regression, with predict_interval, or model, "
            "with predict"
        )
    elif inspect.isclass(found):
        what = "is a class"
        hint = "name a function, or an object's method as in module:object.method"
    elif not callable(found):
        what = f"is no function, but of type {type(found).__name__}"
        hint = "give the function itself, not what it returns"
    elif inspect.iscoroutinefunction(body) or inspect.isasyncgenfunction(body):
        what, hint = "is an async function", "name a plain one that returns its result"
    elif inspect.isgeneratorfunction(body):
        what, hint = "is a generator function", "return the result instead of yielding it"
    if what:
        raise TargetError(f"{name} {what}", hint=hint)


def floating_errors(function: object) -> np.errstate:
    """Return a context for a function's calls: how it treats floating-point errors stays within.

    What its module has set while it was loaded holds there.
    """
    return np.errstate(**_floating.get(getattr(function, "__module__", ""), {}))


def code_of(function: object) -> CodeType | None:
    """Return the code of a function, of what it wraps, or of an object's ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function) if callable(function) else function
    if not hasattr(function, "__code__"):
        function = getattr(function, "__func__", getattr(type(function), "__call__", None))  # noqa: B004
    code: CodeType | None = getattr(function, "__code__", None)
    return code


def raised(error: BaseException, *, file: str | None) -> str:
    """Return an exception's type and message, and the line, in ``file`` where it passed there."""
    if isinstance(error, SyntaxError):
        where = f"line {error.lineno} of {Path(error.filename or '').name}"
        return f"{type(error).__name__}: {one_line(error.msg)} ({where})"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == file]
    line = f" (line {own[-1].lineno})" if own else ""
    text = one_line(error)
    return f"{type(error).__name__}{': ' if text else ''}{text}{line}"


def _file(path: Path) -> ModuleType:
    if not is_file(path):
        raise TargetError(
            f"no file {str(path)!r} is there", hint=f"the path starts at {str(Path.cwd())!r}"
        )
    path = path.resolve()
    _require_outside(str(path), path.name)
    name = f"_dpcp_audit_target_{next(_numbers)}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path.name} cannot be loaded as Python code")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _told(str(path)), _apart(path.parent), _importable(path.parent):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        what = raised(error, file=str(path)) + _package_hint(error, path)
        raise TargetError(f"{path.name} cannot be loaded: it raised {what}") from error
    return module


def _in_load() -> list[str]:
    return os.environ.get(_LOADING, "").split(os.pathsep)


def _require_outside(loaded: str, name: str) -> None:
    """Refuse what is being loaded here, or by a process that this one descends from."""
    if loaded in _in_load():
        raise TargetError(
            f"{name} audits itself while it is loaded",
            hint="put that below if __name__ == '__main__':",
        )


@contextmanager
def _told(loaded: str) -> Generator[None]:
    """Mark this target as loading for processes started meanwhile: it would start itself again."""
    before = os.environ.get(_LOADING)
    os.environ[_LOADING] = os.pathsep.join([*_in_load(), loaded])
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_LOADING, None)
        else:
            os.environ[_LOADING] = before


def _package_hint(error: BaseException, path: Path) -> str:
    if not (isinstance(error, ImportError) and "relative import" in str(error)):
        return ""
    return (
        f"; a file of a package is named as a module is, {path.parent.name}.{path.stem}:FUNCTION, "
        "from the folder that holds the package"
    )


def _module(name: str) -> ModuleType:
    if name not in sys.modules:
        _require_outside(name, f"module {name}")
    try:
        with _told(name), _importable(Path.cwd()):
            return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        missing = getattr(error, "name", None)
        if (
            isinstance(error, ModuleNotFoundError)
            and missing
            and f"{name}.".startswith(missing + ".")
        ):
            raise TargetError(
                f"no module {missing!r} is installed or in {str(Path.cwd())!r}",
                hint="a file is named as in path/to/file.py:function",
            ) from None
        frames = traceback.extract_tb(error.__traceback__)
        what = raised(error, file=frames[-1].filename)
        raise TargetError(f"module {name} cannot be loaded: it raised {what}") from error


@contextmanager
def _importable(folder: Path) -> Generator[None]:
    """Put a folder first among the places of modules."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))


@contextmanager
def _apart(folder: Path) -> Generator[None]:
    """Keep modules beside one file from being taken for those beside another.

    Two files may each import a ``helpers`` of their own.
    """
    for name in [name for name, place in _beside.items() if place != folder]:
        sys.modules.pop(name, None)
        del _beside[name]
    before = set(sys.modules)
    own = str(folder) not in sys.path
    try:
        yield
    finally:
        for name in set(sys.modules) - before:
            file = getattr(sys.modules.get(name), "__file__", None)
            if own and file and Path(file).is_relative_to(folder):
                _beside[name] = folder


def _no_function(found: object, part: str, where: str) -> TargetError:
    public = [n for n in getattr(found, "__dict__", {}) if not n.startswith("_")]
    names = [n for n in public if callable(getattr(found, n))]
    near = difflib.get_close_matches(part, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names[:8]) or 'none'}"
    return TargetError(f"{where} has no function {part!r}", hint=hint)


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
        The way in which the function takes its randomness.
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
    """Return advice on a signature of another kind, if its first names tell; else nothing."""
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
        return (
            f"give {missing[0]!r} a value in the target's options: --option {missing[0]}=VALUE, "
            f"or options={{{missing[0]!r}: VALUE}}"
        )
    wrong = next((name for name in refused if name in options), None)
    if wrong is not None:
        known = [name for name in accepted if name not in keywords or name in options]
        near = difflib.get_close_matches(wrong, known, n=1)
        others = f"its options are {', '.join(known) or 'none'}"
        return f"did you mean {near[0]!r}?" if near else others
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
