"""Laws that every transformer keeps: scikit-learn's contract, weights, no leaks."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from registries.estimators import OF_TRANSFORMERS
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from likely import files
from likely.core import InputError
from likely.preprocess import (
    DateParts,
    FourierBasis,
    Imputer,
    Interactions,
    MinMaxScaler,
    NaturalSpline,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialBasis,
    RobustScaler,
    StandardScaler,
    TableEncoder,
    TargetEncoder,
)

NUMERIC = {
    "standard": StandardScaler(),
    "robust": RobustScaler(),
    "min-max": MinMaxScaler(),
    "mean": Imputer(),
    "median": Imputer(strategy="median"),
    "mode": Imputer(strategy="most_frequent"),
}
BASES = {
    "polynomial": PolynomialBasis(3),
    "interactions": Interactions(),
    "fourier": FourierBasis(2),
    "natural spline": NaturalSpline(5),
}
WORDY = {
    "one-hot": OneHotEncoder(max_categories=3),
    "ordinal": OrdinalEncoder(),
    "target": TargetEncoder(),
}
OTHERS = {
    "dates": DateParts(),
    "table": TableEncoder(),
    "ordinal table": TableEncoder(categories="ordinal"),
    "target table": TableEncoder(categories="target"),
}
ALL = {**NUMERIC, **BASES, **WORDY, **OTHERS}


ANY = NUMERIC | BASES | WORDY
"""Those of any columns: the others take dates, or columns by their names."""


@parametrize_with_checks(list(ANY.values()))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ANY)
def test_contract_of_transformers(name):
    for check in OF_TRANSFORMERS:
        check(type(ANY[name]).__name__, clone(ANY[name]))


def frame_for(name: str, rng) -> pd.DataFrame:
    n = 60
    numbers = rng.normal(size=(n, 2)).round(1)
    numbers[rng.random((n, 2)) < 0.1] = np.nan
    words = rng.choice(["red", "green", "blue", "grey", None], size=n)
    days = np.datetime64("2020-01-01T05") + rng.integers(0, 9000, n) * np.timedelta64(
        1, "h"
    )
    if name in BASES:
        return pd.DataFrame(numbers, columns=["a", "b"]).fillna(0.5)
    if name in NUMERIC:
        return pd.DataFrame(numbers, columns=["a", "b"])
    if name in WORDY:
        return pd.DataFrame({"w": words, "v": rng.choice(["x", "y"], n)})
    if name == "dates":
        return pd.DataFrame({"d": days})
    columns = {"a": numbers[:, 0], "w": words, "d": days, "t": rng.random(n) < 0.5}
    return pd.DataFrame(columns)


@pytest.fixture(params=ALL)
def case(request, rng):
    """A transformer, rows, targets."""
    frame = frame_for(request.param, rng)
    y = rng.normal(size=len(frame)) + (frame.iloc[:, 0] == "red")
    return clone(ALL[request.param]), frame, y.to_numpy()


def test_weight_two_is_the_row_twice(case):
    transformer, frame, y = case
    w = np.random.default_rng(1).integers(0, 4, len(frame)).astype(float)
    times = np.repeat(np.arange(len(frame)), w.astype(int))
    weighted = clone(transformer).fit(frame, y, sample_weight=w)
    repeated = clone(transformer).fit(frame.iloc[times], y[times])
    kept = frame[w > 0]
    np.testing.assert_allclose(
        weighted.transform(kept), repeated.transform(kept), rtol=1e-10, atol=1e-12
    )


def test_garbage_in_absent_rows_changes_nothing(case):
    """Not NaN, not 1e300, not words nobody uses: bitwise."""
    transformer, frame, y = case
    w = np.ones(len(frame))
    w[[3, 10, 11]] = 0
    spoiled, target = frame.copy(), y.copy()
    for name in frame:
        if frame[name].dtype.kind == "f":
            spoiled.loc[[3, 10], name] = [1e300, np.inf]
        elif frame[name].dtype.kind == "M":
            spoiled.loc[[3, 10], name] = [pd.NaT, pd.Timestamp("1971-01-01")]
        elif frame[name].dtype.kind in "OT" or str(frame[name].dtype) == "str":
            spoiled.loc[[3, 10], name] = ["garbage", None]
    target[[3, 10]] = [np.nan, 1e300]
    kept = frame[w > 0]
    clean = clone(transformer).fit(frame, y, sample_weight=w).transform(kept)
    dirty = clone(transformer).fit(spoiled, target, sample_weight=w).transform(kept)
    np.testing.assert_array_equal(clean, dirty)
    without = clone(transformer).fit(kept, y[w > 0]).transform(kept)
    np.testing.assert_array_equal(clean, without)


def test_cross_fitting_does_not_see_absent_rows(case):
    transformer, frame, y = case
    w = np.ones(len(frame))
    w[[3, 10, 11]] = 0
    here = w > 0
    all_rows = clone(transformer).fit_transform(frame, y, sample_weight=w)
    without = clone(transformer).fit_transform(frame[here], y[here])
    np.testing.assert_array_equal(all_rows[here], without)


def test_names_match_columns_and_outputs(case):
    transformer, frame, y = case
    out = clone(transformer).fit(frame, y).transform(frame)
    fitted = clone(transformer).fit(frame, y)
    names = fitted.get_feature_names_out()
    assert len(names) == out.shape[1] == len(set(names))
    assert fitted.feature_names_in_.tolist() == list(frame)
    assert fitted.n_features_in_ == frame.shape[1]
    as_frame = clone(transformer).set_output(transform="pandas").fit(frame, y)
    shown = as_frame.transform(frame)
    assert list(shown) == list(names)
    np.testing.assert_array_equal(shown.to_numpy(), out)
    as_frame.set_output(transform="polars")
    assert as_frame.transform(frame).columns == list(names)


def test_makes_of_frames_agree(case):
    transformer, frame, y = case
    from_pandas = clone(transformer).fit(frame, y).transform(frame)
    other = pl.from_pandas(frame)
    from_polars = clone(transformer).fit(other, y).transform(other)
    np.testing.assert_array_equal(from_pandas, from_polars)
    arrow = other.to_arrow()
    from_arrow = clone(transformer).fit(arrow, y).transform(arrow)
    np.testing.assert_array_equal(from_pandas, from_arrow)


PLAIN = (np.ndarray, str, bool, int, float, type(None))


def plain(value) -> bool:
    """Whether a fitted attribute is arrays, text, numbers, or lists of these."""
    if isinstance(value, list):
        return all(plain(part) for part in value)
    return isinstance(value, PLAIN)


def test_what_is_learned_is_plain(case):
    """Arrays and lists of text: nothing that needs pickle to be kept."""
    transformer, frame, y = case
    fitted = transformer.fit(frame, y)
    for name, value in vars(fitted).items():
        if name.endswith("_") and name not in {"schema_", "encoder_", "parts_"}:
            assert plain(value), name
            if name != "feature_names_in_" and isinstance(value, np.ndarray):
                assert value.dtype != object, name
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(frame), fitted.transform(frame))


def test_a_saved_transformer_is_the_same(case, tmp_path):
    transformer, frame, y = case
    fitted = transformer.fit(frame, y)
    fitted.save(tmp_path / "t.likely", card={"data": "sixty rows"})
    again = files.load(tmp_path / "t.likely")
    np.testing.assert_array_equal(again.transform(frame), fitted.transform(frame))
    names = fitted.get_feature_names_out().tolist()
    assert again.get_feature_names_out().tolist() == names
    assert files.read_card(tmp_path / "t.likely")["data"] == "sixty rows"


def test_at_most_two_ancestors_of_ours():
    for transformer in ALL.values():
        ours = [c for c in type(transformer).__mro__ if c.__module__[:6] == "likely"]
        assert len(ours) <= 3


def test_unfitted_is_an_error(case):
    transformer, frame, _ = case
    with pytest.raises(NotFittedError):
        transformer.transform(frame)


def test_wrong_weights_are_sentences(case):
    transformer, frame, y = case
    with pytest.raises(InputError, match="weights sum to zero"):
        clone(transformer).fit(frame, y, sample_weight=np.zeros(len(frame)))
    with pytest.raises(InputError, match=r"sample_weight is -1\.0 in row 0"):
        clone(transformer).fit(frame, y, sample_weight=-np.ones(len(frame)))
    with pytest.raises(InputError, match="one weight for each row"):
        clone(transformer).fit(frame, y, sample_weight=np.ones(3))
