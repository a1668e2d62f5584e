"""The form in which a target gets its data: arrays, plain lists, frames or tensors."""

from __future__ import annotations

import importlib
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from dpcp_audit._types import is_array
from dpcp_audit.targets.target_errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


class DataForm(StrEnum):
    """What data are handed over as."""

    ARRAY = "array"
    """NumPy arrays."""
    LIST = "list"
    """Lists of numbers, of lists for tables."""
    FRAME = "frame"
    """Series and frames of pandas."""
    TENSOR = "tensor"
    """Tensors of PyTorch."""

    @property
    def shown(self) -> str:
        """What is said of data in this form, where a call raised."""
        return _SHOWN[self]


_SHOWN = {
    DataForm.ARRAY: "",
    DataForm.LIST: ", given as lists",
    DataForm.FRAME: ", given as a Series, or as a DataFrame with columns 0, 1, ... of a table",
    DataForm.TENSOR: ", given as tensors of double precision",
}


def handed_over(x: Any, form: DataForm) -> Any:
    """Return a fresh copy of an input in a form; several arrays as a list of such.

    Raises
    ------
    TargetError
        If the form's package is not installed.
    """
    if isinstance(x, tuple):
        return [handed_over(each, form) for each in cast("Sequence[Any]", x)]
    if form is DataForm.TENSOR:
        torch = _package("torch", form)
        return torch.as_tensor(x.copy() if is_array(x) else x)
    if not is_array(x):
        return x
    if form is DataForm.FRAME:
        pandas = _package("pandas", form)
        return pandas.Series(x.copy()) if x.ndim == 1 else pandas.DataFrame(x.copy())
    return x.tolist() if form is DataForm.LIST else x.copy()


def _package(name: str, form: DataForm) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise TargetError(f"data as a {form} need {name}: pip install {name}") from None
