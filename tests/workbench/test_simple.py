"""The coefficients of a report, and where there are none."""

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm

from likely.workbench import Spec
from likely.workbench.report.charts import Axes
from likely.workbench.simple import MAX_COEFFICIENTS, MAX_COLUMNS, design, simple_model
from likely.workbench.table import Source, prepare


def table_of(columns, **spec):
    source = Source("here", pa.table(columns), (), {})
    return prepare(Spec(target="y", **spec), source)


def simple_model_of(columns, **spec):
    return simple_model(table_of(columns, **spec))


def people(rng, n=160):
    """Numbers on far scales, a category, a truth value, holes."""
    age = rng.normal(50, 10, n)
    income = rng.lognormal(10, 0.5, n)
    income[:9] = np.nan
    town = rng.choice(["Bern", "Basel", "Chur"], n, p=[0.5, 0.3, 0.2])
    return {
        "age": age,
        "income": pa.array(income, from_pandas=True),
        "town": town,
        "owner": rng.random(n) < 0.4,
    }


def matrix(table):
    columns = design(table)
    return [c.name for c in columns], sm.add_constant(
        np.stack([c.values for c in columns], axis=1)
    )


def eta(columns):
    town = np.asarray(columns["town"])
    return 0.03 * (columns["age"] - 50) + 0.8 * (town == "Chur")


def test_columns_have_their_own_units(rng):
    table = table_of({**people(rng), "y": rng.normal(size=160)})
    found = {c.name: c for c in design(table)}
    assert list(found) == [
        "age", "income", "income = missing", "town = Basel", "town = Chur",
        "owner = yes",
    ]  # fmt: skip
    np.testing.assert_array_equal(found["age"].values, table.frame["age"].to_numpy())
    assert found["town = Chur"].reference == "Bern"  # the commonest
    assert (found["owner = yes"].level, found["owner = yes"].reference) == ("yes", "no")


@pytest.mark.parametrize("kind", ["positive", "binary", "classes", "count"])
def test_the_coefficients_are_those_of_statsmodels(kind, rng):
    """On the same columns: estimates, errors, intervals, p-values, AIC, R²."""
    columns = people(rng)
    z = eta(columns)
    noise = rng.normal(size=160)
    y, other = {
        "real": lambda: (z + noise, lambda y, X: sm.OLS(y, X).fit()),
        "positive": lambda: (
            np.exp(2 * z + noise),
            lambda y, X: sm.OLS(np.log(y), X).fit(),
        ),
        "binary": lambda: (
            np.where(z + noise > 0, "yes", "no"),
            lambda y, X: sm.Logit(y, X).fit(disp=0),
        ),
        "classes": lambda: (
            np.array(["a", "b", "c"])[np.digitize(z + noise, [-0.4, 0.6])],
            lambda y, X: sm.MNLogit(y, X).fit(disp=0, method="newton"),
        ),
        "count": lambda: (
            rng.poisson(np.exp(z + 2)).astype(float),
            lambda y, X: sm.GLM(y, X, family=sm.families.Poisson()).fit(),
        ),
    }[kind]()
    family = "poisson" if kind == "count" else ""
    table = table_of({**columns, "y": y}, family=family)
    assert table.target.kind == kind
    found = simple_model(table)
    names, X = matrix(table)
    # the same model with scaled columns, and back to their units
    scale = np.r_[1.0, X[:, 1:].std(0)]
    fitted = other(table.y, X / scale)
    exact = (np.asarray(fitted.params).T / scale).ravel()
    errors = (np.asarray(fitted.bse).T / scale).ravel()
    rows = found.rows
    assert [r.name for r in rows[: len(names) + 1]] == ["intercept", *names]
    assert [r.estimate for r in rows] == pytest.approx(exact, rel=1e-4, abs=1e-8)
    assert [r.error for r in rows] == pytest.approx(errors, rel=1e-4)
    p = np.asarray(fitted.pvalues).T.ravel()
    assert [r.p for r in rows] == pytest.approx(p, rel=1e-3, abs=1e-9)
    assert found.facts["AIC"] == pytest.approx(fitted.aic, rel=1e-6)
    if kind in ("real", "positive"):
        assert found.facts["R²"] == pytest.approx(fitted.rsquared, rel=1e-6)
    elif kind != "count":
        assert found.facts["pseudo-R² (McFadden)"] == pytest.approx(
            fitted.prsquared, rel=1e-5
        )
    if kind != "real":
        slopes = [r for r in rows if r.column]
        exact = np.exp([r.estimate for r in slopes])
        assert [r.ratio for r in slopes] == pytest.approx(exact)
    if kind == "classes":
        assert found.base == "a"
        assert [r.of_class for r in rows[:: len(names) + 1]] == ["b", "c"]


def test_separated_classes_have_finite_odds_ratios(rng):
    """By Firth's correction, with a word about it and no word about Python."""
    x = rng.normal(size=60)
    found = simple_model_of({"x": x, "y": np.where(x > 0, "yes", "no")})
    assert "Firth" in found.title
    assert all(np.isfinite([row.estimate, row.error]).all() for row in found.rows)
    ((kind, sentence),) = found.warnings
    assert "Separation" in kind
    assert "firth=" not in sentence
    assert "alpha" not in sentence


def test_repeated_columns_are_told(rng):
    x = rng.normal(size=60)
    found = simple_model_of({"x": x, "again": 2 * x + 1, "y": rng.normal(size=60)})
    assert [row.name for row in found.rows] == ["intercept", "x"]
    assert "'again'" in found.warnings[0][1]


def test_without_a_column_that_varies_it_says_so(rng):
    """Numbers that differ by their last bit only."""
    x = np.full(30, 1e6)
    x[::2] = np.nextafter(1e6, 2e6)
    found = simple_model_of({"x": x, "y": rng.normal(size=30)})
    assert not found.rows
    assert found.refusal == "no column varies from row to row."


def test_what_nobody_would_read_is_not_fitted(rng):
    wide = {f"x{j}": rng.normal(size=30) for j in range(MAX_COLUMNS + 1)}
    assert (
        "too many to read"
        in simple_model_of({**wide, "y": rng.normal(size=30)}).refusal
    )
    classes = MAX_COEFFICIENTS // 20 + 2
    some = {f"x{j}": rng.normal(size=5 * classes) for j in range(20)}
    y = [f"c{i % classes}" for i in range(5 * classes)]
    assert "coefficients are too many" in simple_model_of({**some, "y": y}).refusal


@pytest.mark.parametrize("value", [0.0, 5.3e18, -1e300])
def test_axes_around_one_value_have_room(value):
    axes = Axes((value, value), (0, 1))
    assert np.isfinite(axes.pixels([value], [0.5])).all()
