"""Formulas: kept in copies and files, refitted in folds, safe, and exact about weights."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

import likely as lk
from likely.core import InputError
from likely.estimators.linear.formulas.formula import Formula

N = 60


@pytest.fixture
def houses(rng):
    frame = pd.DataFrame(
        {
            "area": rng.uniform(40, 200, N),
            "town": np.array(["ulm", "jena", "ems"])[np.arange(N) % 3],
            "rooms": rng.integers(1, 4, N),
            "days open": rng.uniform(1, 3, N),
            "cellar": rng.uniform(size=N) < 0.5,
        }
    )
    frame["price"] = 3 * frame["area"] + 30 * (frame["town"] == "ulm")
    frame["price"] += 20 * rng.normal(size=N)
    frame["visits"] = rng.poisson(frame["days open"] * frame["rooms"]).astype(float)
    return frame


FORMULAS = [
    "price ~ area + C(town)",
    "price ~ area*town - 1",
    "log(price) ~ log(area) + cellar",
    "price ~ center(area) + scale(`days open`):town + standardize(area)",
    "price ~ poly(area, 3) + C(rooms, contr.sum)",
    "price ~ bs(area, df=5) + C(town, Treatment('ulm'))",
    "price ~ cr(area, df=4, constraints='center') + cc(area, df=3)",
    "price ~ I(area**2) + {area / 2} + I(area > 100) + np.sqrt(area)",
    "price ~ . + Q('days open'):area",
    "price ~ where(area > 100, 1.0, area) + exp10(area / 100)",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_copies_and_files_predict_through_the_formula(formula, houses, tmp_path):
    model = lk.Ridge.from_formula(formula, houses, alpha=0.1)
    expected = model.predict(houses)
    path = tmp_path / "model.likely"
    model.save(path)
    copies = [lk.load(path), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for found in copies:
        assert found.formula.text == formula
        np.testing.assert_array_equal(found.predict(houses), expected)
        three = found.predict(houses.iloc[[7, 3, 7]])  # not learned from these rows
        np.testing.assert_allclose(three, expected[[7, 3, 7]], rtol=1e-9)
    again = clone(copies[0]).fit(houses, model.formula.response(houses))
    np.testing.assert_allclose(again.predict(houses), expected, rtol=1e-9)


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_weight_is_a_repetition_and_zero_is_absent(formula, houses, rng):
    """Also for what is learned: means, knots, polynomials and levels."""
    w = rng.integers(0, 3, size=N).astype(float)
    rows = np.repeat(np.arange(N), w.astype(int))
    dirty = houses.copy()
    dirty.loc[w == 0, ["area", "price", "days open"]] = np.nan
    dirty.loc[w == 0, "town"] = "nowhere"
    weighted = lk.Ridge.from_formula(formula, dirty, w, alpha=0.1)
    repeated = lk.Ridge.from_formula(formula, houses.iloc[rows], alpha=0.1)
    np.testing.assert_allclose(
        weighted.predict(houses), repeated.predict(houses), rtol=1e-7
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-8)


def test_columns_are_those_of_formulaic(houses):
    formulaic = pytest.importorskip("formulaic")
    for formula in FORMULAS[:8]:
        ours = Formula(formula, list(houses.columns)).learn(houses, np.ones(N))[1]
        right = formulaic.model_matrix(formula, houses).rhs
        right = right.drop(columns="Intercept", errors="ignore")
        assert list(ours.columns) == list(right.columns)
        np.testing.assert_allclose(
            ours.to_numpy(float), right.to_numpy(float), rtol=1e-9, atol=1e-9
        )


def test_cross_validation_refits_through_the_formula(houses):
    formula = "price ~ center(rooms) + bs(area, df=4) + C(town)"
    model = lk.LinearRegression.from_formula(formula, houses)
    found = lk.cross_validate(model, houses, cv=KFold(3))
    np.testing.assert_array_equal(
        found.nll, lk.cross_validate(model, houses, houses["price"], cv=KFold(3)).nll
    )
    for j, (train, out) in enumerate(KFold(3).split(houses)):
        one = lk.LinearRegression.from_formula(formula, houses.iloc[train])
        part = houses.iloc[out]
        assert found.nll[0, j] == pytest.approx(one.nll(part, part["price"]))
    scores = cross_val_score(model, houses, houses["price"], cv=KFold(3))
    assert (scores > 0.8).all()
    ridge = lk.Ridge.from_formula("price ~ area + town", houses)
    grid = lk.cross_validate(ridge, houses, grid={"alpha": [0.1, 1e6]}, cv=3)
    assert grid.best_params == {"alpha": 0.1}
    with pytest.raises(InputError, match="y is None"):
        lk.cross_validate(lk.Ridge(), houses[["area"]])


@pytest.mark.parametrize("formula", ["price ~ area + town", "price ~ area:C(town)"])
def test_levels_that_the_fit_did_not_have_are_named(formula, houses):
    model = lk.LinearRegression.from_formula(formula, houses)
    new = houses.copy()
    new.loc[5, "town"] = "bonn"
    with pytest.raises(InputError, match="'town' has the level 'bonn' in row 5"):
        model.predict(new)
    new.loc[5, "town"] = None
    with pytest.raises(InputError, match="'town' has no value in row 5"):
        model.predict(new)
    new["town"] = pd.Categorical(houses["town"], categories=["ems", "jena", "ulm", "x"])
    np.testing.assert_array_equal(model.predict(new), model.predict(houses))
    number = lk.LinearRegression.from_formula("price ~ C(rooms)", houses)
    with pytest.raises(InputError, match="'rooms' has the level 9 in row 0"):
        number.predict(houses.assign(rooms=9))


def test_other_frames_are_refused_with_a_sentence(houses):
    model = lk.LinearRegression.from_formula("price ~ area + log(area)", houses)
    with pytest.raises(InputError, match="needs the column 'area'"):
        model.predict(houses[["town"]])
    with pytest.raises(InputError, match="'area' holds 'large' in row 0"):
        model.predict(houses.assign(area="large"))
    with pytest.raises(InputError, match="takes a frame"):
        clone(model).fit(houses[["area"]].to_numpy(), houses["price"])
    logs = lk.LinearRegression.from_formula("log(price) ~ area", houses)
    with pytest.raises(InputError, match="y is the column 'price'"):
        clone(logs).fit(houses, houses["price"])
    times = houses.assign(area=pd.Timestamp("2020-01-01"))
    with pytest.raises(InputError, match="holds times"):
        lk.LinearRegression.from_formula("price ~ area", times)


def test_a_frame_of_polars_and_columns_named_like_functions(houses):
    polars = pytest.importorskip("polars")
    frame = houses.rename(columns={"cellar": "C", "rooms": "log"})
    formula = "price ~ C(town) + log(area)"
    model = lk.LinearRegression.from_formula(formula, frame)
    same = lk.LinearRegression.from_formula(formula, polars.from_pandas(frame))
    np.testing.assert_allclose(same.coef_, model.coef_, rtol=1e-9)
    np.testing.assert_allclose(
        same.predict(polars.from_pandas(frame)), model.predict(frame), rtol=1e-9
    )


@pytest.mark.parametrize(
    "said",
    [
        "open('x')", "np.load('x')", "__import__('os')", "I(x.__class__)",
        "I([c for c in x])", "I((lambda: 1)())", "I(9**9**9)", "I(x if x else 1)",
        "I(x, _state=1)", "I('`' + open() + '`')", "I(getattr(x, 'y'))", "lag(x)",
        "C(x, np.load('x'))", "C(x, contr.mro())", "I(x[0])", "I([0] * 10)", "Q(x)",
        "I(f'{x}')", "I((x := 3))", "poly(*x)", "poly(**x)",
    ],
)  # fmt: skip
def test_a_formula_from_a_file_cannot_run_code(said):
    """Every formula is checked before it is evaluated, so also one in a changed file."""
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    evil = Formula(f"y ~ {said}", ["x", "y"], state={}, levels={})
    with pytest.raises(InputError, match="more than a formula may|cannot be read"):
        evil.columns(frame, ["x"])


@pytest.mark.parametrize(
    "name",
    [
        "PoissonRegressor",
        pytest.param("NegativeBinomialRegressor", marks=pytest.mark.slow),
    ],
)
def test_exposure_by_name_and_by_value(name, houses, tmp_path):
    make = getattr(lk, name)
    days, visits = houses["days open"].to_numpy(), houses["visits"]
    named = make.from_formula("visits ~ rooms", houses, exposure="days open")
    given = make.from_formula("visits ~ rooms", houses, exposure=days)
    shifted = make.from_formula("visits ~ rooms", houses, offset=np.log(days))
    plain = make().fit(houses[["rooms"]], visits, exposure=days)
    named.save(tmp_path / "model.likely")
    for model in (named, lk.load(tmp_path / "model.likely"), clone(named)):
        if not hasattr(model, "coef_"):
            model.fit(houses, visits)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-7)
        np.testing.assert_allclose(
            model.predict(houses), plain.predict(houses[["rooms"]], exposure=days)
        )
    np.testing.assert_allclose(shifted.coef_, given.coef_, rtol=1e-7)
    for how in (days, "days open"):
        assert given.score(houses, visits, exposure=how) == pytest.approx(
            named.score(houses, visits)
        )
        assert given.nll(houses, visits, exposure=how) == named.nll(houses, visits)
        np.testing.assert_array_equal(
            given.predict_interval(houses, exposure=how), named.predict_interval(houses)
        )
    inside = plain.score(houses[["rooms"]], visits, exposure=days)
    assert inside == pytest.approx(named.score(houses, visits))
    assert np.isfinite(lk.cross_validate(named, houses, cv=3).nll).all()
    few = houses.drop(columns="days open")
    with pytest.raises(InputError, match="exposure of this model is the column 'days"):
        named.predict(few)
    rate = named.predict(few, exposure=1.0)
    np.testing.assert_allclose(rate * days, named.predict(houses))


def test_exposure_is_for_counts(houses):
    with pytest.raises(InputError, match="Ridge takes no exposure"):
        lk.Ridge.from_formula("price ~ area", houses, exposure="days open")
    model = lk.PoissonRegressor()
    with pytest.raises(InputError, match="made by from_formula"):
        model.fit(houses[["rooms"]], houses["visits"], exposure="days open")


def test_the_dot_leaves_out_the_exposure(houses):
    frame = houses[["rooms", "visits", "days open"]]
    model = lk.PoissonRegressor.from_formula("visits ~ .", frame, exposure="days open")
    assert list(model.feature_names_in_) == ["rooms"]
