"""The idx format: what is written comes back, what is damaged is refused."""

import gzip
import struct

import numpy as np
import pytest

from likely import data

CODES = {"u1": 8, "i1": 9, ">i2": 0x0B, ">i4": 0x0C, ">f4": 0x0D, ">f8": 0x0E}


def idx(array: np.ndarray, code: int) -> bytes:
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    return head + array.tobytes()


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("zipped", [False, True])
def test_round_trip(kind, zipped, tmp_path, rng):
    array = rng.integers(0, 100, (3, 4, 5)).astype(kind)
    content = idx(array, CODES[kind])
    path = tmp_path / "array.idx"
    path.write_bytes(gzip.compress(content) if zipped else content)
    found = data.read_idx(path)
    np.testing.assert_array_equal(found, array)
    assert isinstance(found, np.memmap) == (not zipped)


DAMAGED = {
    "empty": b"",
    "no idx": b"hello world",
    "unknown type": b"\0\0\x0a\x01\0\0\0\1x",
    "no axes": b"\0\0\x08\0",
    "header cut": b"\0\0\x08\x03\0\0",
    "too short": idx(np.zeros(9, "u1"), 8)[:-1],
    "too long": idx(np.zeros(9, "u1"), 8) + b"x",
    "a huge promise": b"\0\0\x08\x02" + b"\xff" * 8 + b"x",
}


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_a_sentence(name, zipped, tmp_path):
    path = tmp_path / "array.idx"
    path.write_bytes(gzip.compress(DAMAGED[name]) if zipped else DAMAGED[name])
    with pytest.raises(data.TableError, match=r"array\.idx': .+ (idx file|bytes)"):
        data.read_idx(path)


def test_cut_gzip_is_a_sentence(tmp_path):
    path = tmp_path / "array.idx.gz"
    path.write_bytes(gzip.compress(idx(np.arange(90, dtype="u1"), 8))[:-12])
    with pytest.raises(data.TableError, match="is it whole"):
        data.read_idx(path)
    with pytest.raises(data.TableError, match="cannot be read"):
        data.read_idx(tmp_path / "none.idx")


def test_no_elements(tmp_path):
    path = tmp_path / "array.idx"
    path.write_bytes(idx(np.zeros((0, 3), "u1"), 8))
    assert data.read_idx(path).shape == (0, 3)
