"""Every model, likelihood, loss and prior of the library: our modes, JAX's, differences."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registries.families import FAMILIES

from likely import models, objectives
from likely.autodiff import check_gradients, trace
from likely.families import Bernoulli, Normal
from likely.models import Linear, MaskedMLP, Null, Shared, mlp
from likely.objectives import NegativeLogLikelihood, SurrogateLoss
from likely.typing import Batch, Model

pytestmark = pytest.mark.usefixtures("in_a_hurry")

N, D = 6, 2
RNG = np.random.default_rng(1)


def normal(*shape):
    return jnp.asarray(0.1 * RNG.normal(size=shape))


def shared(eta, key):
    head = Linear(normal(D, len(eta) - 1), eta[:-1]) if len(eta) > 1 else Null(eta[:0])
    return Shared(head, eta[-1:])


def masked(eta, key):
    """η of a second variable from the first, and of conditions."""
    model = MaskedMLP((-1, 0), (1,) * len(eta), hidden=3, key=key)
    last = model.layers[-1]
    start = (normal(*last.weight.shape), eta, normal(*model.direct.weight.shape))
    return eqx.tree_at(
        lambda m: (m.layers[-1].weight, m.layers[-1].bias, m.direct.weight),
        model,
        start,
    )


MODELS = {  # from η near which the family is at home, and a key
    "null": lambda eta, key: Null(eta),
    "linear": lambda eta, key: Linear(normal(D, len(eta)), eta),
    "shared": shared,
    "mlp": lambda eta, key: eqx.tree_at(
        lambda m: m.layers[-1].bias,
        mlp((D, 3, len(eta)), activation=jnp.tanh, key=key),
        eta,
    ),
    "maskedmlp": masked,
}
PRIORS = {
    "GaussianPrior": objectives.GaussianPrior(0.5),
    "LaplacePrior": objectives.LaplacePrior(0.5),
    "ElasticNetPrior": objectives.ElasticNetPrior(0.5, 0.3),
    "NormPrior": objectives.NormPrior(),
}
SURROGATES = ("hinge", "logistic", "zero_one")
OTHER = (
    "AbstractPrior", "AdversarialLoss", "BlendedObjective", "Blending", "Consistency",
    "DenoisingLoss", "DensityLikelihood", "FirthLikelihood", "NegativeEvidenceBound",
    "NegativeLogLikelihood", "PositionLikelihood", "ReconstructionError", "RowLosses",
    "SmoothedObjective", "Smoothing", "SparseReconstructionError", "SurrogateLoss",
    "energy_distance", "margin", "optimal_critic",
)  # fmt: skip

OF_SEQUENCES = {
    "bert",
    "blocknetwork",
    "encoderdecoder",
    "recurrentnetwork",
    "transformer",
    "visiontransformer",
}
"""Models that take no table; their gradients are compared with PyTorch's, or with loops."""


def test_nothing_is_left_out():
    """A model, prior or loss that is added to the library gets a line above."""
    named = (getattr(models, name) for name in models.__all__)
    found = {m.__name__ for m in named if isinstance(m, type) and issubclass(m, Model)}
    assert {name.lower() for name in found} <= {*MODELS, *OF_SEQUENCES, "offset"}
    assert set(objectives.__all__) <= {*PRIORS, *SURROGATES, *OTHER}


def rows(y=None):
    X = np.random.default_rng(1).normal(size=(N, D))
    w = np.array([1.0, 2.0, 1.0, 0.5, 0.0, 1.0])
    return Batch(
        jnp.asarray(X), jnp.asarray(X[:, 0] if y is None else y), jnp.asarray(w)
    )


def agrees(objective, model, data, *, smooth=True, **options):
    """Reverse mode is `jax.grad`, forward mode is `jax.jvp`, both are the difference."""
    parameters, rest = eqx.partition(model, eqx.is_inexact_array)

    def loss(p):  # not compiled: its operations are met again under other models
        return objective(eqx.combine(p, rest), data, **options)[0]

    recorded = trace(objective, model, data, argnums=0, has_aux=True, **options)
    np.testing.assert_allclose(recorded.output, loss(parameters), rtol=1e-9)
    found = eqx.filter(recorded.reverse().gradient, eqx.is_array)
    expected, along = jax.grad(loss)(parameters), jax.tree.map(sine, parameters)
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)
    slope = jax.jvp(loss, (parameters,), (along,))[1]
    moved = recorded.forward(eqx.combine(along, rest), None).output
    np.testing.assert_allclose(moved, slope, rtol=1e-8, atol=1e-10)
    if smooth:
        h, moves = 1e-5, (parameters, along)
        ahead, behind = (
            loss(jax.tree.map(lambda p, t, s=s: np.asarray(p) + s * h * t, *moves))
            for s in (1, -1)
        )
        rough = (ahead - behind) / (2 * h)
        np.testing.assert_allclose(slope, rough, rtol=1e-5, atol=1e-6)
    return recorded


def sine(leaf):
    """A direction."""
    return np.sin(1.0 + np.arange(leaf.size)).reshape(leaf.shape)


QUICK = ("Normal", "Categorical", "Mixture")


@pytest.mark.parametrize(
    "name",
    [
        name if name.startswith(QUICK) else pytest.param(name, marks=pytest.mark.slow)
        for name in FAMILIES
    ],
)
def test_every_model_under_every_likelihood(name, getkey):
    example = FAMILIES[name]
    family, eta = example.make(), jnp.asarray(example.eta)
    data = rows(np.asarray(example.draw(N), float))
    objective = NegativeLogLikelihood.of(family, data)
    for make in MODELS.values():
        agrees(objective, make(eta, getkey()), data, smooth=example.smooth)


def straight():
    return Linear(jnp.array([[0.3], [-0.2]]), jnp.array([0.1]))


@pytest.mark.parametrize("name", PRIORS)
def test_priors(name):
    data = rows()
    objective = NegativeLogLikelihood.of(Normal(scale=1.0), data, PRIORS[name])
    agrees(objective, straight(), data)


@pytest.mark.parametrize("name", SURROGATES)
def test_surrogates(name):
    data = rows(np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0]))
    loss = getattr(objectives, name)
    agrees(SurrogateLoss.of(loss, data, PRIORS["GaussianPrior"]), straight(), data)


def test_offsets_and_firths_likelihood():
    data = rows((np.arange(N) % 2).astype(float))
    agrees(objectives.FirthLikelihood(jnp.zeros(D + 1)), straight(), data)
    shifted = data._replace(x=(data.x, 0.3 * data.x[:, 0]))
    model = models.Offset(straight())
    agrees(NegativeLogLikelihood.of(Bernoulli(), data), model, shifted)


def test_batch_norm_and_its_state(getkey):
    data = rows()
    model = mlp((D, 3, 2), norm="batch", key=getkey())
    objective, key = NegativeLogLikelihood.of(Normal(), data), getkey()
    agrees(objective, model, data, state=model.initial_state(), key=key)


def test_layers_of_library_models_are_found(getkey):
    data = rows((np.arange(N) % 2).astype(float))
    objective = NegativeLogLikelihood.of(Bernoulli(), data)
    for model, shapes in (
        (straight(), [(D, 1)]),
        (mlp((D, 3, 1), key=getkey()), [(D, 3), (3, 1)]),
    ):
        recorded = trace(objective, model, data, argnums=0, has_aux=True)
        back = recorded.backprop()
        assert [layer.weight.shape for layer in back.layers] == shapes
        eta = model(data.x)[0]
        p = 1 / (1 + np.exp(-np.ravel(eta)))
        delta = (p - np.asarray(data.y)) * data.w / data.w.sum()
        last = back.layers[-1]
        np.testing.assert_allclose(np.ravel(last.z), np.ravel(eta), rtol=1e-9)
        np.testing.assert_allclose(np.ravel(last.delta), delta, rtol=1e-9, atol=1e-12)


def test_library_objective_against_differences(getkey):
    data = rows((np.arange(N) % 2).astype(float))
    model = mlp((D, 3, 1), activation=jnp.tanh, key=getkey())
    objective = NegativeLogLikelihood.of(Bernoulli(), data)
    report = check_gradients(objective, model, data, argnums=0, has_aux=True)
    assert report, str(report)
