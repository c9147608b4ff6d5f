r"""Networks that are conditioned on something beside their input: a time, a class.

`Conditional` gives the condition to every `Shifted` layer inside a network directly, not
through the layers between; the result is an ordinary network of the input.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from likely.core.checks import InputError
from likely.layers.composition.chain import initial_state
from likely.layers.composition.layer import AbstractLayer
from likely.layers.units.dense import Dense
from likely.layers.units.initializers import Initializer
from likely.typing import Key, Model, State


class Shifted(eqx.Module):
    r"""$x_{i,o} + (Vc)_o$: each channel plus a linear function of the condition c."""

    dense: Dense
    shift: Float[Array, "n o"] | None = None
    """Vc, once the condition is bound; None before."""

    @classmethod
    def of(
        cls, n_condition: int, channels: int, *, init: Initializer = "he", key: Key
    ) -> "Shifted":
        """A layer with initial weights V of shape (n_condition, channels)."""
        return cls(Dense(n_condition, channels, bias=False, init=init, key=key))

    def given(self, c: Float[Array, "n e"]) -> "Shifted":
        """The layer with its condition bound."""
        return Shifted(self.dense, self.dense(c)[0])

    def __call__(
        self,
        X: Float[Array, "n *positions o"],
        *,
        w=None,
        key=None,
        state: State = None,
    ) -> tuple[Float[Array, "n *positions o"], State]:
        """Shift the channels."""
        if self.shift is None:
            raise InputError(
                "this network needs a condition and got none; wrap it in "
                "Conditional(model, embedding) and call that with (X, condition)."
            )
        shift = jnp.expand_dims(self.shift, range(1, X.ndim - 1))
        return X + shift.astype(X.dtype), state


class Conditional(eqx.Module):
    """A network and the embedding of its condition; called with (X, condition)."""

    model: Model
    embedding: Model

    def initial_state(self) -> State:
        """The states of the network and of the embedding, if either has one."""
        states = initial_state(self.model), initial_state(self.embedding)
        return None if all(s is None for s in states) else states

    def __call__(
        self,
        X: tuple[Array, Array],
        *,
        w: Float[Array, " n"] | None = None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, "n ..."], State]:
        """The output of the network for X, given the condition."""
        rows, condition = X
        inner, outer = state or (None, None)
        k_model, k_embedding = (None, None) if key is None else jax.random.split(key)
        c, outer = self.embedding(condition, w=w, key=k_embedding, state=outer)
        y, inner = bind_condition(self.model, c)(rows, w=w, key=k_model, state=inner)
        return y, None if state is None else (inner, outer)


def bind_condition(model: Any, c: Float[Array, "n e"]) -> Any:
    """The model with the condition bound in every `Shifted` layer."""

    def is_shifted(node: Any) -> bool:
        return isinstance(node, Shifted)

    return jax.tree.map(
        lambda node: node.given(c) if is_shifted(node) else node,
        model,
        is_leaf=is_shifted,
    )


class Sinusoids(AbstractLayer):
    r"""Features of a number t: $\sin(t\,ω_j)$ and $\cos(t\,ω_j)$.

    The frequencies fall geometrically from 1 to 1/`longest`, so that small and large
    differences of t both show. For t from 0 to 1 use a `scale` of about 1000.
    """

    size: int = eqx.field(static=True)
    longest: float = eqx.field(static=True, default=10_000.0)
    scale: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        if self.size < 2 or self.size % 2:
            raise InputError(
                f"size is {self.size}; half of the features are sines and half are "
                "cosines: give an even number of at least 2."
            )

    def of(self, X: Num[Array, " n"]) -> Float[Array, "n e"]:
        """The features (n, size) of n numbers."""
        half = self.size // 2
        omega = self.longest ** -(jnp.arange(half) / max(half - 1, 1))
        angle = self.scale * X.astype(omega.dtype)[:, None] * omega[None]
        return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], 1)
