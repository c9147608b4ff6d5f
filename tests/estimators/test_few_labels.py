"""Few labels: pseudo-labels, consistency training, features of an autoencoder."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import SelfTrainingClassifier

import likely as lk
from likely.base.labels import missing_labels
from likely.core.checks import InputError
from likely.layers import ColumnNoise
from likely.objectives import Consistency
from likely.typing import Batch

N = 60
rng = np.random.default_rng(3)
X = rng.normal(size=(N, 3))
Y = np.digitize(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=N), [-0.7, 0.7])
FEW = np.where(np.arange(N) < 24, Y, -1)
"""The labels of the first rows."""
WORDS = np.array(["ant", "bee", "cat"], object)


def clouds(n, gap, rng):
    """Two round clouds, whose classes are which cloud, or (gap 0) up and down in one."""
    Z = rng.normal(size=(n, 2))
    side = rng.integers(0, 2, n)
    Z[:, 0] += gap * (2 * side - 1)
    return Z, side if gap else (Z[:, 0] > 0).astype(int)


# Labels ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y",
    [
        [0, -1, 2],
        [0.0, np.nan, 2.0],
        [0.0, -1.0, 2.0],
        ["a", "-1", "b"],
        np.array(["a", -1]),
        np.array(["a", None, "b"], object),
        np.array(["a", np.nan, "b"], object),
        np.array(["a", -1, "b"], object),
        np.array([True, None, False], object),
    ],
    ids=str,
)
def test_the_second_row_has_no_label(y):
    expected = np.arange(len(y)) == 1
    np.testing.assert_array_equal(missing_labels(y), expected)


def test_nullable_columns_of_pandas():
    pandas = pytest.importorskip("pandas")
    for kind, values in (("Int64", [0, None, 1]), ("string", ["a", None, "b"])):
        series = pandas.Series(values, dtype=kind)
        np.testing.assert_array_equal(missing_labels(series), [False, True, False])


# Pseudo-labels --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"threshold": 0.95},
        {"criterion": "k_best", "k_best": 7},
        {"criterion": "k_best", "k_best": 100},
        {"max_iter": 0},
        {"max_iter": 1},
        {"max_iter": None},
        {"threshold": 1 - 1e-16},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:k_best is larger")
def test_pseudo_labels_are_those_of_scikit_learn(settings):
    theirs = SelfTrainingClassifier(GaussianNB(), **settings).fit(X, FEW)
    ours = lk.PseudoLabels(GaussianNB(), **settings, cv=None).fit(X, FEW)
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    for name in ("transduction_", "labeled_iter_", "n_iter_", "termination_condition_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_the_number_of_rounds_is_the_best_on_labelled_rows_held_out():
    model = lk.PseudoLabels(lk.GaussianNB(), threshold=0.6).fit(X, FEW)
    assert model.n_iter_ == np.argmin(model.held_out_nll_)
    told = lk.PseudoLabels(lk.GaussianNB(), 0.6, max_iter=model.n_iter_, cv=None)
    np.testing.assert_array_equal(
        told.fit(X, FEW).predict_proba(X), model.predict_proba(X)
    )


def test_pseudo_labels_help_where_there_is_a_gap_and_do_no_harm_where_there_is_none():
    """On average over tables: in nats of fresh rows, against the labelled rows alone."""
    gains = {}
    for gap in (2.5, 0.0):
        gains[gap] = []
        for seed in range(6):
            draw = np.random.default_rng(seed)
            (A, a), (B, b) = clouds(200, gap, draw), clouds(400, gap, draw)
            few = np.where(np.arange(200) < 12, a, -1)
            few[:4] = a[:4] = [0, 0, 1, 1]
            A[:4, 0] = np.array([-1, -1, 1, 1]) * np.abs(A[:4, 0])
            alone = lk.GaussianNB().fit(A[:12], few[:12]).nll(B, b)
            model = lk.PseudoLabels(lk.GaussianNB()).fit(A, few)
            gains[gap].append(alone - model.nll(B, b))
    assert np.mean(gains[2.5]) > 0
    assert np.mean(gains[0.0]) > -0.05


def test_without_unlabelled_rows_it_is_the_classifier():
    model = lk.PseudoLabels(lk.GaussianNB()).fit(X, Y)
    np.testing.assert_array_equal(
        model.predict_proba(X), lk.GaussianNB().fit(X, Y).predict_proba(X)
    )
    assert model.n_iter_ == 0
    assert model.termination_condition_ == "all_labeled"


@pytest.mark.parametrize("missing", [-1, None, np.nan], ids=str)
def test_labels_may_be_words(missing):
    words = WORDS[Y]
    words[FEW < 0] = missing
    named = lk.PseudoLabels(lk.GaussianNB(), 0.6).fit(X, words)
    plain = lk.PseudoLabels(lk.GaussianNB(), 0.6).fit(X, FEW)
    np.testing.assert_array_equal(named.predict(X), WORDS[plain.predict(X)])
    known = plain.transduction_ >= 0
    np.testing.assert_array_equal(
        named.transduction_[known], WORDS[plain.transduction_[known]]
    )
    assert set(named.transduction_[~known]) <= {-1}


def test_weights_of_pseudo_labels():
    """A row of weight 2 is the row twice, one of weight 0 is absent, whatever it holds."""
    w = np.tile([0.0, 1.0, 2.0], N // 3)
    garbage = np.where(w[:, None] > 0, X, np.nan)
    y = np.where(w > 0, FEW, 99)
    rows = np.repeat(np.arange(N), w.astype(int))
    weighted = lk.PseudoLabels(lk.GaussianNB(), cv=None).fit(garbage, y, w)
    repeated = lk.PseudoLabels(lk.GaussianNB(), cv=None).fit(X[rows], FEW[rows])
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9
    )
    np.testing.assert_array_equal(weighted.transduction_[rows], repeated.transduction_)
    assert (weighted.labeled_iter_[w == 0] == -1).all()
    chosen = lk.PseudoLabels(lk.GaussianNB()).fit(garbage, y, w)
    here = w > 0
    without = lk.PseudoLabels(lk.GaussianNB()).fit(X[here], FEW[here], w[here])
    np.testing.assert_array_equal(chosen.held_out_nll_, without.held_out_nll_)
    np.testing.assert_array_equal(chosen.predict_proba(X), without.predict_proba(X))


def test_a_class_with_one_label_is_not_held_out():
    few = np.where(np.arange(N) < 20, Y, -1)
    few[few == 2] = -1
    few[np.argmax(Y == 2)] = 2
    model = lk.PseudoLabels(lk.GaussianNB()).fit(X, few)
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(model.nll(X, Y))
    one_each = np.where(
        np.isin(np.arange(N), [np.argmax(c == Y) for c in range(3)]), Y, -1
    )
    with pytest.warns(UserWarning, match="no class has two labels"):
        model = lk.PseudoLabels(lk.KNeighborsClassifier(1)).fit(X, one_each)
    assert model.n_iter_ == 0


def test_sentences_of_pseudo_labels():
    model = lk.PseudoLabels(lk.GaussianNB())
    with pytest.raises(InputError, match="none of the 60 rows has a label"):
        model.fit(X, np.full(N, -1))
    with pytest.raises(InputError, match="one class only"):
        model.fit(X, np.where(FEW == 1, 1, -1))
    with pytest.raises(InputError, match="y is None"):
        model.fit(X, None)
    with pytest.raises(InputError, match=r"NaN \(row 50, column 1\)"):
        model.fit(np.where(np.arange(N * 3).reshape(N, 3) == 151, np.nan, X), FEW)
    with pytest.raises(InputError, match="no predict_proba"):
        lk.PseudoLabels(lk.LinearSVC()).fit(X, FEW)
    with pytest.raises(InputError, match="takes no sample_weight"):
        lk.PseudoLabels(KNeighborsClassifier()).fit(X, FEW, np.arange(N) + 1.0)
    for name, value in [
        ("threshold", 1.0), ("criterion", "sure"), ("k_best", 0), ("max_iter", -1), ("cv", 1)
    ]:  # fmt: skip
        with pytest.raises(InputError, match=f"{name} is"):
            clone(model).set_params(**{name: value}).fit(X, FEW)


# Consistency ----------------------------------------------------------------------------


def test_the_objective_of_consistency_is_its_formula():
    """Against NumPy, with disturbances that shift all rows by a number."""
    B, n, threshold, T = rng.normal(size=(3, 4)), 512, 0.6, 0.5

    def model(x, *, w=None, key=None, state=None):
        return x @ B.astype(np.float32), state

    def likelihood(model, batch, *, key=None, state=None):
        return jnp.sum(batch.x), state

    def shifted(by):
        return lambda params, batch, key: (params, batch._replace(x=batch.x + by))

    rows = rng.normal(size=(8, 3)).astype(np.float32)
    w = np.array([1.0, 2.0, 0.0, 1.0, 0.5, 3.0, 0.0, 0.0], np.float32)
    objective = Consistency(
        likelihood, jnp.asarray(rows), jnp.asarray(w), shifted(0.1), shifted(-0.2), 2.0,
        threshold, T, batch_size=n,
    )  # fmt: skip
    batch = Batch(jnp.ones((2, 3)), jnp.zeros(2), jnp.ones(2))
    assert objective(model, batch)[0] == 6.0
    drawn = np.asarray(objective.draw(jax.random.split(jax.random.key(0), 4)[2]))
    share = np.bincount(drawn, minlength=8) / n
    np.testing.assert_allclose(share, w / w.sum(), atol=4 / n**0.5)
    assert (share[w == 0] == 0).all()
    x = rows[drawn]
    q = softmax(log_softmax((x + 0.1) @ B, axis=1) / T, axis=1)
    sure = softmax((x + 0.1) @ B, axis=1).max(1) > threshold
    kl = (q * (np.log(q) - log_softmax((x - 0.2) @ B, axis=1))).sum(1)
    expected = 6.6 + 2.0 * np.where(sure, kl, 0.0).mean()
    assert 0 < sure.mean() < 1
    found = objective(model, batch, key=jax.random.key(0))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_noise_of_columns():
    Z = jnp.arange(600.0).reshape(200, 3)
    swapped = np.asarray(ColumnNoise(0.0, 0.25).rows(Z, jax.random.key(1)))
    for j in range(3):  # values that exist in the same column
        assert set(swapped[:, j]) <= set(np.asarray(Z[:, j]))
    assert 0.15 < (swapped != Z).mean() < 0.35
    noisy = np.asarray(ColumnNoise(0.5, categories=(1,)).rows(Z, jax.random.key(1)))
    np.testing.assert_array_equal(noisy[:, 1], Z[:, 1])
    assert 0.4 < (noisy - Z)[:, [0, 2]].std() < 0.6
    with pytest.raises(InputError, match="swap is 2"):
        ColumnNoise(swap=2.0)
    with pytest.raises(InputError, match="rows of a table"):
        ColumnNoise().rows(jnp.zeros((2, 3, 3, 1)), jax.random.key(2))


SMALL = {"max_iter": 60, "alpha": 0.1, "random_state": 0}


def test_sentences_of_consistency_training():
    model = lk.ConsistencyTraining(lk.MLPClassifier((2,), **SMALL))
    with pytest.raises(InputError, match="none of the 60 rows has a label"):
        model.fit(X, np.full(N, -1))
    with pytest.raises(InputError, match="one class only"):
        model.fit(X, np.where(FEW == 1, 1, -1))
    with pytest.raises(InputError, match="give a network of classes"):
        lk.ConsistencyTraining(lk.GaussianNB()).fit(X, FEW)
    with pytest.raises(InputError, match=r"NaN \(row 50, column 1\)"):
        model.fit(np.where(np.arange(N * 3).reshape(N, 3) == 151, np.nan, X), FEW)
    for name, value in [
        ("threshold", 1.0), ("strength", -1.0), ("batch_size", 0), ("strong", "much")
    ]:  # fmt: skip
        with pytest.raises(InputError, match=f"{name} is"):
            clone(model).set_params(**{name: value}).fit(X, FEW)
    lbfgs = lk.MLPClassifier((2,), solver="lbfgs")
    with pytest.raises(InputError, match="L-BFGS"):
        lk.ConsistencyTraining(lbfgs, strength=1.0).fit(X, FEW)
    with pytest.raises(InputError, match="nothing is known that changes them"):
        lk.ConsistencyTraining(lk.SequenceClassifier("rnn", 2)).fit(X, FEW)


def test_consistency_training_moves_the_boundary_into_the_gap():
    """Two moons; all labelled rows are the network's; absent rows change no bit."""
    A, a = make_moons(300, noise=0.08, random_state=0)
    B, b = make_moons(500, noise=0.08, random_state=1)
    few = np.full(300, -1)
    for c in (0, 1):
        few[np.flatnonzero(a == c)[:4]] = c
    network = lk.MLPClassifier(
        (20,), max_iter=400, learning_rate_init=0.02, solver="adam"
    )
    alone = clone(network).fit(A[few >= 0], few[few >= 0])
    without = lk.ConsistencyTraining(network).fit(A[few >= 0], few[few >= 0])
    np.testing.assert_array_equal(without.predict_proba(B), alone.predict_proba(B))
    assert without.strength_ == 0
    model = lk.ConsistencyTraining(network).fit(A, few)
    assert model.strength_ == 1
    assert model.score(B, b) > max(alone.score(B, b), 0.9)
    w = np.r_[np.ones(300), np.zeros(20)]
    garbage = np.r_[A, np.full((20, 2), np.nan)]
    other = lk.ConsistencyTraining(network).fit(garbage, np.r_[few, np.full(20, 7)], w)
    np.testing.assert_array_equal(other.predict_proba(B), model.predict_proba(B))


# Autoencoder ----------------------------------------------------------------------------


def test_a_linear_autoencoder_keeps_what_principal_components_keep():
    Z = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(
        size=(200, 5)
    )
    settings = {"alpha": 0.0, "learning_rate_init": 0.03, "max_iter": 600}
    model = lk.AutoencoderFeatures(2, (), scaling="together", **settings).fit(Z)
    best = PCA(2).fit(Z)
    lost = 1 - best.explained_variance_ratio_.sum()
    assert lost < model.error_ < 1.02 * lost
    codes = model.transform(Z)
    np.testing.assert_allclose(codes.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(codes.std(0), 1, rtol=1e-6)
    span = np.c_[codes, np.ones(200)]
    score = best.transform(Z)
    rest = score - span @ np.linalg.lstsq(span, score, rcond=None)[0]
    assert (rest**2).sum() < 0.01 * (score**2).sum()
    again = model.inverse_transform(codes)
    assert ((again - Z) ** 2).sum() < 1.02 * lost * ((Z - Z.mean(0)) ** 2).sum()
    w = np.r_[np.ones(200), np.zeros(8)]
    garbage = np.r_[Z, np.full((8, 5), np.nan)]
    other = clone(model).fit(garbage, sample_weight=w)
    np.testing.assert_allclose(other.transform(Z), codes, atol=1e-4)
    with pytest.raises(InputError, match="2 columns"):
        model.inverse_transform(Z)
    with pytest.raises(InputError, match="scaling is"):
        clone(model).set_params(scaling="rows").fit(Z)
