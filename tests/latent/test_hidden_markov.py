"""Hidden Markov models against all paths of states, hmmlearn, and the laws of EM."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import likely as lk
from likely import families
from likely.core import InputError
from likely.latent.clusters.states.kernel import posterior
from likely.latent.clusters.states.sequences import Positions

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
rng = np.random.default_rng(0)


def sequences(n=20, t=15, d=2, k=3):
    """Sequences of three well-separated states that stay for a while."""
    own = np.random.default_rng(1)
    A = 0.8 * np.eye(k) + 0.2 / k
    X = np.empty((n, t, d))
    for i in range(n):
        z = own.integers(k)
        for s in range(t):
            X[i, s] = 3.0 * z * (-1) ** np.arange(d) + own.normal(size=d)
            z = own.choice(k, p=A[z])
    return X


def log_joints(model, x):
    """log p(x, z) of every sequence of states, with SciPy's densities."""
    k, t = len(model.startprob_), len(x)
    paths = list(itertools.product(range(k), repeat=t))
    density = np.zeros((t, k))
    for s, j in itertools.product(range(t), range(k)):
        if not np.isnan(x[s]).any():
            own = stats.multivariate_normal(model.means_[j], model.covariances_[j])
            density[s, j] = own.logpdf(x[s])
    log_a, log_A = np.log(model.startprob_), np.log(model.transmat_)
    found = [
        log_a[p[0]]
        + sum(log_A[p[s], p[s + 1]] for s in range(t - 1))
        + sum(density[s, p[s]] for s in range(t))
        for p in paths
    ]
    return np.array(paths), np.array(found)


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_everything_is_that_of_the_enumeration_of_all_paths(covariance_type):
    X = sequences(n=12, t=5)
    X[3, 2, 0] = np.nan  # a position that is not observed
    model = lk.HiddenMarkovModel(3, covariance_type=covariance_type, max_iter=5).fit(X)
    log_prob, path, proba = model.log_prob(X), model.predict(X), model.predict_proba(X)
    for i in (0, 3):
        paths, joint = log_joints(model, X[i])
        np.testing.assert_allclose(log_prob[i], logsumexp(joint), rtol=1e-10)
        np.testing.assert_array_equal(path[i], paths[joint.argmax()])
        weights = np.exp(joint - logsumexp(joint))
        expected = [
            [weights[paths[:, s] == j].sum() for j in range(3)] for s in range(5)
        ]
        np.testing.assert_allclose(proba[i], expected, atol=1e-10)


def test_the_likelihood_never_falls_for_any_family():
    X = rng.poisson(3, (15, 8)).astype(float)
    X[:5] += 4
    for family in ("normal", "poisson", "categorical"):
        model = lk.HiddenMarkovModel(3, family=family, n_init=1, max_iter=25, tol=-1.0)
        history = model.fit(X).history_
        assert len(history) == 26
        assert np.diff(history).min() > -1e-9
        assert history[-1] > history[0] + 0.1
        np.testing.assert_allclose(model.score(X), history[-1], rtol=1e-10)
        draws = model.sample(3, random_state=0)
        assert draws.shape == (3, 8)
        assert np.isfinite(model.log_prob(draws)).all()


def test_forms_of_sequences_agree():
    X = sequences(n=6)
    flat = X.reshape(-1, 2)
    settings = {"n_states": 3, "n_init": 1}
    model = lk.HiddenMarkovModel(**settings).fit(X)
    others = [
        lk.HiddenMarkovModel(**settings).fit(list(X)),
        lk.HiddenMarkovModel(**settings).fit(flat, lengths=[15] * 6),
    ]
    for other in others:
        np.testing.assert_array_equal(other.means_, model.means_)
        np.testing.assert_array_equal(other.log_prob(list(X)), model.log_prob(X))
    assert len(others[0].predict(list(X))) == 6
    assert others[1].predict(flat, lengths=[15] * 6).shape == (90,)
    one = model.log_prob(X[0])  # a single array is one sequence
    np.testing.assert_array_equal(one, model.log_prob(X)[:1])
    ragged = lk.HiddenMarkovModel(2).fit([X[0], X[1, :1], X[2, :7]])
    assert ragged.log_prob([X[0], X[1, :1], X[2, :7]]).shape == (3,)


def test_a_weight_is_the_sequence_so_often():
    X = sequences(n=9)
    w = np.arange(9) % 3.0
    garbage = X.copy()
    garbage[w == 0] = np.nan
    garbage[0, 0] = 1e300
    weighted = lk.HiddenMarkovModel(3).fit(garbage, sample_weight=w)
    repeated = lk.HiddenMarkovModel(3).fit(np.repeat(X, w.astype(int), axis=0))
    np.testing.assert_allclose(weighted.transmat_, repeated.transmat_, atol=1e-10)
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-9)


def test_scales_that_underflow_are_done_in_logarithms():
    """The only state that can be reached is 10⁶ standard deviations away."""
    a, A = np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.5, 0.5]])
    L = np.array([[-1.0, -2.0], [-5e5, -1.0], [-3.0, -1.0]])
    G, log_prob = np.empty_like(L), np.empty(1)
    starts, pairs = np.zeros(2), np.zeros((2, 2))
    with np.errstate(divide="ignore"):
        posterior(
            L, np.array([0, 3]), np.ones(1), a, A, 0, 1, G, log_prob, starts, pairs
        )
    np.testing.assert_allclose(log_prob, [-1.0 - 5e5 - 3.0])
    np.testing.assert_allclose(G[:, 0], 1.0)
    np.testing.assert_allclose(pairs, [[2.0, 0.0], [0.0, 0.0]])


def test_edges_get_an_answer_or_a_sentence():
    constant = lk.HiddenMarkovModel(2).fit(np.ones((4, 6)))
    assert np.isfinite(constant.log_prob(np.ones((4, 6)))).all()
    X = sequences(n=4)
    many = lk.HiddenMarkovModel(9, n_init=1).fit(X[:1, :4])  # more states than rows
    assert np.isfinite(many.log_prob(X[:, :4])).all()
    np.testing.assert_allclose(many.transmat_.sum(1), 1.0)
    single = lk.HiddenMarkovModel(2).fit(X[:, :1])
    assert single.predict(X[:, :1]).shape == (4, 1)
    symbols = lk.HiddenMarkovModel(2, family="categorical").fit([[0, 1, 2], [1, 1, 2]])
    assert symbols.log_prob([[0, 1, 7]]) == -np.inf
    assert np.isnan(symbols.predict_proba([[0, 1, 7]])).all()
    for bad, sentence in (
        ({"lengths": [3, 4]}, "add up"),
        ({"sample_weight": [1.0]}, "one weight for each"),
    ):
        with pytest.raises(InputError, match=sentence):
            lk.HiddenMarkovModel().fit(X[0], **bad)
    with pytest.raises(InputError, match="missing"):
        lk.HiddenMarkovModel().fit(X * np.nan)
    with pytest.raises(InputError, match="the symbol 0.5"):
        lk.HiddenMarkovModel(family="categorical").fit(np.full((2, 3), 0.5))
    with pytest.raises(InputError, match="the same columns"):
        single.log_prob(np.zeros((2, 3, 5)))


def test_the_forecast_is_the_mixture_over_the_next_state():
    X = sequences(n=10, d=1)[..., 0]
    model = lk.HiddenMarkovModel(3).fit(X)
    grid = np.linspace(-15, 15, 3001)
    longer = [np.append(X[0], g) for g in grid[1490:1500]]
    density = np.exp(model.forecast(np.tile(X[0], (10, 1))).log_prob(grid[1490:1500]))
    ratio = [model._chain().posterior(  # p(x, next) / p(x)
        Positions(row[:, None], np.array([0, len(row)]), "list"), np.ones(1)
    ).log_prob[0] for row in longer] - model.log_prob(X)[0]  # fmt: skip
    np.testing.assert_allclose(density, np.exp(ratio), rtol=1e-8)


def test_the_same_bits_at_one_and_two_threads():
    X = sequences(n=200, t=60)
    one = lk.HiddenMarkovModel(3, n_init=1, max_iter=5, n_jobs=1).fit(X)
    two = lk.HiddenMarkovModel(3, n_init=1, max_iter=5, n_jobs=2).fit(X)
    np.testing.assert_array_equal(one.means_, two.means_)
    np.testing.assert_array_equal(one.history_, two.history_)


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", [families.Gamma(), families.StudentT(), families.NegativeBinomial()]
)
def test_other_families_rise_too(family):
    X = rng.poisson(4, (20, 10)) + 1.0
    X[:, 5:] += 6
    model = lk.HiddenMarkovModel(2, family=family, n_init=1, max_iter=30, tol=-1.0)
    history = model.fit(X).history_
    assert np.diff(history).min() > -1e-9
    assert history[-1] > history[0]


@pytest.mark.slow
def test_hmmlearn_takes_the_same_steps():
    """From the same start, as many rounds give the same parameters."""
    hmm = pytest.importorskip("hmmlearn.hmm")
    X = sequences(n=8)
    ours = lk.HiddenMarkovModel(3, n_init=1, max_iter=1, tol=-1.0).fit(X)
    peer = hmm.GaussianHMM(
        3,
        "full",
        n_iter=6,
        tol=-np.inf,
        init_params="",
        covars_prior=0.0,
        min_covar=0.0,
    )
    peer.startprob_, peer.transmat_ = ours.startprob_, ours.transmat_
    peer.means_, peer.covars_ = ours.means_, ours.covariances_
    peer.fit(X.reshape(-1, 2), [15] * 8)
    more = lk.HiddenMarkovModel(3, n_init=1, max_iter=7, tol=-1.0).fit(X)
    np.testing.assert_allclose(more.transmat_, peer.transmat_, atol=1e-8)
    np.testing.assert_allclose(
        more.log_prob(X).sum(), peer.score(X.reshape(-1, 2), [15] * 8)
    )
