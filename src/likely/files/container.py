"""The file: a safetensors file whose metadata hold one JSON document and a digest.

    8 bytes   length of the header, little-endian
    header    {"__metadata__": {"likely": "1 <digest> <document>"},
               "<name>": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}, ...}
    data      the tensors, one after another, without gaps

1 is the version of the format. The digest is the SHA-256 of the whole file with zeros
in its own place, so no bit can flip unnoticed. It guards against accidents, not against
attackers: whoever edits a file can compute its digest again, so nothing here trusts it.

Any safetensors reader opens these files. They are written here because the package's
own writer cannot put a digest inside or write to a file that is open. This reader takes
tensor by tensor from one open file and does not map it: a mapped file that somebody
truncates kills the process, and one that is opened twice may be two files.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from likely.files import strict
from likely.files.errors import FileError
from likely.files.header import Span, spans, table

VERSION = 1
MAX_HEADER_BYTES = 16 * 2**20
"""The largest length of a header."""
START = b'{"__metadata__":{"likely":"'
ZEROS = "0" * 64


class Content(NamedTuple):
    """The content of a file."""

    document: str
    digest: str
    tensors: dict[str, np.ndarray]


def write(file: IO[bytes], document: str, tensors: dict[str, np.ndarray]) -> str:
    """Write a document and its C-contiguous tensors; returns the digest."""
    # the widest dtypes first, so that each tensor begins at a multiple of its itemsize
    order = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    tensors = {name: tensors[name] for name in order}
    digest = _digest(_head(ZEROS, document, tensors), tensors)
    file.write(_head(digest, document, tensors))
    file.writelines(_raw(tensor) for tensor in tensors.values())
    return digest


def _head(digest: str, document: str, tensors: dict[str, np.ndarray]) -> bytes:
    """The length and the header, which is padded to a multiple of 8 bytes."""
    metadata = {"__metadata__": {"likely": f"{VERSION} {digest} {document}"}}
    text = json.dumps(metadata | table(tensors), separators=(",", ":"))
    text += " " * (-len(text) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise FileError(
            f"what is not an array takes {len(text):,} bytes of JSON, more than "
            f"{MAX_HEADER_BYTES:,}; keep large things in NumPy arrays, not in lists."
        )
    strict.check(text)
    return len(text).to_bytes(8, "little") + text.encode("ascii")


def _raw(tensor: np.ndarray) -> memoryview:
    return tensor.reshape(-1).view(np.uint8).data


def _digest(head: bytes, tensors: dict[str, np.ndarray]) -> str:
    found = hashlib.sha256(head)
    for tensor in tensors.values():
        found.update(_raw(tensor))
    return found.hexdigest()


def is_ours(path: Path) -> bool:
    """Whether a file begins as a file of this format does."""
    with path.open("rb") as file:
        return file.read(8 + len(START))[8:] == START


def read(path: Path) -> Content:
    """Read and check a file; sizes are checked before memory is allocated."""
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe or a device could block forever
        raise FileError("it is not a file.")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if size < 8 + len(START) or length > size - 8:
            raise FileError("it is cut short, or was never a model file.")
        if length > MAX_HEADER_BYTES:
            raise FileError(f"its header claims {length:,} bytes.")
        header = file.read(length)
        digest, document, entries = _parse(header)
        tensors = _tensors(file, list(spans(entries, size - 8 - length)))
    header = header.replace(digest.encode(), ZEROS.encode(), 1)
    if _digest(start + header, tensors) != digest:
        raise FileError("its content does not match its digest: it was damaged.")
    return Content(document, digest, tensors)


def _parse(header: bytes) -> tuple[str, str, dict[str, Any]]:
    """The digest, the document and the table of tensors of a header."""
    if not header.startswith(START):
        raise FileError("likely did not write it.")
    try:
        entries = strict.parse(header.decode("ascii"))
    except UnicodeDecodeError as error:
        raise FileError("its header has bytes that are not ASCII.") from error
    metadata = entries.pop("__metadata__")
    version, _, rest = metadata.pop("likely").partition(" ")
    if version != str(VERSION):
        raise FileError(
            f"it has version {version[:20]!r} of the format and this likely reads "
            f"{VERSION}; update likely, or save the model again."
        )
    digest, _, document = rest.partition(" ")
    if metadata or not header.startswith(START + f"{VERSION} {digest} ".encode()):
        raise FileError("its metadata are not those of likely.")
    return digest, document, entries


def _tensors(file: BufferedReader, found: Iterable[Span]) -> dict[str, np.ndarray]:
    """Read the tensors, whose spans were checked."""
    tensors = {}
    for span in found:
        tensor = np.empty(span.shape, span.dtype)
        if file.readinto(_raw(tensor)) != tensor.nbytes:
            raise FileError("it became shorter while it was read.")
        if tensor.dtype == np.bool_ and (tensor.view(np.uint8) > 1).any():
            raise FileError(f"the tensor {span.name[:40]!r} is not of truth values.")
        tensors[span.name] = tensor
    return tensors
