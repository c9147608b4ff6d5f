"""`summary()` as people meet it: text, HTML, refusals, formulas, files."""

import pickle

import numpy as np
import pandas as pd
import pytest

import likely as lk
from likely.core import InputError
from likely.preprocess import NaturalSpline


@pytest.fixture
def houses(rng):
    n = 80
    frame = pd.DataFrame(
        {"area": rng.uniform(40, 200, n), "town": rng.choice(["ulm", "jena", "ems"], n)}
    )
    noise = 20 * rng.normal(size=n)
    frame["price"] = 3 * frame["area"] + 30 * (frame["town"] == "ulm") + noise
    return frame


def test_text_and_html_name_everything(houses):
    found = lk.LinearRegression().fit(houses[["area"]], houses["price"]).summary()
    text, page = str(found), found._repr_html_()
    for word in (
        "area",
        "intercept",
        "P>|t|",
        "F(1, 78)",
        "LR test",
        "adjusted",
        "AIC",
    ):
        assert word in text
        assert word.replace(">", "&gt;") in page
    assert "the three forms of R² agree" in text
    frame = found.to_frame()
    np.testing.assert_array_equal(frame["coef"], found.coefficients)
    assert list(frame.index) == ["intercept", "area"]


def test_r_squared_has_three_forms(houses, rng):
    """Equal for least squares with an intercept on its own rows, and only there."""
    from likely.estimators.linear.inference.evidence import r_squared

    X, y = houses[["area"]].to_numpy(), houses["price"].to_numpy()
    model = lk.LinearRegression().fit(X, y)
    assert np.ptp(model.summary().r_squared) < 1e-12
    np.testing.assert_allclose(model.summary().r_squared[0], model.score(X, y))
    other = 3 * X[:, 0] + 60 * rng.normal(size=len(y))  # rows the model did not see
    explained, residual, squared = r_squared(
        other, model.predict(X), np.ones(len(y)), centred=True
    )
    np.testing.assert_allclose(explained, np.var(model.predict(X)) / np.var(other))
    np.testing.assert_allclose(residual, model.score(X, other))
    np.testing.assert_allclose(squared, np.corrcoef(other, model.predict(X))[0, 1] ** 2)
    assert np.ptp([explained, residual, squared]) > 0.01
    none = lk.LinearRegression(fit_intercept=False).fit(X - 50, y).summary()
    assert "differ" in str(none) or np.ptp(none.r_squared) < 1e-9
    assert lk.LADRegressor().fit(X, y).summary().r_squared is None


@pytest.mark.parametrize(
    "model",
    [lk.Ridge(), lk.Lasso(), lk.ElasticNet(), lk.PoissonRegressor(0.1), lk.Ridge("cv")],
    ids=str,
)
def test_p_values_under_a_penalty_are_refused_with_the_reason(model, houses):
    model.fit(houses[["area"]], houses["price"].round())
    with pytest.raises(InputError, match="penalty .* towards zero"):
        model.summary()
    assert "towards zero" in str(model.summary(errors="none"))
    with pytest.raises(InputError, match="errors is 'HC9'"):
        model.summary(errors="HC9")


def test_dependent_columns_have_no_errors(houses):
    X = houses[["area"]].assign(double=2 * houses["area"])
    with pytest.warns(lk.estimators.CollinearityWarning):
        model = lk.LinearRegression().fit(X, houses["price"])
    with pytest.raises(
        InputError,
        match="'double' is a linear combination of 'area'|"
        "'area' is a linear combination of 'double'",
    ):
        model.summary()
    low, high = model.predict_interval(X)  # as if the parameters were known
    assert (low < high).all()


def test_formulas(houses):
    model = lk.LinearRegression.from_formula("price ~ area + C(town)", houses)
    codes = pd.get_dummies(houses["town"]).astype(float)[["jena", "ulm"]]
    by_hand = np.column_stack([houses["area"], codes])
    same = lk.LinearRegression().fit(by_hand, houses["price"])
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.predict(houses), same.predict(by_hand), rtol=1e-8)
    one = model.predict(houses.iloc[[3]])  # a single row has one town, not three
    np.testing.assert_allclose(one, model.predict(houses)[3:4])
    assert "C(town)[T.ulm]" in model.summary().names
    assert "price ~ area" in str(model.summary())
    none = lk.LinearRegression.from_formula("price ~ area - 1", houses)
    assert none.intercept_ == 0.0
    rich = houses.assign(rich=np.where(houses["price"] > 350, "yes", "no"))
    chosen = lk.LogisticRegression.from_formula("rich ~ area", rich, alpha=0.1)
    assert set(chosen.predict(rich)) <= {"yes", "no"}


def test_formula_sentences(houses):
    with pytest.raises(InputError, match="needs the column 'height'"):
        lk.Ridge.from_formula("price ~ height", houses)
    with pytest.raises(InputError, match="cannot be read"):
        lk.Ridge.from_formula("price ~ area +* town", houses)
    with pytest.raises(InputError, match="no left-hand side"):
        lk.Ridge.from_formula("area", houses)
    model = lk.Ridge.from_formula("price ~ area", houses)
    with pytest.raises(InputError, match="needs the column 'area'"):
        model.predict(houses[["town"]])


def test_statistics_outlive_the_rows(houses, tmp_path):
    X, y = houses[["area"]], houses["price"]
    model = lk.LinearRegression().fit(X, y)
    model.save(tmp_path / "model.likely")
    for copy in (lk.load(tmp_path / "model.likely"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(
            copy.summary().standard_errors, model.summary().standard_errors
        )
        np.testing.assert_array_equal(
            copy.predict_interval(X), model.predict_interval(X)
        )
        with pytest.raises(InputError, match="not kept in files"):
            copy.summary(errors="HC3")


def test_a_basis_inside_is_a_pipeline(houses, rng):
    from sklearn.pipeline import make_pipeline

    X, y = houses[["area"]], np.sin(houses["area"] / 20) + rng.normal(size=80)
    inside = lk.LinearRegression(basis=NaturalSpline(4)).fit(X, y)
    outside = make_pipeline(NaturalSpline(4), lk.LinearRegression()).fit(X, y)
    np.testing.assert_allclose(inside.predict(X), outside.predict(X))
    assert inside.summary().names == (
        "intercept",
        "area",
        "spline1(area)",
        "spline2(area)",
    )
    w = np.r_[np.ones(60), np.zeros(20)]
    spoiled = X.to_numpy().copy()
    spoiled[60:] = 1e300
    clean = lk.LinearRegression(basis=NaturalSpline(4)).fit(X.to_numpy()[:60], y[:60])
    dirty = lk.LinearRegression(basis=NaturalSpline(4)).fit(spoiled, y, sample_weight=w)
    np.testing.assert_allclose(dirty.coef_, clean.coef_, rtol=1e-9)


def test_doubling_a_column_adds_its_effect_and_products_change_that(rng):
    """A line has one effect for a column, whatever the others are; a product has not."""
    from likely.preprocess import Interactions

    X = rng.uniform(0, 1, size=(200, 2))
    y = X[:, 0] + 3 * X[:, 0] * X[:, 1]
    line = lk.LinearRegression().fit(X, y)
    step = np.array([[0.1, 0.0]])
    low, high = np.array([[0.2, 0.0]]), np.array([[0.2, 1.0]])
    effect = lambda m, at: (m.predict(at + step) - m.predict(at))[0]  # noqa: E731
    np.testing.assert_allclose(effect(line, low), 0.1 * line.coef_[0])
    np.testing.assert_allclose(effect(line, high), effect(line, low))
    product = lk.LinearRegression(basis=Interactions()).fit(X, y)
    np.testing.assert_allclose(effect(product, low), 0.1, rtol=1e-6)
    np.testing.assert_allclose(effect(product, high), 0.4, rtol=1e-6)


def test_no_plane_parts_a_disc_but_a_paraboloid_does(rng):
    from likely.preprocess import PolynomialBasis

    X = rng.uniform(-1, 1, size=(300, 2))
    y = (X**2).sum(1) < 0.5
    plane = lk.LogisticRegression().fit(X, y)
    bent = lk.LogisticRegression(1e-3, basis=PolynomialBasis(2)).fit(X, y)
    assert plane.score(X, y) < 0.75
    assert bent.score(X, y) > 0.97


def test_metadata_is_routed(rng):
    import sklearn
    from sklearn.model_selection import KFold, cross_val_score

    X = rng.normal(size=(60, 2))
    e = rng.uniform(1, 5, 60)
    y = rng.poisson(e * np.exp(X[:, 0])).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model = lk.PoissonRegressor().set_fit_request(exposure=True)
        model.set_score_request(exposure=True)
        found = cross_val_score(model, X, y, params={"exposure": e}, cv=3)
    for score, (train, out) in zip(found, KFold(3).split(X), strict=True):
        one = lk.PoissonRegressor().fit(X[train], y[train], exposure=e[train])
        assert score == pytest.approx(one.score(X[out], y[out], exposure=e[out]))
