"""Adversarial networks: modes that are covered, a collapse that is said, tables and images."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import likely as lk
from likely.core.checks import InputError
from likely.generative import CollapseWarning
from likely.generative.gan.collapse import compare_regions
from likely.generative.gan.players import PointHead
from likely.solvers.training import DivergenceWarning

BRIEF = {"hidden_layer_sizes": (16, 16), "max_iter": 5, "early_stopping": False}
PLANTED = {
    "penalty": 0.0,
    "rate_ratio": 30.0,
    "weight_average": None,
    "hidden_layer_sizes": (32, 32),
    "max_iter": 60,
    "early_stopping": False,
}
"""A generator that moves much faster than a critic without a penalty."""
ANGLES = np.arange(8) * np.pi / 4
MODES = 2 * np.stack([np.cos(ANGLES), np.sin(ANGLES)], 1)


def ring(n, seed=1, spread=0.05):
    """Rows around 8 points on a circle."""
    rng = np.random.default_rng(seed)
    return MODES[rng.integers(8, size=n)] + spread * rng.normal(size=(n, 2))


def mode_shares(X):
    """The share of rows near each of the 8 points."""
    D = np.linalg.norm(X[:, None] - MODES, axis=2)
    near = D.min(1) < 0.25
    return np.bincount(D.argmin(1)[near], minlength=8) / len(X)


# The players --------------------------------------------------------------------------


def test_a_generator_begins_at_the_normal_distribution_of_rows(rng):
    mix = np.array([[2.0, 0.5, 0.0], [0.0, 1.0, -1.0], [0.0, 0.0, 0.3]])
    X = rng.normal(size=(500, 3)) @ mix + [1.0, -2.0, 5.0]
    model = lk.GAN(hidden_layer_sizes=(8,), early_stopping=False, max_iter=0).fit(X)
    drawn, rows = map(model.codec_.encode, (model.sample(20_000, random_state=0), X))
    assert np.allclose(drawn.mean(0), rows.mean(0), atol=0.03)
    assert np.allclose(np.cov(drawn.T), np.cov(rows.T), atol=0.05)


def test_levels_are_drawn_by_their_logits_and_have_a_gradient():
    head = PointHead(bounded=False, levels=((1, 4), (4, 5)))
    logits = jnp.log(jnp.array([0.2, 0.3, 0.5]))
    out = jnp.concatenate([jnp.array([7.0]), logits, jnp.log(jnp.array([3.0]))])
    out = jnp.broadcast_to(out, (20_000, 5))
    x = np.asarray(head(out, jax.random.key(0)))
    assert (x[:, 0] == 7).all()
    assert set(np.unique(x[:, 1:])) == {-1.0, 1.0}
    assert (x[:, 1:4].sum(1) == -1).all()
    assert np.allclose((x[:, 1:] == 1).mean(0), [0.2, 0.3, 0.5, 0.75], atol=0.015)
    assert (head(out) == jnp.array([7.0, -1, -1, 1, 1])[None]).all()
    g = jax.grad(lambda o: head(o, jax.random.key(1))[:, 1].sum())(out)
    assert float(jnp.abs(g[:, 1]).max()) > 0


def test_pixels_stay_between_their_bounds(rng):
    X = rng.integers(0, 256, (24, 6, 7)).astype(np.uint8)
    given = np.arange(24) % 2
    settings = {"channels": (4, 4), "hidden_layer_sizes": (8,), "max_iter": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        model = lk.GAN(**settings, early_stopping=False).fit(X, given=given)
    drawn = model.sample(3, given=1, random_state=0)
    assert drawn.shape == (3, 6, 7)
    assert drawn.dtype == np.uint8
    assert (drawn == model.sample(3, given=1, random_state=0)).all()
    assert model.decode(np.zeros((2, 64)), given=0).shape == (2, 6, 7)
    assert model.critic_scores(X, given=given).shape == (24,)


# Collapse -----------------------------------------------------------------------------


def test_regions_without_draws_are_found(rng):
    """Of 8 points two are left out, or draws repeat themselves in the middle."""
    rows, other = ring(1000), ring(1000, seed=2)
    assert not compare_regions(rows, other, 0).collapsed
    blurred = ring(1000, seed=2, spread=0.5)
    assert not compare_regions(rows, blurred, 0).collapsed
    mode = np.linalg.norm(other[:, None] - MODES, axis=2).argmin(1)
    part = other[~np.isin(mode, (2, 5))]
    found = compare_regions(rows, part[rng.integers(len(part), size=1000)], 0)
    assert found.collapsed
    missing = mode_shares(rows)[[2, 5]].sum()
    assert found.missed == pytest.approx(missing, abs=0.03)
    wide = rng.normal(size=(1000, 50))
    middle = 0.01 * rng.normal(size=(1000, 50))
    assert compare_regions(wide, middle, 0).missed > 0.5
    assert not compare_regions(wide, rng.normal(size=(1000, 50)), 0).collapsed


def test_a_planted_collapse_is_said_and_a_healthy_fit_is_not():
    X = ring(1000)
    with pytest.warns(CollapseWarning, match="leave out"):
        model = lk.GAN(**PLANTED, random_state=0).fit(X)
    assert model.collapsed_
    assert "collapsed" in model.status_
    assert (mode_shares(model.sample(1000, random_state=0)) < 0.01).sum() >= 3
    healthy = PLANTED | {"penalty": 0.1, "rate_ratio": 1.0, "weight_average": 0.999}
    model = lk.GAN(**healthy, random_state=0).fit(X)  # a warning would be an error
    assert not model.collapsed_
    assert "100% of the rows" in model.status_


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["nonsaturating", "wasserstein"])
def test_all_modes_of_a_ring_are_covered(loss):
    """8 modes in at least 4 of 5 seeds, each with a third of its share or more."""
    covered, near = [], []
    for seed in range(5):
        model = lk.GAN(loss=loss, random_state=seed).fit(ring(2000))
        shares = mode_shares(model.sample(2000, random_state=seed))
        covered.append((shares > 1 / 24).all())
        near.append(shares.sum())
        assert not model.collapsed_
    assert sum(covered) >= 4
    assert np.median(near) > 0.75


# The estimator ------------------------------------------------------------------------


def test_tables_with_words_and_whole_numbers(rng):
    n = 60
    X = {
        "length": rng.normal(size=n),
        "rooms": rng.integers(1, 9, n).astype(float),
        "town": rng.choice(["Ulm", "Bonn", "Kiel"], n),
        "sold": rng.choice(["yes", "no"], n),
        "land": np.full(n, "here"),
    }
    model = lk.GAN(**BRIEF).fit(X)
    drawn = model.sample(200, random_state=0)
    assert set(drawn) == set(X)
    assert set(drawn["town"]) == {"Ulm", "Bonn", "Kiel"}
    assert set(drawn["sold"]) == {"yes", "no"}
    assert (drawn["rooms"] == np.round(drawn["rooms"])).all()
    assert (drawn["land"] == "here").all()


def test_it_is_an_implicit_model(rng):
    model = lk.GAN(**BRIEF).fit(rng.normal(size=(40, 2)))
    assert model.taxonomy == "implicit"
    assert not hasattr(model, "log_prob")
    assert not hasattr(model, "bound")
    with pytest.raises(AttributeError) as error:
        model.score(np.zeros((2, 2)))
    assert "implicit model" in str(error.value.__cause__)


@pytest.mark.slow
def test_draws_keep_to_their_condition(rng):
    k = rng.integers(2, size=1000)
    X = np.where(k[:, None] == 1, [2.0, 1.0], [-2.0, -1.0])
    X = X + rng.normal(size=X.shape) * [0.5, 0.3]
    model = lk.GAN(hidden_layer_sizes=(64, 64), random_state=0)
    model.fit(X, given=np.array(["left", "right"])[k])
    for name, sign in (("left", -1), ("right", 1)):
        drawn = model.sample(500, given=name, random_state=0)
        assert (np.sign(drawn[:, 0]) == sign).mean() > 0.95
        assert np.allclose(drawn.mean(0), [2 * sign, sign], atol=0.3)


def test_a_row_of_weight_zero_is_absent(rng):
    X = rng.normal(size=(30, 2))
    w = np.ones(30)
    w[0] = 0.0
    bad = X.copy()
    bad[0] = np.nan
    one = lk.GAN(**BRIEF).fit(bad, sample_weight=w)
    two = lk.GAN(**BRIEF).fit(X[1:])
    assert (one.sample(5, random_state=0) == two.sample(5, random_state=0)).all()


def test_members_files_and_runs_that_go_on(rng, tmp_path):
    X = rng.normal(size=(40, 2))
    settings = BRIEF | {"n_members": 2, "batch_size": 20, "max_iter": 100}
    model = lk.GAN(**settings).fit(X)
    drawn = model.sample(10, random_state=0)
    model.save(tmp_path / "gan.likely")
    again = lk.load(tmp_path / "gan.likely")
    assert (again.sample(10, random_state=0) == drawn).all()
    assert again.regions_.missed == model.regions_.missed
    place = {"checkpoints": tmp_path / "run"}
    part = lk.GAN(**settings)
    part.fit(X, **place, callbacks=lambda event: event.step >= 64)
    assert part.n_iter_ == 32
    more = lk.GAN(**settings).fit(X, **place, resume=True)
    assert (more.sample(10, random_state=0) == drawn).all()


def test_held_out_rows_keep_the_best_weights(rng):
    X = rng.normal(size=(40, 2))
    settings = BRIEF | {"max_iter": 30}
    model = lk.GAN(**settings).fit(X, X_val=rng.normal(size=(30, 2)))
    looks = model.history_["validation"]
    assert len(looks) >= 30
    assert np.isfinite(looks).all()
    assert np.isfinite(model.history_["loss"]).all()


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"loss": "least squares"}, "loss"),
        ({"penalty": -1.0}, "penalty"),
        ({"critic_steps": 0}, "critic_steps"),
        ({"n_components": 0}, "n_components"),
    ],
)
def test_settings_that_cannot_be(settings, word, rng):
    with pytest.raises(InputError, match=word):
        lk.GAN(**settings).fit(rng.normal(size=(10, 2)))


def test_questions_that_cannot_be_answered(rng):
    X = rng.normal(size=(20, 2))
    model = lk.GAN(**BRIEF).fit(X)
    with pytest.raises(InputError, match="latent numbers"):
        model.decode(np.zeros((2, 3)))
    with pytest.raises(InputError, match="member"):
        model.critic_scores(X, member=1)
    with pytest.raises(InputError, match="without it"):
        model.sample(2, given=1)
    X[3, 1] = np.nan
    with pytest.raises(InputError, match="row 3"):
        lk.GAN(**BRIEF).fit(X)


def test_a_training_that_diverges_is_said(rng):
    X = rng.normal(size=(40, 2))
    settings = BRIEF | {"learning_rate_init": 1e30}
    with pytest.warns(DivergenceWarning, match="try"):
        model = lk.GAN(**settings).fit(X)
    assert "diverged" in model.status_
    assert np.isfinite(model.sample(5, random_state=0)).all()
