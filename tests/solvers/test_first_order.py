"""First-order solvers: where they go, against closed forms and Optax; what they cost."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from likely.core import InputError, float64, to_numpy
from likely.families import Bernoulli, Normal
from likely.layers import BatchNorm, Chain, Dense
from likely.layers.composition.chain import initial_state
from likely.models import Linear
from likely.objectives import GaussianPrior, LaplacePrior, NegativeLogLikelihood, hinge
from likely.solvers import (
    AdaGrad,
    Adam,
    AdamW,
    ClipByNorm,
    ClipByValue,
    CoordinateDescent,
    Cosine,
    GradientDescent,
    GradientNorm,
    InverseTime,
    Momentum,
    Nesterov,
    Newton,
    ParameterChange,
    RMSprop,
    descends,
    steepest,
)
from likely.typing import DIVERGED, PARAMETERS, Batch

NO_ROWS = Batch(None, None, np.ones(1))


class Quadratic(eqx.Module):
    """½ Σ h x²; counts how often it is traced."""

    h: np.ndarray

    def __call__(self, x, batch, *, key=None, state=None):
        TRACES.append("quadratic")
        return 0.5 * jnp.sum(self.h * x**2), state


class Of(eqx.Module):
    """A plain function as an objective."""

    f: object

    def __call__(self, x, batch, *, key=None, state=None):
        return self.f(x), state


TRACES: list[str] = []


def run(solver, objective, x0, data=NO_ROWS, key=0):
    with float64():
        x0 = jax.tree.map(lambda a: jnp.asarray(a, float), x0)
        return to_numpy(solver.minimize(objective, x0, data, key=jax.random.key(key)))


def tuned(name: str, kappa: float):
    """Solvers with the rates that theory gives for curvatures 1 ... κ."""
    root = kappa**0.5
    momentum = (root - 1) / (root + 1)
    return {
        "plain": GradientDescent(2 / (1 + kappa), steps=200_000),
        "momentum": Momentum(4 / (1 + root) ** 2, momentum**2, steps=20_000),
        "nesterov": Nesterov(1 / kappa, momentum, steps=20_000),
        "adagrad": AdaGrad(1.0, steps=20_000),
        "rmsprop": RMSprop(Cosine(0.01, 20_000), steps=20_000),
        "adam": Adam(Cosine(0.1, 20_000), steps=20_000),
    }[name]


@pytest.mark.parametrize(
    "name", ["plain", "momentum", "nesterov", "adagrad", "rmsprop", "adam"]
)
@pytest.mark.parametrize("kappa", [1.0, 100.0, 1e4])
def test_quadratics_of_any_condition(name, kappa):
    found = run(tuned(name, kappa), Quadratic(np.geomspace(1, kappa, 4)), np.ones(4))
    assert found.loss < 1e-9
    assert np.abs(found.model).max() < 1e-4


def test_gradient_descent_contracts_as_theory_says():
    h, rate = np.array([1.0, 3.0, 10.0]), 0.15
    found = run(GradientDescent(rate, steps=30, path=True), Quadratic(h), np.ones(3))
    steps = np.arange(31)[:, None]
    np.testing.assert_allclose(found.trace.model[:31], (1 - rate * h) ** steps)
    np.testing.assert_allclose(found.model, (1 - rate * h) ** 30)
    np.testing.assert_allclose(found.trace.step[:30], rate)
    assert np.isnan(found.trace.loss[31:]).all()


def test_steps_beyond_twice_the_inverse_curvature_diverge():
    """η < 2/L converges, η = 2/L swings for ever, η > 2/L diverges (F26)."""
    L = 10.0
    objective = Quadratic(np.array([L]))
    swinging = run(GradientDescent(2 / L, steps=101), objective, np.ones(1))
    np.testing.assert_allclose(swinging.model, -1)
    below = run(GradientDescent(1.9 / L, steps=500), objective, np.ones(1))
    assert np.abs(below.model) < 1e-20
    above = run(GradientDescent(2.1 / L, steps=100_000), objective, np.ones(1))
    assert above.status.reason == DIVERGED
    assert "diverged at step" in str(above.status)
    assert "inf" in str(above.status)
    assert np.isfinite(above.model).all()


def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


@pytest.mark.parametrize(
    "solver",
    [
        Momentum(2e-4, 0.99, steps=20_000),
        Nesterov(5e-4, 0.99, steps=20_000),
        Adam(Cosine(0.02, 20_000), steps=20_000),
    ],
    ids=["momentum", "nesterov", "adam"],
)
def test_rosenbrock(solver):
    found = run(solver, Of(rosenbrock), np.array([-1.2, 1.0]))
    np.testing.assert_allclose(found.model, 1.0, atol=1e-4)


def logistic_data(rng, n=60):
    X = rng.normal(size=(n, 3))
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ [1.0, -2.0, 0.5]))).astype(float)
    return Batch(X, y, np.ones(n))


def logistic(data, alpha=1.0):
    with float64():
        data = jax.tree.map(jnp.asarray, data)
        prior = GaussianPrior(alpha)
        return NegativeLogLikelihood.of(Bernoulli(), data, prior), data


SOLVERS = {  # others are in the registry of solvers
    "unit": GradientDescent(InverseTime(0.5, 20), "unit", steps=4000),
    "averaged": Momentum(3.0, form="averaged", steps=1000),
    "nesterov averaged": Nesterov(3.0, form="averaged", steps=1000),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_logistic_regression_as_newton_solves_it(name, rng):
    objective, data = logistic(logistic_data(rng))
    with float64():
        key = jax.random.key(0)
        exact = Newton().minimize(objective, Linear.zeros(3), data, key=key)
        found = SOLVERS[name].minimize(objective, Linear.zeros(3), data, key=key)
        again, _ = objective(found.model, data)
    np.testing.assert_allclose(found.loss, exact.loss, atol=1e-6)
    np.testing.assert_allclose(found.model.weight, exact.model.weight, atol=5e-3)
    np.testing.assert_allclose(found.loss, again, rtol=1e-12)  # of this very model


OPTAX = {
    "plain": (GradientDescent(0.1), optax.sgd(0.1)),
    "velocity": (Momentum(0.01), optax.sgd(0.01, momentum=0.9)),
    "nesterov": (Nesterov(0.01), optax.sgd(0.01, momentum=0.9, nesterov=True)),
    "averaged": (
        Momentum(0.1, form="averaged"),
        optax.chain(optax.ema(0.9, debias=False), optax.scale(-0.1)),
    ),
    "adagrad": (AdaGrad(0.1), optax.adagrad(0.1, 0.0, eps=1e-16)),
    "rmsprop": (RMSprop(0.1), optax.rmsprop(0.1)),
    "adam": (Adam(0.1, 0.8, 0.95, 1e-6), optax.adam(0.1, 0.8, 0.95, 1e-6)),
    "adamw": (AdamW(0.1, 0.2, on="all"), optax.adamw(0.1, weight_decay=0.2)),
    "clipped": (
        GradientDescent(0.1, clip=(ClipByValue(2.0), ClipByNorm(1.0))),
        optax.chain(optax.clip(2.0), optax.clip_by_global_norm(1.0), optax.sgd(0.1)),
    ),
}


@pytest.mark.parametrize("name", OPTAX)
def test_agrees_with_optax(name):
    ours, theirs = OPTAX[name]
    h, steps = np.array([1.0, 4.0]), 25
    ours = eqx.tree_at(lambda s: s.steps, ours, np.asarray(steps, np.int32))
    found = run(ours, Quadratic(h), np.array([3.0, -2.0]))
    with float64():
        x = jnp.array([3.0, -2.0])
        memory = theirs.init(x)
        for _ in range(steps):
            change, memory = theirs.update(h * x, memory, x)
            x = x + change
    np.testing.assert_allclose(found.model, x, rtol=1e-10, atol=1e-14)


def test_adamw_decays_weights_and_not_biases(rng):
    model = Linear(jnp.ones((2, 1)), jnp.ones(1))
    flat = Of(lambda m: 0.0 * (m.weight.sum() + m.bias.sum()))
    key = jax.random.key(0)
    found = AdamW(0.1, 0.5, steps=3).minimize(flat, model, NO_ROWS, key=key)
    np.testing.assert_allclose(found.model.weight, 0.95**3, rtol=1e-6)
    np.testing.assert_allclose(found.model.bias, 1.0)


def test_averaged_momentum_is_velocity_with_a_smaller_rate():
    objective, x0 = Quadratic(np.array([1.0, 9.0])), np.array([1.0, 1.0])
    velocity = run(Momentum(0.01, 0.8, steps=50), objective, x0)
    averaged = run(Momentum(0.05, 0.8, "averaged", steps=50), objective, x0)
    np.testing.assert_allclose(velocity.model, averaged.model, rtol=1e-12)


def slope(x):
    return jnp.sum(x)


@pytest.mark.parametrize("gamma", [0.5, 0.9])
def test_momentum_remembers_one_over_one_minus_gamma_steps(gamma):
    """On a constant slope the speed grows to η/(1 − γ): 10 steps' worth for 0.9 (W54)."""
    found = run(Momentum(1.0, gamma, steps=200, path=True), Of(slope), np.zeros(1))
    speed = -np.diff(np.asarray(found.trace.model)[:201, 0])
    np.testing.assert_allclose(speed[-1], 1 / (1 - gamma), rtol=1e-6)
    memory = int(round(1 / (1 - gamma)))
    share = speed[memory - 1] / speed[-1]  # 1 − γ^m is about 1 − 1/e
    np.testing.assert_allclose(share, 1 - gamma**memory, rtol=1e-9)


def test_steepest_direction_is_the_best_of_all(rng):
    """Among unit vectors v, f(x + εv) rises most along g/‖g‖ (F2)."""
    g = {"a": rng.normal(size=3), "b": rng.normal(size=(2, 2))}
    with float64():
        best = to_numpy(steepest(g))
    flat = np.concatenate([np.ravel(best["a"]), np.ravel(best["b"])])
    along = np.concatenate([g["a"], g["b"].ravel()])
    np.testing.assert_allclose(np.linalg.norm(flat), 1, rtol=1e-6)
    v = rng.normal(size=(1000, 7))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    assert (v @ along).max() < flat @ along
    angles = np.arccos(v @ along / np.linalg.norm(along))
    with float64():
        down = np.asarray(jax.vmap(lambda d: descends(d, along))(v))
    assert (down == (angles > np.pi / 2)).all()
    np.testing.assert_array_equal(steepest(np.zeros(3, np.float32)), 0)


def test_steepest_direction_of_a_huge_gradient_has_length_one():
    g = np.array([3e30, 4e30], np.float32)
    np.testing.assert_allclose(steepest(g), [0.6, 0.8], rtol=1e-6)


# Where vanilla gradient descent fails (F27) ------------------------------------------


def saddle(x):
    """A saddle at 0, minima at (0, ±1) with value −¼."""
    return 0.5 * x[0] ** 2 - 0.5 * x[1] ** 2 + 0.25 * x[1] ** 4


def test_a_saddle_holds_plain_descent_longer_than_momentum():
    """From the ridge itself no gradient leads away; near it momentum is quicker."""
    stuck = run(GradientDescent(0.1, steps=2000), Of(saddle), np.array([1.0, 0.0]))
    np.testing.assert_allclose(stuck.model, 0, atol=1e-12)
    steps = {}
    for name, solver in (("plain", GradientDescent), ("momentum", Momentum)):
        found = run(solver(0.05, steps=500), Of(saddle), np.array([1.0, 1e-6]))
        steps[name] = int(np.argmax(np.asarray(found.trace.loss) < -0.1))
    assert 0 < steps["momentum"] < steps["plain"] / 2


def two_wells(x):
    return jnp.sum((x**2 - 1) ** 2 + 0.3 * x)


def test_the_start_decides_which_minimum_is_found():
    objective = Of(two_wells)
    ends = [
        run(GradientDescent(0.02, steps=500), objective, np.array([start]))
        for start in (-0.5, 0.5)
    ]
    assert ends[0].model[0] < -1 < 0.9 < ends[1].model[0]
    assert ends[0].loss < 0 < ends[1].loss


def test_one_step_size_for_all_directions_crawls_along_the_valley():
    """κ = 100: after 100 steps at 1/L the steep direction is done, the flat is not."""
    objective = Quadratic(np.array([1.0, 100.0]))
    found = run(GradientDescent(0.01, steps=100), objective, np.ones(2))
    np.testing.assert_allclose(found.model, [0.99**100, 0], atol=1e-12)


def cliff(x):
    """A gentle bowl with a wall: the slope at the wall is 1e12."""
    return 0.5 * x[0] ** 2 + jnp.where(x[0] > 2, 1e12 * (x[0] - 2), 0.0)


def test_a_cliff_is_survived_with_clipping():
    x0 = np.array([2.0 + 1e-6])
    for clip in (ClipByNorm(1.0), ClipByValue(1.0)):
        found = run(GradientDescent(0.1, steps=500, clip=clip), Of(cliff), x0)
        np.testing.assert_allclose(found.model, 0, atol=1e-10)
    thrown = run(GradientDescent(0.1, steps=1), Of(cliff), x0)
    assert thrown.model[0] < -1e10


def test_clipping_survives_where_squares_overflow():
    steep = Of(lambda x: 1e30 * jnp.sum(jnp.abs(x)))
    solver = GradientDescent(0.5, steps=1, clip=ClipByNorm(1.0))
    found = solver.minimize(
        steep, jnp.full(4, 2.0), NO_ROWS, key=jax.random.key(0)
    )  # float32: 1e30² is infinite
    np.testing.assert_allclose(found.model, 1.75, rtol=1e-6)


def test_the_gradient_may_grow_while_the_loss_falls():
    """The trace shows it: at the start of a cosine well the slope steepens (F22)."""
    found = run(
        GradientDescent(0.1, steps=60),
        Of(lambda x: jnp.sum(jnp.cos(x))),
        np.array([0.1]),
    )
    loss, gradient = np.asarray(found.trace.loss), np.asarray(found.trace.gradient)
    assert (np.diff(loss[:61]) < 0).all()
    assert np.nanmax(gradient) > 5 * gradient[0]
    assert gradient[60] < np.nanmax(gradient)


# Kinks (C7) ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "kink"), [(jnp.abs, 0.0), (hinge, 1.0), (jax.nn.relu, 0.0)]
)
def test_the_slope_at_a_kink_is_a_subgradient(f, kink):
    """f(y) ≥ f(x) + g·(y − x) for all y."""
    g = jax.grad(f)(jnp.asarray(kink))
    y = jnp.linspace(-3, 3, 601)
    assert (f(y) >= f(jnp.asarray(kink)) + g * (y - kink) - 1e-6).all()


def kinked(x):
    return jnp.sum(jnp.abs(x - 0.3))


def test_subgradients_need_falling_rates():
    constant = run(GradientDescent(0.1, steps=2000), Of(kinked), np.ones(1))
    falling = run(
        GradientDescent(InverseTime(0.1, 10), steps=2000), Of(kinked), np.ones(1)
    )
    assert np.abs(constant.model - 0.3) > 1e-2
    assert np.abs(falling.model - 0.3) < 1e-3


def test_subgradients_reach_the_lasso(rng):
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    with float64():
        data = jax.tree.map(jnp.asarray, Batch(X, y, np.ones(50)))
        objective = NegativeLogLikelihood.of(Normal(1.0), data, LaplacePrior(5.0))
        model = Linear.zeros(3)
        solver = GradientDescent(InverseTime(0.5, 10), steps=5000)
        found = solver.minimize(objective, model, data, key=None)
        exact = CoordinateDescent().minimize(objective, model, data, key=None)
    assert float(found.loss) < float(exact.loss) + 1e-4


# Least squares by gradient descent (D5, D6) -------------------------------------------


def test_least_squares_by_gradient_descent(rng):
    X = rng.normal(size=(40, 3)) @ np.diag([1.0, 2.0, 0.5])
    y = X @ [1.0, -2.0, 3.0] + 0.1 * rng.normal(size=40)
    L = np.linalg.eigvalsh(X.T @ X / 40)[-1]
    with float64():
        data = jax.tree.map(jnp.asarray, Batch(X, y, np.ones(40)))
        objective = NegativeLogLikelihood.of(Normal(1.0), data)
        solver = GradientDescent(1 / L, steps=15_000, stop=ParameterChange(1e-22))
        model = Linear.zeros(3, bias=False)
        found = to_numpy(solver.minimize(objective, model, data, key=None))
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(found.model.weight[:, 0], exact, rtol=1e-8)
    assert found.status.reason == PARAMETERS
    assert found.status.steps < 15_000
    assert "the parameters moved by" in str(found.status)


# Laws ---------------------------------------------------------------------------------


def test_new_settings_compile_nothing():
    objective = Quadratic(np.ones(2))

    def solve(rate, clip, steps, tolerance):
        solver = GradientDescent(
            InverseTime(rate, 10 * rate),
            steps=steps,
            clip=ClipByNorm(clip),
            stop=GradientNorm(tolerance),
        )
        return run(solver, objective, np.ones(2))

    solve(0.1, 1.0, 100, 1e-3)
    TRACES.clear()
    for settings in ((0.2, 1.0, 100, 1e-3), (0.1, 3.0, 90, 1e-3), (0.1, 1.0, 120, 0.1)):
        solve(*settings)
    assert TRACES == []


def test_vmap_over_rates_starts_and_weights_is_single_runs(rng):
    objective, data = logistic(logistic_data(rng))
    rates, starts = np.array([0.1, 0.5, 1.0]), rng.normal(size=(3, 3, 1))
    weights = rng.integers(0, 3, size=(3, 60)).astype(float)

    def fit(rate, start, w):
        model = Linear(jnp.asarray(start), jnp.zeros(1))
        rows = data._replace(w=w)
        likelihood = NegativeLogLikelihood.of(Bernoulli(), rows, GaussianPrior(1.0))
        solver = Adam(rate, steps=150, stop=GradientNorm(1e-2))
        return solver.minimize(likelihood, model, rows, key=jax.random.key(0))

    with float64():
        many = to_numpy(jax.vmap(fit)(*map(jnp.asarray, (rates, starts, weights))))
        assert len(set(np.asarray(many.status.steps).tolist())) > 1
        for i in range(3):
            one = to_numpy(fit(*(jnp.asarray(a[i]) for a in (rates, starts, weights))))
            np.testing.assert_allclose(
                many.model.weight[i], one.model.weight, rtol=1e-9, atol=1e-12
            )
            np.testing.assert_allclose(many.trace.loss[i], one.trace.loss, rtol=1e-9)
            assert many.status.steps[i] == one.status.steps
            assert many.status.reason[i] == one.status.reason


def test_weight_two_is_the_row_twice(rng):
    single = logistic_data(rng)
    w = rng.integers(0, 3, size=60).astype(float)
    twice = jax.tree.map(lambda a: np.repeat(a, w.astype(int), axis=0), single)
    ends = []
    for rows in (single._replace(w=w), twice):
        objective, data = logistic(rows)
        with float64():
            solver = Momentum(0.3, steps=200)
            ends.append(solver.minimize(objective, Linear.zeros(3), data, key=None))
    np.testing.assert_allclose(ends[0].model.weight, ends[1].model.weight, rtol=1e-10)


@pytest.mark.parametrize("batch_size", [None, 7])
@pytest.mark.parametrize("garbage", [np.nan, 1e300])
def test_garbage_in_absent_rows_changes_nothing(batch_size, garbage, rng):
    rows = logistic_data(rng)
    w = np.ones(60)
    w[::5] = 0
    ends = []
    for bad in (0.0, garbage):
        X, y = rows.x.copy(), rows.y.copy()
        X[::5], y[::5] = bad, bad
        objective, data = logistic(Batch(X, y, w))
        with float64():
            solver = Adam(0.1, steps=50, batch_size=batch_size)
            ends.append(
                solver.minimize(objective, Linear.zeros(3), data, key=jax.random.key(3))
            )
    np.testing.assert_array_equal(ends[0].model.weight, ends[1].model.weight)
    np.testing.assert_array_equal(ends[0].trace.loss, ends[1].trace.loss)
    assert np.isfinite(ends[1].loss)


def test_running_statistics_are_threaded(rng):
    X = rng.normal(3.0, 2.0, size=(64, 2)).astype(np.float32)
    y = X.sum(1)
    first, last = jax.random.split(jax.random.key(0))
    model = Chain(BatchNorm(2), Dense(2, 8, key=first), jnp.tanh, Dense(8, 1, key=last))
    data = jax.tree.map(jnp.asarray, Batch(X, y, np.ones(64, np.float32)))
    objective = NegativeLogLikelihood.of(Normal(1.0), data)
    found = Adam(0.01, steps=400, batch_size=16).minimize(
        objective, model, data, key=jax.random.key(1), state=initial_state(model)
    )
    np.testing.assert_allclose(found.state[0].mean, X.mean(0), atol=0.5)
    np.testing.assert_allclose(found.state[0].variance, X.var(0), rtol=0.4)
    first_loss = objective(model, data, state=found.state)[0]
    assert objective(found.model, data, state=found.state)[0] < first_loss / 2


def test_a_long_run_is_thinned_and_not_cut():
    found = run(GradientDescent(1e-4, steps=20_000), Quadratic(np.ones(1)), np.ones(1))
    loss = np.asarray(found.trace.loss)
    kept = np.flatnonzero(np.isfinite(loss))[-1]
    np.testing.assert_allclose(loss[kept], found.loss, rtol=1e-3)
    stride = 1 + 19_999 // (len(loss) - 1)
    np.testing.assert_allclose(
        loss[:3], 0.5 * (1 - 1e-4) ** (2 * stride * np.arange(3)), rtol=1e-9
    )


def test_no_steps_is_the_start():
    found = run(Adam(steps=0), Quadratic(np.ones(2)), np.ones(2))
    np.testing.assert_array_equal(found.model, 1)
    assert found.loss == 1
    assert found.status.steps == 0


def test_wrong_settings_are_sentences():
    with pytest.raises(InputError, match="step is 'big'; give one of plain, unit"):
        GradientDescent(0.1, "big")
    with pytest.raises(InputError, match="batch_size is 0"):
        run(Adam(batch_size=0), Quadratic(np.ones(1)), np.ones(1))
    with pytest.raises(InputError, match="give the solver a key"):
        Adam(batch_size=2).minimize(
            Quadratic(np.ones(1)), jnp.ones(1), NO_ROWS, key=None
        )
