"""Flows and autoregressive densities, fitted: what they say about rows, and new rows."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import likely as lk
from likely.core.checks import InputError
from likely.solvers.training import Checkpoints

TINY = {"hidden": 8, "max_iter": 15, "early_stopping": False, "n_members": 1}


def ring(n: int, seed: int = 0) -> np.ndarray:
    """Points around a circle, which are far from normal."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(0, 2 * np.pi, n)
    return np.c_[np.cos(a), np.sin(a)] * 3 + 0.3 * rng.normal(size=(n, 2))


def people(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """Numbers, words, counts and missing cells that depend on each other."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    height = 165 + 13 * (sex == "m") + 6 * rng.normal(size=n)
    weight = np.exp(4.2 + 0.01 * (height - 170) + 0.1 * rng.normal(size=n))
    frame = pd.DataFrame(
        {
            "sex": sex,
            "height": height,
            "weight": weight,
            "visits": rng.poisson(np.where(sex == "f", 6.0, 2.0)),
        }
    )
    frame.loc[rng.random(n) < 0.1, "weight"] = np.nan
    return frame


@cache
def flow():
    return lk.NormalizingFlow(n_bins=4, n_layers=1, **TINY).fit(ring(200))


@cache
def mixed_flow():
    return lk.NormalizingFlow(n_bins=4, n_layers=1, **TINY).fit(people().dropna())


@cache
def table():
    return lk.AutoregressiveDensity(**TINY).fit(people())


# Flows --------------------------------------------------------------------------------


def test_a_fitted_flow_is_a_density():
    model = flow()
    ticks = np.linspace(-8, 8, 161)
    grid = np.stack(np.meshgrid(ticks, ticks), -1).reshape(-1, 2)
    total = np.exp(model.log_prob(grid)).sum() * (ticks[1] - ticks[0]) ** 2
    assert total == pytest.approx(1, abs=0.01)
    Z = model.transform(ring(20))
    np.testing.assert_allclose(model.inverse_transform(Z), ring(20), atol=1e-9)
    drawn = model.sample(50, random_state=0)
    assert drawn.shape == (50, 2)
    np.testing.assert_array_equal(drawn, model.sample(50, random_state=0))


@pytest.mark.slow
def test_the_flow_alone_is_the_change_of_variables():
    """log p = log N(z) + log |dz/dx|, the derivative by differences in original units."""
    settings = {"n_bins": 4, "n_layers": 1, **TINY}
    model = lk.NormalizingFlow(share=1, **settings).fit(ring(200))
    X, h = ring(5, seed=3), 1e-6
    J = np.stack(
        [
            (model.transform(X + h * e) - model.transform(X - h * e)) / (2 * h)
            for e in np.eye(2)
        ],
        -1,
    )
    Z = model.transform(X)
    log_p = stats.norm.logpdf(Z).sum(1) + np.linalg.slogdet(J)[1]
    np.testing.assert_allclose(model.log_prob(X), log_p, atol=1e-6)


@pytest.mark.slow
def test_the_default_flow_beats_the_normal_distribution():
    """And where the rows are normal, it is no worse by much."""
    rng = np.random.default_rng(0)
    curved, new = ring(400), ring(400, seed=1)
    normal = stats.multivariate_normal(curved.mean(0), np.cov(curved.T))
    model = lk.NormalizingFlow().fit(curved)
    assert model.score(new) > normal.logpdf(new).mean() + 0.5
    plain, other = rng.normal(size=(60, 4)), rng.normal(size=(400, 4))
    normal = stats.multivariate_normal(plain.mean(0), np.cov(plain.T))
    model = lk.NormalizingFlow().fit(plain)
    assert model.score(other) > normal.logpdf(other).mean() - 0.05


@pytest.mark.slow
def test_mixed_columns_of_a_flow():
    model, rows = mixed_flow(), people().dropna()
    assert np.isfinite(model.log_prob(rows)).all()
    drawn = model.sample(400, random_state=0)
    assert list(drawn.columns) == list(rows.columns)
    assert set(drawn["sex"]) == {"f", "m"}
    assert (drawn["visits"] >= 0).all()
    by_sex = drawn.groupby("sex")["visits"].mean()
    assert by_sex["f"] > by_sex["m"]
    with pytest.raises(InputError, match="say nothing about the columns sex, visits"):
        model.inverse_transform(np.zeros((1, 2)))


@pytest.mark.slow
def test_a_conditional_flow():
    rng = np.random.default_rng(0)
    label = rng.choice(["low", "high"], 300)
    X = rng.normal(size=(300, 2)) + np.where(label == "high", 4.0, 0.0)[:, None]
    model = lk.NormalizingFlow(n_layers=1, **TINY).fit(X, given=label)
    low, high = (
        model.sample(200, given=g, random_state=0).mean(0) for g in ("low", "high")
    )
    assert (high - low > 3).all()
    assert (model.log_prob(X, given=label) > -20).all()
    right = model.log_prob(X, given=label).mean()
    wrong = model.log_prob(X, given=label[::-1].copy()).mean()
    assert right > wrong + 1
    with pytest.raises(InputError, match=r"fitted with given"):
        model.sample(3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["autoregressive", "coupling"])
def test_flows_of_images(kind):
    rng = np.random.default_rng(0)
    X = (rng.random((120, 4, 4)) < 0.3).astype(np.uint8) * 3 + rng.integers(
        0, 2, (120, 4, 4)
    ).astype(np.uint8)
    settings = {"levels": 8, "hidden": 8, "n_layers": 1, "max_iter": 20}
    model = lk.NormalizingFlow(kind, **settings, early_stopping=False, n_members=1)
    model.fit(X)
    assert model.taxonomy == "bound"
    assert not hasattr(model, "log_prob")
    bound = model.bound(X[:10], n_draws=3)
    assert bound.values.shape == (10,)
    bits = model.bits_per_dimension(X)
    assert 0 < bits < 3.0
    drawn = model.sample(6, random_state=0)
    assert drawn.dtype == np.uint8
    assert drawn.shape == (6, 4, 4)
    Z = model.transform(X[:5])
    np.testing.assert_array_equal(model.inverse_transform(Z), X[:5])


# Autoregressive densities -------------------------------------------------------------


def test_a_masked_network_of_a_frame():
    model, rows = table(), people()
    log_p = model.log_prob(rows)
    assert np.isfinite(log_p).all()
    drawn = model.sample(200, random_state=0)
    assert list(drawn.columns) == list(rows.columns)
    assert (drawn["weight"] > 0).all()
    men = model.sample(100, given={"sex": "m"}, random_state=0)
    assert set(men["sex"]) == {"m"}
    assert men["height"].mean() > drawn["height"][drawn["sex"] == "f"].mean() + 5


@pytest.mark.slow
def test_what_is_missing_is_left_out():
    """In one order: the integral over what comes last; and every marginal is a density."""
    model = lk.AutoregressiveDensity(n_orders=1, share=1, **TINY).fit(ring(150))
    ticks = np.linspace(-12, 12, 2001)
    filled = np.c_[np.full(len(ticks), 0.5), ticks]
    total = np.exp(model.log_prob(filled)).sum() * (ticks[1] - ticks[0])
    found = model.log_prob(np.array([[0.5, np.nan]]))
    assert np.log(total) == pytest.approx(found[0], abs=1e-3)
    for j in range(2):
        alone = np.full((len(ticks), 2), np.nan)
        alone[:, j] = ticks
        total = np.exp(model.log_prob(alone)).sum() * (ticks[1] - ticks[0])
        assert total == pytest.approx(1, abs=1e-3)


@pytest.mark.slow
def test_imputed_cells_follow_those_that_are_known():
    model = lk.AutoregressiveDensity(**{**TINY, "max_iter": 150}).fit(people())
    rows = people(seed=5).dropna().reset_index(drop=True)
    holes = rows.copy()
    holes.loc[::2, "visits"] = np.nan
    filled = model.impute(holes)
    assert not filled.isna().any().any()
    assert (filled["visits"][1::2] == rows["visits"][1::2]).all()
    by_sex = filled["visits"][::2].groupby(filled["sex"][::2]).mean()
    assert by_sex["f"] > by_sex["m"] + 2
    tables = model.impute(holes, n_draws=3, random_state=0)
    assert len(tables) == 3
    assert (tables[0]["visits"][::2] != tables[1]["visits"][::2]).any()
    hidden = np.zeros((len(rows), 4), bool)
    hidden[:, 3] = True
    nats = model.cell_log_prob(rows, hidden)
    assert np.isnan(nats[:, :3]).all()
    assert np.isfinite(nats[:, 3]).all()
    whole = np.full(60, np.nan)
    one = rows.iloc[:1]
    for k in range(60):
        whole[k] = model.cell_log_prob(one.assign(visits=k), hidden[:1])[0, 3]
    assert np.exp(whole).sum() == pytest.approx(1, abs=1e-3)


@pytest.mark.slow
def test_the_default_masked_network_beats_the_normal_distribution():
    curved, new = ring(400), ring(400, seed=1)
    normal = stats.multivariate_normal(curved.mean(0), np.cov(curved.T))
    model = lk.AutoregressiveDensity().fit(curved)
    assert model.score(new) > normal.logpdf(new).mean() + 0.5


@pytest.mark.slow
def test_images_pixel_after_pixel():
    """Stripes of two kinds: every pixel of an image is the first one of its row."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.integers(0, 2, (300, 4, 1)), 4, 2).astype(np.uint8)
    model = lk.AutoregressiveDensity(
        16, size=16, n_layers=1, n_heads=2, levels=2, max_iter=40,
        learning_rate_init=1e-2, early_stopping=False, n_members=1,
    ).fit(X)  # fmt: skip
    every = np.array(np.meshgrid(*[[0, 1]] * 4, indexing="ij")).reshape(4, -1).T
    stripes = np.repeat(every[:, :, None], 4, 2).astype(np.uint8)
    p = np.exp(model.log_prob(stripes))
    assert p.sum() == pytest.approx(1, abs=0.05)
    assert model.bits_per_dimension(X) == pytest.approx(4 / 16, abs=0.02)
    drawn = model.sample(50, random_state=0)
    assert (drawn == drawn[:, :, :1]).mean() > 0.97
    half = X[:5].astype(float)
    half[:, 2:] = np.nan
    done = model.impute(half)
    np.testing.assert_array_equal(done[:, :2], X[:5, :2])
    half[:, 3] = 0.0
    with pytest.raises(InputError, match="cannot fill a hole"):
        model.impute(half)


@pytest.mark.slow
def test_tokens():
    """A sequence that counts upwards: after the first token there is nothing to learn."""
    first = np.random.default_rng(0).integers(0, 5, 200)
    X = (first[:, None] + np.arange(6)) % 5
    model = lk.AutoregressiveDensity(
        16, network="transformer", size=16, n_layers=1, n_heads=2, max_iter=60,
        learning_rate_init=1e-2, early_stopping=False, n_members=1,
    ).fit(X)  # fmt: skip
    assert model.log_prob(X).mean() == pytest.approx(-np.log(5), abs=0.1)
    drawn = model.sample(40, random_state=0)
    assert ((drawn - drawn[:, :1] - np.arange(6)) % 5 == 0).mean() > 0.95


# Laws of both -------------------------------------------------------------------------

BOTH = {
    "flow": lambda **s: lk.NormalizingFlow(n_bins=4, n_layers=1, **{**TINY, **s}),
    "masked network": lambda **s: lk.AutoregressiveDensity(**{**TINY, **s}),
}
both = pytest.mark.parametrize("name", BOTH)


@pytest.mark.slow
@both
def test_a_resumed_training_gives_the_same_bits(name, tmp_path):
    X = ring(200)
    whole = BOTH[name]().fit(X)
    settings = {"checkpoints": Checkpoints(tmp_path, every_steps=4), "resume": True}

    def stop(event):
        return event.step >= 6

    checkpoints = Checkpoints(tmp_path, every_steps=4)
    stopped = BOTH[name]().fit(X, callbacks=stop, checkpoints=checkpoints)
    assert stopped.n_iter_ < whole.n_iter_
    again = BOTH[name]().fit(X, **settings)
    np.testing.assert_array_equal(whole.log_prob(X), again.log_prob(X))


@pytest.mark.slow
@both
def test_absent_rows_change_nothing(name):
    X = ring(60)
    w = np.r_[np.ones(50), np.zeros(10)]
    clean = BOTH[name]().fit(X, sample_weight=w).log_prob(X)
    X[50:] = np.nan
    dirty = BOTH[name]().fit(X, sample_weight=w).log_prob(ring(60))
    np.testing.assert_array_equal(clean, dirty)


@pytest.mark.slow
@both
def test_weights_count_rows(name):
    """Without noise and orders of their own, weight 2 is the row twice."""
    X = ring(32)
    w = np.where(np.arange(32) < 16, 2.0, 1.0)
    twice = np.concatenate([X[:16], X])
    settings = {"noise": 0, "max_iter": 3, "batch_size": 64}
    if name == "masked network":
        settings["order"] = "given"
    one = BOTH[name](**settings).fit(X, sample_weight=w).log_prob(X)
    two = BOTH[name](**settings).fit(twice).log_prob(X)
    np.testing.assert_allclose(one, two, atol=2e-3)


@pytest.mark.slow
@both
def test_saved_models_come_back(name, tmp_path):
    model = {"flow": mixed_flow, "masked network": table}[name]()
    rows = people(seed=4).dropna()
    model.save(tmp_path / "model.likely")
    back = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(back.log_prob(rows), model.log_prob(rows))
    pd.testing.assert_frame_equal(
        back.sample(5, random_state=1), model.sample(5, random_state=1)
    )


@pytest.mark.slow
@both
@pytest.mark.parametrize(("n", "d"), [(3, 1), (5, 3), (12, 20)])
def test_few_rows_and_odd_shapes(name, n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X[:, -1] = X[:, 0] if d > 3 else X[:, -1]
    model = BOTH[name]().fit(X)
    assert np.isfinite(model.log_prob(rng.normal(size=(9, d)) if d < 4 else X)).all()
    assert np.isfinite(model.sample(4, random_state=0)).all()


@pytest.mark.slow
@both
def test_members_are_a_mean_of_densities(name):
    model = BOTH[name](n_members=2).fit(ring(60))
    assert model.log_prob(ring(5)).shape == (5,)
    assert model.sample(7, random_state=0).shape == (7, 2)
