"""Loss landscapes: against closed forms of linear models, and laws of networks."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import likely as lk
from likely import families, models, recipe, solvers
from likely.core import InputError, float64
from likely.diagnostics import direction_to, loss_landscape, loss_surface
from likely.diagnostics.landscape import sources
from likely.diagnostics.landscape.directions import filter_normalised
from likely.objectives import GaussianPrior, LaplacePrior
from likely.typing import Batch


@pytest.fixture(scope="module")
def line():
    """Rows of a line with two columns, and the fitted line."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) @ [[1.0, 0.4], [0.0, 1.0]]
    y = X @ [1.5, 0.3] + 2 + 0.7 * rng.normal(size=80)
    return X, y, lk.LinearRegression().fit(X, y)


@pytest.fixture(scope="module")
def network():
    """A small perceptron, trained to a minimum without a prior, with its path."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=50) > 0, "up", "down")
    solver = solvers.LBFGS(60, path=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lk.MLPClassifier((6,), "tanh", alpha=0.0, solver=solver).fit(X, y)
    return X, y, model


def restricted(X, y, model, rows=slice(None), add=0.0):
    """The least squares of the two slopes with the intercept of the fit, `add` on the diagonal."""
    X, r = X[rows], y[rows] - model.intercept_
    return np.linalg.solve(X.T @ X + add * np.eye(2), X.T @ r)


def test_a_linear_model_has_a_quadratic_landscape(line):
    X, y, model = line
    s2 = np.mean((y - model.predict(X)) ** 2)
    rows = np.arange(12)
    found = loss_landscape(
        model,
        X,
        y,
        directions=["x0", "x1"],
        subset=rows,
        penalties={"L2": GaussianPrior(40.0), "L1": LaplacePrior(160.0)},
        n_points=9,
    )
    a, b = np.meshgrid(*found.axes, indexing="ij")
    residuals = y - model.intercept_ - a[..., None] * X[:, 0] - b[..., None] * X[:, 1]
    nats = 0.5 * residuals**2 / s2 + 0.5 * np.log(2 * np.pi * s2)
    np.testing.assert_allclose(found.loss, nats.mean(-1), rtol=1e-12)
    np.testing.assert_allclose(
        found.error, nats.std(-1, ddof=1) / np.sqrt(80), rtol=1e-10
    )
    np.testing.assert_allclose(found.losses["12 rows"], nats[..., :12].mean(-1))
    penalty = 160 / 80 * (np.abs(a) + np.abs(b))
    np.testing.assert_allclose(found.losses["L1"], nats.mean(-1) + penalty)
    # the lowest points
    at = {name: station.point for name, station in found.stations.items()}
    np.testing.assert_allclose(at["fitted"], model.coef_, rtol=1e-12)
    np.testing.assert_allclose(at["all rows"], model.coef_, atol=1e-6)
    np.testing.assert_allclose(at["12 rows"], restricted(X, y, model, rows), atol=1e-6)
    np.testing.assert_allclose(
        at["L2"], restricted(X, y, model, add=40 * s2), atol=1e-6
    )
    assert at["L1"][1] == 0  # a corner of the diamond
    r = y - model.intercept_
    x = X[:, 0]
    lasso = (x @ r - 160 * s2) / (x @ x)
    np.testing.assert_allclose(at["L1"][0], lasso, atol=1e-6)
    assert found.stations["12 rows"].excess > 0
    assert "12 rows alone have the lowest point" in found.verdict
    assert len(found.plot().axes) == 4


def test_the_part_of_all_rows_is_the_whole_and_weights_are_repetitions(line):
    X, y, model = line
    kinds = {"directions": ["x0"], "n_points": 5, "limits": (0.0, 2.0)}
    found = loss_landscape(model, X, y, subset=np.ones(80, bool), **kinds)
    np.testing.assert_array_equal(found.losses["80 rows"], found.loss)
    w = np.ones(80)
    w[:3], w[5] = 2, 0
    twice = np.r_[X[:3], np.delete(X, 5, 0)], np.r_[y[:3], np.delete(y, 5)]
    other = X.copy()
    other[5] = 1e300
    weighted = loss_landscape(model, other, y, w, **kinds)
    repeated = loss_landscape(model, *twice, **kinds)
    np.testing.assert_allclose(weighted.loss, repeated.loss, rtol=1e-12)
    np.testing.assert_allclose(weighted.error, repeated.error, rtol=1e-10)
    assert len(weighted.plot().axes) == 1


def test_the_centre_of_a_network_is_its_training_loss(network):
    X, y, model = network
    surface = loss_surface(model, X, y)
    assert surface.loss() == pytest.approx(float(model.loss_), abs=1e-10)
    # in parts, with the same derivatives
    v = np.random.default_rng(0).normal(size=surface.n_parameters)
    entries, sources.MAX_ENTRIES = sources.MAX_ENTRIES, 32
    try:
        parts = loss_surface(model, X, y)
    finally:
        sources.MAX_ENTRIES = entries
    assert len(parts.data.w) > 1
    assert parts.loss() == pytest.approx(surface.loss(), rel=1e-12)
    np.testing.assert_allclose(
        parts.hessian_product(v), surface.hessian_product(v), atol=1e-12
    )
    high, low = (surface.loss(surface.center + h * v) for h in (1e-5, -1e-5))
    assert surface.gradient() @ v == pytest.approx((high - low) / 2e-5, abs=1e-7)


def test_a_path_is_seen_in_its_principal_directions(network):
    X, y, model = network
    found = loss_landscape(model, X, y, directions="principal", paths=model, n_points=5)
    path = found.paths["path"]
    trace = model.phi_.solution.trace
    losses = trace.loss[np.isfinite(trace.loss)]
    np.testing.assert_allclose(path.loss, losses[: len(path.loss)], rtol=1e-8)
    weights = np.concatenate(
        [a.reshape(len(a), -1) for a in jax.tree.leaves(trace.model)], 1
    )[: len(path.loss)]
    moved = weights - loss_surface(model, X, y).center
    sizes = np.linalg.svd(moved, compute_uv=False)
    shares = sizes**2 / (sizes**2).sum()
    np.testing.assert_allclose(found.explained, shares[:2], rtol=1e-8)
    inside = (path.points**2).sum() + (path.distance**2).sum()
    assert inside == pytest.approx((moved**2).sum())
    for axis, points in zip(found.axes, path.points.T, strict=True):
        assert axis[0] < points.min() <= points.max() < axis[-1]


def test_filters_of_a_direction_are_as_long_as_those_of_the_network(network, rng):
    model = network[2].phi_.solution.model
    surface = loss_surface(network[2], *network[:2])
    v = filter_normalised(surface.model, rng.normal(size=surface.n_parameters))
    with float64():
        direction = surface.at(jnp.asarray(v))
    for own, new in zip(model.layers[::2], direction.layers[::2], strict=True):
        np.testing.assert_allclose(
            np.linalg.norm(new.weight, axis=0), np.linalg.norm(own.weight, axis=0)
        )
        assert not np.any(np.asarray(new.bias))


def test_step_one_towards_another_model_arrives(line):
    X, y, model = line
    other = lk.LinearRegression().fit(X[:9], y[:9])
    found = loss_landscape(
        model, X, y, directions=[direction_to(model, other)], limits=(0, 1), n_points=5
    )
    s2 = np.mean((y - model.predict(X)) ** 2)
    ends = [
        0.5 * np.mean((y - m.predict(X)) ** 2) / s2 + 0.5 * np.log(2 * np.pi * s2)
        for m in (model, other)
    ]
    np.testing.assert_allclose(found.loss[[0, -1]], ends, rtol=1e-10)
    assert found.barrier == 0  # a quadratic lies below its chords


def test_three_descents_on_one_landscape(rng):
    """Full batch, minibatches and single rows, as recorded by the solvers."""
    X = rng.normal(size=(60, 1))
    y = (X[:, 0] + 0.5 + rng.logistic(size=60) > 0).astype(float)
    runs = {}
    for name, size in (("all", None), ("8 rows", 8)):
        solver = solvers.GradientDescent(0.5, steps=16, batch_size=size, path=True)
        start = models.Linear.zeros(1)
        runs[name] = recipe.fit(
            families.Bernoulli(), start, Batch(X, y, np.ones(60)), solver=solver,
            key=jax.random.key(0),
        )  # fmt: skip
    found = loss_landscape(runs["all"], X, y, directions=[0, 1], paths=runs, n_points=5)
    np.testing.assert_allclose(found.paths["all"].points[0], [0, 0], atol=1e-7)
    assert (found.paths["all"].distance < 1e-6).all()
    assert (np.diff(found.paths["all"].loss) < 0).all()
    assert found.paths["8 rows"].loss[0] == pytest.approx(np.log(2), rel=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"directions": ["x0", "x7"]}, "give one of x0, x1, intercept"),
        ({"directions": "principle"}, "did you mean 'principal'"),
        ({"directions": "principal"}, "give paths"),
        ({"directions": ["x0", "x0"]}, "span a plane"),
        ({"directions": [0, 1, 2]}, "one or two"),
        ({"directions": [np.zeros(3)]}, "not zero everywhere"),
        ({"directions": [np.ones(4)]}, "has 4 entries but the model has 3"),
        ({"directions": [9]}, "there is no weight number 9"),
        ({"limits": (1, 0)}, "low < high"),
        ({"subset": 1}, "2 to 80 rows"),
        ({"subset": [80]}, "there are 80 rows"),
        ({"penalties": {"L1": 3.0}}, "give a prior"),
        ({"paths": np.ones((3, 2))}, "needs 3 weights"),
        ({"n_points": 2}, "at least 3"),
        ({"precision": "half"}, "precision is 'half'"),
    ],
)
def test_what_is_wrong_is_said(line, change, message):
    X, y, model = line
    with pytest.raises(InputError, match=message):
        loss_landscape(model, X, y, **({"directions": ["x0"]} | change))


def test_models_without_weights_or_families_are_refused(line, getkey):
    X, y, _ = line
    tree = DecisionTreeRegressor(max_depth=1).fit(X, y)
    with pytest.raises(InputError, match="give a network or a linear model"):
        loss_surface(tree, X, y)
    with pytest.raises(InputError, match="give its family"):
        loss_surface(models.mlp((2, 3, 1), key=getkey()), X, y)
    with pytest.raises(InputError, match="same architecture"):
        direction_to(*(models.mlp((2, k, 1), key=getkey()) for k in (3, 4)))
