"""CSV and TSV: any dialect, the same types whole or in chunks, errors that say where."""

import bz2
import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from hypothesis import given, strategies as st

from likely.data import TableError, cells, open_table, read_table, text_cells


@pytest.fixture
def write(tmp_path):
    """A function that writes text or bytes to a file and returns its path."""

    def to_file(content, name="table.csv", encoding="utf-8"):
        path = tmp_path / name
        content = content.encode(encoding) if isinstance(content, str) else content
        path.write_bytes(content)
        return path

    return to_file


def types(table: pa.Table) -> list[str]:
    return [str(kind) for kind in table.schema.types]


# What it reads ------------------------------------------------------------------------

CELLS = {
    "integer": (["1", "-20", "300"], "int64", [1, -20, 300]),
    "number": (["1", "2.5", "-3e-2"], "double", [1, 2.5, -0.03]),
    "signed": (["+1", "2.5", ".5"], "double", [1, 2.5, 0.5]),
    "endless": (["inf", "-inf", "1"], "double", [np.inf, -np.inf, 1]),
    "spaces": ([" 1", "2 ", " 3 "], "int64", [1, 2, 3]),
    "leading zeros": (["007", "010", "123"], "string", ["007", "010", "123"]),
    "nineteen digits": (
        ["6095693498571634713", "1"],
        "string",
        ["6095693498571634713", "1"],
    ),
    "zeros": (["0", "10", "20"], "int64", [0, 10, 20]),
    "too long": (["9" * 25, "1", "2"], "string", ["9" * 25, "1", "2"]),
    "booleans": (["true", "False", "TRUE"], "bool", [True, False, True]),
    "yes or no": (["yes", "no", "Yes"], "bool", [True, False, True]),
    "words": (["a", "1", "true"], "string", ["a", "1", "true"]),
    "thousands": (['"1,000"', "2", "3"], "double", [1000, 2, 3]),
    "unicode": (["é", "日本", "ß"], "string", ["é", "日本", "ß"]),
}


@pytest.mark.parametrize("name", CELLS)
def test_types_are_told_from_the_text(name, write):
    cells, kind, values = CELLS[name]
    table = read_table(write("a,b\n" + "".join(f"{cell},x\n" for cell in cells)))
    assert types(table)[0] == kind
    assert table["a"].to_pylist() == values


DATES = {
    "iso": (["2024-02-29", "1999-12-31"], "2024-02-29", "1999-12-31"),
    "moment": (
        ["2024-02-29 13:05", "1999-12-31 00:00"],
        "2024-02-29T13:05",
        "1999-12-31",
    ),
    "zone": (
        ["2024-02-29T13:05:00+02:00", "1999-12-31T00:00:00Z"],
        "2024-02-29T11:05",
        "1999-12-31",
    ),
    "german": (["29.2.2024", "31.12.1999"], "2024-02-29", "1999-12-31"),
    "british": (["29/02/2024", "31/12/1999"], "2024-02-29", "1999-12-31"),
    "american": (["02/29/2024", "12/31/1999 "], "2024-02-29", "1999-12-31"),
    "with hours": (
        ["29/02/2024 13:05", "31/12/1999 00:00"],
        "2024-02-29T13:05",
        "1999-12-31",
    ),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_are_told_from_the_text(name, write):
    cells, *moments = DATES[name]
    table = read_table(write("a,b\n" + "".join(f"{cell},x\n" for cell in cells)))
    assert types(table)[0] == "timestamp[us]"
    found = table["a"].to_numpy().astype("datetime64[m]")
    np.testing.assert_array_equal(found, np.array(moments, "datetime64[m]"))


@pytest.mark.parametrize(
    "cells",
    [["01/02/2024", "03/04/2024"], ["1.2.21", "3.4.22"], ["2024-02-30", "2024-01-01"]],
)
def test_doubtful_dates_stay_text(cells, write):
    """Day or month first; years of two digits; days that do not exist."""
    table = read_table(write("a,b\n" + "".join(f"{cell},x\n" for cell in cells)))
    assert types(table)[0] == "string"


def test_missing_values(write):
    table = read_table(write('a,b,c\n1,,NA\n,x,\nNaN,"","None"\n'))
    assert table["a"].to_pylist() == [1, None, None]
    assert table["b"].to_pylist() == [None, "x", None]
    assert table["c"].null_count == 3
    assert types(table) == ["int64", "string", "double"]
    other = read_table(write("a,b\n1,?\n-,x\n"), missing=("?", "-"))
    assert other.to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": "x"}]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_told(delimiter, write):
    rows = [["a", "b", "c"], ["1", "x y", "2.5"], ["2", "z", "3.5"]]
    text = "\n".join(delimiter.join(row) for row in rows)
    table = read_table(write(text))
    assert table.column_names == ["a", "b", "c"]
    assert types(table) == ["int64", "string", "double"]


def test_decimal_commas_between_semicolons(write):
    table = read_table(write("a;b\n1,5;x\n-2,25;y\n3;z\n"))
    assert table["a"].to_pylist() == [1.5, -2.25, 3.0]
    tabbed = read_table(write("a\tb\n1,500\tx\n", "table.tsv"))
    assert tabbed["a"].to_pylist() == [1500]


def test_tsv_by_its_name(write):
    table = read_table(write("a,b\n1,2\n", "table.tsv"))
    assert table.column_names == ["a,b"]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "cp1252"]
)
def test_encodings(encoding, write):
    text = "näme,b\nZürich,1\nGenève,2\n"
    marked = "\ufeff" + text if encoding == "utf-16-be" else text
    file = open_table(write(marked, encoding=encoding))
    table = file.read()
    assert table.column_names == ["näme", "b"]
    assert table["näme"].to_pylist() == ["Zürich", "Genève"]
    assert ("read as cp1252" in " ".join(file.notes)) == (encoding == "cp1252")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_and_quotes(newline, write):
    text = 'a,b\n"x, y",1\n"two ""quotes""",2\n"two\nlines",3\n\n5" pipe,4\n'
    table = read_table(write(text.replace("\n", newline)))
    expected = ["x, y", 'two "quotes"', f"two{newline}lines", '5" pipe']
    assert table["a"].to_pylist() == expected
    assert table["b"].to_pylist() == [1, 2, 3, 4]


def test_headers(write):
    file = open_table(write("a, a ,,b\n1,2,3,x\n"))
    assert file.names == ("a", "a_2", "column_3", "b")
    assert "column 2 is called 'a' like another: 'a_2'" in file.notes
    tricky = open_table(write("a_2,a,a,a\n1,2,3,x\n"))
    assert tricky.names == ("a_2", "a", "a_3", "a_4")
    bare = open_table(write("1,2\n3,4\n"))
    assert bare.names == ("column_1", "column_2")
    assert "no header" in bare.notes[0]
    assert bare.read()["column_1"].to_pylist() == [1, 3]
    assert read_table(write("2001,2002\n3,4\n"), header=True).column_names == [
        "2001",
        "2002",
    ]
    assert len(read_table(write("a,b\nc,d\n"), header=False)) == 2


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_compressed_text(pack, write):
    table = read_table(write(pack(b"a,b\n1,x\n2,y\n"), "table.csv.packed"))
    assert table["a"].to_pylist() == [1, 2]


def test_readings_can_be_given(write):
    path = write("zip,when,n\n123,01/02/2024,5\n456,03/04/2024,6\n")
    readings = {"zip": "text", "when": "date %d/%m/%Y", "n": "number"}
    table = read_table(path, readings=readings)
    assert types(table) == ["string", "timestamp[us]", "double"]
    assert table["when"][0].as_py().month == 2


def test_agrees_with_pandas(write, rng):
    """An independent reader, on numbers, words and missing values."""
    n = 500
    frame = pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "i": rng.integers(-1000, 1000, n),
            "s": rng.choice(["red", "green", "blue, dark", 'a "b"'], n),
            "b": rng.random(n) < 0.5,
        }
    )
    text = frame.to_csv(index=False)
    found = read_table(write(text)).to_pandas()
    expected = pd.read_csv(io.StringIO(text))
    for name in frame:
        assert found[name].tolist() == pytest.approx(
            expected[name].tolist(), nan_ok=True
        )


# Chunks -------------------------------------------------------------------------------


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(text_cells, "BLOCK_BYTES", 256)


def test_chunks_hold_what_the_whole_holds(write, small_blocks, rng):
    """Types that only the last rows tell are right from the first chunk on."""
    rows = [f"{i},{i}.5,{i},2024-01-{i % 28 + 1:02},w{i % 3}" for i in range(300)]
    rows[-1] = "0.25,oops,,01/02/2024,w0"
    path = write("late,words,gone,dates,w\n" + "\n".join(rows) + "\n")
    file = open_table(path)
    chunks = list(file)
    assert len(chunks) > 10
    whole = open_table(path).read()
    assert (
        pa.concat_tables(chunks).equals(whole.combine_chunks())
        or pa.concat_tables(chunks).to_pydict() == whole.to_pydict()
    )
    assert types(whole) == ["double", "string", "int64", "string", "string"]
    assert whole["words"].to_pylist()[:2] == ["0.5", "1.5"]
    assert whole["late"].to_pylist()[-1] == 0.25
    assert file.read().schema == whole.schema


def test_quoted_newlines_across_chunks(write, small_blocks):
    rows = "".join(f'{i},"line one\nline two of {i}"\n' for i in range(100))
    table = read_table(write("a,b\n" + rows))
    assert table["a"].to_pylist() == list(range(100))
    assert table["b"][99].as_py() == "line one\nline two of 99"


def test_row_longer_than_a_chunk_is_a_sentence(write, small_blocks):
    path = write("a,b\n1,x\n2," + "y" * 900 + "\n3,z\n")
    with pytest.raises(TableError, match="is a quote opened and not closed"):
        read_table(path)


# Errors -------------------------------------------------------------------------------

BROKEN = {
    "few cells": (
        "a,b\n1,2\n3\n4,5\n",
        "line 3: has 1 cells where the first row has 2",
    ),
    "many cells": (
        "a,b\n1,2\n3,4,5\n",
        "line 3: has 3 cells where the first row has 2",
    ),
    "after a blank": ("a,b\n\n1,2\n\n3\n", "line 5: has 1 cells"),
    "after two lines": ('a,b\n1,"x\ny"\n3\n', "line 4: has 1 cells"),
    "open quote": ('a,b\n1,"x\n3,4\n', "line 2: the quote before 'x.n3,4.n' is never"),
    "open early": ('a,b\n"1,x\n3,4\n', "line 2: has 1 cells"),
    "no rows": ("a,b\n", "has a header but no rows"),
    "no rows at all": ("a,b", "has a header but no rows"),
    "blank lines": ("\n\n\n", "nothing but blank lines"),
    "empty": ("", "is empty"),
    "zero bytes": ("a,b\n1,\0\n", "line 2: holds zero bytes"),
    "not text": (bytes(range(1, 32)) * 9, "is not text"),
    "a zip": (b"PK\x03\x04rest", "save it as CSV"),
    "cut gzip": (gzip.compress(b"a,b\n1,2\n" * 99)[:-9], "is it whole"),
    "half a mark": (b"\xff\xfea\0,\0b", "cannot be read as a table|no rows"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_a_sentence(name, write):
    content, sentence = BROKEN[name]
    with pytest.raises(TableError, match=sentence) as raised:
        read_table(write(content))
    assert "table.csv" in str(raised.value)


def test_invalid_text_late_in_a_file(write, monkeypatch):
    """Beyond what was looked at to tell the encoding."""
    from likely.data import dialect

    monkeypatch.setattr(dialect, "SAMPLE_BYTES", 64)
    path = write(b"a,b\n" + b"1,x\n" * 40 + b"2,\xff\n" + b"1,x\n" * 9)
    with pytest.raises(TableError, match=r"line 42, column 'b': is not valid UTF-8"):
        read_table(path)
    table = read_table(path, encoding="latin-1")
    assert table["b"][40].as_py() == "ÿ"


def test_cell_that_does_not_fit_is_named(write):
    path = write("a,b\n1,x\n2,y\n\noops,z\n")
    with pytest.raises(TableError, match=r"line 5, column 'a': 'oops' is no number"):
        read_table(path, readings={"a": "number"})


def test_ragged_rows_can_be_skipped(write):
    path = write("a,b\n1,2\n3\n4,5,6\n7,8\n")
    assert read_table(path, ragged="skip")["a"].to_pylist() == [1, 7]
    with pytest.raises(TableError, match="give 'error' or 'skip'"):
        read_table(path, ragged="repair")


def test_options_that_are_wrong_are_sentences(write):
    path = write("a,b\n1,2\n")
    with pytest.raises(
        TableError, match=r"column 'c': has no such column; there are a, b"
    ):
        read_table(path, readings={"c": "text"})
    with pytest.raises(TableError, match="cannot be read as 'float', only as boolean"):
        read_table(path, readings={"a": "float"})
    with pytest.raises(TableError, match="unknown encoding"):
        read_table(path, encoding="utf-9")
    with pytest.raises(TableError, match="is not text in ascii"):
        read_table(write("ä,b\n1,2\n"), encoding="ascii")


def test_places_that_are_no_files(tmp_path):
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(TableError, match="cannot be opened"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(TableError, match="cannot be opened"):
        read_table("a\0b.csv")


def test_what_arrow_writes_comes_back(tmp_path, rng):
    table = pa.table({"x": rng.normal(size=50), "s": rng.choice(["a", "b"], 50)})
    pacsv.write_csv(table, tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv").equals(table)


PIECES = (
    "1", "-2", "007", "0", "0.5", "2.5", "1e3", " 7 ", "1,5", "9" * 19, "9" * 25, "true",
    "no", "t", "y", "2024-01-31", "31.01.2024", "31/01/2024", "01/02/2024", "x", None,
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), min_size=2, max_size=6), st.integers(1, 5))
def test_readings_do_not_depend_on_how_a_column_is_cut(column, place):
    every = list(cells.READINGS)
    text = pa.array(column, pa.string())
    whole = cells.narrow(text, every)
    parts = cells.narrow(text[place:], cells.narrow(text[:place], every))
    assert cells.choose(whole) == cells.choose(parts)
    assert set(whole) == set(parts)
