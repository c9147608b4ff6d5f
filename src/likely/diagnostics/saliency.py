r"""Saliency maps: which parts of an image an output depends on.

**Saliency** is the gradient $\partial η_k/\partial x$, the effect of a small change. **Class
activation** (as in Grad-CAM) uses the last feature maps $a_{pc}$ (positions p, channels c):

$$E_p = \sum_c α_c\,a_{pc}, \qquad α_c = \sum_p \frac{\partial η_k}{\partial a_{pc}}.$$

If the head is a mean over positions and a linear layer, $α_c$ is its weight and the mean
of E over positions is exactly $η_k$ minus the bias.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.diagnostics.anatomy import plain_chain
from likely.layers import Chain, initial_state
from likely.typing import State


def saliency(
    model: Any,
    X: Float[Array | np.ndarray, "n ..."],
    output: int,
    *,
    state: State = None,
) -> Float[np.ndarray, "n ..."]:
    """The gradient ∂η_k/∂x of each row.

    Args:
        model: any network.
        X: rows as the network gets them (scaled).
        output: the index k of the output.
        state: running statistics, if the model has any; None uses the initial ones.
    """
    state = initial_state(model) if state is None else state
    return np.asarray(_gradient(model, state, jnp.asarray(X), output))


@eqx.filter_jit
def _gradient(model: Any, state: State, X: Array, output: int) -> Array:
    # at inference a row's η depends on that row alone: the sum keeps gradients apart
    return jax.grad(lambda X: model(X, state=state)[0][:, output].sum())(X)


def class_activation(
    model: Any,
    X: Float[Array | np.ndarray, "n h w c"],
    output: int,
    *,
    state: State = None,
    resized: bool = True,
) -> Float[np.ndarray, "n h w"]:
    """The class activation map E of each image.

    Args:
        model: a chain of layers that keep positions, followed by layers that do not.
        X: images as the network gets them (scaled).
        output: the index k of the output.
        state: running statistics, if the model has any; None uses the initial ones.
        resized: whether maps are resized to the size of the images, bilinearly.
    """
    model = plain_chain(model, "class_activation")
    state = initial_state(model) if state is None else state
    E = np.asarray(_class_activation(model, state, jnp.asarray(X)[:, None], output))
    if not resized:
        return E
    return np.asarray(jax.image.resize(E, (len(E), *X.shape[1:3]), "bilinear"))


@eqx.filter_jit
def _class_activation(model: Chain, state: State, X: Array, output: int) -> Array:
    states = state or (None,) * len(model.layers)

    def through(X: Array, first: int, last: int) -> Array:
        for layer, s in list(zip(model.layers, states, strict=True))[first:last]:
            X = layer(X, state=s)[0]
        return X

    shapes = [
        jax.eval_shape(lambda X, i=i: through(X, 0, i), X[0]).ndim
        for i in range(len(model.layers) + 1)
    ]
    split = max(i for i, ndim in enumerate(shapes) if ndim == 4)

    def one(x: Array) -> Array:
        a = through(x, 0, split)  # (1, h, w, c)
        gradient = jax.grad(lambda a: through(a, split, len(states))[0, output])(a)
        return (a[0] * gradient[0].sum((0, 1), keepdims=True)).sum(-1)

    return jax.lax.map(one, X)
