"""Image data in the formats that it is published in, written here and read back."""

from __future__ import annotations

import codecs
import os
import pickle
import pickletools

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from dpcp_audit.laws.loaders import load_cifar10, load_medmnist
from dpcp_audit.laws.pools import ImageData, image_pool

RNG = np.random.default_rng(0)


def medmnist(path, *, shape=(8, 8), labels=(0, 1, 2), **changes: object) -> dict[str, np.ndarray]:
    arrays = {}
    for split, size in (("train", 6), ("val", 3), ("test", 3)):
        arrays[f"{split}_images"] = RNG.integers(256, size=(size, *shape), dtype=np.uint8)
        arrays[f"{split}_labels"] = np.resize(labels, (size, 1)).astype(np.uint8)
    arrays |= changes
    np.savez(path, **{name: values for name, values in arrays.items() if values is not None})
    return arrays


class TestMedMNIST:
    @pytest.mark.parametrize(("shape", "channels"), [((8, 8), 1), ((8, 8, 3), 3)])
    def test_all_splits_are_read_in_order(self, tmp_path, shape, channels) -> None:
        path = tmp_path / "organsmnist.npz"
        held = medmnist(path, shape=shape)
        data = load_medmnist(path)
        assert data.name == "organsmnist"
        assert data.images.shape == (12, 8, 8, channels)
        assert data.classes == ("0", "1", "2")
        np.testing.assert_array_equal(data.images[6:9].squeeze(), held["val_images"].squeeze())
        np.testing.assert_array_equal(data.labels[9:], held["test_labels"][:, 0])

    def test_one_split_is_read_alone(self, tmp_path) -> None:
        held = medmnist(tmp_path / "m.npz")
        data = load_medmnist(tmp_path / "m.npz", splits=["test"])
        np.testing.assert_array_equal(data.images[..., 0], held["test_images"])

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"val_labels": None}, r"m\.npz' lacks \['val_labels'\]"),
            ({"train_labels": np.zeros((6, 5), dtype=np.uint8)}, r"train_labels .*shape \(6, 5\)"),
            ({"train_labels": np.zeros((6, 1))}, "train_labels .* whole number"),
            ({"test_images": np.zeros((3, 8, 8))}, "test_images .* uint8"),
            ({"train_labels": np.zeros((4, 1), dtype=np.uint8)}, r"labels must have shape \(12,\)"),
        ],
    )
    def test_what_is_wrong_is_named(self, tmp_path, changes, message) -> None:
        medmnist(tmp_path / "m.npz", **changes)
        with pytest.raises(ValueError, match=message):
            load_medmnist(tmp_path / "m.npz")

    def test_a_file_that_is_no_archive_is_refused(self, tmp_path) -> None:
        (tmp_path / "m.npz").write_bytes(b"not an archive")
        with pytest.raises(ValueError, match="readable .npz"):
            load_medmnist(tmp_path / "m.npz")

    def test_an_object_array_is_refused(self, tmp_path) -> None:
        medmnist(tmp_path / "m.npz", train_labels=np.array([[{}]] * 6, dtype=object))
        with pytest.raises(ValueError, match="m.npz"):
            load_medmnist(tmp_path / "m.npz")

    def test_an_unknown_split_is_refused(self, tmp_path) -> None:
        medmnist(tmp_path / "m.npz")
        with pytest.raises(ValueError, match="splits must be among train, val, test"):
            load_medmnist(tmp_path / "m.npz", splits=["dev"])

    def test_where_to_get_it_is_said(self, tmp_path) -> None:
        with pytest.raises(ValueError, match=r"absent\.npz.*medmnist\.com"):
            load_medmnist(tmp_path / "absent.npz")


def cifar(path, *, protocol=2, size=4, **changes: object) -> np.ndarray:
    data = RNG.integers(256, size=(size, 3072), dtype=np.uint8)
    batch = {b"data": data, b"labels": [i % 10 for i in range(size)], b"batch_label": b"1 of 5"}
    batch |= {key.encode(): value for key, value in changes.items()}
    held = {key: value for key, value in batch.items() if value is not None}
    path.write_bytes(pickle.dumps(held, protocol=protocol))
    return data


class TestCIFAR10:
    @pytest.mark.parametrize("protocol", [0, 2, 4])
    def test_planes_become_channels(self, tmp_path, protocol) -> None:
        raw = cifar(tmp_path / "data_batch_1", protocol=protocol)
        data = load_cifar10(tmp_path / "data_batch_1")
        assert data.images.shape == (4, 32, 32, 3)
        assert data.images[2, 5, 7].tolist() == [raw[2, 5 * 32 + 7 + 1024 * c] for c in range(3)]
        assert data.labels.tolist() == [0, 1, 2, 3]
        assert data.classes[3] == "cat"

    def test_a_folder_gives_all_its_batches_the_test_batch_last(self, tmp_path) -> None:
        for name, size in (("test_batch", 1), ("data_batch_2", 2), ("data_batch_1", 3)):
            raw = cifar(tmp_path / name, size=size)
            if name == "test_batch":
                last = raw
        data = load_cifar10(tmp_path)
        assert data.labels.tolist() == [0, 1, 2, 0, 1, 0]
        np.testing.assert_array_equal(data.images[-1, 0, 0], last[0, ::1024])

    def test_the_addresses_of_an_older_numpy_are_known(self, tmp_path) -> None:
        cifar(tmp_path / "data_batch_1")
        old = (tmp_path / "data_batch_1").read_bytes()
        old = old.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
        (tmp_path / "data_batch_1").write_bytes(old)
        assert load_cifar10(tmp_path).images.shape == (4, 32, 32, 3)

    def test_text_keys_of_python_2_are_bytes(self, tmp_path) -> None:
        """A Python 2 pickle holds its strings as SHORT_BINSTRING, read with encoding='bytes'."""
        stream = b"\x80\x02}(U\x04datacnumpy\nndarray\nU\x06labels]u."
        assert any(code.name == "SHORT_BINSTRING" for code, _, _ in pickletools.genops(stream))
        (tmp_path / "b").write_bytes(stream)
        with pytest.raises(ValueError, match=r"b'data' of .* must be uint8"):
            load_cifar10(tmp_path / "b")

    def test_code_in_a_pickle_does_not_run(self, tmp_path) -> None:
        class Attack:
            def __reduce__(self) -> tuple[object, ...]:
                return os.mkdir, (str(tmp_path / "ran"),)

        (tmp_path / "data_batch_1").write_bytes(pickle.dumps({b"data": Attack()}))
        with pytest.raises(ValueError, match="mkdir is not plain data"):
            load_cifar10(tmp_path / "data_batch_1")
        assert not (tmp_path / "ran").exists()

    def test_other_codecs_do_not_run_either(self, tmp_path) -> None:
        class Bomb:
            def __reduce__(self) -> tuple[object, ...]:
                return codecs.encode, ("x", "rot13")

        (tmp_path / "b").write_bytes(pickle.dumps({b"data": Bomb()}, protocol=2))
        with pytest.raises(ValueError, match="not plain data"):
            load_cifar10(tmp_path / "b")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"data": None}, r"must hold b'data', .*b1' lacks it"),
            ({"labels": None}, "lacks it"),
            ({"data": np.zeros((4, 1024), dtype=np.uint8)}, r"\(n, 3072\), got shape \(4, 1024\)"),
            ({"data": np.zeros((4, 3072))}, "must be uint8"),
            ({"data": [1, 2]}, "got shape None"),
            ({"labels": [0, 1]}, r"labels must have shape \(4,\)"),
            ({"labels": [0, 1, 2, 99]}, "labels must lie in 0..9"),
        ],
    )
    def test_what_is_wrong_is_named(self, tmp_path, changes, message) -> None:
        cifar(tmp_path / "b1", **changes)
        with pytest.raises(ValueError, match=message):
            load_cifar10(tmp_path / "b1")

    @pytest.mark.parametrize("content", [b"", b"\x80\x04N.", b"garbage"])
    def test_what_is_no_batch_is_refused(self, tmp_path, content) -> None:
        (tmp_path / "b").write_bytes(content)
        with pytest.raises(ValueError, match="must name a CIFAR-10 batch"):
            load_cifar10(tmp_path / "b")

    def test_where_to_get_it_is_said(self, tmp_path) -> None:
        with pytest.raises(ValueError, match="cifar-10-python.tar.gz"):
            load_cifar10(tmp_path / "absent")
        with pytest.raises(ValueError, match="must hold data_batch_1"):
            load_cifar10(tmp_path)


def two_kinds(n: int = 60, classes: tuple[str, ...] = ("dark", "never", "bright")) -> ImageData:
    labels = np.array([0, 2])[np.arange(n) % 2]
    images = (labels[:, None, None, None] * 80 + RNG.integers(40, size=(n, 4, 4, 1))).astype("u1")
    return ImageData(name="two", images=images, labels=labels, classes=classes)


class TestImagePool:
    def test_the_probabilities_are_of_images_that_were_not_fitted(self) -> None:
        pool = image_pool(two_kinds())
        assert pool.name == "two"
        assert pool.probabilities.shape == (30, 3)
        assert (pool.probabilities.argmax(axis=1) == pool.labels).all()
        assert not pool.probabilities[:, 1].any()  # a class that never occurs
        assert np.bincount(pool.labels).tolist() == [15, 0, 15]

    def test_another_classifier_and_share_are_used(self) -> None:
        classifier = GaussianNB()
        pool = image_pool(two_kinds(), classifier, components=2, fit_share=0.25)
        assert pool.labels.size == 45
        assert classifier.theta_.shape == (2, 2)

    def test_it_is_the_same_every_time(self) -> None:
        data = two_kinds()
        first, second = image_pool(data), image_pool(data)
        np.testing.assert_array_equal(first.probabilities, second.probabilities)

    def test_a_class_with_a_single_image_is_named(self) -> None:
        data = two_kinds()
        data.labels[0] = 1
        with pytest.raises(ValueError, match=r"\['never'\] once"):
            image_pool(data)

    def test_one_class_is_not_enough(self) -> None:
        data = two_kinds()
        data.labels[:] = 2
        with pytest.raises(ValueError, match="'bright' alone"):
            image_pool(data)

    @pytest.mark.parametrize(
        ("options", "message"), [({"components": 0}, "components"), ({"fit_share": 1.0}, "fit_sha")]
    )
    def test_bad_options_are_refused(self, options, message) -> None:
        with pytest.raises(ValueError, match=message):
            image_pool(two_kinds(), **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": np.zeros((2, 4, 4, 1))}, "images must be uint8"),
        ({"images": np.zeros((2, 4, 4), dtype=np.uint8)}, "images must be uint8 of shape"),
        ({"images": np.zeros((2, 0, 4, 1), dtype=np.uint8)}, "images must not be empty"),
        ({"labels": np.array([0])}, r"labels must have shape \(2,\)"),
        ({"labels": np.array([0, 2])}, r"labels must lie in 0\.\.1"),
        ({"classes": ("one",)}, "at least two names"),
    ],
)
def test_image_data_are_checked(changes, message) -> None:
    good = {
        "name": "two",
        "images": np.zeros((2, 4, 4, 1), dtype=np.uint8),
        "labels": np.array([0, 1]),
        "classes": ("a", "b"),
    }
    ImageData(**good)
    with pytest.raises(ValueError, match=message):
        ImageData(**(good | changes))
