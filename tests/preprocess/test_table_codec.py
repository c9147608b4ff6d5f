"""Tables as codes and back: kinds, containers, units, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from likely.core import InputError
from likely.families import Bernoulli, Categorical, NegativeBinomial, RoundedNormal
from likely.preprocess import TableCodec

rng = np.random.default_rng(0)
N = 200


def frame() -> pd.DataFrame:
    """Every kind of column, with missing cells in some."""
    start = np.datetime64("2020-01-01")
    found = pd.DataFrame(
        {
            "age": rng.integers(18, 90, N),
            "income": np.exp(rng.normal(10, 1, N)).round(2),
            "visits": rng.negative_binomial(1, 0.1, N),
            "kids": rng.integers(0, 4, N),
            "half": rng.choice([0.5, 1.0, 1.5], N),
            "town": rng.choice(["Bern", "Basel", "Genf"], N),
            "member": rng.random(N) < 0.3,
            "answer": rng.choice(["yes", "no"], N),
            "size": pd.Categorical(rng.choice(["s", "m"], N), ["s", "m", "never"]),
            "when": start + rng.integers(0, 50, N).astype("timedelta64[D]"),
            "shift": rng.normal(size=N),
            "unit": 7,
            "row_id": np.arange(N),
        }
    )
    found.loc[3, "town"] = None
    found.loc[4, "shift"] = np.nan
    found.loc[5, "when"] = pd.NaT
    return found


TABLE = frame()
CODEC = TableCodec.fit(TABLE)
KINDS = {column.name: column.kind for column in CODEC.columns}


def test_each_column_gets_its_kind():
    assert KINDS == {
        "age": "whole",
        "income": "positive",
        "visits": "count",
        "kids": "category",
        "half": "category",
        "town": "category",
        "member": "category",
        "answer": "category",
        "size": "category",
        "when": "whole",
        "shift": "number",
    }
    assert CODEC.dropped == ("row_id",)
    assert [column.name for column in CODEC.constants] == ["unit"]
    families = {column.name: type(column.family) for column in CODEC.columns}
    assert families["age"] is RoundedNormal
    assert families["visits"] is NegativeBinomial
    assert families["town"] is Categorical
    assert families["member"] is Bernoulli
    assert CODEC.columns[CODEC.names.index("size")].levels == ("s", "m", "never")


def test_frames_come_back_as_they_were():
    left = TABLE.drop(columns="row_id")
    again = CODEC.decode(CODEC.encode(TABLE))
    pd.testing.assert_frame_equal(again, left, check_exact=False, rtol=1e-12)
    other = pl.from_pandas(TABLE)
    codec = TableCodec.fit(other)
    again = codec.decode(codec.encode(other))
    assert again.schema == other.drop("row_id").schema
    assert again.drop("income", "shift").equals(other.drop("row_id", "income", "shift"))


def test_arrays_and_dictionaries_come_back_as_they_were():
    X = np.c_[rng.normal(size=N), rng.exponential(size=N), rng.integers(0, 2, N)]
    X[7, 0] = np.nan
    codec = TableCodec.fit(X)
    assert [c.kind for c in codec.columns] == ["number", "positive", "category"]
    np.testing.assert_allclose(codec.decode(codec.encode(X)), X, rtol=1e-12)
    words = np.array([["a", 1.5], ["b", 2.5], [None, 1.0]], object)
    codec = TableCodec.fit(words)
    assert codec.decode(codec.encode(words)).tolist() == words.tolist()
    given = {"x": np.array([1.5, 2.0, 4.0]), "w": np.array(["u", "v", "u"])}
    codec = TableCodec.fit(given)
    again = codec.decode(codec.encode(given))
    assert list(again["w"]) == ["u", "v", "u"]
    np.testing.assert_allclose(again["x"], given["x"])


def test_densities_are_in_the_units_of_the_columns():
    """A change of variables: the density of a log-normal is SciPy's."""
    x = np.exp(rng.normal(2, 0.7, 500))
    codec = TableCodec.fit(x[:, None])
    column = codec.columns[0]
    assert column.kind == "positive"
    assert column.softness == 0
    V = codec.encode(x[:, None])
    found = stats.norm.logpdf(V[:, 0]) + codec.log_det(V)
    peer = stats.lognorm(column.scale, scale=np.exp(column.center))
    np.testing.assert_allclose(found, peer.logpdf(x), rtol=1e-10)
    for name in ("income", "age", "shift"):
        column = CODEC.columns[CODEC.names.index(name)]
        v = np.linspace(-2, 2, 9)
        low, high = (column.decoded_reals(v + d) for d in (-1e-5, 1e-5))
        np.testing.assert_allclose(
            column.log_slope(v), np.log(2e-5 / (high - low)), rtol=1e-6
        )


def test_positive_columns_stay_positive_and_whole_ones_whole():
    V = 5 * rng.normal(size=(300, CODEC.q))
    drawn = CODEC.decode(V)
    assert (drawn["income"] > 0).all()
    assert (drawn["visits"] >= 0).all()
    assert drawn["age"].dtype == TABLE["age"].dtype
    assert set(drawn["kids"]) <= {0, 1, 2, 3}
    assert set(drawn["half"]) <= {0.5, 1.0, 1.5}
    assert (drawn["when"].dt.normalize() == drawn["when"]).all()
    V = CODEC.project(V)
    np.testing.assert_allclose(CODEC.encode(CODEC.decode(V)), V, atol=1e-9)


def test_rows_of_weight_zero_are_not_looked_at():
    w = np.r_[np.ones(N), np.zeros(5)]
    garbage = TABLE.iloc[:5].assign(town="nowhere", income=1e30, unit=3)
    both = pd.concat([TABLE, garbage], ignore_index=True)
    assert TableCodec.fit(both, w).columns == CODEC.columns


def test_inputs_of_networks_mark_what_is_missing():
    V = CODEC.encode(TABLE)
    X = CODEC.inputs(V)
    assert X.shape == (N, CODEC.n_inputs)
    assert not np.isnan(X).any()
    flags = X[:, -3:]
    assert flags.sum() == 3
    assert [flags[j].sum() for j in (3, 4, 5)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"town": "Bonn"}, "'Bonn' in row 0.*did not have"),
        ({"unit": 8}, "'unit' was 7 in every row"),
        ({"income": -1.0}, "not a positive number"),
        ({"kids": 9}, "one of 4 numbers"),
        ({"age": 20.5}, "not a whole number"),
        ({"shift": np.inf}, "infinity"),
    ],
)
def test_cells_without_probability_are_named(change, message):
    with pytest.raises(InputError, match=message):
        CODEC.encode(TABLE.iloc[:2].assign(**change))


def test_tables_that_cannot_be_learned_are_refused():
    with pytest.raises(InputError, match="no column of the table varies"):
        TableCodec.fit(pd.DataFrame({"a": [1.0, 1.0]}))
    with pytest.raises(InputError, match="as large as 2e\\+200"):
        TableCodec.fit(pd.DataFrame({"a": [1.0, 2e200]}))
    with pytest.raises(InputError, match="no rows"):
        TableCodec.fit(TABLE.iloc[:0])
    with pytest.raises(InputError, match="cannot be 'count'"):
        TableCodec.fit(TABLE, kinds={"income": "count"})
    with pytest.raises(InputError, match="cannot be 'colour'"):
        TableCodec.fit(TABLE, kinds={"income": "colour"})
    assert TableCodec.fit(TABLE, kinds={"kids": "count"}).columns[3].kind == "count"
    assert "visits" not in {
        c.name for c in TableCodec.fit(TABLE, counts=False).columns if c.kind == "count"
    }
