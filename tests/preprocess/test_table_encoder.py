"""The table encoder: each column by its kind, from frames and from files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from likely.core import InputError
from likely.data import Schema, open_table, read_table, text_cells
from likely.preprocess import TableEncoder, TargetEncoder


@pytest.fixture
def houses(rng):
    n = 120
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "area": np.where(rng.random(n) < 0.1, np.nan, rng.normal(100, 20, n)),
            "rooms": rng.integers(1, 7, n),
            "zone": rng.choice([101, 205, 307, 550], n),
            "town": rng.choice(["Bern", "Basel", "Chur"], n),
            "pool": rng.random(n) < 0.3,
            "sold": np.datetime64("2020-01-01") + rng.integers(0, 900, n),
            "note": [f"this is the house number {i}" for i in range(n)],
            "country": "CH",
        }
    )


def test_columns_by_kind(houses):
    encoder = TableEncoder().fit(houses)
    assert encoder.numbers_ == ["area", "rooms", "pool"]
    assert encoder.words_ == ["zone", "town"]
    assert encoder.dates_ == ["sold"]
    assert encoder.dropped_ == ["id", "note", "country"]
    names = encoder.get_feature_names_out().tolist()
    assert names == [
        "area", "rooms", "pool",
        "sold_elapsed", "sold_year", "sold_month", "sold_day", "sold_weekday",
        "area_missing",
        "zone_101", "zone_205", "zone_307", "zone_550",
        "town_Basel", "town_Bern", "town_Chur",
    ]  # fmt: skip
    out = encoder.transform(houses)
    assert np.isfinite(out).all()
    missing = houses["area"].isna().to_numpy()
    np.testing.assert_array_equal(out[:, 8], missing)
    np.testing.assert_array_equal(out[missing, 0], 0.0)
    np.testing.assert_array_equal(out[:, 2], houses["pool"])
    np.testing.assert_allclose(out[:, 3:8].std(axis=0), 1)


def test_agrees_with_scikit_learn(houses):
    """Numbers and categories as a ColumnTransformer makes them."""
    frame = houses[["rooms", "zone", "town"]]
    peer = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["rooms"]),
            ("words", OneHotEncoder(sparse_output=False), ["zone", "town"]),
        ]
    )
    np.testing.assert_allclose(
        TableEncoder().fit_transform(frame), peer.fit_transform(frame), atol=1e-12
    )


@pytest.mark.parametrize("categories", ["one-hot", "ordinal"])
def test_files_are_encoded_in_chunks(houses, tmp_path, monkeypatch, categories):
    houses.to_csv(tmp_path / "houses.csv", index=False)
    table = read_table(tmp_path / "houses.csv")
    w = np.arange(len(houses)) % 3.0
    whole = TableEncoder(categories=categories).fit(table, sample_weight=w)
    expected = whole.transform(table)
    monkeypatch.setattr(text_cells, "BLOCK_BYTES", 1000)
    file = open_table(tmp_path / "houses.csv")
    encoder = TableEncoder(categories=categories).fit(file, sample_weight=w)
    chunks = [encoder.transform(chunk) for chunk in file]
    assert len(chunks) > 5
    np.testing.assert_allclose(np.concatenate(chunks), expected, atol=1e-12)
    np.testing.assert_allclose(encoder.transform(file), expected, atol=1e-12)
    assert encoder.schema_ == whole.schema_


def test_columns_may_come_in_any_order(houses):
    encoder = TableEncoder().fit(houses)
    turned = houses[list(houses)[::-1]].assign(extra=1)
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(houses))


def test_schema_and_kinds_can_be_given(houses):
    schema = Schema.infer(houses).with_kinds({"rooms": "category", "id": "number"})
    encoder = TableEncoder(schema=schema, kinds={"zone": "text"}).fit(houses)
    assert "rooms" in encoder.words_
    assert "id" in encoder.numbers_
    assert "zone" in encoder.dropped_
    again = TableEncoder(schema=Schema.from_json(encoder.schema_.to_json()))
    np.testing.assert_array_equal(
        again.fit_transform(houses), encoder.fit_transform(houses)
    )


def test_problems_are_counted(houses):
    encoder = TableEncoder().fit(houses)
    new = houses.head(4).assign(
        town=["Bern", "Genf", None, "Uri"], area=[1.0, None, None, 2.0], sold=pd.NaT
    )
    counts = encoder.tally(new)
    assert counts["town"] == {"missing": 1, "unseen": 2}
    assert counts["area"] == {"missing": 2, "unseen": 0}
    assert counts["sold"]["missing"] == 4
    assert counts["zone"] == {"missing": 0, "unseen": 0}
    out = encoder.transform(new)
    assert np.isfinite(out).all()
    assert out[1, -3:].tolist() == [0, 0, 0]


def test_scaling_and_indicators_are_optional(houses):
    encoder = TableEncoder(scale=False, add_indicator=False).fit(houses)
    out = encoder.transform(houses)
    np.testing.assert_array_equal(out[:, 1], houses["rooms"])
    assert "area_missing" not in encoder.get_feature_names_out()
    assert out[houses["area"].isna(), 0] == pytest.approx(houses["area"].mean())


def test_many_categories_share_a_column(rng):
    words = [f"k{i}" for i in rng.integers(0, 40, 400)]
    encoder = TableEncoder(max_categories=10).fit(pd.DataFrame({"w": words}))
    names = encoder.get_feature_names_out()
    assert len(names) == 10
    assert names[-1] == "w_other"
    assert encoder.tally(pd.DataFrame({"w": ["k0", "new"]}))["w"]["unseen"] == 1


def test_mean_targets_are_cross_fitted(houses, rng):
    y = rng.normal(size=len(houses)) + (houses["town"] == "Bern")
    encoder = TableEncoder(categories="target")
    out = encoder.fit_transform(houses, y)
    words = houses[["zone", "town"]].astype(str)
    np.testing.assert_allclose(out[:, -2:], TargetEncoder().fit_transform(words, y))
    names = encoder.get_feature_names_out()
    assert names[-2:].tolist() == ["zone", "town"]
    np.testing.assert_allclose(
        encoder.transform(houses)[:, -2:],
        TargetEncoder().fit(words, y).transform(words),
    )
    with pytest.raises(InputError, match="needs y"):
        TableEncoder(categories="target").fit(houses)


def test_fits_in_a_pipeline(houses):
    pipeline = make_pipeline(TableEncoder(), StandardScaler())
    assert pipeline.fit_transform(houses).shape == (120, 16)


SENTENCES = {
    "lost": (
        lambda f: f.drop(columns="town"),
        "no column 'town'; there are 'id', 'area'",
    ),
    "renamed": (lambda f: f.rename(columns={"area": "Area"}), "did you mean 'Area'"),
    "words": (
        lambda f: f.astype({"rooms": str}).replace({"rooms": {"3": "three"}}),
        "column 'rooms' has 'three' in row .*, which is no number",
    ),
    "endless": (lambda f: f.assign(area=np.inf), "column 'area' contains infinity"),
    "dates": (lambda f: f.assign(area=f["sold"]), "column 'area' holds timestamp"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_errors_are_in_the_users_names(name, houses):
    change, sentence = SENTENCES[name]
    encoder = TableEncoder().fit(houses)
    with pytest.raises(InputError, match=sentence):
        encoder.transform(change(houses))


def test_nothing_to_encode_is_a_sentence(houses):
    with pytest.raises(InputError, match=r"no column can be used \('id' number: whole"):
        TableEncoder().fit(houses[["id", "note", "country"]])
    with pytest.raises(InputError, match="categories is 'hash'; give one of one-hot"):
        TableEncoder(categories="hash").fit(houses)
