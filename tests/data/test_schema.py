"""Schemas: kinds with reasons, overridable, the same from a file, kept as JSON."""

import dataclasses
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from likely.core import InputError
from likely.data import Column, Schema, open_table, read_table, text_cells
from likely.data.schema import KINDS

N = 200
RNG = np.random.default_rng(0)
COLUMNS = {
    "price": (RNG.normal(size=N), "number", "fractions"),
    "rooms": (RNG.integers(1, 8, N), "number", "whole numbers"),
    "cents": (RNG.integers(0, 10**9, N), "number", "whole numbers"),
    "pool": (RNG.integers(0, 2, N), "boolean", "only 0 and 1"),
    "sold": (RNG.random(N) < 0.5, "boolean", "true or false"),
    "zone": (RNG.choice([101, 205, 307, 550], N), "code", "uneven gaps"),
    "postcode": (
        RNG.choice([1000, 2000, 3000], N),
        "code",
        "by the name of the column",
    ),
    "town": (RNG.choice(["Bern", "Basel", "Chur"], N), "category", "3 values"),
    "padded": (RNG.choice(["007", "010"], N), "category", "digits that are codes"),
    "mostly": (
        np.where(np.arange(N) % 10 == 0, "unknown", (np.arange(N) % 7).astype(str)),
        "category",
        "90% are numbers, but not 'unknown'",
    ),
    "built": (np.datetime64("2020-01-01") + np.arange(N), "date", "dates"),
    "note": ([f"a pleasant house number {i}" for i in range(N)], "text", "sentences"),
    "gone": (np.full(N, np.nan), "number", "every value is missing"),
}
FLAGGED = {
    "constant": ("one", [7] * N),
    "identifier by counting": ("n", np.arange(5, 5 + N)),
    "identifier by name": ("customer_id", RNG.permutation(10 * N)[:N]),
    "identifier in words": ("name", [f"k{i:03}" for i in RNG.permutation(N)]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_kinds_and_reasons(name):
    values, kind, reason = COLUMNS[name]
    column = Schema.infer({name: values})[name]
    assert column.kind == kind
    assert reason in column.reason
    assert not column.identifier
    assert column.used == (kind != "text" and name != "gone")


@pytest.mark.parametrize("case", FLAGGED)
def test_constants_and_identifiers(case):
    name, values = FLAGGED[case]
    column = Schema.infer({name: values})[name]
    assert column.constant == (case == "constant")
    assert column.identifier == case.startswith("identifier")
    assert not column.used


def test_missing_values_are_counted():
    half = [None, 3.0] * (N // 2)
    column = Schema.infer({"half": half})["half"]
    assert column.missing == N // 2
    assert not column.constant
    assert "present or missing" in column.reason
    assert Schema.infer({"s": ["a", "", None, "b"]})["s"].missing == 2


def test_frames_that_say_so_are_believed():
    frame = pd.DataFrame({"c": pd.Categorical([f"k{i}" for i in range(N)])})
    assert Schema.infer(frame)["c"].kind == "category"
    enum = pl.DataFrame({"c": pl.Series(["u", "v"], dtype=pl.Categorical)})
    assert Schema.infer(enum)["c"].reason == "the frame says so"


def test_what_cannot_be_encoded_is_text():
    table = pa.table({"lists": [[1], [2]], "bytes": [b"a", b"b"]})
    schema = Schema.infer(table)
    assert [column.kind for column in schema] == ["text", "text"]
    assert "list<" in schema["lists"].reason


@pytest.mark.parametrize(
    "kind",
    [pa.time32("s"), pa.duration("ms"), pa.decimal128(25, 2), pa.uint8(), pa.float16()],
)
def test_odd_types_are_numbers(kind):
    base = pa.array([1, 2, 4, 8]).cast(
        pa.int32() if kind == pa.time32("s") else pa.int64()
    )
    if kind == pa.float16():
        base = pa.array(np.array([1, 2, 4, 8], np.float16))
    column = Schema.infer(pa.table({"c": base.cast(kind)}))["c"]
    assert column.kind == "number"
    assert column.high is not None


@pytest.fixture
def houses(tmp_path):
    frame = pd.DataFrame({name: values for name, (values, *_) in COLUMNS.items()})
    frame.loc[5, "town"] = None
    frame.to_csv(tmp_path / "houses.csv", index=False)
    return tmp_path / "houses.csv"


def test_file_and_table_have_the_same_schema(houses, monkeypatch):
    whole = Schema.infer(read_table(houses))
    monkeypatch.setattr(text_cells, "BLOCK_BYTES", 2000)
    assert len(list(open_table(houses))) > 5
    assert Schema.infer(open_table(houses)) == whole
    assert whole.rows == N


def test_rows_without_weight_are_not_looked_at():
    frame = {"x": [1.5, 2.5, 1e300], "s": ["a", "b", "garbage"]}
    w = [1.0, 1.0, 0.0]
    clean = Schema.infer({"x": [1.5, 2.5], "s": ["a", "b"]})
    assert Schema.infer(frame, sample_weight=w) == clean


def test_kinds_can_be_set():
    schema = Schema.infer(
        {"zip": [1, 2, 3], "id": list(range(3))}, kinds={"zip": "code"}
    )
    assert schema["zip"].kind == "code"
    assert schema["zip"].reason == "set by the user"
    numbered = Schema.infer({"n": np.arange(N)}).with_kinds({"n": "number"})
    assert numbered["n"].used
    with pytest.raises(
        InputError, match="column 'zip' cannot be 'float'; the kinds are"
    ):
        schema.with_kinds({"zip": "float"})
    with pytest.raises(InputError, match="no column 'zipp'; did you mean 'zip'"):
        schema.with_kinds({"zipp": "code"})
    assert schema.drop("zip").names == ("id",)
    with pytest.raises(InputError, match="no column 'price'; there are 'zip', 'id'"):
        schema.drop("price")


def test_no_rows_are_a_sentence():
    with pytest.raises(InputError, match="has no rows"):
        Schema.infer(pa.table({"a": pa.array([], pa.int64())}))


# JSON ---------------------------------------------------------------------------------

TEXT = st.text(max_size=8)
ENDS = st.none() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
COLUMN = st.fixed_dictionaries(
    {
        "name": TEXT,
        "kind": st.sampled_from(KINDS),
        "reason": TEXT,
        "constant": st.booleans(),
        "identifier": st.booleans(),
        "missing": st.integers(0, 99),
        "distinct": st.none() | st.integers(0, 99),
        "low": ENDS,
        "high": ENDS,
        "examples": st.lists(TEXT, max_size=3).map(tuple),
    }
)
FIELDS = st.lists(COLUMN, max_size=3, unique_by=lambda fields: fields["name"])


@given(FIELDS, st.integers(0, 99), st.lists(TEXT, max_size=2))
def test_json_round_trip(fields, rows, notes):
    columns = tuple(Column(**entry) for entry in fields)
    schema = Schema(columns, rows, tuple(notes))
    assert Schema.from_json(schema.to_json()) == schema


def test_inferred_schema_round_trips(houses):
    schema = Schema.infer(open_table(houses))
    assert Schema.from_json(schema.to_json()) == schema


GOOD = json.loads(Schema((Column("a", "number", "so"),), 3).to_json())


def damaged(**changes) -> str:
    column = {**GOOD["columns"][0], **changes}
    return json.dumps({**GOOD, "columns": [column]})


BAD = {
    "not JSON": "{",
    "deep": "[" * 100_000,
    "a list": "[]",
    "another version": json.dumps({**GOOD, "version": 2}),
    "one part more": json.dumps({**GOOD, "code": "x"}),
    "no columns": json.dumps({**GOOD, "columns": None}),
    "a column twice": json.dumps({**GOOD, "columns": GOOD["columns"] * 2}),
    "negative rows": json.dumps({**GOOD, "rows": -1}),
    "true rows": json.dumps({**GOOD, "rows": True}),
    "notes": json.dumps({**GOOD, "notes": [1]}),
    "kind": damaged(kind="float"),
    "name": damaged(name=3),
    "flag": damaged(constant=1),
    "count": damaged(missing=1.5),
    "end": damaged(low=[1]),
    "not a number": damaged(low=float("nan")),
    "examples": damaged(examples="abc"),
    "field": damaged(extra=1),
}


@pytest.mark.parametrize("name", BAD)
def test_other_json_is_refused(name):
    with pytest.raises(InputError, match="schema"):
        Schema.from_json(BAD[name])


# Seen ---------------------------------------------------------------------------------


def test_schema_shows_itself(houses):
    schema = Schema.infer(open_table(houses))
    shown = str(schema)
    assert "200 rows, 13 columns" in shown
    assert "1 (0.5%)" in shown
    assert "Bern" in shown
    assert "2020-01-01 to 2020-07-18" in " ".join(shown.replace("│", " ").split())
    console = Console(width=120, record=True, quiet=True)
    console.print(schema)
    html = schema._repr_html_()
    assert html.count("<tr") == 14
    assert "category" in html


def test_names_cannot_run_in_a_page():
    column = Column("<script>alert(1)</script>", "number", "[bold]so[/bold]")
    schema = Schema((column,), 1, ("<b>note</b>",))
    html = schema._repr_html_()
    assert "<script>" not in html
    assert "<b>note" not in html
    assert "[bold]so[/bold]" in str(schema)


def test_columns_are_values():
    column = Column("a", "number", "so")
    assert dataclasses.replace(column) == column
    assert len(Schema((column,))) == 1
