"""Curricula, weights of rows, non-uniform draws and continuation, as options of the loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from solvers.training.problem import assert_close, assert_same, network, problem, rows

import likely as lk
from likely.core import InputError, float64
from likely.families import Normal
from likely.files import FileError
from likely.models import Linear
from likely.objectives import (
    Blending,
    GaussianPrior,
    NegativeLogLikelihood,
    RowLosses,
    SmoothedObjective,
    Smoothing,
)
from likely.solvers import (
    Adam,
    Continuation,
    Curriculum,
    GradientDescent,
    RowWeights,
    UniformAverage,
)
from likely.solvers.first_order.sampling import RowSampler
from likely.solvers.training import Checkpoints, Plan, Stream, Training, train_members
from likely.typing import Batch


def key(seed=1):
    return jax.random.key(seed)


def distance(batch):
    return jnp.abs(batch.x[:, 0])


def growing(step, d):
    """Weights that move from equal ones to those of hard rows."""
    return jnp.exp(d * jnp.minimum(step / 20, 1.0))


def as_given(step, d):
    return d


def sampler(sampling, w, full=False):
    n = len(w)
    data = Batch(jnp.zeros((n, 1)), jnp.zeros(n), jnp.asarray(w, jnp.float32))
    return RowSampler.of(sampling, data, full=full, padded=False)


# laws ---------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=30),
    st.integers(0, 1000),
    st.floats(0.05, 1.0),
)
def test_a_curriculum_has_the_easiest_share_of_the_weight(w, seed, start):
    """Every row that is in is easier than every row that is not; their weight is the share."""
    w = np.array(w, float)
    w[0] += 1
    d = np.random.default_rng(seed).integers(0, 6, len(w)).astype(float)
    plan = Curriculum(np.where(w > 0, d, np.nan), steps=10, start=start)
    known = sampler(plan, w)
    before = np.zeros(len(w), bool)
    for step in (0, 3, 7, 10, 50):
        inside = np.asarray(plan.weights(step, known.d)) & (w > 0)
        assert inside[w > 0].any()
        assert d[inside].max() < min(d[(w > 0) & ~inside], default=np.inf)
        hardest = d == d[inside].max()
        share, easier = float(plan.share(step)), w[inside & ~hardest].sum() / w.sum()
        assert easier < share + 1e-6
        assert w[inside].sum() / w.sum() >= share - 1e-6
        assert (inside | ~before).all()  # no row leaves
        before = inside
    assert before[w > 0].all()


def test_a_reversed_curriculum_begins_with_the_hardest():
    d = np.arange(10.0)
    known = sampler(Curriculum(d, steps=5, start=0.3, reverse=True), np.ones(10))
    v = np.asarray(known.relative(jnp.asarray(0)))
    np.testing.assert_allclose(v, np.r_[np.zeros(7), np.full(3, 10 / 3)], rtol=1e-6)


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 9))
def test_draws_have_the_probabilities_of_the_weights(seed, size):
    """Counts over many draws; absent rows and rows of weight 0 never come."""
    rng = np.random.default_rng(seed)
    n = 12
    w, v = rng.integers(0, 3, n).astype(float), rng.exponential(size=n)
    w[3] = v[4] = 0.0
    w[0] = v[0] = 1.0
    known = sampler(RowWeights(as_given, v, draws=True), w)
    keys = jax.random.split(key(seed), 3000)
    drawn = np.asarray(jax.vmap(lambda k: known.draw(k, jnp.asarray(0), size)[0])(keys))
    counts = np.bincount(drawn.ravel(), minlength=n) / drawn.size
    p = w * v / (w * v).sum()
    assert counts[p == 0].sum() == 0
    error = np.sqrt(p * (1 - p) / drawn.size) + 1e-9
    assert (np.abs(counts - p) < 5 * error)[p > 0].all()


def gradient_mean(sampling, w, X, y, step=4):
    """The mean gradient of least squares over many minibatches of a step, and its error."""
    data = Batch(*(jnp.asarray(a, jnp.float32) for a in (X, y, w)))
    objective = NegativeLogLikelihood.of(Normal(1.0), data)
    model = Linear.zeros(X.shape[1], bias=False)
    known = RowSampler.of(sampling, data, full=False, padded=False)
    mean = data.w.mean()

    def one(k):
        rows, own = known.draw(k, jnp.asarray(step), 5)
        some = jax.tree.map(lambda a: a[rows], data)._replace(w=own * mean)
        return jax.grad(lambda m: objective(m, some)[0])(model).weight[:, 0]

    found = np.asarray(jax.vmap(one)(jax.random.split(key(), 6000)))
    return found.mean(0), found.std(0) / np.sqrt(len(found)), found.var(0).sum()


def test_drawn_gradients_are_right_on_average_and_corrected_ones_vary_less(rng):
    """Corrected draws have the plain gradient; with v near the gradients' lengths least noise."""
    n = 40
    X = rng.normal(size=(n, 2)) * np.where(np.arange(n) < 4, 8.0, 0.5)[:, None]
    y = X @ [1.0, -2.0] + 0.1 * rng.normal(size=n)
    w = np.r_[np.ones(30), 2 * np.ones(8), 0, 0]
    rows = -X * y[:, None]  # gradients at 0
    plain = w @ rows / w.sum()
    v = np.linalg.norm(rows, axis=1) + 1e-3
    corrected = RowWeights(as_given, v, draws=True, corrected=True)
    mean, error, least = gradient_mean(corrected, w, X, y)
    assert (np.abs(mean - plain) < 5 * error).all()
    tilted, error, _ = gradient_mean(RowWeights(as_given, v, draws=True), w, X, y)
    assert (np.abs(tilted - (w * v) @ rows / (w @ v)) < 5 * error).all()
    uniform, error, noise = gradient_mean(RowWeights(as_given, np.ones(n)), w, X, y)
    assert (np.abs(uniform - plain) < 5 * error).all()
    assert least < noise / 3


@pytest.mark.parametrize("draws", [False, True])
def test_garbage_in_absent_rows_changes_nothing(draws):
    objective, model, data = problem()
    w = jnp.where(jnp.arange(48) < 40, 1.0, 0.0)
    found = []
    for junk in (0.0, np.nan, 1e30):
        bad = data._replace(
            x=jnp.where(w[:, None] > 0, data.x, junk),
            y=jnp.where(w > 0, data.y, junk),
            w=w,
        )
        plan = Curriculum(distance, steps=30, draws=draws)
        solver = Adam(0.01, steps=20, batch_size=16, sampling=plan)
        found.append(solver.minimize(objective, model, bad, key=key()).model)
    assert_same(found[0], found[1])
    assert_same(found[0], found[2])


def test_weighted_rows_of_all_are_those_of_the_objective():
    """Full batch: a run with weights is the run on rows of these weights."""
    objective, model, data = problem()
    v = np.asarray(distance(data)) + 0.1
    solver = GradientDescent(0.05, steps=30)
    weighted = data._replace(w=jnp.asarray(v / v.mean(), jnp.float32))
    other = GradientDescent(0.05, steps=30, sampling=RowWeights(as_given, v))
    a = other.minimize(objective, model, data, key=None)
    b = solver.minimize(objective, model, weighted, key=None)
    assert_close(a.model, b.model, 1e-5)


def test_weights_of_equal_rows_change_nothing():
    objective, model, data = problem()
    plain = Adam(0.01, steps=40, batch_size=16)
    even = Adam(
        0.01, steps=40, batch_size=16, sampling=RowWeights(as_given, draws=False)
    )
    a, b = (s.minimize(objective, model, data, key=key()) for s in (plain, even))
    assert_same(a.model, b.model)


def test_minibatches_by_weights_find_the_weighted_minimum(rng):
    """Weighted least squares, by rows in turn and by rows that are drawn."""
    with float64():
        X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
        v = np.exp(rng.normal(size=60))
        best = np.linalg.solve(X.T @ (v[:, None] * X), X.T @ (v * y))
        data = jax.tree.map(jnp.asarray, Batch(X, y, np.ones(60)))
        objective = NegativeLogLikelihood.of(Normal(1.0), data)
        for draws in (False, True):
            solver = GradientDescent(
                0.02,
                steps=8000,
                batch_size=10,
                average=UniformAverage(1000),
                sampling=RowWeights(as_given, v, draws=draws),
            )
            model = Linear.zeros(2, bias=False)
            found = solver.minimize(objective, model, data, key=key()).model
            np.testing.assert_allclose(found.weight[:, 0], best, atol=0.03)


def test_losses_of_another_model_are_a_difficulty():
    objective, model, data = problem()
    known = RowLosses(objective, model)
    eta, _ = model(data.x)
    expected = 0.5 * ((data.y - eta[:, 0]) / 0.3) ** 2
    losses = np.asarray(known(data))
    np.testing.assert_allclose(
        losses - losses.min(), expected - expected.min(), rtol=1e-4, atol=1e-3
    )
    sampler = RowSampler.of(
        Curriculum(known, start=0.25), data, full=True, padded=False
    )
    v = np.asarray(sampler.relative(jnp.asarray(0)))
    assert set(np.flatnonzero(v)) == set(np.argsort(losses)[:12])


# to the same bits ---------------------------------------------------------------------

OPTIONS = {
    "curriculum": {"sampling": Curriculum(distance, steps=40)},
    "weights": {"sampling": RowWeights(growing, distance, draws=False)},
    "corrected": {"sampling": RowWeights(growing, distance, corrected=True)},
    "smoothing": {"continuation": Continuation(Smoothing(), (0.5, 0.1, 0.0), 15)},
}


@pytest.mark.parametrize(
    "name",
    [
        "curriculum",
        "smoothing",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("weights", "corrected")),
    ],
)
def test_interrupted_and_resumed_to_the_same_bits(name, tmp_path):
    objective, model, data = problem()
    solver = Adam(0.01, steps=60, batch_size=16, **OPTIONS[name])
    whole = solver.minimize(objective, model, data, key=key())
    pieces = Training(solver, every=7).minimize(objective, model, data, key=key())
    assert_same(whole.model, pieces.model)
    saved = Checkpoints(tmp_path, every_steps=9)
    stop = Training(
        solver, callbacks=lambda e: e.step >= 30, checkpoints=saved, every=3
    )
    early = stop.minimize(objective, model, data, key=key())
    assert int(early.status.steps) < 60
    resumed = Training(solver, checkpoints=saved, resume=True)
    assert_same(whole.model, resumed.minimize(objective, model, data, key=key()).model)


def build(member, shared):
    data = shared["data"]
    objective = NegativeLogLikelihood.of(Normal(0.3), data)
    return Plan(shared["solver"], objective, network(), data, member)


@pytest.mark.parametrize(
    "name", ["curriculum", pytest.param("smoothing", marks=pytest.mark.slow)]
)
def test_members_are_runs_of_their_own(name):
    objective, model, data = problem()
    solver = Adam(0.01, steps=30, batch_size=16, **OPTIONS[name])
    keys = jax.random.split(key(5), 3)
    found = train_members(build, keys, {"data": data, "solver": solver})
    alone = solver.minimize(objective, model, data, key=keys[1])
    second = jax.tree.map(lambda a: a[1], found.model)
    assert_close(second, alone.model, 1e-5)


def test_estimators_take_difficulties_that_are_functions(tmp_path):
    data = rows(60)
    X, y = np.asarray(data.x), np.asarray(data.y)
    solver = Adam(
        0.01, steps=40, batch_size=20, sampling=Curriculum(distance, steps=20)
    )
    found = lk.MLPRegressor((8,), solver=solver).fit(X, y)
    again = lk.MLPRegressor((8,), solver=solver).fit(X, y)
    np.testing.assert_array_equal(found.predict(X), again.predict(X))
    assert found.solver.sampling is solver.sampling
    with pytest.raises(FileError, match="a file never holds code"):
        found.save(tmp_path / "net.likely")
    found.set_params(solver="adam").save(tmp_path / "net.likely")
    again = lk.load(tmp_path / "net.likely")
    np.testing.assert_array_equal(found.predict(X), again.predict(X))
    numbers = Adam(0.01, steps=40, batch_size=20, sampling=Curriculum(np.arange(60.0)))
    with pytest.raises(InputError, match="cannot be a list"):
        lk.MLPRegressor((8,), solver=numbers).fit(X, y)


# continuation -------------------------------------------------------------------------


def test_levels_are_held_one_after_another():
    path = Continuation(Smoothing(), (2.0, 1.0, 0.0), 10)
    levels = [float(path.level(jnp.asarray(t))) for t in (0, 9, 10, 19, 20, 500)]
    assert levels == [2, 2, 1, 1, 0, 0]


def test_the_smoothed_loss_of_a_quadratic_is_known():
    """E ½h(φ + σε)² = ½hφ² + ½hσ², and level 0 is the objective itself."""
    objective, model, data = problem()
    plain = objective(model, data)[0]
    still = SmoothedObjective(objective, jnp.zeros(()))
    assert float(still(model, data, key=key())[0]) == pytest.approx(
        float(plain), rel=1e-6
    )
    line = Linear.zeros(3, bias=False)
    smooth = SmoothedObjective(objective, jnp.asarray(0.2), pairs=2)
    draw = jax.jit(jax.vmap(lambda k: smooth(line, data, key=k)[0]))
    found = float(draw(jax.random.split(key(), 1000)).mean())
    bound = 0.5 * 0.04 * float((np.asarray(data.x) ** 2).sum(1).mean()) / 0.09
    assert found - float(objective(line, data)[0]) == pytest.approx(bound, rel=0.1)


def test_a_blend_goes_from_one_minimum_to_the_other():
    """Least squares from a strong prior to none: each level has its own minimum."""
    with float64():
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
        data = jax.tree.map(jnp.asarray, Batch(X, y, np.ones(50)))
        easy = NegativeLogLikelihood.of(Normal(1.0), data, GaussianPrior(100.0))
        target = NegativeLogLikelihood.of(Normal(1.0), data)
        path = Continuation(Blending(easy), (1.0, 0.25, 0.0), 200)
        solver = GradientDescent(0.3, steps=600, continuation=path, path=True)
        found = solver.minimize(target, Linear.zeros(2, bias=False), data, key=key())
        ways = np.asarray(found.trace.model.weight)[:, :, 0]
        for step, level in ((199, 1.0), (399, 0.25), (599, 0.0)):
            best = np.linalg.solve(X.T @ X + 100 * level * np.eye(2), X.T @ y)
            np.testing.assert_allclose(ways[step], best, atol=1e-6)


def test_what_is_wrong_is_said(tmp_path):
    objective, model, data = problem()
    with pytest.raises(InputError, match="drawn into minibatches"):
        Adam(sampling=RowWeights(as_given, draws=True)).minimize(
            objective, model, data, key=key()
        )
    with pytest.raises(InputError, match="there are 48 rows"):
        Adam(batch_size=8, sampling=Curriculum(np.ones(3))).minimize(
            objective, model, data, key=key()
        )
    with pytest.raises(InputError, match="start is"):
        Curriculum(distance, start=0.0)
    with pytest.raises(InputError, match="difficulty is None"):
        Curriculum(None)
    with pytest.raises(InputError, match="for rows that are drawn"):
        RowWeights(as_given, draws=False, corrected=True)
    with pytest.raises(InputError, match="list of levels"):
        Continuation(Smoothing(), ())
    with pytest.raises(InputError, match="at least 1 for each"):
        Continuation(Smoothing(), (0.0,), 0)
    with pytest.raises(InputError, match="pairs is 0"):
        Smoothing(0)
    stream = Stream(np.asarray(data.x), np.asarray(data.y))
    solver = Adam(steps=5, batch_size=8, sampling=Curriculum(distance))
    with pytest.raises(InputError, match="a stream is read"):
        Training(solver).minimize(objective, model, stream, key=key())
