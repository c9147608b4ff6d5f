"""One identity of matrix calculus, and its check against autodiff."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp

from likely.core.precision import float64
from likely.typing import Key

N, M = 4, 3
"""The sizes of the random vectors and matrices."""


class Numbers(NamedTuple):
    """Random constants for a check."""

    a: jax.Array
    b: jax.Array
    c: jax.Array
    d: jax.Array
    A: jax.Array
    B: jax.Array
    S: jax.Array

    @classmethod
    def draw(cls, key: Key) -> "Numbers":
        """a, b ~ (n,); c, d ~ (m,); A ~ (n, n) invertible; B ~ (m, n); S symmetric."""
        keys = jax.random.split(key, 7)
        shapes = ((N,), (N,), (M,), (M,), (N, N), (M, N), (N, N))
        a, b, c, d, A, B, S = map(jax.random.normal, keys, shapes)
        return cls(a, b, c, d, A + 3 * jnp.eye(N), B, S + S.T)

    def u(self, x: jax.Array) -> jax.Array:
        """A scalar function of a vector."""
        return jnp.sin(self.a @ x)

    def v(self, x: jax.Array) -> jax.Array:
        """Another scalar function of a vector."""
        return jnp.exp(self.b @ x / 9)

    def f(self, x: jax.Array) -> jax.Array:
        """A vector function of a vector."""
        return jnp.tanh(self.B @ x)

    def g(self, x: jax.Array) -> jax.Array:
        """Another vector function of a vector, of the same length as f."""
        return jnp.exp(0.3 * jnp.cos(self.B @ x + self.c))


@dataclass(frozen=True)
class Identity:
    """An identity: a function and its derivative by one variable."""

    group: str
    """The kind of derivative, such as "scalar by vector"."""
    statement: str
    function: Callable[[Numbers, jax.Array], jax.Array] = field(repr=False)
    derivative: Callable[[Numbers, jax.Array], jax.Array] = field(repr=False)
    shape: tuple[int, ...]
    """The shape of the variable."""
    misprint: str = ""
    """A common misprint of the derivative, if there is one."""
    printed: Callable[[Numbers, jax.Array], jax.Array] | None = field(
        default=None, repr=False
    )
    """The misprint as a function."""

    def errors(self, key: Key) -> tuple[float, float | None]:
        """The largest errors of the derivative and of its misprint at random numbers."""
        with float64():
            first, second = jax.random.split(key)
            numbers = Numbers.draw(first)
            x = jax.random.normal(second, self.shape)
            x = x + 3 * jnp.eye(N) if self.shape == (N, N) else x
            exact = jax.jacobian(lambda x: self.function(numbers, x))(x)
            error = _distance(exact, self.derivative(numbers, x))
            if self.printed is None:
                return error, None
            return error, _distance(exact, self.printed(numbers, x))


def _distance(a: jax.Array, b: jax.Array) -> float:
    return float(jnp.abs(a - b).max()) if a.shape == b.shape else float("inf")
