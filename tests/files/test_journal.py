"""A journal loses at most the line that was being written, and refuses what is not its own."""

import json

import pytest

from likely.files import FileError
from likely.files.journal import BEGINNING, Journal

HEADER = {"about": "numbers"}
ENTRIES = [{"trial": i, "score": 0.1 * i} for i in range(3)]


def opened(path, header=HEADER):
    def compare(saved, now):
        if saved != now:
            raise FileError("another one")

    return Journal(path, "test", header, compare)


@pytest.fixture
def whole(tmp_path):
    """The bytes of a journal with all entries."""
    path = tmp_path / "whole.jsonl"
    with opened(path) as journal:
        for entry in ENTRIES:
            journal.append(entry)
    return path.read_bytes()


def test_what_is_written_is_read_back(tmp_path, whole):
    path = tmp_path / "whole.jsonl"
    with opened(path) as journal:
        assert journal.header == {"journal": "test", **HEADER}
        assert journal.entries == ENTRIES
    lines = whole.decode().splitlines()
    assert all("checksum" in json.loads(line) for line in lines)
    assert whole.startswith(BEGINNING)


def test_cut_anywhere_it_goes_on_to_the_same_bytes(tmp_path, whole):
    path = tmp_path / "cut.jsonl"
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for length in {*range(0, len(whole), 9), *ends[:-1], *(end - 1 for end in ends)}:
        path.write_bytes(whole[:length])
        with opened(path) as journal:
            complete = sum(end <= length for end in ends)
            assert len(journal.entries) == max(0, complete - 1)
            for entry in ENTRIES[len(journal.entries) :]:
                journal.append(entry)
        assert path.read_bytes() == whole


def test_a_last_line_that_was_overwritten_is_dropped_and_an_earlier_one_refused(
    tmp_path, whole
):
    path = tmp_path / "damaged.jsonl"
    *_, last, _ = whole.split(b"\n")
    path.write_bytes(whole.replace(last, b"\0" * len(last)))
    with opened(path) as journal:
        assert journal.entries == ENTRIES[:-1]
    path.write_bytes(whole.replace(b'"score": 0.0', b'"score": 9.0'))
    with pytest.raises(FileError, match="line 2 of the journal .* is damaged"):
        opened(path)


def test_other_files_are_left_as_they_are(tmp_path, whole):
    for text in ("my notes", "one\ntwo\n", "{}\n", '{"journey": 1}'):
        path = tmp_path / "notes.txt"
        path.write_text(text)
        with pytest.raises(FileError, match="is no journal; it is left as it is"):
            opened(path)
        assert path.read_text() == text
    path = tmp_path / "whole.jsonl"
    with pytest.raises(FileError, match="another one"):
        opened(path, {"about": "words"})
    assert path.read_bytes() == whole


def test_two_programs_do_not_write_to_one_journal(tmp_path):
    pytest.importorskip("fcntl")
    path = tmp_path / "one.jsonl"
    with (
        opened(path),
        pytest.raises(FileError, match="another program is writing"),
    ):
        opened(path)
    opened(path).close()


def test_numbers_that_json_does_not_have_are_refused(tmp_path):
    with (
        opened(tmp_path / "nan.jsonl") as journal,
        pytest.raises(ValueError, match="JSON"),
    ):
        journal.append({"score": float("nan")})
