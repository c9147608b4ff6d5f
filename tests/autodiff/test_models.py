"""Every model, loss and prior of the library: our reverse mode is `jax.grad`."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registries.families import FAMILIES

from likely import objectives
from likely.autodiff import check_gradients, trace
from likely.core import float64
from likely.families import Bernoulli, Normal
from likely.models import Linear, Null, Shared, mlp
from likely.objectives import NegativeLogLikelihood, SurrogateLoss
from likely.typing import Batch

N, D = 6, 2


def rows(y=None):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, D))
    w = np.array([1.0, 2.0, 1.0, 0.5, 0.0, 1.0])
    return Batch(
        jnp.asarray(X), jnp.asarray(X[:, 0] if y is None else y), jnp.asarray(w)
    )


def agrees(objective, model, data, **options):
    recorded = trace(
        objective, model, data, argnums=0, has_aux=True, compiled=True, **options
    )
    loss = eqx.filter_jit(eqx.filter_grad(lambda m: objective(m, data, **options)[0]))
    expected = loss(model)
    found = eqx.filter(recorded.reverse().gradient, eqx.is_array)
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)
    return recorded


@pytest.mark.parametrize("name", FAMILIES)
def test_likelihoods(name):
    example = FAMILIES[name]
    with float64():
        family = example.make()
        k = len(example.eta)
        scale = 0.1 * np.random.default_rng(0).normal(size=(D, k))
        model = Linear(jnp.asarray(scale), jnp.asarray(example.eta))
        data = rows(np.asarray(example.draw(N), float))
        agrees(NegativeLogLikelihood.of(family, data), model, data)


PRIORS = {
    "gaussian": objectives.GaussianPrior(0.5),
    "laplace": objectives.LaplacePrior(0.5),
    "elastic net": objectives.ElasticNetPrior(0.5, 0.3),
    "norm": objectives.NormPrior(),
}


@pytest.mark.parametrize("name", PRIORS)
def test_priors(name):
    with float64():
        data = rows()
        model = Linear(jnp.array([[0.3], [-0.2]]), jnp.array([0.1]))
        objective = NegativeLogLikelihood.of(Normal(scale=1.0), data, PRIORS[name])
        agrees(objective, model, data)


@pytest.mark.parametrize("loss", [objectives.hinge, objectives.logistic])
def test_surrogates(loss):
    with float64():
        data = rows(np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0]))
        model = Linear(jnp.array([[0.3], [-0.2]]), jnp.array([0.1]))
        agrees(SurrogateLoss.of(loss, data), model, data)


def test_models(getkey):
    with float64():
        data = rows()
        for model in (
            Null(jnp.array([0.3, 0.1])),
            Shared(Linear.zeros(D), jnp.array([0.2])),
            mlp((D, 3, 2), activation=jnp.tanh, key=getkey()),
        ):
            agrees(NegativeLogLikelihood.of(Normal(), data), model, data)
        model = mlp((D, 3, 2), norm="batch", key=getkey())
        state, key = model.initial_state(), getkey()
        objective = NegativeLogLikelihood.of(Normal(), data)
        agrees(objective, model, data, state=state, key=key)


def test_library_objective_against_differences(getkey):
    data = rows((np.arange(N) % 2).astype(float))
    model = mlp((D, 3, 1), activation=jnp.tanh, key=getkey())
    with float64():
        objective = NegativeLogLikelihood.of(Bernoulli(), data)
    report = check_gradients(objective, model, data, argnums=0, has_aux=True)
    assert report, str(report)
