"""States of a network trained on one task help a linear model on another."""

import jax
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import likely as lk
from likely.core import InputError
from likely.estimators import FrozenFeatures
from likely.families import Normal
from likely.models import Linear, mlp
from likely.recipe import fit
from likely.solvers import Adam
from likely.typing import Batch

rng = np.random.default_rng(0)
X = rng.uniform(-1.5, 1.5, size=(400, 2)).astype(np.float32)
RADIUS = (X**2).sum(1)


@pytest.fixture(scope="module")
def network():
    """Trained to tell the squared radius, not whether a point is inside."""
    data = Batch(X, RADIUS, np.ones(400, np.float32))
    start = mlp((2, 32, 32, 1), key=jax.random.key(0))
    solver = Adam(0.01, steps=400, batch_size=64)
    return fit(Normal(1.0), start, data, solver=solver, key=jax.random.key(1))


def test_frozen_states_and_a_new_classifier(network):
    inside = RADIUS < 1
    before = jax.tree.map(np.array, network.model)
    machine = make_pipeline(FrozenFeatures(network), lk.LinearSVC())
    machine.fit(X[::2], inside[::2])
    assert machine.score(X[1::2], inside[1::2]) > 0.95
    assert lk.LinearSVC().fit(X[::2], inside[::2]).score(X[1::2], inside[1::2]) < 0.8
    for a, b in zip(
        jax.tree.leaves(before), jax.tree.leaves(network.model), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_states_are_those_of_the_layer(network):
    features = FrozenFeatures(network.model, leave_out=1).fit_transform(X)
    last = network.model.layers[-1]
    eta = features.astype(np.float32) @ np.asarray(last.weight) + np.asarray(last.bias)
    np.testing.assert_allclose(eta[:, 0], network(X).eta[:, 0], atol=1e-5)
    assert features.shape == (400, 32)


def test_what_has_no_layers_is_refused(network):
    with pytest.raises(InputError, match="model is a Linear"):
        FrozenFeatures(Linear.zeros(2)).fit(X)
    with pytest.raises(InputError, match="leave out fewer"):
        FrozenFeatures(network, leave_out=9).fit(X)
