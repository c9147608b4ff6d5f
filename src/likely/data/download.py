"""Files by URL, kept in a private folder, and used only with the right checksum.

The folder is `LIKELY_DATA_DIR`, or the user's cache folder. A file is downloaded to a
temporary name beside its place, checked, flushed to the disk and renamed: what has the
right name is whole.
"""

import hashlib
import os
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import platformdirs

from likely.data.errors import DownloadError
from likely.files.atomic import replace

BLOCK_BYTES = 1 << 20
TIMEOUT_SECONDS = 30.0


class Remote(NamedTuple):
    """A file on the internet: its local name, its addresses and its checksum."""

    name: str
    """Folder and file name below the data folder."""
    sha256: str
    size: int
    """The length in bytes; a longer download is stopped."""
    urls: Sequence[str]


def data_folder() -> Path:
    """The folder of downloads: `LIKELY_DATA_DIR`, or a folder of the user's cache."""
    chosen = os.environ.get("LIKELY_DATA_DIR")
    return Path(chosen or Path(platformdirs.user_cache_dir("likely")) / "data")


def fetch(remote: Remote) -> Path:
    """The path of the file, which is downloaded if need be, with a verified checksum.

    Raises:
        DownloadError: says what was tried and where to put the file by hand.
    """
    path = data_folder() / remote.name
    if path.exists():
        _verify(path, remote)
        return path
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    tried = []
    for url in remote.urls:
        try:
            return _download(url, path, remote)
        except (OSError, DownloadError) as error:
            tried.append(f"{url} ({error})")
    raise DownloadError(
        f"could not download {remote.name}: tried {' and '.join(tried)}. Without a "
        f"network, put the file at {str(path)!r}, or point at a copy with path=..."
    )


def _download(url: str, path: Path, remote: Remote) -> Path:
    def write(file: IO[bytes]) -> None:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as source:
            # one byte more, so that a longer file is noticed
            file.writelines(blocks_of(source, remote.size + 1))
        file.flush()
        _verify(Path(file.name), remote)

    replace(path, write, lambda _: True)
    return path


def blocks_of(source: Any, limit: int) -> Iterator[bytes]:
    """The bytes of an open file, in blocks, up to so many in all."""
    while limit and (block := source.read(min(BLOCK_BYTES, limit))):
        yield block
        limit -= len(block)


def _verify(path: Path, remote: Remote) -> None:
    """Refuse a file whose checksum is not the known one."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != remote.sha256:
        raise DownloadError(
            f"{str(path)!r} is not the {remote.name} we know: its sha256 is {found}, "
            f"not {remote.sha256}; delete it and try again."
        )
