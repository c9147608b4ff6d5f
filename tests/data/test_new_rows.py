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


def prices(rng):
    return rng.choice([3.5, 20, 999, 1234, 1234567.25], N)


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
    "dollars": lambda rng: [f"${x:,.2f}" for x in prices(rng)],
    "thousands": lambda rng: [f"{x:,.0f}" for x in prices(rng)],
    "German numbers": lambda rng: [
        f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in prices(rng)
    ],
    "French numbers": lambda rng: [
        f"{x:,.2f}".translate({44: "\u202f", 46: ","}) for x in prices(rng)
    ],
    "Swiss numbers": lambda rng: [f"{x:,.1f}".replace(",", "'") for x in prices(rng)],
    "accounts": lambda rng: [
        f"({x:,.2f})" if rng.random() < 0.3 else f"{x:,.2f}" for x in prices(rng)
    ],
    "percent": lambda rng: [f"{x:.1f}%" for x in rng.normal(size=N)],
    "units": lambda rng: [f"{x:.1f} kg" for x in rng.random(N)],
    "scales": lambda rng: rng.choice(["€1.5M", "€300K", "€0"], N),
    "numbers and marks": lambda rng: rng.choice(["1.5", "20", "?"], N),
    "ranges": lambda rng: rng.choice(["<10k", "10k-20k", "20k-30k", "30k+"], N),
    "top code": lambda rng: rng.choice(["0", "1", "2", "3+"], N),
    "telephones": lambda rng: rng.choice(["612 345 678", "698 765 432"], N),
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
        names = np.roll(list(KINDS), -5 * seed)[:5]  # each of them, then at random
        if 5 * seed >= len(KINDS):
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
        frame.to_json(tmp_path / "all.jsonl", orient="records", lines=True)
        np.testing.assert_array_equal(encode(tmp_path / "all.jsonl"), expected)
        titled = f"Report of 2024\n\n{csv.read_text()}"
        np.testing.assert_array_equal(encode(titled.encode()), expected[::-1])


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
        ("1,no,03/10/2024,€5", "'price' has '€5' in row 1, .* of the form \\$1,234.5"),
        ("1,no,03/10/2024,$5,old", "'age' has 'old' in row 1, which is no range"),
    ],
)
def test_a_cell_that_does_not_fit_is_named(cells, words, tmp_path):
    good = "1,yes,03/10/2024,$7,20-30"
    rows = f"{good}\n2,no,12/31/2024,$1,30+\n2.5,yes,01/02/2024,$2.50,<20\n" * 8
    (tmp_path / "a.csv").write_text("x,flag,day,price,age\n" + rows)
    encode, _ = learned(tmp_path / "a.csv")
    left = good.split(",")[cells.count(",") + 1 :]
    cells = ",".join([cells, *left])
    (tmp_path / "b.csv").write_text(f"x,flag,day,price,age\n{good}\n{cells}\n")
    with pytest.raises(InputError, match=words):
        encode(tmp_path / "b.csv")


def test_a_new_row_may_have_thousands_where_no_other_had(tmp_path):
    (tmp_path / "a.csv").write_text("x,k,p\n" + '"1,200",3,$5\n"4",9,$7\n' * 8)
    encode, _ = learned(tmp_path / "a.csv")
    (tmp_path / "one.csv").write_text('x,k,p\n5,"2,000","$1,000"\n')
    assert encode(tmp_path / "one.csv").tolist() == [[5, 2000, 1000]]


def test_frames_of_objects(tmp_path):
    frame = pd.DataFrame({"k": [1.0, "x", True, "x"] * 8, "v": range(32)})
    schema = Schema.infer(to_arrow(frame))
    schema = schema.with_readings(readings_of(to_arrow(frame)))
    whole = read_new(frame, schema)["k"].to_pylist()
    alone = [
        read_new(frame.iloc[[i]], schema)["k"].to_pylist()[0] for i in range(len(frame))
    ]
    assert alone == whole
