"""Parquet and Arrow files: mapped, in chunks, and refused where damaged."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from likely.data import TableError, TableFile, open_table, read_table, table_file


def write_stream(table: pa.Table, path) -> None:
    with (
        pa.OSFile(str(path), "wb") as out,
        pa.ipc.new_stream(out, table.schema) as file,
    ):
        file.write_table(table, max_chunksize=100)


WRITERS = {
    "parquet": parquet.write_table,
    "feather": feather.write_feather,
    "stream": write_stream,
}


@pytest.fixture
def table(rng) -> pa.Table:
    n = 1000
    return pa.table(
        {
            "x": rng.normal(size=n),
            "s": pa.array(rng.choice(["a", "b"], n)).dictionary_encode(),
            "t": pa.array(rng.integers(0, 10**9, n), pa.timestamp("s")),
        }
    )


@pytest.mark.parametrize("kind", WRITERS)
def test_round_trip_whole_and_in_chunks(kind, table, tmp_path, monkeypatch):
    monkeypatch.setattr(table_file, "CHUNK_ROWS", 300)
    path = tmp_path / "any.name"
    WRITERS[kind](table, path)
    file = open_table(path)
    assert isinstance(file, TableFile)
    assert file.names == ("x", "s", "t")
    assert file.notes == ()
    assert file.read().to_pylist() == table.to_pylist()
    chunks = list(file)
    assert pa.concat_tables(chunks).to_pylist() == table.to_pylist()
    assert kind == "feather" or len(chunks) > 3


def test_mapped_files_take_no_memory(table, tmp_path):
    big = pa.concat_tables([table.drop_columns(["s"])] * 500)
    feather.write_feather(big, tmp_path / "t.arrow", compression="uncompressed")
    before = pa.total_allocated_bytes()
    found = read_table(tmp_path / "t.arrow")
    assert found.num_rows == 500_000
    assert pa.total_allocated_bytes() - before < 1 << 20


@pytest.mark.parametrize("kind", WRITERS)
def test_no_rows_and_no_columns_are_sentences(kind, table, tmp_path):
    WRITERS[kind](table.slice(0, 0), tmp_path / "t")
    with pytest.raises(TableError, match="has no rows"):
        read_table(tmp_path / "t")
    WRITERS[kind](pa.table({}), tmp_path / "t")
    with pytest.raises(TableError, match="has no columns|has no rows"):
        read_table(tmp_path / "t")


@pytest.mark.parametrize("kind", WRITERS)
def test_names_twice_are_a_sentence(kind, tmp_path):
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    if kind == "feather":
        out = pa.OSFile(str(tmp_path / "t"), "wb")
        with out, pa.ipc.new_file(out, twice.schema) as file:
            file.write_table(twice)
    else:
        WRITERS[kind](twice, tmp_path / "t")
    with pytest.raises(TableError, match="column 'a': appears more than once"):
        read_table(tmp_path / "t")


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("keep", [12, 200, -40])
def test_cut_files_are_sentences(kind, keep, table, tmp_path):
    path = tmp_path / "t"
    WRITERS[kind](table, path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(TableError, match="'.*t': (is damaged|has no)"):
        read_table(path)


@pytest.mark.parametrize("kind", ["csv.gz", "parquet"])
def test_a_small_file_that_becomes_huge_is_a_sentence(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("likely.data.errors.MAX_BYTES", 1 << 20)
    path = tmp_path / f"bomb.{kind}"
    if kind == "parquet":
        parquet.write_table(pa.table({"a": np.zeros(2_000_000, np.int32)}), path)
    else:
        path.write_bytes(gzip.compress(b"a,b\n" + b"1,1\n" * 2_000_000))
    with pytest.raises(TableError, match="100 times as large"):
        read_table(path)
    assert sum(len(chunk) for chunk in open_table(path)) == 2_000_000
