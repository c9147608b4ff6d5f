"""Frames of every make become the same Arrow table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from likely.core import InputError
from likely.data import open_table, to_arrow
from likely.data.frames import weighted_chunks

COLUMNS = {"x": [1.5, None, 3.0], "i": [1, 2, 3], "s": ["a", None, "c"]}
FRAMES = {
    "pandas": pd.DataFrame(COLUMNS),
    "pandas with an index": pd.DataFrame(COLUMNS, index=[5, 9, 7]),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
    "batch": pa.RecordBatch.from_pydict(COLUMNS),
    "dictionary": COLUMNS,
}


@pytest.mark.parametrize("name", FRAMES)
def test_every_make_gives_the_same(name):
    table = to_arrow(FRAMES[name])
    assert table.column_names == ["x", "i", "s"]
    assert table.to_pydict() == COLUMNS


def test_arrays():
    table = to_arrow(np.array([[1.0, np.nan], [3.0, 4.0]]))
    assert table.to_pydict() == {"x0": [1.0, 3.0], "x1": [None, 4.0]}
    mixed = to_arrow(np.array([["a", 1], [None, 2]], dtype=object))
    assert mixed.to_pydict() == {"x0": ["a", None], "x1": [1, 2]}
    with pytest.raises(InputError, match=r"array of shape \(3,\)"):
        to_arrow(np.ones(3))


def test_files(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n")
    assert to_arrow(open_table(tmp_path / "t.csv")).to_pydict() == {
        "a": [1],
        "b": ["x"],
    }


def test_objects_of_several_types_become_text():
    frame = pd.DataFrame({"a": [1, "x", None, float("nan"), 2.5]}, dtype=object)
    assert to_arrow(frame)["a"].to_pylist() == ["1", "x", None, None, "2.5"]


def test_columns_may_be_called_like_a_file():
    names = ["path", "names", "notes", "read"]
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=names)
    assert to_arrow(frame).column_names == names


def test_names_that_are_no_text():
    assert to_arrow(pd.DataFrame(np.ones((2, 2)))).column_names == ["0", "1"]


WRONG = {
    "a name twice": (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a'"),
    "twice in Arrow": (pa.table([[1], [2]], names=["a", "a"]), "'a' appears more than"),
    "no columns": (pd.DataFrame(), "no columns"),
    "lengths": ({"a": [1], "b": [1, 2]}, "different lengths"),
    "lazy": (pl.LazyFrame({"a": [1]}), "the frame cannot be read|array of shape"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_a_sentence(name):
    frame, sentence = WRONG[name]
    with pytest.raises(InputError, match=sentence):
        to_arrow(frame)


def test_rows_without_weight_are_left_out():
    frame = pa.table({"a": [1, 2, 3]})
    ((chunk, w),) = weighted_chunks(frame, [1.0, 0.0, 2.0])
    assert chunk["a"].to_pylist() == [1, 3]
    assert w.tolist() == [1.0, 2.0]
    for weights in ([1.0, 1.0], [1.0] * 4):
        with pytest.raises(InputError, match="give one weight for each row"):
            list(weighted_chunks(frame, weights))
    with pytest.raises(InputError, match=r"sample_weight is -1\.0 in row 1"):
        list(weighted_chunks(frame, [1.0, -1.0, 1.0]))
