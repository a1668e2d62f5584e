"""Objects that are fitted and then predict, as functions of their data and of new rows.

What is fitted: an object with ``fit`` or ``fit_conformalize`` (or, where the model behind it is
fitted already, ``calibrate`` or ``conformalize``), a class or function that makes one, or a
function of features and labels that returns one. Each call fits a fresh object; what it says of
the new rows is the output. An object whose ``calibrate`` misses what its ``fit`` sets, or says
that it is not fitted, is fitted on the first half of the rows and calibrated on the rest.
"""

from __future__ import annotations

import copy
import inspect
from functools import lru_cache, partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit.targets.answers import TargetError
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.words.values import is_sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpcp_audit.words.validate import FloatArray

_FITS = ("conformalize", "fit_conformalize", "calibrate", "fit")
_PREDICTS = {
    Kind.PREDICTOR: ("predict_set", "predict_sets", "predict"),
    Kind.REGRESSION: ("predict_interval", "predict_int", "predict"),
    Kind.MODEL: ("predict_proba", "decision_function", "predict", "forward"),
}
"""The methods' names in scikit-learn, MAPIE, crepes, TorchCP and puncc."""
_RANDOM = frozenset({"rng", "seed", "random_state", "generator", "key"})
_DATA = 2
"""Features and labels."""
_NO_OBJECT = object()


def as_function(thing: Any, kind: Kind, *, name: str, classes: int | None) -> Callable[..., Any]:
    """Return a fitted object as a function of features, labels and new rows.

    Parameters
    ----------
    thing : object
    kind : Kind
        PREDICTOR: the function returns sets, shape (m, K) of 0 and 1. REGRESSION: intervals,
        shape (m, 2). MODEL: predictions, an array.
    classes : int or None
        The number K of classes, for sets that are lists of labels.

    Raises
    ------
    TargetError
        If it is none of these.
    """
    if callable(thing) and not _has(thing, _FITS, instance=True):
        needed = _needed(thing, name)
        if len(needed) > _DATA:
            return _read_only(thing, kind, classes)
        trains = len(needed) == _DATA
        return _with_signature(
            _Fitting(make=thing, trains=trains, **_of(kind, name, classes)), thing
        )
    if not _has(thing, _FITS, instance=True):
        raise TargetError(
            f"{name} is a {type(thing).__name__} without {', '.join(_FITS)}",
            hint="name an object or a class with such a method, or a function of (features, "
            "labels) that returns a fitted object",
        )
    fit = getattr(thing, next(each for each in _FITS if hasattr(thing, each)))
    return _with_signature(_Fitting(template=thing, **_of(kind, name, classes)), fit)


def _of(kind: Kind, name: str, classes: int | None) -> dict[str, Any]:
    return {"kind": kind, "name": name, "classes": classes}


class _Fitting:
    """Fits a fresh object to each call's data, and asks it for its predictions."""

    def __init__(
        self,
        *,
        kind: Kind,
        name: str,
        classes: int | None,
        make: Callable[..., Any] | None = None,
        trains: bool = False,
        template: Any = None,
    ) -> None:
        self._kind, self._name, self._classes = kind, name, classes
        self._make, self._trains, self._template = make, trains, template
        self.in_two_steps = False

    def __call__(self, features: Any, labels: Any, probes: Any, **keywords: Any) -> Any:
        predictor = self._fitted(features, labels, keywords)
        return answered(self._predictions(predictor, probes, keywords), self._kind, self._classes)

    def _fitted(self, features: Any, labels: Any, keywords: Mapping[str, Any]) -> Any:
        if self._trains:
            assert self._make is not None  # noqa: S101  (for the type checker)
            return self._make(features, labels, **_taken(self._make, keywords))
        found = self._fresh(keywords)
        fit = self._method(found, _FITS)
        try:
            return self._after(fit, found, features, labels, keywords)
        except Exception as error:
            if fit.__name__ == "fit" or not _has(found, ("fit",)) or not _misses_a_fit(error):
                raise
        self.in_two_steps = True
        found, half = self._fresh(keywords), len(labels) // 2
        model = self._after(found.fit, found, features[:half], labels[:half], keywords)
        calibrate = getattr(model if hasattr(model, fit.__name__) else found, fit.__name__)
        return self._after(calibrate, model, features[half:], labels[half:], keywords)

    def _fresh(self, keywords: Mapping[str, Any]) -> Any:
        if self._make is not None:
            return self._make(**_taken(self._make, keywords))
        return copy.deepcopy(self._template)

    def _after(
        self,
        fit: Callable[..., Any],
        found: Any,
        features: Any,
        labels: Any,
        keywords: Mapping[str, Any],
    ) -> Any:
        """Return the predictor after a call of a fitting method: its result, or its object."""
        fitted = _with_data(fit, features, labels)(**_taken(fit, keywords))
        return found if fitted is None or not _has(fitted, _PREDICTS[self._kind]) else fitted

    def _predictions(self, predictor: Any, probes: Any, keywords: Mapping[str, Any]) -> Any:
        if not _has(predictor, _PREDICTS[self._kind]) and callable(predictor):
            return predictor(probes)
        predict = self._method(predictor, _PREDICTS[self._kind])
        return predict(probes, **_taken(predict, keywords))

    def _method(self, found: Any, names: tuple[str, ...]) -> Callable[..., Any]:
        for each in names:
            if hasattr(found, each):
                method: Callable[..., Any] = getattr(found, each)
                return method
        raise AttributeError(f"a {type(found).__name__} has none of {', '.join(names)}")


def _misses_a_fit(error: Exception) -> bool:
    """Return True if an error is that of an object that is to be fitted first, by its words."""
    said = f"{type(error).__name__} {error}".lower()
    return isinstance(error, AttributeError) or "fit" in said or "train" in said


def in_two_steps(function: Callable[..., Any]) -> bool:
    """Return True if what ``as_function`` returned trained and calibrated on rows of their own."""
    return bool(getattr(getattr(function, "fitting", None), "in_two_steps", False))


def _with_data(fit: Callable[..., Any], features: Any, labels: Any) -> Callable[..., Any]:
    """Return a fitting of data, which puncc's methods take as the keywords ``X`` and ``y``."""
    by_name = {each.name for each in _parameters(fit) if each.kind is each.KEYWORD_ONLY}
    if by_name >= {"X", "y"}:
        return partial(fit, X=features, y=labels)
    return partial(fit, features, labels)


def kind_of(thing: object) -> Kind | None:
    """Return the kind of an object that says by its methods what it predicts; None of others.

    Examples
    --------
    >>> class Sets:
    ...     def fit(self, features, labels): ...
    ...     def predict_set(self, features): ...
    >>> kind_of(Sets())
    <Kind.PREDICTOR: 'predictor'>
    """
    for kind in (Kind.PREDICTOR, Kind.REGRESSION):
        told = [name for name in _PREDICTS[kind] if name != "predict"]
        if _has(thing, _FITS) and _has(thing, tuple(told)):
            return kind
    return None


def answered(answer: Any, kind: Kind, classes: int | None) -> Any:
    """Return predictions of new rows in one form: (m, K) of 0 and 1, (m, 2), or as they are.

    Parameters
    ----------
    answer : object
        Sets as a matrix or as lists of labels; intervals as a matrix or as their two ends; with
        the point predictions in front, or without.
    """
    if kind is Kind.MODEL:
        return answer
    if isinstance(answer, tuple):
        parts = list(cast("Sequence[Any]", answer))
        ends = parts[-2:]
        if kind is Kind.REGRESSION and len(parts) > 1 and all(np.ndim(end) == 1 for end in ends):
            return np.stack([np.asarray(end, dtype=np.float64) for end in ends], axis=1)
        answer = parts[-1]
    if kind is Kind.PREDICTOR and is_sequence(answer) and not _is_matrix(answer, classes):
        return _indicators(answer, classes)
    return _plain(answer)


def _is_matrix(answer: Any, classes: int | None) -> bool:
    """Tell a list of rows of truth values, or of 0 and 1, from one of sets of labels.

    Raises
    ------
    ValueError
        If rows such as [1, 0] may be either.
    """
    rows = [list(row) for row in answer if np.iterable(row)]
    if not rows or len({len(row) for row in rows}) > 1 or not rows[0]:
        return False
    if all(isinstance(each, bool | np.bool_) for row in rows for each in row):
        return True
    if len(rows[0]) != classes or any(each not in {0, 1} for row in rows for each in row):
        return False
    if any(len(set(row)) < len(row) for row in rows):
        return True
    if [1, 0] in rows:
        raise ValueError("rows of 0 and 1 may be sets of labels or indicators: return an array")
    return False


def _indicators(sets: Any, classes: int | None) -> FloatArray:
    if classes is None:
        raise ValueError("sets of labels need the number of classes: set domain")
    found = np.zeros((len(sets), classes))
    for row, labels in enumerate(map(list, sets)):
        if len(set(labels)) < len(labels):
            raise ValueError(f"a set holds a label twice: {labels}")
        for label in labels:
            if not 0 <= int(label) < classes:
                raise ValueError(f"a set holds the label {label}, and there are {classes} classes")
            found[row, int(label)] = 1
    return found


def _plain(answer: Any) -> Any:
    """Return an array without the axis of a single confidence level."""
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu().numpy()
    array = np.asarray(answer)
    three = array.ndim == _DATA + 1
    if three and array.shape[-1] == 1:
        return array[..., 0]
    return array[:, 0, :] if three and array.shape[1] == 1 else answer


def _read_only(function: Callable[..., Any], kind: Kind, classes: int | None) -> Callable[..., Any]:
    def call(features: Any, labels: Any, probes: Any, **keywords: Any) -> Any:
        return answered(function(features, labels, probes, **keywords), kind, classes)

    call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call


def _with_signature(fitting: _Fitting, random: Callable[..., Any]) -> Callable[..., Any]:
    """Return a fitting as a function that takes the keywords of what is called first."""

    def call(features: Any, labels: Any, probes: Any, **keywords: Any) -> Any:
        return fitting(features, labels, probes, **keywords)

    data = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in Kind.PREDICTOR.inputs
    ]
    others = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in _drawing(random)
        if each.name in _RANDOM or each.default is not inspect.Parameter.empty
    ]
    rest = inspect.Parameter("others", inspect.Parameter.VAR_KEYWORD)
    call.fitting = fitting  # type: ignore[attr-defined]
    call.__signature__ = inspect.Signature([*data, *others, rest])  # type: ignore[attr-defined]
    call.__wrapped__ = getattr(random, "__init__", random) if inspect.isclass(random) else random  # type: ignore[attr-defined]
    return call


def _drawing(random: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of what is called first; of a class that draws in its fit, that one's.

    One place alone takes a seed: two that were handed the same would draw the same.
    """
    own = _parameters(random)
    if not inspect.isclass(random) or any(each.name in _RANDOM for each in own):
        return own
    fit = next((getattr(random, each) for each in _FITS if hasattr(random, each)), None)
    known = {each.name for each in own}
    theirs = [] if fit is None else _parameters(fit)
    return [*own, *(each for each in theirs if each.name in _RANDOM - known)]


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return its parameters by name; a method's are those of all objects of its class."""
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
        return _method_parameters(function.__func__)
    return _signed(function)


@lru_cache(maxsize=256)
def _method_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return _signed(MethodType(function, _NO_OBJECT))


def _signed(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each for each in found if each.kind not in {each.VAR_KEYWORD, each.VAR_POSITIONAL}]


def _needed(function: Callable[..., Any], name: str) -> list[str]:
    """Return the data that a function must be given: none, (X, y), or (X, y, new rows)."""
    empty = inspect.Parameter.empty
    found = [
        each.name
        for each in _parameters(function)
        if each.default is empty and each.name not in _RANDOM and each.kind is not each.KEYWORD_ONLY
    ]
    if len(found) in {0, _DATA, _DATA + 1}:
        return found
    raise TargetError(
        f"{name} needs ({', '.join(found)})",
        hint="name a class or function that makes an object with 'fit' and needs no data, or a "
        "function of (features, labels) that returns a fitted one",
    )


def _taken(function: Callable[..., Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return those keywords that a function has a parameter for."""
    names = {each.name for each in _parameters(function)}
    return {name: value for name, value in keywords.items() if name in names}


def _has(thing: Any, names: tuple[str, ...], *, instance: bool = False) -> bool:
    if instance and inspect.isclass(thing):
        return False
    return any(callable(getattr(thing, name, None)) for name in names)
