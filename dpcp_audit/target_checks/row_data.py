"""The rows of features and labels that a predictor is tried on, as an option's value."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit._plain_data import is_record, is_sequence
from dpcp_audit._values import Value, is_file, wrong
from dpcp_audit.data.row_pools import RowPool, made_classes, made_outcomes
from dpcp_audit.errors import UsageError
from dpcp_audit.targets import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_ROWS = 2000
_WANTED = "a file .npz with 'features' and 'labels' (or 'X' and 'y'), or a pair (X, y)"


class RowsOf(Value):
    """Rows, as a saved file, a pair of arrays, or what results files hold."""

    def read(self, value: object, name: str) -> RowPool:
        """Return the rows."""
        if isinstance(value, RowPool):
            return value
        try:
            if isinstance(value, str | Path):
                return _of(name, *_saved(Path(value), name))
            if is_record(value):
                return RowPool.from_data(value)
            if isinstance(value, tuple) or is_sequence(value):
                features, labels = cast("tuple[Any, Any]", value)
                return _of(name, features, labels)
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{name}: {error}") from error
        raise wrong(name, _WANTED, value)

    def as_data(self, value: RowPool) -> Mapping[str, Any]:
        """Return the rows as lists."""
        return value.as_data()


def rows_for(kind: Kind, given: RowPool | None) -> RowPool:
    """Return the rows to try a kind of target on: those given, or made ones."""
    if given is not None:
        return given
    return made_outcomes() if kind is Kind.REGRESSION else made_classes()


def _saved(path: Path, name: str) -> tuple[Any, Any]:
    if path.suffix != ".npz" or not is_file(path):
        raise wrong(name, _WANTED, str(path))
    with np.load(path, allow_pickle=False) as stored:
        for pair in (("features", "labels"), ("X", "y")):
            if set(pair) <= set(stored.files):
                return stored[pair[0]], stored[pair[1]]
    raise wrong(name, _WANTED, f"{path.name} with {', '.join(stored.files)}")


def _of(name: str, features: Any, labels: Any) -> RowPool:
    words = [each for each in np.asarray(labels).ravel()[:1].tolist() if isinstance(each, str)]
    if words:
        raise UsageError(
            f"{name}: labels must be numbers, and those of classes integers from 0, got {words}: "
            "encode them, and fit the model to the codes"
        )
    pool = RowPool(np.asarray(features, dtype=np.float64), np.asarray(labels, dtype=np.float64))
    if len(pool.labels) > _MOST_ROWS:
        raise UsageError(
            f"{name} must have at most {_MOST_ROWS} rows, since every call predicts all of them, "
            f"got {len(pool.labels)}: take a sample"
        )
    return pool
