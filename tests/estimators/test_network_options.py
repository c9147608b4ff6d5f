"""Networks with other families, members, Laplace's approximation, categories, passes."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin

import likely as lk
from likely import families
from likely.base.settings import store
from likely.base.training.members import members_of
from likely.base.training.options import TrainingOptions
from likely.core import InputError, float64
from likely.estimators.images.cnn import ImageInputs
from likely.estimators.networks import NetworkPredictor
from likely.estimators.networks.families import FAMILIES, family_of
from likely.estimators.networks.units import in_data_units
from likely.models import mlp
from likely.solvers import Adam, Noise, StepDecay
from likely.solvers.training import History

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(rng, n=80):
    X = rng.normal(size=(n, 2)) * [1.0, 10.0]
    return X, np.exp(0.5 * X[:, 0] - 0.03 * X[:, 1])


# Units --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "mixture" else name
        for name in FAMILIES
    ],
)
def test_densities_change_as_units_do(name, rng):
    """log p(y) = log p(z) − log u where z = (y − s)/u, with η in the units of each."""
    family, _ = family_of(name)
    s, u = {"gamma": (0.0, 7.0), "poisson": (0.0, 1.0)}.get(name, (3.0, 7.0))
    if name == "negative_binomial":
        s, u = 0.0, 1.0
    with float64():
        z = jnp.asarray(rng.integers(1, 5, size=6).astype(float))
        eta = jnp.asarray(rng.normal(size=(6, family.n_eta)))
        a, b = in_data_units(family, jnp.asarray(s), jnp.asarray(u))
        there = np.asarray(family.log_prob(eta * a[None] + b[None], z * u + s))
        here = np.asarray(family.log_prob(eta, z))
    np.testing.assert_allclose(there, here - np.log(u), rtol=1e-9)


# Oracles: a network without hidden layers is a linear model -----------------------------


@pytest.mark.parametrize(
    ("family", "peer"),
    [
        ("poisson", lk.PoissonRegressor()),
        pytest.param("gamma", lk.GammaRegressor(), marks=pytest.mark.slow),
        pytest.param(
            "negative_binomial",
            lk.NegativeBinomialRegressor(),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_without_hidden_layers_it_is_the_linear_model(family, peer, rng):
    X, mean = rows(rng)
    y = 10 * rng.gamma(2.0, mean / 2)
    y = y if family == "gamma" else rng.poisson(y)
    settings = {"alpha": 0.0, "max_iter": 2000, "tol": 1e-8}
    model = lk.MLPRegressor((), family=family, **settings).fit(X, y)
    peer.fit(X, y)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-4)
    known = peer.predict_dist(X, uncertainty="none")  # as the network takes them
    assert model.nll(X, y) == pytest.approx(-known.log_prob(y).mean(), abs=2e-3)


def test_several_outputs_are_as_many_linear_regressions(rng):
    X, mean = rows(rng)
    Y = np.c_[mean, 1e3 + 100 * X[:, 1]] + rng.normal(size=(80, 2)) * [0.1, 30.0]
    model = lk.MLPRegressor((), alpha=0.0, max_iter=2000, tol=1e-9).fit(X, Y)
    line = lk.LinearRegression().fit(X, Y)
    np.testing.assert_allclose(model.predict(X), line.predict(X), rtol=1e-5)
    spread = np.sqrt(np.mean((Y - line.predict(X)) ** 2, axis=0))
    np.testing.assert_allclose(model.predict_dist(X).std[0], spread, rtol=1e-3)


def test_laplace_without_hidden_layers_is_bayesian_linear_regression(rng):
    """Var[y] = σ² + hᵀ(XᵀX/σ² + δI)⁻¹h, with a flat prior for the bias."""
    X, mean = rows(rng, 30)
    y = X @ [2.0, 0.1] + 0.5 * rng.normal(size=30)
    model = lk.MLPRegressor((), alpha=0.0, max_iter=500, laplace=4.0, tol=1e-9)
    model.fit(X, y)
    at = np.r_[X, [[30.0, 300.0]]]
    scaling = model.phi_.scaling
    H = lambda X: np.c_[(X - scaling.center) / scaling.scale, np.ones(len(X))]  # noqa: E731
    noise = np.exp(2 * model.phi_.solution.model.tail[0])
    posterior = np.linalg.inv(H(X).T @ H(X) / noise + np.diag([4.0, 4.0, 0.0]))
    variance = noise + np.einsum("np,pq,nq->n", H(at), posterior, H(at))
    said = model.predict_dist(at).std / scaling.spread
    np.testing.assert_allclose(said, np.sqrt(variance), rtol=1e-4)
    chosen = lk.MLPRegressor((), alpha=0.0, max_iter=500, laplace=True).fit(X, y)
    assert chosen.last_layer_.precision < 100


# Members ------------------------------------------------------------------------------


def test_members_are_networks_of_their_own_and_mix(rng):
    """The first is the network that one alone would be."""
    X, mean = rows(rng)
    settings = {"solver": "adam", "max_iter": 30, "learning_rate_init": 0.01}
    alone = lk.MLPRegressor((4,), "tanh", **settings).fit(X, mean)
    model = lk.MLPRegressor((4,), "tanh", n_members=3, **settings).fit(X, mean)
    parts = model.members(X)
    np.testing.assert_allclose(parts[0].mean, alone.predict(X), rtol=1e-3, atol=1e-3)
    assert np.abs(parts[1].mean - parts[0].mean).max() > 0.01
    logs = np.stack([part.log_prob(mean) for part in parts])
    dist = model.predict_dist(X)
    np.testing.assert_allclose(dist.log_prob(mean), logsumexp(logs, 0) - np.log(3))
    np.testing.assert_allclose(model.predict(X), np.mean([p.mean for p in parts], 0))
    np.testing.assert_allclose(dist.mean, model.predict(X), rtol=1e-6)
    assert model.nll(X, mean) <= -logs.mean() + 1e-9  # Jensen


def test_a_bootstrap_draws_as_many_rows_with_replacement(getkey):
    w = np.r_[np.full(40, 2.0), np.zeros(8)]
    found = members_of(getkey(), 50, w, bootstrap=True, begin=None)
    assert (found.w.sum(1) == 80).all()
    assert (found.rows[found.w > 0] < 40).all()
    assert len(np.unique(found.w @ np.arange(found.w.shape[1]))) > 40
    mean = np.zeros(48)
    np.add.at(mean, found.rows, found.w / 50)
    assert np.abs(mean[:40] - 2).max() < 1


def test_classes_of_members_have_mean_probabilities():
    etas = np.random.default_rng(0).normal(size=(4, 5, 3))
    from likely.families import mix

    p = np.exp(etas) / np.exp(etas).sum(2, keepdims=True)
    dist = mix(families.Categorical(3), etas, classes=np.array(["a", "b", "c"]))
    np.testing.assert_allclose(dist.probs, p.mean(0), rtol=1e-9)
    two = mix(families.Bernoulli(), etas[..., :1], classes=np.array(["n", "y"]))
    yes = (1 / (1 + np.exp(-etas[..., 0]))).mean(0)
    np.testing.assert_allclose(two.probs[:, 1], yes, rtol=1e-9)
    nested = mix(families.Mixture(families.Normal(1.0), 1), etas[..., :2])
    np.testing.assert_allclose(nested.mean, etas[..., 1].mean(0), rtol=1e-9)


# Options ------------------------------------------------------------------------------


def test_every_option_of_a_fit_at_once(rng, tmp_path):
    X, mean = rows(rng)
    history = History()
    model = lk.MLPRegressor(
        (4, 4), norm="layer", dropout=0.1, residual=True, solver="adam", max_iter=6,
        learning_rate="cosine", clip_norm=1.0, weight_average=0.9, batch_size=16,
    )  # fmt: skip
    model.fit(X, mean, callbacks=history, checkpoints=str(tmp_path / "run"))
    assert (tmp_path / "run").is_dir()
    assert "stop" in history.kinds
    rate = model.history_["rate"]
    assert rate[0] == pytest.approx(1e-3)
    assert rate[-1] < 1e-4
    assert model.learner_.solver.average is not None
    assert np.isfinite(model.nll(X, mean))


def test_a_solver_of_ones_own(rng):
    own = Adam(StepDecay(0.01, 5, 0.5), steps=10, batch_size=8)
    X, mean = rows(rng, 30)
    model = lk.MLPRegressor((4,), solver=own).fit(X, mean)
    assert model.n_iter_ == 10
    assert model.history_["rate"][-1] == pytest.approx(0.005)


def test_passes_and_warm_starts_go_on(rng):
    X, mean = rows(rng)
    passes = lk.MLPRegressor((8,), "tanh", batch_size=20, learning_rate_init=0.02)
    for _ in range(40):
        passes.partial_fit(X, mean)
    assert passes.score(X, mean) > 0.9
    assert passes.n_iter_ == 40
    with pytest.raises(ValueError, match="features"):
        passes.partial_fit(X[:, :1], mean)
    y = np.where(mean > 1, "b", "a")
    classes = lk.MLPClassifier((4,))
    with pytest.raises(InputError, match="needs classes"):
        classes.partial_fit(X, y)
    classes.partial_fit(X[y == "a"], y[y == "a"], classes=["a", "b", "c"])
    assert classes.predict_proba(X).shape == (80, 3)
    warm = lk.MLPRegressor((4,), max_iter=15, warm_start=True)
    first = warm.fit(X, mean).loss_
    assert warm.fit(X, mean).loss_ < first
    with pytest.raises(InputError, match="warm_start"):
        warm.set_params(hidden_layer_sizes=(5,)).fit(X, mean)


@pytest.mark.parametrize(
    "kind", ["pandas", pytest.param("polars", marks=pytest.mark.slow)]
)
def test_categories_are_learned_vectors(kind, rng):
    frames = pytest.importorskip(kind)
    town = np.array(["Bern", "Jena", "Ulm"])[rng.integers(3, size=90)]
    x = rng.normal(size=90)
    y = x + 3.0 * (town == "Jena")
    frame = frames.DataFrame({"x": x, "town": town})
    model = lk.MLPRegressor((4,), "tanh", max_iter=200, alpha=1e-3).fit(frame, y)
    assert model.score(frame, y) > 0.98
    assert [len(words) for words in model.encoder_.categories_] == [3]
    assert model.feature_names_in_.tolist() == ["x", "town"]
    other = frames.DataFrame({"x": [0.0, 0.0], "town": ["Jena", "Oslo"]})
    known, unknown = model.predict(other)
    assert known == pytest.approx(3.0, abs=0.5)
    assert np.isfinite(unknown)


@pytest.mark.parametrize("rows", [1, 20, 200])
def test_rows_are_padded_to_whole_minibatches_of_few_numbers(rows):
    settings = TrainingOptions(batch_size=rows)
    sizes = {n: settings.padded_rows(n) for n in range(1, 5000)}
    assert all(n <= size for n, size in sizes.items())
    assert all(size % rows == 0 for n, size in sizes.items() if n > rows)
    assert all(size < n + rows + n / 16 for n, size in sizes.items() if n > rows)
    assert len({size for n, size in sizes.items() if n > rows}) < 16 * 13
    own = TrainingOptions(solver=Adam(1e-3, steps=5))
    assert own.padded_rows(100) == 128  # all rows at once


@pytest.mark.parametrize(
    ("layers", "init", "law"),
    [
        (1, "auto", "uniform"),
        (3, "auto", "uniform"),
        (4, "auto", "he"),
        (1, "he", "he"),
    ],
)
def test_few_layers_start_almost_flat(layers, init, law, rng):
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    model = lk.MLPRegressor((4,) * layers, init=init, solver="adam", max_iter=1)
    assert model.fit(X, y)._architecture().perceptron.init == law


# Another architecture -----------------------------------------------------------------


class FlatImages(eqx.Module):
    """Images as rows."""

    width: int = eqx.field(static=True)

    def build(self, shape, n_out, *, key):
        chain = mlp((int(np.prod(shape)), self.width, n_out), key=key)
        return eqx.tree_at(lambda c: c.layers, chain, (Flat(), *chain.layers))


class Flat(eqx.Module):
    def __call__(self, X, *, w=None, key=None, state=None):
        return X.reshape(len(X), -1), state


class ImageClassifier(ClassifierMixin, NetworkPredictor):
    _kind = ImageInputs(512)

    def __init__(self, width=3, *, max_iter=5, n_members=2, random_state=0):
        store(self, locals())

    def _architecture(self):
        return FlatImages(self.width)


@pytest.mark.slow
def test_another_architecture_needs_few_lines(rng):
    X = rng.normal(size=(40, 3, 3, 2)) * [1.0, 50.0] + [0.0, 200.0]
    y = np.where(X[:, 1, 1, 0] > 0, "up", "down")
    model = ImageClassifier(max_iter=200).fit(X, y)
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.phi_.scaling.center[0], [0, 200], atol=5)


def test_what_cannot_be_gets_a_sentence(rng):
    X, mean = rows(rng, 20)
    for settings, words in [
        ({"family": "cauchy"}, "family is 'cauchy'"),
        ({"n_members": 0}, "n_members is 0"),
        ({"learning_rate": "slow"}, "learning_rate is 'slow'"),
        ({"solver": "lbfgs", "dropout": 0.5}, "has no dropout"),
        ({"solver": "adam", "weight_average": 2.0}, "weight_average is 2.0"),
        ({"categories": [7]}, "categories has column 7"),
        ({"family": "poisson"}, "counts"),
    ]:
        with pytest.raises(InputError, match=words):
            lk.MLPRegressor((4,), **settings).fit(X, mean)


def test_ways_to_regularise_one_network(rng):
    """Each makes new rows less surprising than the bare network that fits its noise."""
    X = rng.uniform(-2, 2, size=(560, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=560)
    settings = {"solver": "adam", "max_iter": 1500, "learning_rate_init": 3e-3}
    settings |= {"alpha": 0.0, "batch_size": 60}
    noise = Adam(3e-3, steps=1500, batch_size=60, noise=Noise(inputs=0.2))
    ways = {
        "bare": {},
        "prior": {"alpha": 3.0},
        "dropout": {"dropout": 0.2},
        "early stopping": {"early_stopping": True, "validation_fraction": 0.25},
        "ensemble": {"n_members": 5},
        "noise": {"solver": noise},
        "Laplace": {"laplace": True},
    }
    nats = {}
    for name, way in ways.items():
        model = lk.MLPRegressor((64,), **settings | way).fit(X[:60], y[:60])
        nats[name] = model.nll(X[60:], y[60:])
    assert nats["bare"] > 1.0
    assert all(nats[name] < nats["bare"] for name in ways if name != "bare"), nats
