r"""Where in an image the evidence for an output lies.

**Saliency** is the slope $\partial η_k/\partial x$: what a small change would do. **Class
activation** asks the last maps $a_{pc}$ (positions p, channels c):

$$E_p = \sum_c α_c\,a_{pc}, \qquad α_c = \sum_p \frac{\partial η_k}{\partial a_{pc}}.$$

Where the head is a mean over positions and a linear map, $α_c$ is its weight and the mean
of E over positions is $η_k$ less the bias: the evidence adds up.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers import Chain, initial_state
from likely.layers.composition.mixed_precision import MixedPrecision
from likely.typing import State


def saliency(
    model: Any,
    X: Float[Array | np.ndarray, "n ..."],
    output: int,
    *,
    state: State = None,
) -> Float[np.ndarray, "n ..."]:
    """∂η_k/∂x of each row.

    Args:
        model: any network.
        X: as the network gets them (scaled).
        output: k.
        state: running statistics, if it keeps any; None starts them.
    """
    state = initial_state(model) if state is None else state
    return np.asarray(_slope(model, state, jnp.asarray(X), output))


@eqx.filter_jit
def _slope(model: Any, state: State, X: Array, output: int) -> Array:
    # in use a row's η is a function of that row alone, so the sum keeps slopes apart
    return jax.grad(lambda X: model(X, state=state)[0][:, output].sum())(X)


def class_activation(
    model: Any,
    X: Float[Array | np.ndarray, "n h w c"],
    output: int,
    *,
    state: State = None,
    resized: bool = True,
) -> Float[np.ndarray, "n h w"]:
    """E of each image.

    Args:
        model: a chain of layers that keep positions, then layers that do not.
        X: as the network gets them (scaled).
        output: k.
        state: running statistics, if it keeps any; None starts them.
        resized: whether maps are stretched to the size of the images, bilinearly.
    """
    while isinstance(model, MixedPrecision) or hasattr(model, "tail"):
        model = model.model
    if not isinstance(model, Chain):
        raise InputError(
            f"class_activation cuts a chain of layers but got {type(model).__name__}; "
            "give a `Chain`, as `models.CNN` and `models.ResNet` build it."
        )
    state = initial_state(model) if state is None else state
    E = np.asarray(_activation(model, state, jnp.asarray(X)[:, None], output))
    if not resized:
        return E
    return np.asarray(jax.image.resize(E, (len(E), *X.shape[1:3]), "bilinear"))


@eqx.filter_jit
def _activation(model: Chain, state: State, X: Array, output: int) -> Array:
    states = state or (None,) * len(model.layers)

    def through(X: Array, first: int, last: int) -> Array:
        parts = zip(model.layers[first:last], states[first:last], strict=True)
        for layer, s in parts:
            X = layer(X, state=s)[0]
        return X

    shapes = [
        jax.eval_shape(lambda X, i=i: through(X, 0, i), X[0]).ndim
        for i in range(len(model.layers) + 1)
    ]
    cut = max(i for i, ndim in enumerate(shapes) if ndim == 4)

    def one(x: Array) -> Array:
        a = through(x, 0, cut)  # (1, h, w, c)
        slope = jax.grad(lambda a: through(a, cut, len(states))[0, output])(a)
        return (a[0] * slope[0].sum((0, 1), keepdims=True)).sum(-1)

    return jax.lax.map(one, X)
