"""MNIST, Fashion-MNIST, CIFAR-10 and tiny Shakespeare: by URL, or from local files.

Each takes `path=`, a folder (or file) of the user's own that is read by the same code,
without a checksum; otherwise files come through `download.fetch`.
"""

import tarfile
import zlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np

from likely.core.checks import InputError
from likely.data.catalogue import CIFAR10, IDX, TINYSHAKESPEARE
from likely.data.dataset import Dataset
from likely.data.download import fetch
from likely.data.errors import DownloadError, table_error
from likely.data.idx import read_idx

DIGITS = tuple("0123456789")
CLOTHES = (
    "T-shirt/top", "trouser", "pullover", "dress", "coat",
    "sandal", "shirt", "sneaker", "bag", "ankle boot",
)  # fmt: skip
THINGS = (
    "airplane", "automobile", "bird", "cat", "deer",
    "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
_PARTS = {"train": "train", "test": "t10k"}
_RECORD = 1 + 3 * 32 * 32
_BATCH = 10_000


def mnist(split: str = "train", *, path: str | PathLike | None = None) -> Dataset:
    """60,000 handwritten digits to learn from, 10,000 to test, 28 × 28 bytes.

    Args:
        split: "train" or "test".
        path: a folder that holds the idx files, gzipped or not, to read instead.
    """
    X, y = _images("mnist", split, path)
    return Dataset(X, y, (), DIGITS, f"MNIST handwritten digits ({split})")


def fashion_mnist(
    split: str = "train", *, path: str | PathLike | None = None
) -> Dataset:
    """60,000 images of clothing to learn from, 10,000 to test, 28 × 28 bytes.

    Args:
        split: "train" or "test".
        path: a folder that holds the idx files, gzipped or not, to read instead.
    """
    X, y = _images("fashion", split, path)
    return Dataset(X, y, (), CLOTHES, f"Fashion-MNIST clothing ({split})")


def _images(
    name: str, split: str, path: str | PathLike | None
) -> tuple[np.ndarray, np.ndarray]:
    part = _PARTS[_checked(split)]
    if path is None:
        X = read_idx(fetch(IDX[f"{name}/{part}-images-idx3-ubyte.gz"]))
        y = read_idx(fetch(IDX[f"{name}/{part}-labels-idx1-ubyte.gz"]))
    else:
        X = read_idx(_find(path, f"*{part}-images*"))
        y = read_idx(_find(path, f"*{part}-labels*"))
    if X.ndim != 3 or y.shape != (len(X),):
        raise DownloadError(
            f"the {split} images have shape {X.shape} and the labels {y.shape}; "
            "give files that belong together."
        )
    return X, y.astype(np.int64)


def _checked(split: str) -> str:
    if split not in _PARTS:
        raise InputError(f"split is {split!r}; give 'train' or 'test'.")
    return split


def _find(folder: str | PathLike, pattern: str) -> Path:
    """The first file of the user's folder that matches a pattern."""
    found = sorted(Path(folder).glob(pattern)) if Path(folder).is_dir() else []
    if not found:
        raise DownloadError(
            f"{str(folder)!r} holds no file like {pattern!r}; "
            "give the folder that the data set was downloaded to."
        )
    return found[0]


def cifar10(split: str = "train", *, path: str | PathLike | None = None) -> Dataset:
    """50,000 small photographs to learn from, 10,000 to test, 32 × 32 × 3 bytes.

    The binary edition: the Python edition is a pickle, which could run code.

    Args:
        split: "train" or "test".
        path: `cifar-10-binary.tar.gz`, or a folder with its `.bin` files.
    """
    parts = [f"data_batch_{i}.bin" for i in range(1, 6)]
    names = parts if _checked(split) == "train" else ["test_batch.bin"]
    source = fetch(CIFAR10) if path is None else Path(path)
    if source.is_dir():
        found = {name: _find(source, f"**/{name}").read_bytes() for name in names}
    else:
        found = dict(_members(source, names))
    rows = np.concatenate([_records(found, name, source) for name in names])
    X = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    y = rows[:, 0].astype(np.int64)
    return Dataset(np.ascontiguousarray(X), y, (), THINGS, f"CIFAR-10 ({split})")


def _members(archive: Path, names: list[str]) -> Iterator[tuple[str, bytes]]:
    """Members of the archive, read in memory up to the size they should have."""
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                name = member.name.rpartition("/")[2]
                if name in names and (content := tar.extractfile(member)):
                    yield name, content.read(_BATCH * _RECORD + 1)
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise table_error(archive, f"cannot be read ({error}); is it whole?") from error


def _records(found: dict[str, bytes], name: str, source: Path) -> np.ndarray:
    content = found.get(name, b"")
    if len(content) % _RECORD or not 0 < len(content) <= _BATCH * _RECORD:
        problem = f"holds {len(content):,} bytes of {name}, not images of {_RECORD:,}"
        raise table_error(source, f"{problem}; give cifar-10-binary.tar.gz.")
    return np.frombuffer(content, np.uint8).reshape(-1, _RECORD)


def tinyshakespeare(*, path: str | PathLike | None = None) -> str:
    """A million characters of Shakespeare in one string.

    Args:
        path: a text file to read instead.
    """
    file = fetch(TINYSHAKESPEARE) if path is None else Path(path)
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise table_error(file, f"cannot be read as text ({error}).") from error
