"""Every check has a table where it fires, and one like it where it must not."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import likely as lk
from likely.core import InputError
from likely.diagnostics import check
from likely.diagnostics.checks.duplicates import chance_pairs, row_groups
from likely.diagnostics.checks.registry import CHECKS, CODES

SLOPES = np.array([1.0, -0.7, 0.5, 0.0, 0.3])


def line(rng, n=200, noise=1.0):
    X = rng.normal(size=(n, 5))
    return X, X @ SLOPES + noise * rng.normal(size=n)


def two(rng, n=300, sharpness=1.5):
    X = rng.normal(size=(n, 5))
    p = 1 / (1 + np.exp(-sharpness * (X @ SLOPES)))
    return X, (rng.random(n) < p).astype(int)


def leak(rng, bad):
    X, y = line(rng)
    return Ridge(), np.c_[X, y + (0.05 if bad else 1.0) * rng.normal(size=200)], y, {}


def leak_by_gaps(rng, bad):
    X, y = two(rng)
    frame = pd.DataFrame(X, columns=list("abcde"))
    gone = y == 0 if bad else rng.random(300) < 0.5
    frame["left"] = np.where(gone, None, "today")
    return (
        make_pipeline(lk.preprocess.TableEncoder(), LogisticRegression()),
        frame,
        y,
        {},
    )


def too_good(rng, bad):
    X, y = line(rng, noise=0.01 if bad else 0.5)
    return LinearRegression(), X, y, {}


def copies(rng, bad):
    X, y = line(rng)
    if bad:
        X[:20], y[:20] = X[100:120], y[100:120]
    return Ridge(), X, y, {}


def copies_of_few_values(rng, bad):
    """Equal rows of a few categories are no copies."""
    X = rng.integers(0, 3, size=(200, 3)).astype(float)
    y = X[:, 0] + rng.integers(0, 2, 200)
    if bad:
        X = np.c_[X, rng.normal(size=(200, 4))]
        X[:30], y[:30] = X[50:80], y[50:80]
    return Ridge(), X, y, {}


def copies_beside_words(rng, bad):
    """Two continuous columns, the target among them, are enough to tell copies."""
    X = np.c_[rng.integers(0, 4, 300), rng.integers(0, 2, 300), rng.gamma(9, 9, 300)]
    y = X[:, 2] + rng.normal(size=300)
    if bad:
        X[:25], y[:25] = X[100:125], y[100:125]
    return Ridge(), X, y, {}


def copies_in_the_test(rng, bad):
    X, y = line(rng)
    other, truth = line(rng, 60)
    if bad:
        other[:15], truth[:15] = X[:15], y[:15]
    return Ridge(), X, y, {"X_test": other, "y_test": truth}


def groups(rng, bad):
    g = np.repeat(np.arange(60), 5)
    X = np.c_[3 * rng.normal(size=(60, 2))[g], rng.normal(size=300)]
    effect = (3.0 if bad else 0.0) * rng.normal(size=60)[g]
    y = effect + X[:, 2] + X[:, 0] + 0.5 * rng.normal(size=300)
    return KNeighborsRegressor(3), X, y, {"groups": g}


def entity_column(rng, bad):
    g = np.repeat(np.arange(60), 5)
    y = (3.0 if bad else 0.0) * rng.normal(size=60)[g] + rng.normal(size=300)
    X = pd.DataFrame({"patient_id": 10.0 * g, "x": rng.normal(size=300)})
    return KNeighborsRegressor(3), X, y + X["x"].to_numpy(), {}


def known_groups(rng, bad):
    X, y = line(rng)
    other, truth = line(rng, 60)
    names = np.arange(60) % 20 + (0 if bad else 100)
    more = {"groups": np.arange(200) % 50, "groups_test": names}
    return Ridge(), X, y, {"X_test": other, "y_test": truth, **more}


def time(rng, bad):
    t = np.arange(300.0)
    e = np.zeros(300)
    for i in range(1, 300):
        e[i] = (0.96 * e[i - 1] if bad else 0.0) + 0.3 * rng.normal()
    X = np.c_[t if bad else rng.permutation(t), rng.normal(size=300)] / [3, 1]
    return KNeighborsRegressor(3), X, e + X[:, 1], {"time": t}


def future(rng, bad):
    X, y = line(rng)
    other, truth = line(rng, 60)
    when = {"time": np.arange(200), "time_test": np.arange(60) + (50 if bad else 200)}
    return Ridge(), X, y, {"X_test": other, "y_test": truth, **when}


def drifted(rng, bad):
    X, y = line(rng)
    other, truth = line(rng, 150)
    other[:, 1] += 1.0 if bad else 0.0
    return Ridge(), X, y, {"X_test": other, "y_test": truth}


def label_noise(rng, bad):
    y = rng.integers(0, 3, 400)
    X = 3 * np.eye(3)[y] @ rng.normal(size=(3, 4)) + rng.normal(size=(400, 4))
    wrong = rng.random(400) < (0.15 if bad else 0.0)
    return LinearDiscriminantAnalysis(), X, np.where(wrong, (y + 1) % 3, y), {}


def label_noise_by_votes(rng, bad):
    """A model with few different probabilities."""
    X = rng.normal(size=(500, 2))
    y = (X[:, 0] > 0).astype(int)
    wrong = rng.random(500) < (0.15 if bad else 0.0)
    return KNeighborsClassifier(20), X, np.where(wrong, 1 - y, y), {}


def separation(rng, bad):
    X, y = two(rng, 100)
    y = (X[:, 0] > 0).astype(int) if bad else y
    return LogisticRegression(C=np.inf, max_iter=5000), X, y, {}


def collinearity(rng, bad):
    X, y = line(rng)
    X[:, 4] = X[:, 0] - X[:, 1] + (0.05 if bad else 1.0) * rng.normal(size=200)
    return LinearRegression(), X, y, {}


def over_dispersion(rng, bad):
    X = rng.normal(size=(200, 2))
    mean = np.exp(0.8 + 0.5 * X[:, 0])
    y = rng.negative_binomial(1.5, 1.5 / (1.5 + mean)) if bad else rng.poisson(mean)
    return PoissonRegressor(alpha=1e-2), X, y, {}


def heavy_tails(rng, bad):
    X, y = line(rng, noise=0)
    errors = rng.standard_t(2.5, 200) if bad else rng.normal(size=200)
    return LinearRegression(), X, y + errors, {}


def not_converged(rng, bad):
    X, y = two(rng)
    return LogisticRegression(max_iter=2 if bad else 200), X, y, {}


def search_edge(rng, bad):
    X = rng.normal(size=(80, 40))
    y = X[:, 0] + 2 * rng.normal(size=80)
    grid = [1e-3, 1e-2, 0.1] if bad else np.geomspace(1e-2, 1e5, 8).tolist()
    return GridSearchCV(Ridge(), {"alpha": grid}), X, y, {}


def influential(rng, bad):
    X, y = line(rng)
    if bad:
        X[7, 2], y[7] = 12.0, -10.0
    return LinearRegression(), X, y, {}


def miscalibration(rng, bad):
    X, y = two(rng, 400, 1.0)
    if bad:
        X = np.repeat(X[:, :2], 6, axis=1) + 0.1 * rng.normal(size=(400, 12))
    return GaussianNB(), X, y, {}


def coverage(rng, bad):
    X, y = line(rng)
    other, truth = line(rng, 200, 2.2 if bad else 1.0)
    return lk.LinearRegression(), X, y, {"X_test": other, "y_test": truth}


def coverage_in_parts(rng, bad):
    X = rng.uniform(0, 3, size=(400, 2))
    spread = 0.2 + 0.8 * X[:, 0] if bad else 1.0
    return lk.LinearRegression(), X, 2 * X[:, 0] + spread * rng.normal(size=400), {}


def interpolation(rng, bad):
    X, y = line(rng, noise=4.0 if bad else 0.3)
    return KNeighborsRegressor(1 if bad else 10), X, y, {}


def better_simple(rng, bad):
    X, y = line(rng, 300)
    if not bad:
        y = np.where(X[:, 0] * X[:, 1] > 0, 3.0, 0.0) + rng.normal(size=300)
    return DecisionTreeRegressor(max_leaf_nodes=20, random_state=0), X, y, {}


def too_few(rng, bad):
    X, y = line(rng, 24 if bad else 200, 3.0 if bad else 1.0)
    return Ridge(), X[:, :2], y, {}


def no_signal(rng, bad):
    X, y = line(rng, 400)
    return Ridge(), X, rng.permutation(y) if bad else y, {}


def slow(*table):
    return pytest.param(*table, marks=pytest.mark.slow)


TABLES = [
    ("LK101", leak), ("LK101", leak_by_gaps), ("LK102", too_good), ("LK103", copies),
    ("LK103", copies_of_few_values), ("LK103", copies_in_the_test), ("LK104", groups),
    ("LK104", entity_column), ("LK104", known_groups), ("LK105", time), ("LK105", future),
    ("LK103", copies_beside_words), slow("LK106", drifted), ("LK107", label_noise),
    ("LK107", label_noise_by_votes), ("LK201", separation), ("LK202", collinearity),
    slow("LK203", over_dispersion), ("LK204", heavy_tails),
    ("LK205", not_converged), ("LK206", search_edge), ("LK207", influential),
    ("LK301", miscalibration), ("LK302", coverage), slow("LK303", coverage_in_parts),
    ("LK304", interpolation), ("LK401", better_simple), ("LK402", too_few),
    ("LK403", no_signal),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:lbfgs failed")
@pytest.mark.parametrize("bad", [True, False], ids=["fires", "must not"])
@pytest.mark.parametrize(
    ("code", "make"), TABLES, ids=lambda v: getattr(v, "__name__", v)
)
def test_a_check_fires_where_it_should(code, make, bad):
    model, X, y, options = make(np.random.default_rng([len(make.__name__), bad]), bad)
    model.fit(X, y)
    found = check(model, X, y, skip=[c for c in CODES if c != code], **options)
    assert (code in found.codes) == bad, found
    if bad:
        finding = found[code]
        assert not finding.text[0].islower()
        assert finding.text.endswith(".")
        assert finding.advice.endswith((".", "?"))
    else:
        assert code not in found.not_run, found.not_run


def test_all_checks_have_such_tables():
    named = [getattr(table, "values", table) for table in TABLES]
    assert {code for code, _ in named} == set(CODES)
    assert [c.code for c in CHECKS] == sorted(CODES)
    for one in CHECKS:
        assert set(one.explains) <= set(CODES)


def test_all_checks_have_a_section_of_the_docs():
    page = Path(__file__).parents[2] / "docs" / "checks.md"
    named = re.findall(r"(?m)^### (LK\d+)$", page.read_text(encoding="utf-8"))
    assert named == [c.code for c in CHECKS]
    assert lk.check is check


def test_chance_makes_copies_of_few_values_only(rng):
    """A column of single values bounds the pairs; skewed categories agree anyway."""
    n = 400
    pairs = n * (n - 1) / 2
    number, rare = rng.permutation(n), (rng.random((6, n)) < 0.03).astype(int)
    assert chance_pairs([number, number], pairs) == pytest.approx(1.0)
    assert chance_pairs([number, *rare], pairs) <= 1.0
    group = row_groups(list(rare))
    found = (np.bincount(group) * (np.bincount(group) - 1) / 2).sum()
    assert found < chance_pairs(list(rare), pairs)


def test_a_report_reads_well(rng):
    X, y = line(rng, noise=4.0)
    found = check(KNeighborsRegressor(1).fit(X, y), X, y, skip=["LK401"])
    assert found.verdict.startswith("1 warning from")
    assert str(found).count("LK304") == 1
    assert found.to_frame()["check"].tolist() == ["LK304"]
    assert found["LK304"].anchor == "lk304"
    with pytest.raises(KeyError, match="LK304 did"):
        found["LK101"]
    assert set(found.codes) | set(found.quiet) | set(found.not_run) == set(CODES)
    assert "LK403" in found.quiet  # LK304 says it already
    assert len(found.plot().axes[0].texts) == 3 * len(CODES)
    assert found.not_run["LK401"] == "left out"


def test_nothing_to_report_of_a_good_model(rng):
    X, y = line(rng)
    found = check(Ridge().fit(X, y), X, y)
    assert not found.findings
    assert "Nothing to report" in found.verdict


def test_absent_rows_do_not_matter(rng):
    X, y = line(rng)
    w = np.ones(200)
    w[::10] = 0
    X[::10] = np.nan
    y[::10] = np.nan
    here = w > 0
    model = Ridge().fit(X[here], y[here])
    weighted = check(model, X, y, sample_weight=w)
    assert str(weighted) == str(check(model, X[here], y[here]))


def test_what_cannot_be_checked(rng):
    X, y = line(rng, 40)
    model = Ridge().fit(X, y)
    cases = [
        ({"X_test": X}, "go together"),
        ({"groups": [1, 2]}, "groups has shape"),
        ({"time": np.array(["a"] * 40)}, "numbers or dates"),
        ({"skip": ["LK999"]}, "no check"),
        ({"level": 2.0}, "between 0 and 1"),
    ]
    for options, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            check(model, X, y, **options)
    with pytest.raises(InputError, match="predicts no target"):
        check(KMeans(2, n_init=1).fit(X), X, y)
    with pytest.raises(InputError, match="2 columns but the model was fitted to 5"):
        check(model, X[:, :2], y)
    with pytest.raises(InputError, match="NaN"):
        check(model, X, np.r_[np.nan, y[1:]])
    with pytest.raises(InputError, match="not among the classes"):
        check(LogisticRegression().fit(X, y > 0), X, np.full(40, "z"))
    with pytest.raises(InputError, match="one output"):
        check(model, X, np.c_[y, y])
    with pytest.raises(InputError, match="as many"):
        check(model, X, y[:-1])
    with pytest.raises(InputError, match="at least 10"):
        check(model, X[:5], y[:5])


@pytest.mark.parametrize("d", [1, 3])
def test_small_tables_words_and_constant_columns(d, rng):
    X = np.c_[np.ones(20), rng.normal(size=(20, d))]
    labels = np.where(np.arange(20) % 2 == 0, "no", "yes")
    labels[0] = "maybe"
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, labels)
    found = check(model, X, labels)
    assert "LK402" in found.codes
    flat = check(Ridge().fit(X, np.ones(20)), X, np.ones(20))
    assert "LK402" not in flat.codes


@pytest.mark.parametrize(("last", "said"), [(1.0, True), (1e4, False)])
def test_a_search_of_ours_says_where_it_stopped(last, said, rng):
    X = rng.normal(size=(100, 60))
    y = X[:, 0] - X[:, 1] + 3 * rng.normal(size=100)
    grid = {"alpha": np.geomspace(1e-3, last, 8).tolist()}
    search = lk.GridSearch(lk.Ridge(), grid).fit(X, y)
    only = [c for c in CODES if c != "LK206"]
    found = check(search, X, y, skip=only)
    assert ("LK206" in found.codes) == said
    if said:
        assert "alpha = 1" in found["LK206"].text
    else:
        assert found.quiet == ("LK206",)


def test_groups_that_intervals_miss(rng):
    """Few groups are parts in which coverage is checked; the noisy one is named."""
    group = np.where(np.arange(400) % 4 == 0, "b", "a")
    X = rng.normal(size=(400, 3))
    only = [c for c in CODES if c != "LK303"]
    for spread, codes in ((3.0, ("LK303",)), (0.5, ())):
        y = X[:, 0] + np.where(group == "b", spread, 0.5) * rng.normal(size=400)
        model = lk.LinearRegression().fit(X, y)
        found = check(model, X, y, groups=group, skip=only)
        assert found.codes == codes
        if codes:
            assert "group 'b'" in found["LK303"].text
