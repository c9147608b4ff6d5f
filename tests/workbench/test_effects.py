"""Shuffling encoded columns is shuffling the columns of the table."""

import numpy as np
import pyarrow as pa
import pytest

from likely.data.schema import Schema
from likely.preprocess import TableEncoder
from likely.workbench.effects import with_columns
from likely.workbench.fitted import ENCODINGS, EncodedRows


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 60
    days = np.datetime64("2024-01-01") + rng.integers(0, 900, n)
    return pa.table(
        {
            "size": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.2),
            "town": pa.array(rng.choice(["a", "b", "c"], n), mask=rng.random(n) < 0.2),
            "sold": pa.array(days.astype("datetime64[D]")),
            "paid": pa.array(rng.random(n) < 0.5),
        }
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encoded_columns_are_those_of_the_table(frame, encoding):
    schema = Schema.infer(frame)
    settings = {"max_categories": 30, **ENCODINGS[encoding]}
    encoder = TableEncoder(schema=schema, **settings).fit(frame)
    rows = EncodedRows.of(encoder, frame, None)
    places = encoder.places()
    assert sorted(j for own in places.values() for j in own) == [
        *range(rows.X.shape[1])
    ]
    order = np.random.default_rng(1).permutation(len(frame))
    for columns in (["size"], ["town", "sold"], ["paid"]):
        shuffled = frame
        for column in columns:
            index = frame.column_names.index(column)
            values = frame[column].take(pa.array(order))
            shuffled = shuffled.set_column(index, column, values)
        expected = EncodedRows.of(encoder, shuffled, None)
        found = with_columns(rows, rows, order, places, columns)
        np.testing.assert_array_equal(found.X, expected.X)
        np.testing.assert_array_equal(found.codes, expected.codes)
