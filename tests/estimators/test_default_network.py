"""Networks at their defaults: held-out rows stop each member and calibrate the mixture."""

import numpy as np
import pytest
from scipy.stats import norm, t as student_t

import likely as lk
from likely.base.training.members import cross_fitted, members_of
from likely.base.training.options import IMAGES, TABLES, TrainingOptions
from likely.base.training.trainer import is_still_falling
from likely.core import InputError
from likely.core.random import key_of
from likely.estimators.networks.calibration import calibration_of
from likely.families import Bernoulli, Categorical, Gamma, Normal, Poisson
from likely.solvers import LBFGS, Adam
from likely.typing import TRAINED, VALIDATION, Batch

AUTO = {"max_iter": "auto", "early_stopping": "auto", "n_members": "auto"}
AUTO |= {"alpha": "auto", "learning_rate_init": "auto"}


def line(seed, n=50, fresh=500):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + fresh, 10))
    y = X[:, 0] + rng.normal(size=n + fresh)
    return X[:n], y[:n], X[n:], y[n:]


def inside(model, X, y):
    low, high = model.predict_interval(X, 0.9)
    return ((low < y) & (y < high)).mean()


# A default network is a good network -----------------------------------------------------


@pytest.fixture(scope="module")
def few():
    return [
        lk.MLPRegressor(random_state=seed).fit(*line(seed)[:2]) for seed in range(6)
    ]


def test_intervals_of_fifty_rows_cover(few):
    found = [inside(model, *line(seed)[2:]) for seed, model in enumerate(few)]
    assert 0.85 <= np.mean(found) <= 0.95
    nats = [model.nll(*line(seed)[2:]) for seed, model in enumerate(few)]
    assert np.mean(nats) < 1.75  # 1.42 is the least possible; the null model has 1.77
    assert len(few[0].members(line(0)[0])) == 5


def test_absent_rows_and_callbacks_change_no_bit(few, tmp_path):
    X, y, new, _ = line(0)
    wanted = few[0].predict_dist(new)
    X, y = np.insert(X, [0, 20], 1e300, axis=0), np.insert(y, [0, 20], np.nan)
    w = np.insert(np.ones(50), [0, 20], 0.0)
    events = []
    model = lk.MLPRegressor()
    model.fit(X, y, sample_weight=w, callbacks=events.append, checkpoints=tmp_path)
    np.testing.assert_array_equal(model.predict_dist(new).mean, wanted.mean)
    np.testing.assert_array_equal(model.predict_dist(new).std, wanted.std)
    assert {event.kind for event in events} >= {"start", "stop"}
    model.save(tmp_path / "network.likely")
    again = lk.load(tmp_path / "network.likely")
    np.testing.assert_array_equal(again.predict_dist(new).std, wanted.std)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 30, 100, 500])
def test_intervals_of_any_number_of_rows_cover(n):
    found, nats = [], []
    for seed in range(8):
        X, y, new, true = line(seed, n)
        model = lk.MLPRegressor(random_state=seed).fit(X, y)
        found.append(inside(model, new, true))
        nats.append(model.nll(new, true))
    assert np.isfinite(nats).all()
    assert np.mean(found) >= 0.85
    if n >= 30:
        assert np.mean(found) <= 0.95
        assert np.mean(nats) < 1.85


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:MLPClassifier stopped at the step limit")
def test_classes_of_noisy_rows_are_not_overconfident():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1060, 6))
    y = np.where(X[:, 0] + rng.normal(size=1060) > 0, "up", "down")
    model = lk.MLPClassifier().fit(X[:60], y[:60])
    assert model.nll(X[60:], y[60:]) < np.log(2)
    plain = lk.MLPClassifier(early_stopping=False).fit(X[:60], y[:60])
    assert plain.nll(X[60:], y[60:]) > 2 * np.log(2)


@pytest.mark.slow
def test_a_small_set_of_images_is_trained_to_the_end():
    rng = np.random.default_rng(0)
    X, y = 0.5 * rng.normal(size=(600, 6, 6)), rng.integers(0, 2, 600)
    X[y == 1, 1:4, 2] += 1.0
    model = lk.CNNClassifier().fit(X[:80], y[:80])
    assert model.n_iter_ * 2 > 100  # two steps an epoch
    assert model.score(X[80:], y[80:]) > 0.9
    assert model.nll(X[80:], y[80:]) < 0.3


# Which settings leave it open -------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "crossed"),
    [
        ({}, True),
        ({"solver": "adam", "alpha": 0.1, "n_members": 3}, True),
        ({"max_iter": 20}, False),
        ({"early_stopping": True}, False),
        ({"early_stopping": False}, False),
        ({"solver": "lbfgs"}, False),
        ({"solver": Adam(1e-3, steps=5)}, False),
        ({"solver": LBFGS(5)}, False),
        ({"bootstrap": True}, False),
        ({"laplace": 4.0}, False),
        ({"warm_start": True}, False),
    ],
)
def test_an_explicit_setting_wins(settings, crossed):
    options = TrainingOptions(**AUTO | settings)
    assert options.cross_fitted is crossed
    settled = options.settled(TABLES, 100, 3, crossed=crossed)
    for name, value in settings.items():
        assert getattr(settled, name) is value
    assert settled.alpha == settings.get("alpha", 1.0 if crossed else 1e-4)
    assert settled.member_count == settings.get("n_members", 5 if crossed else 1)


@pytest.mark.parametrize("limits", [TABLES, IMAGES])
def test_many_rows_have_one_member_and_few_have_at_least_some_hundred_steps(limits):
    options = TrainingOptions(**AUTO)
    many = options.settled(limits, 50_000, 10, crossed=True)
    assert (many.member_count, many.folds_count) == (1, 10)
    assert many.max_iter == limits.epochs
    for n in (2, 30, 300):
        few = options.settled(limits, n, 10, crossed=True)
        assert (few.member_count, few.folds_count) == (min(n, 5), min(n, 5))
        assert few.max_iter * few._epoch_steps(n) >= limits.steps
    with pytest.raises(InputError, match="n_members is 9 and there are 4 rows"):
        options._replace(n_members=9).settled(limits, 4, 10, crossed=True)


def test_every_row_is_held_out_once():
    w = np.r_[np.full(23, 2.0), np.zeros(9)]
    options = TrainingOptions(**AUTO, random_state=3).settled(
        TABLES, 23, 2, crossed=True
    )
    y = np.repeat([0, 1], [18, 5])
    fold = options.folds(Batch(None, y, w[:23]), classes=True)
    assert set(fold[y == 1]) == set(range(5))  # each class in every fold
    members = members_of(key_of(0), 5, w, bootstrap=False, begin=None)
    members = cross_fitted(members, np.r_[fold, np.full(9, -1)])
    held, own = np.zeros((5, 32)), members.held_out
    for k in range(5):
        np.add.at(held[k], own.rows[k], own.w[k])
    np.testing.assert_array_equal(held.sum(0), w)
    np.testing.assert_array_equal(members.w + held, np.broadcast_to(w, (5, 32)))
    assert not (members.w * held).any()


# What held-out predictions ask for ---------------------------------------------------------


def batch_of(y):
    return Batch(None, np.asarray(y), np.ones(len(y)))


def test_the_scale_of_a_normal_is_that_of_held_out_errors(rng):
    y, fold = rng.normal(size=200), np.arange(200) % 2
    means = np.stack([np.full(200, 0.3), np.full(200, -0.3)])
    etas = np.stack([means, np.full((2, 200), -9.0)], axis=-1)  # a σ of nearly nothing
    slope, offset = calibration_of(Normal(), 1, etas, batch_of(y), fold)
    square = np.mean((y - means[fold, np.arange(200)]) ** 2)
    wide = student_t.ppf(0.95, 199) / norm.ppf(0.95)
    np.testing.assert_allclose(offset[:, 1], np.log(np.sqrt(square - 0.09) * wide))
    assert slope.tolist() == [[1, 0], [1, 0]]


def test_other_families_are_widened_where_they_have_a_width(rng):
    y, fold = 3 * rng.normal(size=400), np.zeros(400, int)
    etas = np.zeros((1, 400, 2))  # says σ = 1 for every row
    _, offset = calibration_of(Normal(), 0, etas, batch_of(y), fold)
    assert offset[0, 0] == 0
    assert offset[0, 1] == pytest.approx(np.log(3), abs=0.15)
    y = rng.gamma(4.0, 0.25, size=400)
    etas = np.stack([np.zeros(400), np.full(400, np.log(50.0))], -1)[None]
    _, offset = calibration_of(Gamma(), 1, etas, batch_of(y), fold)
    assert offset[0, 0] == 0
    assert offset[0, 1] == pytest.approx(np.log(4 / 50), abs=0.3)
    counts = batch_of(rng.poisson(1.0, size=400).astype(float))
    slope, offset = calibration_of(Poisson(), 0, etas[..., :1], counts, fold)
    assert (slope == 1).all()
    assert (offset == 0).all()


def test_confidence_is_taken_away_and_never_added(rng):
    fold, eta = np.zeros(2000, int), rng.normal(size=(1, 2000, 1))
    y = (rng.uniform(size=2000) < 1 / (1 + np.exp(-eta[0, :, 0]))).astype(float)
    slope, _ = calibration_of(Bernoulli(), 0, 3 * eta, batch_of(y), fold)
    assert slope[0, 0] == pytest.approx(1 / 3, rel=0.2)
    slope, _ = calibration_of(Bernoulli(), 0, eta / 3, batch_of(y), fold)
    assert slope[0, 0] == 1
    three = rng.normal(size=(1, 2000, 3))
    codes = rng.integers(0, 3, 2000).astype(float)
    slope, _ = calibration_of(Categorical(3), 0, three, batch_of(codes), fold)
    assert (slope < 0.2).all()


def test_a_loss_that_still_falls_is_noticed():
    falling, flat = (
        np.linspace(1, 0, 41),
        np.r_[np.linspace(1, 0, 20), np.full(21, 0.1)],
    )
    losses = np.c_[[falling, flat], [np.nan, np.nan]]
    assert is_still_falling(losses[:1], np.array([TRAINED]))
    assert not is_still_falling(losses[1:], np.array([TRAINED]))
    assert not is_still_falling(losses[:1], np.array([VALIDATION]))
