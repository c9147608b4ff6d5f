"""Layers agree with PyTorch, whose values `tests/golden/layers/make.py` stored."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import float64
from likely.families import Categorical
from likely.layers import BatchNorm, LayerNorm, PReLU, Running, activation
from likely.models import mlp
from likely.objectives import NegativeLogLikelihood
from likely.typing import Batch

TORCH = dict(np.load(Path(__file__).parents[1] / "golden" / "layers" / "torch.npz"))
NAMES = sorted(name[:-6] for name in TORCH if name.endswith(".slope"))


def arrays(*names: str) -> list[jax.Array]:
    return [jnp.asarray(TORCH[name]) for name in names]


def close(found, name: str):
    np.testing.assert_allclose(found, TORCH[name], rtol=1e-10, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", NAMES)
def test_activation(name):
    with float64():
        (s,) = arrays("s")
        layer = activation(name, 1)
        close(layer(s)[0], f"{name}.value")
        close(jax.grad(lambda s: layer(s)[0].sum())(s), f"{name}.slope")


def test_prelu_learns_its_slopes():
    with float64():
        X, a, seen = arrays("prelu.X", "prelu.a", "prelu.seen")
        layer = eqx.tree_at(lambda p: p.slope, PReLU(3), a)
        close(layer(X)[0], "prelu.value")
        slopes = jax.grad(lambda layer: (layer(X)[0] * seen).sum())(layer)
        close(slopes.slope, "prelu.da")


def normalised(layer, **options):
    """The values of a norm on images and the derivatives."""
    X, seen = arrays("images", "seen")

    def total(layer, X):
        y, state = layer(X, **options)
        return (y * seen).sum(), (y, state)

    slopes, kept = jax.grad(total, argnums=(0, 1), has_aux=True)(layer, X)
    return *kept, *slopes


def loaded(layer, name: str):
    scale_and_shift = arrays(f"{name}.scale", f"{name}.shift")
    return eqx.tree_at(lambda norm: (norm.scale, norm.shift), layer, scale_and_shift)


def test_batch_norm_of_images(getkey):
    """Over rows and positions; PyTorch's running variance has n − 1 in it, ours n."""
    with float64():
        norm = loaded(BatchNorm(4), "batch")
        start = norm.initial_state()
        y, state, slope, dX = normalised(norm, key=getkey(), state=start)
        close(y, "batch.value")
        close(dX, "batch.dX")
        close(slope.scale, "batch.dscale")
        close(slope.shift, "batch.dshift")
        close(state.mean, "batch.mean")
        n = 6 * 3 * 2
        close(0.9 + (state.variance - 0.9) * n / (n - 1), "batch.variance")
        torch_state = Running(*arrays("batch.mean", "batch.variance"))
        close(norm(arrays("images")[0], state=torch_state)[0], "batch.use")


def test_layer_norm_of_images():
    """Over positions and channels of one row."""
    with float64():
        y, _, slope, dX = normalised(loaded(LayerNorm((3, 2, 4)), "layer"))
        close(y, "layer.value")
        close(dX, "layer.dX")
        close(slope.scale, "layer.dscale")
        close(slope.shift, "layer.dshift")


def test_network_and_its_gradient(getkey):
    with float64():
        model = mlp((4, 6, 5, 3), key=getkey())
        for i in range(3):
            model = eqx.tree_at(
                lambda m, i=i: (m.layers[2 * i].weight, m.layers[2 * i].bias),
                model,
                arrays(f"mlp.W{i}", f"mlp.b{i}"),
            )
        X, y = arrays("mlp.X", "mlp.y")
        batch = Batch(X, y.astype(float), jnp.ones(7))
        objective = NegativeLogLikelihood.of(Categorical(3), batch)
        close(model(X)[0], "mlp.eta")
        (loss, _), slope = eqx.filter_value_and_grad(objective, has_aux=True)(
            model, batch
        )
        close(loss, "mlp.loss")
        for i in range(3):
            close(slope.layers[2 * i].weight, f"mlp.dW{i}")
            close(slope.layers[2 * i].bias, f"mlp.db{i}")
