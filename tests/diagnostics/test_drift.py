"""Two tables: p-values that are uniform without drift, columns that are named with it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from likely.core import InputError
from likely.diagnostics import drift
from likely.diagnostics.rows.column_tests import column_tests, holm
from likely.diagnostics.rows.columns import columns_of, paired_columns

CLASSIFIER = GaussianNB()


def test_without_drift_little_is_found():
    shown, p = 0, []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        A, B = rng.normal(size=(80, 3)), rng.normal(size=(50, 3))
        found = drift(A, B, classifier=CLASSIFIER, level=0.1, random_state=seed)
        shown += found.shown
        p.append(found.p_value)
    assert shown <= 11  # 5 are expected
    assert np.mean(np.array(p) < 0.1) < 0.2
    assert np.mean(p) > 0.4


def test_a_shift_is_named(rng):
    A, B = rng.normal(size=(200, 4)), rng.normal(size=(150, 4))
    B[:, 2] += 0.8
    found = drift(A, B, classifier=CLASSIFIER)
    assert found.shown
    assert [t.column for t in found.drifted] == ["x2"]
    known = stats.ks_2samp(A[:, 2], B[:, 2])
    assert found.columns[0].effect == known.statistic
    assert found.columns[0].p_value == known.pvalue
    assert found.auc == pytest.approx(stats.norm.cdf(0.8 / np.sqrt(2)), abs=0.07)
    assert "'x2'" in found.verdict
    assert "x2" in str(found)
    found.plot()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_with_words_dates_and_missing_values(make, rng):
    def table(n, shares, gone):
        day = np.datetime64("2024-01-01") + rng.integers(0, 300, n)
        age = rng.integers(20, 80, n).astype(float)
        age[rng.random(n) < gone] = np.nan
        town = rng.choice(["Bern", "Chur", "Genf"], n, p=shares)
        return make({"age": age, "town": town, "day": day.astype("datetime64[ms]")})

    A, B = table(300, [0.3, 0.3, 0.4], 0.02), table(200, [0.7, 0.2, 0.1], 0.3)
    found = drift(A, B, classifier=_Blind())
    assert {(t.column, t.kind) for t in found.drifted} == {
        ("town", "category"),
        ("age", "missing"),
    }
    counts = [
        [list(f["town"]).count(t) for t in ("Bern", "Chur", "Genf")] for f in (A, B)
    ]
    (town,) = (t for t in found.columns if t.column == "town")
    assert town.p_value == pytest.approx(stats.chi2_contingency(counts).pvalue)
    assert found.p_value > 0.05


class _Blind(LogisticRegression):
    """A classifier that learns nothing."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_a_new_word_counts_as_a_level():
    A = pd.DataFrame({"town": ["Bern"] * 40 + ["Chur"] * 40})
    B = pd.DataFrame({"town": ["Chur"] * 40 + ["Olten"] * 40})
    ((a, b),) = paired_columns(A, B)
    assert a.levels == b.levels == ("Bern", "Chur", "Olten")
    (test,) = column_tests([(a, b)])
    assert test.effect == pytest.approx(0.5)
    assert drift(A, B, classifier=_Blind()).shown


def test_holm_by_hand():
    """0.005·5, then 0.01·4, 0.03·3, and 0.04·2, which may not be smaller than before."""
    found = holm([0.01, 0.04, 0.03, 0.005, 0.8])
    np.testing.assert_allclose(found, [0.04, 0.09, 0.09, 0.025, 0.8])


def test_what_cannot_be_compared(rng):
    A = rng.normal(size=(20, 2))
    with pytest.raises(InputError, match="'x1' is in one"):
        drift(A, A[:, :1])
    with pytest.raises(InputError, match="words in one table"):
        drift(pd.DataFrame({"a": ["x"]}), pd.DataFrame({"a": [1.0]}))
    with pytest.raises(InputError, match="no rows"):
        drift(A, A[:0])
    with pytest.raises(InputError, match="level"):
        drift(A, A, level=2.0)
    few = drift(A[:4], A[:5])
    assert np.isnan(few.auc)
    assert few.verdict.startswith("No difference shown")
    assert few.verdict.endswith(": 4 rows are too few to test.")
    constant = drift(np.ones((30, 1)), np.ones((30, 1)), classifier=_Blind())
    assert constant.columns == ()
    assert not constant.shown
    assert columns_of(np.array([["a", 1], ["b", 2]], object))[0].levels == ("a", "b")


@pytest.mark.slow
def test_boosted_trees_see_what_no_column_shows():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
    B[:, 1] = 0.8 * B[:, 0] + 0.6 * B[:, 1]
    found = drift(A, B)
    assert found.shown
    assert not found.drifted
    assert "no single column" in found.verdict
    same = drift(A[:250], A[250:])
    assert not same.shown
