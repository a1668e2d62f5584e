"""What ``--pool`` reads: saved probabilities."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.laws.pools import load_pool

if TYPE_CHECKING:
    from pathlib import Path


def test_saved_probabilities_are_a_pool(tmp_path: Path) -> None:
    path = tmp_path / "my pool.npz"
    np.savez(path, probabilities=[[0.9, 0.1], [0.2, 0.8]], labels=[0, 1])
    pool = load_pool(str(path))
    assert pool.name == "my_pool"
    assert pool.labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"probabilities": [[0.5, 0.5]]}, r"lacks \['labels'\]"),
        ({"probabilities": [[0.5, 0.5]], "labels": [0, 1]}, "labels must have shape"),
        ({"probabilities": [[0.5, 0.1]], "labels": [0]}, "probabilities must"),
        ({"probabilities": [["1.0", "0.0"]], "labels": [0]}, "probabilities must be an array of"),
        ({"probabilities": [[0.5j, 1 - 0.5j]], "labels": [0]}, "probabilities must be an array of"),
        ({"probabilities": [[0.5, 0.5]], "labels": ["0"]}, "labels must hold integers"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, held: dict[str, list[float]], message: str) -> None:
    np.savez(tmp_path / "p.npz", **{name: np.asarray(value) for name, value in held.items()})
    with pytest.raises(ValueError, match=message):
        load_pool(str(tmp_path / "p.npz"))


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.npz").write_text("no archive")
    with pytest.raises(ValueError, match=r"path must name a readable \.npz file"):
        load_pool(str(tmp_path / "p.npz"))
    with pytest.raises(ValueError, match=r"path must name a readable \.npz file"):
        load_pool(str(tmp_path))


def test_a_single_array_is_no_archive(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.zeros((2, 2)))
    with pytest.raises(ValueError, match="it holds a single array: write it with numpy.savez"):
        load_pool(str(tmp_path / "p.npy"))


def test_a_header_that_claims_more_than_the_memory_is_refused(tmp_path: Path) -> None:
    """An array of 2 EiB, of which the file holds the header alone."""
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (2**48, 1024)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(tmp_path / "p.npz", "w") as archive:
        archive.writestr("probabilities.npy", header.getvalue())
    with pytest.raises(ValueError, match="path must name a readable .npz file, got .*EiB"):
        load_pool(str(tmp_path / "p.npz"))


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(ValueError, match="path must name a readable .npz file"):
        load_pool("9" * 5000)
