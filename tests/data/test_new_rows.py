"""A row is read alone as it is among others, from a file or a frame of any make."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from likely.core.checks import InputError
from likely.data import Schema, open_table, to_arrow
from likely.data.new_rows import read_new, readings_of, with_readings
from likely.preprocess import TableEncoder

N = 40


def dates(rng, form):
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 360, N), "D")
    return [day.strftime(form) for day in days]


def with_gaps(rng, values):
    values = np.asarray(values, object)
    values[rng.random(N) < 0.1] = None
    return values


KINDS = {
    "two words": lambda rng: rng.choice(["F", "M"], N),
    "words like truth values": lambda rng: rng.choice(["N", "Y", "Bern"], N),
    "yes and no": lambda rng: rng.choice(["yes", "no"], N),
    "digits and words": lambda rng: rng.choice(["1.0", "2", "x"], N),
    "codes with zeros": lambda rng: rng.choice(["0007", "0012", "0101"], N),
    "whole numbers": lambda rng: rng.integers(0, 50, N),
    "few whole numbers": lambda rng: rng.choice([101, 205, 307], N),
    "long codes": lambda rng: rng.choice([10**17 + 1, 10**17 + 3, 10**17 + 5], N),
    "numbers": lambda rng: rng.normal(size=N).round(4),
    "words with gaps": lambda rng: with_gaps(rng, rng.choice(["a", "b b", "ç"], N)),
    "dates": lambda rng: dates(rng, "%Y-%m-%d"),
    "American dates": lambda rng: dates(rng, "%m/%d/%Y"),
    "German dates": lambda rng: dates(rng, "%d.%m.%Y"),
}


def learned(path):
    """How a file is encoded, and how its cells are read."""
    file = open_table(path)
    frame = file.read()
    schema = with_readings(Schema.infer(frame), frame, readings_of(frame, file))
    schema = Schema.from_json(schema.to_json())
    encoder = TableEncoder(schema=schema, categories="ordinal", scale=False).fit(frame)

    def encode(source):
        levels = dict(zip(encoder.words_, encoder.seen_, strict=True))
        return encoder.transform(read_new(source, schema, levels))

    return encode, encoder.transform(frame)


@pytest.mark.parametrize(
    "seeds", [range(6), pytest.param(range(6, 200), marks=pytest.mark.slow)]
)
def test_a_row_is_read_alone_as_among_others(seeds, tmp_path):
    csv, one = tmp_path / "all.csv", tmp_path / "one.csv"
    for seed in seeds:
        rng = np.random.default_rng(seed)
        names = rng.choice(list(KINDS), 5, replace=False)
        frame = pd.DataFrame({name: KINDS[name](rng) for name in names})
        frame.to_csv(csv, index=False)
        encode, expected = learned(csv)
        np.testing.assert_array_equal(encode(csv), expected)
        frame[::-1].to_csv(csv, index=False)
        np.testing.assert_array_equal(encode(csv), expected[::-1])
        for i in rng.choice(N, 3, replace=False):
            frame.iloc[[i]].to_csv(one, index=False)
            np.testing.assert_array_equal(encode(one), expected[[i]])
            np.testing.assert_array_equal(encode(frame.iloc[[i]]), expected[[i]])
        frame.to_parquet(tmp_path / "all.parquet")
        np.testing.assert_array_equal(encode(tmp_path / "all.parquet"), expected)
        np.testing.assert_array_equal(encode(pl.from_pandas(frame)), expected)
        np.testing.assert_array_equal(encode(frame), expected)


def test_a_code_is_the_same_with_a_fraction_of_zero(tmp_path):
    """As pandas writes whole numbers beside missing ones."""
    (tmp_path / "a.csv").write_text("k,x\n" + "101,1.5\n205,2.5\n307,0.5\n" * 20)
    file = open_table(tmp_path / "a.csv")
    frame = file.read()
    schema = Schema.infer(frame, kinds={"k": "code"})
    schema = with_readings(schema, frame, readings_of(frame, file))
    (tmp_path / "b.csv").write_text("k,x\n101.0,1\n,2\n307,3\n")
    assert read_new(tmp_path / "b.csv", schema)["k"].to_pylist() == ["101", None, "307"]


def test_a_semicolon_in_a_cell_is_no_delimiter(tmp_path):
    (tmp_path / "a.csv").write_text("x,words\n" + "1,a;b\n2,c;d\n3.5,e;f\n" * 8)
    encode, expected = learned(tmp_path / "a.csv")
    (tmp_path / "one.csv").write_text("x,words\n2,c;d\n")
    np.testing.assert_array_equal(encode(tmp_path / "one.csv"), expected[[1]])


def test_a_decimal_comma_is_kept(tmp_path):
    (tmp_path / "a.csv").write_text("x;k\n" + "1,5;2\n2;3\n3,25;9\n" * 8)
    encode, expected = learned(tmp_path / "a.csv")
    (tmp_path / "one.csv").write_text("x;k\n2;3\n")
    np.testing.assert_array_equal(encode(tmp_path / "one.csv"), expected[[1]])
    (tmp_path / "one.csv").write_text("x;k\n1,5;2,5\n")
    assert encode(tmp_path / "one.csv").tolist() == [[1.5, 2.5]]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("abc,yes,03/10/2024", "'x' has 'abc' in row 1, which is no number"),
        ("1,maybe,03/10/2024", "'flag' has 'maybe' in row 1, which is no boolean"),
        ("1,no,2024-03-10", "'day' has '2024-03-10' in row 1, .* form %m/%d/%Y"),
    ],
)
def test_a_cell_that_does_not_fit_is_named(cells, words, tmp_path):
    rows = "1,yes,03/10/2024\n2,no,12/31/2024\n2.5,yes,01/02/2024\n" * 8
    (tmp_path / "a.csv").write_text("x,flag,day\n" + rows)
    encode, _ = learned(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text(f"x,flag,day\n1,yes,03/10/2024\n{cells}\n")
    with pytest.raises(InputError, match=words):
        encode(tmp_path / "b.csv")


def test_frames_of_objects(tmp_path):
    frame = pd.DataFrame({"k": [1.0, "x", True, "x"] * 8, "v": range(32)})
    schema = Schema.infer(to_arrow(frame))
    schema = schema.with_readings(readings_of(to_arrow(frame)))
    whole = read_new(frame, schema)["k"].to_pylist()
    alone = [
        read_new(frame.iloc[[i]], schema)["k"].to_pylist()[0] for i in range(len(frame))
    ]
    assert alone == whole
