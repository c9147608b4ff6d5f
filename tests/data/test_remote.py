"""Downloads: verified before use, whole or not at all, and a sentence when offline."""

import hashlib
import io
import os
import stat
import tarfile
import urllib.request

import numpy as np
import pytest

from likely import data
from likely.core import InputError
from likely.data import catalogue, download
from likely.data.download import Remote, fetch

CONTENT = b"some data"
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKELY_DATA_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def offline(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)


def at(path, content=CONTENT, sha256=SHA) -> Remote:
    """A file that is downloaded from the disk."""
    path.write_bytes(content)
    return Remote("set/file.bin", sha256, len(CONTENT), [path.as_uri()])


def test_download_is_kept_and_private(folder, tmp_path):
    path = fetch(at(tmp_path / "source"))
    assert path == folder / "set" / "file.bin"
    assert path.read_bytes() == CONTENT
    if os.name == "posix":
        assert stat.S_IMODE((folder / "set").stat().st_mode) == 0o700
    (tmp_path / "source").unlink()
    assert fetch(Remote("set/file.bin", SHA, 9, [])) == path


@pytest.mark.parametrize("content", [b"some datum", b"some", CONTENT + b"x" * 99])
def test_wrong_download_is_never_kept(folder, tmp_path, content):
    with pytest.raises(data.DownloadError, match="is not the set/file.bin we know"):
        fetch(at(tmp_path / "source", content))
    assert list(folder.rglob("*.bin*")) == []


def test_second_mirror_is_tried(folder, tmp_path):
    good = at(tmp_path / "source")
    missing = (tmp_path / "nowhere").as_uri()
    assert fetch(good._replace(urls=[missing, *good.urls])).read_bytes() == CONTENT


def test_damaged_copy_is_refused(folder, tmp_path):
    path = fetch(at(tmp_path / "source"))
    path.write_bytes(b"tampered")
    with pytest.raises(data.DownloadError, match="delete it and try again"):
        fetch(at(tmp_path / "source"))


def test_offline_is_a_sentence(folder, offline):
    with pytest.raises(data.DownloadError) as raised:
        data.mnist()
    said = str(raised.value)
    assert "could not download mnist/train-images-idx3-ubyte.gz" in said
    assert "https://storage.googleapis.com/cvdf-datasets/mnist/" in said
    assert "no route to host" in said
    assert str(folder / "mnist" / "train-images-idx3-ubyte.gz") in said
    assert "path=" in said
    for load in (data.fashion_mnist, data.cifar10, data.tinyshakespeare):
        with pytest.raises(data.DownloadError, match="put the file at"):
            load()


def test_default_folder_is_of_this_user(monkeypatch):
    monkeypatch.delenv("LIKELY_DATA_DIR", raising=False)
    assert data.data_folder().parts[-2:] == ("likely", "data")
    assert download.TIMEOUT_SECONDS > 0


def test_mnist_from_local_files(shared_data, offline):
    found = data.mnist("test", path=shared_data)
    assert found.X.shape == (10_000, 28, 28)
    assert found.X.dtype == np.uint8
    np.testing.assert_array_equal(found.y[:10], [7, 2, 1, 0, 4, 1, 4, 9, 5, 9])
    assert np.bincount(found.y).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009
    ]  # fmt: skip
    assert found.X[0, 7, 6:10].tolist() == [84, 185, 159, 151]


def test_local_copies_have_the_checksums_of_the_catalogue(shared_data, folder, offline):
    """Placed by hand where the sentence says, files are verified and used."""
    place = folder / "mnist"
    place.mkdir(parents=True)
    for part, kind in (("images", "idx3"), ("labels", "idx1")):
        source = shared_data / f"mnist-t10k-{part}.{kind}.gz"
        (place / f"t10k-{part}-{kind}-ubyte.gz").write_bytes(source.read_bytes())
    assert len(data.mnist("test")) == 10_000
    text = shared_data / "tinyshakespeare.txt"
    found = hashlib.sha256(text.read_bytes()).hexdigest()
    assert found == catalogue.TINYSHAKESPEARE.sha256
    assert text.stat().st_size == catalogue.TINYSHAKESPEARE.size


def test_tinyshakespeare_from_a_local_file(shared_data):
    text = data.tinyshakespeare(path=shared_data / "tinyshakespeare.txt")
    assert text.startswith("First Citizen:\nBefore we proceed any further")
    assert len(text) == 1_115_394
    assert len(set(text)) == 65


def test_text_that_is_none_is_a_sentence(tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(data.TableError, match="cannot be read as text"):
        data.tinyshakespeare(path=tmp_path / "bad.txt")


def cifar_part(rows: int, first: int) -> bytes:
    """Images whose bytes tell row and channel."""
    parts = []
    for i in range(rows):
        planes = [np.full(1024, 10 * channel + i, np.uint8) for channel in range(3)]
        parts.append(bytes([first + i]) + b"".join(plane.tobytes() for plane in planes))
    return b"".join(parts)


@pytest.mark.parametrize("packed", [False, True])
def test_cifar10_from_local_files(packed, tmp_path):
    parts = {f"data_batch_{i}.bin": cifar_part(2, i) for i in range(1, 6)}
    parts["test_batch.bin"] = cifar_part(3, 0)
    path = tmp_path / "cifar-10-batches-bin"
    if packed:
        path = tmp_path / "cifar-10-binary.tar.gz"
        with tarfile.open(path, "w:gz") as tar:
            for name, content in parts.items():
                member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    else:
        path.mkdir()
        for name, content in parts.items():
            (path / name).write_bytes(content)
    train = data.cifar10(path=path)
    assert train.X.shape == (10, 32, 32, 3)
    assert train.y.tolist() == [1, 2, 2, 3, 3, 4, 4, 5, 5, 6]
    assert train.X[1, 5, 7].tolist() == [1, 11, 21]
    test = data.cifar10("test", path=path)
    assert test.y.tolist() == [0, 1, 2]
    assert test.target_names[0] == "airplane"


def test_wrong_local_files_are_sentences(tmp_path):
    (tmp_path / "test_batch.bin").write_bytes(b"short")
    with pytest.raises(data.TableError, match="5 bytes of test_batch.bin"):
        data.cifar10("test", path=tmp_path)
    (tmp_path / "x.tar.gz").write_bytes(b"no archive")
    with pytest.raises(data.TableError, match="is it whole"):
        data.cifar10("test", path=tmp_path / "x.tar.gz")
    with pytest.raises(data.DownloadError, match=r"holds no file like '\*train-images"):
        data.mnist(path=tmp_path)
    with pytest.raises(InputError, match="give 'train' or 'test'"):
        data.mnist("validation", path=tmp_path)


def test_images_and_labels_must_belong_together(tmp_path):
    (tmp_path / "t10k-images").write_bytes(b"\0\0\x08\x03" + b"\0\0\0\1" * 3 + b"x")
    (tmp_path / "t10k-labels").write_bytes(b"\0\0\x08\x01\0\0\0\2xy")
    with pytest.raises(data.DownloadError, match="belong together"):
        data.fashion_mnist("test", path=tmp_path)
