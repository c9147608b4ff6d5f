"""The idx format of MNIST: a big-endian header and one array, gzipped or not."""

import gzip
import math
import zlib
from os import PathLike
from pathlib import Path

import numpy as np

from likely.data.download import blocks_of
from likely.data.errors import table_error

GZIP = b"\x1f\x8b"
KINDS = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | PathLike) -> np.ndarray:
    """The array in an idx file: mapped into memory, or read where it is gzipped.

    A mapped array is read-only and takes memory only where it is used.

    Raises:
        TableError: when the file is not what its header says.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == GZIP
        if not zipped:
            return _mapped(path)
        with gzip.open(path) as file:
            dtype, shape = _header(file.read(4 + 4 * 255), path)
            file.seek(4 + 4 * len(shape))
            return _filled(file, dtype, shape, path)
    except (OSError, EOFError, zlib.error) as error:
        raise table_error(path, f"cannot be read ({error}); is it whole?") from error


def _header(head: bytes, path: Path) -> tuple[np.dtype, tuple[int, ...]]:
    """The type and shape, checked before anything is allocated."""
    ndim = head[3] if len(head) >= 4 else 0
    known = len(head) >= 4 + 4 * ndim and head[:2] == b"\0\0" and head[2] in KINDS
    if not known or not ndim:
        raise table_error(path, "is not an idx file; give a file in MNIST's format.")
    shape = np.frombuffer(head, ">u4", ndim, offset=4)
    return np.dtype(KINDS[head[2]]), tuple(int(size) for size in shape)


def _mapped(path: Path) -> np.ndarray:
    with path.open("rb") as file:
        dtype, shape = _header(file.read(4 + 4 * 255), path)
    start = 4 + 4 * len(shape)
    _check_size(path.stat().st_size - start, dtype, shape, path)
    if not math.prod(shape):
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, mode="r", offset=start, shape=shape)


def _filled(file, dtype: np.dtype, shape: tuple[int, ...], path: Path) -> np.ndarray:
    """Read as much as there is, in blocks: a header may promise any size."""
    promised = math.prod(shape) * dtype.itemsize
    content = b"".join(blocks_of(file, promised + 1))
    _check_size(len(content), dtype, shape, path)
    return np.frombuffer(content, dtype).reshape(shape)


def _check_size(found: int, dtype: np.dtype, shape: tuple, path: Path) -> None:
    promised = math.prod(shape) * dtype.itemsize
    if found != promised:
        size = "more than that" if found > promised else f"{found:,}"
        problem = f"promises {promised:,} bytes for shape {shape} but holds {size}"
        raise table_error(path, f"{problem}; download it again.")
