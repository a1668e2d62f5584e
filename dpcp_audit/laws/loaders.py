"""Readers of image data in the formats that it is published in.

Nothing is downloaded. Every reader takes the path of files that the user has put somewhere, and
where there are none says what to get and from where. Softmax outputs are read by
``load_pool``.

Pools that users bring: saved probabilities, or images to which a classifier is fitted.
"""

from __future__ import annotations

import functools
import pickle
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit.laws.pools import ImageData, ProbabilityPool, image_pool
from dpcp_audit.words import hints
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.arrays import is_array
from dpcp_audit.words.plain import is_record

if TYPE_CHECKING:
    import io
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcp_audit.words.arrays import FloatArray


_MEDMNIST = "MedMNIST's .npz files (for example pathmnist.npz) are at https://medmnist.com"
_CIFAR = (
    "the folder cifar-10-batches-py is in cifar-10-python.tar.gz at "
    "https://www.cs.toronto.edu/~kriz/cifar.html"
)
_SPLITS = ("train", "val", "test")
_CIFAR_CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)


def load_medmnist(path: str | Path, *, splits: Sequence[str] = _SPLITS) -> ImageData:
    """Read a MedMNIST file of one label an image.

    Parameters
    ----------
    path : str or Path
        An ``.npz`` with ``train_images``, ``train_labels`` and the same of ``val`` and
        ``test``: images of shape (n, h, w) or (n, h, w, 3), labels of shape (n, 1).
    splits : sequence of str
        The parts to read, of ``train``, ``val`` and ``test``, one after the other.
    """
    file = _existing(path, _MEDMNIST)
    if not splits or not set(splits) <= set(_SPLITS):
        raise ValueError(f"splits must be among {', '.join(_SPLITS)}, got {splits!r}")
    held = _arrays(file, [f"{split}_{what}" for split in splits for what in ("images", "labels")])
    images = [held[f"{split}_images"] for split in splits]
    labels = [held[f"{split}_labels"] for split in splits]
    columns = [_column(part, f"{s}_labels", file) for s, part in zip(splits, labels, strict=True)]
    true = np.concatenate(columns).astype(np.int64)
    return ImageData(
        name=file.stem,
        images=np.concatenate(
            [_four_axes(part, f"{s}_images", file) for s, part in zip(splits, images, strict=True)]
        ),
        labels=true,
        classes=tuple(str(i) for i in range(int(true.max(initial=0)) + 1)),
    )


def load_cifar10(path: str | Path) -> ImageData:
    """Read CIFAR-10's Python batches.

    Pickles can run code. These are read by an unpickler that builds arrays, numbers, strings
    and plain containers, and refuses all else.

    Parameters
    ----------
    path : str or Path
        One batch, or the folder that holds ``data_batch_1`` and so on and ``test_batch``.
    """
    place = _existing(path, _CIFAR)
    files = [place]
    if place.is_dir():
        files = [*sorted(place.glob("data_batch_*")), *sorted(place.glob("test_batch"))]
        if not files:
            raise ValueError(
                f"path must hold data_batch_1 or test_batch, got {str(place)!r}; {_CIFAR}"
            )
    batches = [_cifar_batch(file) for file in files]
    return ImageData(
        name="cifar-10",
        images=np.concatenate([images for images, _ in batches]),
        labels=np.concatenate([labels for _, labels in batches]),
        classes=_CIFAR_CLASSES,
    )


def _existing(path: str | Path, hint: str) -> Path:
    place = Path(path)
    if not place.exists():
        raise ValueError(f"path must exist, got {str(path)!r}; put the data there: {hint}")
    return place


def _arrays(file: Path, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
    try:
        held = arrays_of(file, keys)
    except ValueError as error:
        raise ValueError(f"path must name a readable .npz, got {str(file)!r} ({error})") from error
    missing = sorted(set(keys) - set(held))
    if missing:
        raise ValueError(f"path must hold {', '.join(keys)}; {str(file)!r} lacks {missing}")
    return held


def arrays_of(file: Path, keys: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz``, of these names alone where they are given.

    Raises
    ------
    ValueError
        If it is none, holds pickles, or claims more than fits into the memory.
    """
    try:
        archive: Any = np.load(file, allow_pickle=False)
        if is_array(archive):
            raise ValueError("it holds a single array: write it with numpy.savez")
        with archive:
            names = archive.files if keys is None else [key for key in keys if key in archive.files]
            return {name: np.asarray(archive[name]) for name in names}
    except (OSError, EOFError, AttributeError, MemoryError, zipfile.BadZipFile) as error:
        raise ValueError(str(error)) from error


def _column(labels: NDArray[Any], key: str, file: Path) -> NDArray[Any]:
    """Return labels of shape (n, 1) or (n,) as (n,)."""
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"{key} of {str(file)!r} must hold one whole number an image, got {labels.dtype} of "
            f"shape {labels.shape}"
        )
    return labels


def _four_axes(images: NDArray[Any], key: str, file: Path) -> NDArray[np.uint8]:
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.dtype != np.uint8:
        raise ValueError(
            f"{key} of {str(file)!r} must be uint8 of shape (n, h, w) or (n, h, w, 3), got "
            f"{images.dtype} of shape {images.shape}"
        )
    return images


class _PlainUnpickler(pickle.Unpickler):
    """Builds arrays and plain containers only."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        """Return what rebuilds a NumPy array, under its old and new addresses."""
        rebuild = np.empty(0).__reduce__()[0]
        allowed = {
            ("numpy.core.multiarray", "_reconstruct"): rebuild,
            ("numpy._core.multiarray", "_reconstruct"): rebuild,
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): np.dtype,
            ("_codecs", "encode"): _latin1,
        }
        if (module_name, global_name) not in allowed:
            raise pickle.UnpicklingError(f"{module_name}.{global_name} is not plain data")
        return allowed[module_name, global_name]


def _latin1(text: str, encoding: str) -> bytes:
    """Return the bytes that Python 3 writes as a string where a pickle is of protocol 2."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes in {encoding!r} are not plain data")
    return text.encode("latin1")


def _unpickle(stream: io.BufferedReader) -> object:
    return _PlainUnpickler(stream, encoding="bytes").load()


def _cifar_batch(file: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    try:
        with file.open("rb") as stream:
            batch = _unpickle(stream)
    except Exception as error:  # a broken pickle can raise anything
        raise ValueError(f"path must name a CIFAR-10 batch, got {str(file)!r} ({error})") from error
    if not is_record(batch):
        raise ValueError(f"path must name a CIFAR-10 batch, got {str(file)!r} ({type(batch)})")
    fields = cast("dict[bytes, Any]", batch)
    for key in (b"data", b"labels"):
        if key not in fields:
            raise ValueError(f"a CIFAR-10 batch must hold {key!r}, {str(file)!r} lacks it")
    data = fields[b"data"]
    if not is_array(data) or data.dtype != np.uint8 or data.shape[1:] != (3072,):
        shape = getattr(data, "shape", None)
        raise ValueError(
            f"b'data' of {str(file)!r} must be uint8 of shape (n, 3072), got shape {shape}"
        )
    labels = _column(np.asarray(fields[b"labels"]), "b'labels'", file)
    return data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels.astype(np.int64)


_SAVE = "save one by np.savez('pool.npz', probabilities=..., labels=...)"
_PROBABILITIES = {"probabilities", "labels"}
_OF_MEDMNIST = {"train_images", "train_labels"}


@functools.cache
def load_pool(path: str) -> ProbabilityPool:
    """Read a pool from a user's file or folder; it is read once a process.

    Parameters
    ----------
    path : str
        An ``.npz`` written by ``numpy.savez(path, probabilities=..., labels=...)``: class
        probabilities, shape (m, k), and true labels in {0, ..., k−1}, shape (m,), whose name is
        the file's without its ending; or images, to a half of which a logistic regression on
        principal components is fitted (see ``image_pool``): a MedMNIST ``.npz``, or the folder of
        CIFAR-10's Python batches.

    Raises
    ------
    ValueError
        If the path names none of these.
    """
    if _is_folder(path):
        return image_pool(load_cifar10(path))
    held = _read(path)
    if held.keys() >= _OF_MEDMNIST:
        splits = [s for s in ("train", "val", "test") if f"{s}_images" in held]
        return image_pool(load_medmnist(path, splits=splits))
    missing = sorted(_PROBABILITIES - held.keys())
    if missing:
        raise hints.value_error(
            f"path must hold probabilities and labels, {path!r} lacks {missing}", _SAVE
        )
    probabilities = _validate.probabilities(held["probabilities"])
    m, n_classes = probabilities.shape
    labels = _validate.labels(held["labels"], n_classes=n_classes, shape=(m,))
    return ProbabilityPool(Path(path).stem.replace(" ", "_"), probabilities, labels)


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError as error:  # a name that is too long
        raise hints.value_error(
            f"path must name a file or a folder, got {path!r}", _SAVE
        ) from error


def _read(path: str) -> dict[str, FloatArray]:
    try:
        return arrays_of(Path(path))
    except ValueError as error:
        raise hints.value_error(
            f"path must name a readable .npz file, got {path!r} ({error})", _SAVE
        ) from error
