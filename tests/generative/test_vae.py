"""Variational autoencoders: bounds against closed forms, tables of all kinds, images."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

import likely as lk
from likely.core import InputError, float64
from likely.generative.autoencoders.cells import CellLikelihood
from likely.generative.autoencoders.posterior import as_posterior, posterior_size
from likely.solvers.training import Checkpoints
from likely.solvers.training.divergence import DivergenceWarning
from likely.solvers.training.events import StepLimit

rng = np.random.default_rng(0)
W = np.array([[2.0, 0.5, 0.0, 1.0], [0.0, 1.0, -1.0, 0.5]])
NORMAL = rng.normal(size=(300, 2)) @ W + [1, 0, 3, -2] + 0.5 * rng.normal(size=(300, 4))


@pytest.fixture(scope="module")
def linear() -> lk.VAE:
    """A linear encoder and decoder with normal noise: factor analysis."""
    settings = {"max_iter": 600, "early_stopping": False, "learning_rate_init": 0.01}
    return lk.VAE(
        2, (), family="normal", covariance="full", alpha=0.0, batch_size=300, **settings
    ).fit(NORMAL)


def evidence(model: lk.VAE, X: np.ndarray) -> np.ndarray:
    """log p(x) of a model whose decoder is linear: a normal density."""
    Z = np.r_[np.zeros((1, 2)), np.eye(2)]
    rows = model.decode(Z, means=True)
    slopes = rows[1:] - rows[0]
    network = model.phi_.solution.model
    scale = np.exp(np.asarray(network.tail, float)) * model.coding_.scale
    law = stats.multivariate_normal(rows[0], slopes.T @ slopes + np.diag(scale**2))
    return law.logpdf(X)


def test_the_bound_is_below_the_evidence_and_meets_it(linear):
    """Linear and normal, log p(x) is known; at the optimum q is the posterior."""
    exact = evidence(linear, NORMAL)
    elbo = linear.elbo(NORMAL, n_draws=4096)  # the error of a row is about 0.015
    assert (elbo < exact + 0.07).all()
    gap = (exact - elbo).mean()
    assert -0.005 < gap < 0.02
    bound = linear.bound(NORMAL, n_draws=64)
    assert abs(bound.mean - exact.mean()) < 0.005 + 3 * bound.error
    best = lk.FactorAnalysis(2).fit(NORMAL).log_prob(NORMAL).mean()
    assert best - 0.02 < exact.mean() < best + 1e-6
    posterior = linear.encode(NORMAL[:1])
    assert np.triu(posterior.factor[0], 1).max() == 0


def test_a_wrong_encoder_leaves_a_gap_that_draws_close(linear):
    """KL(q, posterior) at one draw; the importance-weighted bound tends to log p(x)."""
    wrong = clone(linear).set_params(max_iter=0).fit(NORMAL[:200])
    exact = evidence(wrong, NORMAL).mean()
    bounds = [wrong.bound(NORMAL, n_draws=k).mean for k in (1, 8, 128)]
    assert bounds[0] < bounds[1] < bounds[2] < exact + 0.02
    assert exact - bounds[2] < 0.2 * (exact - bounds[0])
    np.testing.assert_allclose(
        wrong.elbo(NORMAL, n_draws=64).mean(), bounds[0], atol=0.1
    )


def test_what_is_said_of_a_row_depends_on_no_other(linear):
    whole = linear.bound(NORMAL)
    part = linear.bound(NORMAL[[7, 3]])
    np.testing.assert_allclose(part.values, whole.values[[7, 3]], rtol=1e-9)
    w = np.r_[np.ones(300), 0]
    garbage = np.r_[NORMAL, np.full((1, 4), np.nan)]
    np.testing.assert_allclose(linear.nll(garbage, w), -whole.mean, rtol=1e-9)
    assert linear.score(NORMAL) == whole.mean
    assert not hasattr(linear, "log_prob")


@pytest.mark.slow
def test_missing_numbers_are_conditional_means(linear):
    """Of a linear model the mean of a missing cell given the others has a formula."""
    X = NORMAL[:40].copy()
    X[:, 0] = np.nan
    rows = linear.decode(np.r_[np.zeros((1, 2)), np.eye(2)], means=True)
    slopes = rows[1:] - rows[0]
    scale = np.exp(np.asarray(linear.phi_.solution.model.tail, float))
    noise = np.diag((scale * linear.coding_.scale) ** 2)
    S = slopes.T @ slopes + noise
    gain = np.linalg.solve(S[1:, 1:], S[1:, 0])
    mean = rows[0, 0] + (X[:, 1:] - rows[0, 1:]) @ gain
    spread = np.sqrt(S[0, 0] - S[0, 1:] @ gain)
    filled = linear.impute(X)
    np.testing.assert_array_equal(filled[:, 1:], X[:, 1:])
    assert np.abs(filled[:, 0] - mean).mean() < 0.3 * spread
    drawn = np.stack(linear.impute(X, n_draws=30))[:, :, 0]
    np.testing.assert_allclose((drawn - mean).std(), spread, rtol=0.15)
    hidden = np.zeros((40, 4), bool)
    hidden[:, 0] = True
    found = linear.cell_log_prob(NORMAL[:40], hidden)
    exact = stats.norm(mean, spread).logpdf(NORMAL[:40, 0])
    assert abs(found[:, 0].mean() - exact.mean()) < 0.1
    assert np.isnan(found[:, 1:]).all()


@pytest.mark.parametrize("shape", ["diagonal", "full"])
def test_posteriors_are_normal_laws_of_scipy(shape):
    k = 3
    out = rng.normal(size=(2, posterior_size(k, shape)))
    with float64():
        q = as_posterior(jnp.asarray(out), k, shape)
        noise = jnp.asarray(rng.normal(size=(2, k)))
        z, log_q, again = q.draw(noise), q.log_prob(noise), q.log_density(q.draw(noise))
        divergence, factor = q.divergence(), np.asarray(q.factor)
    for i in range(2):
        law = stats.multivariate_normal(q.mean[i], factor[i] @ factor[i].T)
        np.testing.assert_allclose(log_q[i], law.logpdf(z[i]))
        np.testing.assert_allclose(again[i], log_q[i])
        S, m = law.cov_object.covariance, law.mean
        kl = 0.5 * (np.trace(S) + m @ m - k - np.linalg.slogdet(S)[1])
        np.testing.assert_allclose(divergence[i], kl)


def test_levels_of_a_byte_sum_to_one():
    """Also where the normal lies outside of 0 to 255; no level is all but impossible."""
    cells = CellLikelihood.of_bytes(1, shared=False)
    v = np.arange(256)[:, None] / 255
    with float64():
        for eta in ([0.3, -2.0], [-3.0, -5.0], [1.2, -7.0]):
            out = jnp.asarray(np.tile(eta, (256, 1)))
            log_p = cells.log_prob(out, jnp.zeros(0), jnp.asarray(v), None)
            np.testing.assert_allclose(np.exp(log_p).sum(), 1, rtol=1e-9)
            assert log_p.min() > -16
        drawn = cells.sample(out, jnp.zeros(0), jax.random.key(0))
    levels = np.asarray(drawn) * 255
    np.testing.assert_allclose(levels, np.round(levels), atol=1e-9)


@pytest.mark.slow
def test_runs_are_resumed_mixed_and_stopped_when_they_diverge(tmp_path):
    settings = {"max_iter": 6, "early_stopping": False, "batch_size": 100}
    whole = lk.VAE(2, (4,), **settings).fit(NORMAL)

    def stop(event):
        if event.step >= 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clone(whole).fit(
            NORMAL, checkpoints=Checkpoints(tmp_path, every_steps=2), callbacks=stop
        )
    again = clone(whole).fit(NORMAL, checkpoints=tmp_path, resume=True)
    np.testing.assert_array_equal(again.transform(NORMAL), whole.transform(NORMAL))
    mixed = clone(whole).set_params(n_members=2).fit(NORMAL)
    assert mixed.sample(5, random_state=0).shape == (5, 4)
    assert np.isfinite(mixed.nll(NORMAL))
    with pytest.warns(DivergenceWarning, match="try 1e\\+07"):
        clone(whole).set_params(learning_rate_init=1e8).fit(NORMAL)


def table(n: int = 200) -> pd.DataFrame:
    """Columns of all kinds, of which many depend on each other."""
    kind = rng.integers(3, size=n)
    found = pd.DataFrame(
        {
            "kind": np.array(["bird", "cat", "dog"])[kind],
            "weight": np.exp(kind + 0.3 * rng.normal(size=n)),
            "age": rng.integers(1, 40, n) + 10 * kind,
            "visits": rng.poisson(1 + 4 * kind) * (rng.random(n) < 0.9) * 3,
            "chip": kind > rng.integers(3, size=n) - 0.5,
            "born": np.datetime64("2020-01-01") + rng.integers(0, 90, n),
            "site": 3,
        }
    )
    found.loc[:9, "kind"] = None
    found.loc[5:20, "weight"] = np.nan
    return found


@pytest.fixture(scope="module")
def mixed() -> tuple[lk.VAE, pd.DataFrame]:
    frame = table()
    settings = {"max_iter": 400, "early_stopping": False, "learning_rate_init": 0.01}
    return lk.VAE(2, (16,), batch_size=200, **settings).fit(frame), frame


@pytest.mark.slow
def test_tables_of_all_kinds(mixed, tmp_path):
    model, frame = mixed
    drawn = model.sample(300, random_state=0)
    assert list(drawn) == list(frame)
    assert (drawn.dtypes == frame.dtypes).all()
    assert drawn["weight"].min() > 0
    assert set(drawn["kind"]) <= {"bird", "cat", "dog"}
    heavy = drawn.groupby("kind")["weight"].median()
    assert heavy["dog"] > 2 * heavy["bird"]
    filled = model.impute(frame)
    assert not filled.isna().any().any()
    pd.testing.assert_frame_equal(filled.iloc[21:], frame.iloc[21:])
    assert model.transform(frame).shape == (200, 2)
    assert len(model.decode(np.zeros((2, 2)))) == 2
    model.save(tmp_path / "v")
    again = lk.load(tmp_path / "v")
    np.testing.assert_array_equal(again.elbo(frame), model.elbo(frame))


@pytest.mark.slow
def test_a_table_is_better_than_its_columns_alone(mixed):
    """Against independent columns, each of its own family, in the same units."""
    model, frame = mixed
    codec = model.coding_.codec
    V = codec.encode(frame)
    alone = clone(model).set_params(max_iter=0, hidden_layer_sizes=()).fit(frame)
    weights = alone.phi_.solution.model
    alone.phi_ = _without_codes(alone.phi_)
    assert model.nll(frame) < alone.nll(frame) - 0.3
    assert np.isfinite(codec.log_det(V)).all()
    assert weights.start.shape == (alone._variational().likelihood.n_out,)


def _without_codes(phi):
    """The parameters of a model whose decoder does not look at codes."""
    import equinox as eqx

    zeros = np.zeros_like(phi.solution.model.decoder.linear.weight)
    phi = eqx.tree_at(lambda p: p.solution.model.decoder.linear.weight, phi, zeros)
    dense = phi.solution.model.decoder.dense.layers[-1].weight
    return eqx.tree_at(
        lambda p: p.solution.model.decoder.dense.layers[-1].weight,
        phi,
        np.zeros_like(dense),
    )


@pytest.mark.slow
def test_rows_given_labels():
    labels = np.where(rng.random(200) < 0.5, "low", "high")
    X = np.where(labels == "low", -2.0, 2.0)[:, None] + 0.3 * rng.normal(size=(200, 2))
    settings = {"max_iter": 300, "early_stopping": False, "learning_rate_init": 0.02}
    model = lk.VAE(1, (8,), batch_size=200, **settings).fit(X, given=labels)
    assert (model.sample(50, given="low", random_state=0) < 0).mean() > 0.97
    both = model.sample(2, given=["low", "high"], random_state=0)
    assert both[0, 0] < 0 < both[1, 0]
    wrong = np.where(labels == "low", "high", "low")
    assert model.nll(X, given=labels) < model.nll(X, given=wrong) - 3
    with pytest.raises(InputError, match="fitted with given"):
        model.sample(1)
    with pytest.raises(InputError, match="'middle'"):
        model.sample(1, given="middle")
    with pytest.raises(InputError, match="give one row, or 3"):
        model.sample(3, given=["low", "high"])


def test_a_limit_of_steps_is_that_of_the_program():
    X = np.random.default_rng(0).normal(size=(80, 3))
    seen = []
    model = lk.VAE(1, (3,), batch_size=16, family="normal")
    model.fit(X, callbacks=(StepLimit(9), lambda event: seen.append(event.step)))
    same = lk.VAE(1, (3,), batch_size=16, family="normal")
    same.fit(X, callbacks=lambda event: event.step >= 9)  # known when it has run
    assert int(np.max(model.phi_.solution.status.steps)) == max(seen) < 20
    np.testing.assert_allclose(model.transform(X), same.transform(X), rtol=1e-5)
    shared = lk.VAE(1, (3,), max_iter=2, early_stopping=False, family="normal")
    alone = clone(shared).fit(X).transform(X)
    mesh = jax.make_mesh((1,), ("rows",))
    np.testing.assert_allclose(
        shared.fit(X, mesh=mesh).transform(X), alone, rtol=1e-5, atol=1e-6
    )


@pytest.mark.slow
def test_images_of_zeros_and_ones(tmp_path):
    images = np.zeros((120, 6, 6))
    where = rng.integers(3, size=120)
    for image, place in zip(images, where, strict=True):
        image[2 * place : 2 * place + 2] = 1.0
    settings = {"max_iter": 60, "batch_size": 40, "learning_rate_init": 0.02}
    settings |= {"learning_rate": "cosine", "early_stopping": False}
    model = lk.VAE(2, (8,), channels=(4,), **settings).fit(images)
    three = np.repeat(np.eye(3), 2, axis=1)[:, :, None] * np.ones(6)
    drawn = model.sample(2000, random_state=0)
    assert drawn.shape == (2000, 6, 6)
    assert set(np.unique(drawn)) <= {0.0, 1.0}
    often = [(drawn == image).all((1, 2)).mean() for image in three]
    codes = np.random.default_rng(1).normal(size=(20_000, 2))
    ones = np.clip(model.decode(codes, means=True).astype(float), 1e-12, 1 - 1e-12)
    exact = [
        np.exp(np.log(np.where(image, ones, 1 - ones)).sum((1, 2))).mean()
        for image in three
    ]  # the integral over codes, by draws of the prior
    np.testing.assert_allclose(often, exact, atol=0.04)  # four standard errors
    bound = model.bound(three, n_draws=2000)  # has an error of its own: weights vary
    far = np.abs(bound.values - np.log(exact))
    assert (far < 4 * bound.errors + 0.05).all(), (bound, exact)
    assert sum(often) > 0.3
    half = images[:5].copy()
    half[:, :, :2] = np.nan
    np.testing.assert_array_equal(model.impute(half)[:, :, 2:], images[:5, :, 2:])
    assert (model.impute(half) == images[:5]).mean() > 0.95
    known = {"max_iter": 200, "solver": "adam", "learning_rate_init": 0.01}
    head = lk.CNNClassifier.from_pretrained(model, early_stopping=False, **known)
    assert head.fit(images, where).score(images, where) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"family": "binomial"}, "family is 'binomial'"),
        ({"family": "bernoulli"}, "Bernoulli needs labels 0 or 1"),
        ({"family": lk.families.MultivariateNormal(4)}, "of whole vectors"),
        ({"covariance": "spherical"}, "covariance is 'spherical'"),
        ({"scale": 1.0}, "scale is 1.0"),
        ({"solver": "lbfgs"}, "solver is 'lbfgs'"),
        ({"n_draws": 0}, "n_draws is 0"),
        ({"family": "normal", "kinds": {"x0": "number"}}, "kinds are those"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        lk.VAE(**settings).fit(NORMAL)


def test_degenerate_tables_are_refused_in_sentences():
    with pytest.raises(InputError, match="no column of the table varies"):
        lk.VAE().fit(np.ones((5, 2)))
    with pytest.raises(InputError, match="1 sample of positive weight"):
        lk.VAE().fit(NORMAL, sample_weight=np.r_[1.0, np.zeros(299)])
    with pytest.raises(InputError, match="infinity"):
        lk.VAE().fit({"a": np.array([1.0, np.inf, 2.0])})
