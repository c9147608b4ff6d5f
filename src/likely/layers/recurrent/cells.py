r"""One step of a recurrent network, and its derivative, by kind.

With $z_t = x_t W + b$ and $p_t = h_{t-1} U$ (for the GRU plus its bias on n):

    rnn    h = tanh(z + p)
    lstm   i, f, o = σ(z + p), g = tanh(z + p)     c = f c' + i g,   h = o tanh(c)
    gru    r, u = σ(z + p),    n = tanh(z + r p)   h = (1 − u) n + u h'

A cell keeps of each step what its derivative needs. `slopes` makes of that, for all steps at
once, the factors of the backward pass, so that its loop has little left to do.
"""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Carry = tuple[Any, ...]
"""The state h, and c of an LSTM."""


class Back(NamedTuple):
    """The derivatives of one step."""

    dz: Float[Array, "n g"]
    dp: Float[Array, "n g"] | None
    """Of p where it differs from that of z, otherwise None."""
    carry: Carry
    """Of the state before, less what passes through p."""


class Cell:
    """A kind of recurrent step."""

    gates: ClassVar[int]
    """The number of blocks in z and p."""
    states: ClassVar[int] = 1
    has_own_bias: ClassVar[bool] = False
    """Whether p has a bias that cannot be a part of z."""

    @abstractmethod
    def step(self, z: Array, p: Array, carry: Carry) -> tuple[Carry, Any]:
        """The state after the step, and what the derivative needs."""

    @abstractmethod
    def slopes(self, kept: Any, before: Carry) -> Any:
        """The factors of the backward pass; all arguments are of all steps."""

    @abstractmethod
    def back(self, factors: Any, d: Carry) -> Back:
        """The derivatives, given those of the state after the step."""


class Tanh(Cell):
    """The plain recurrent step."""

    gates = 1

    def step(self, z, p, carry):
        h = jnp.tanh(z + p)
        return (h,), h

    def slopes(self, kept, before):
        return 1 - kept**2

    def back(self, factors, d):
        (dh,) = d
        return Back(dh * factors, None, (jnp.zeros_like(dh),))


class Rectified(Tanh):
    """The plain recurrent step with ReLU."""

    def step(self, z, p, carry):
        h = jnp.maximum(z + p, 0)
        return (h,), h

    def slopes(self, kept, before):
        return (kept > 0).astype(kept.dtype)


class LSTM(Cell):
    """Long short-term memory; gates in the order i, f, g, o.

    A sigmoid is ½ tanh(½z) + ½, so all gates are one `tanh`.
    """

    gates, states = 4, 2

    def step(self, z, p, carry):
        _, c = carry
        k = z.shape[-1] // 4
        half = jnp.asarray(np.repeat([0.5, 0.5, 1.0, 0.5], k), z.dtype)[None]
        a = half * jnp.tanh(half * (z + p)) + (1 - half)
        i, f, g, o = jnp.split(a, 4, axis=1)
        c = f * c + i * g
        return (o * jnp.tanh(c), c), (a, c)

    def slopes(self, kept, before):
        a, c = kept
        i, f, g, o = jnp.split(a, 4, axis=-1)
        t = jnp.tanh(c)
        by_c = (g * i * (1 - i), before[1] * f * (1 - f), i * (1 - g**2))
        return jnp.concatenate(by_c, -1), t * o * (1 - o), o * (1 - t**2), f

    def back(self, factors, d):
        by_c, by_o, to_c, f = factors
        dh, dc = d
        dc = dc + dh * to_c
        dz = jnp.concatenate([jnp.tile(dc, (1, 3)) * by_c, dh * by_o], 1)
        return Back(dz, None, (jnp.zeros_like(dh), dc * f))


class GRU(Cell):
    """Gated recurrent unit; gates in the order r, u, n."""

    gates, has_own_bias = 3, True

    def step(self, z, p, carry):
        (h,) = carry
        k = h.shape[-1]
        both = 0.5 * jnp.tanh(0.5 * (z[:, : 2 * k] + p[:, : 2 * k])) + 0.5
        r, u = both[:, :k], both[:, k:]
        q = p[:, 2 * k :]
        n = jnp.tanh(z[:, 2 * k :] + r * q)
        return ((1 - u) * n + u * h,), (r, u, n, q)

    def slopes(self, kept, before):
        r, u, n, q = kept
        by_n = (1 - u) * (1 - n**2)
        by_u = (before[0] - n) * u * (1 - u)
        return jnp.concatenate([by_n * q * r * (1 - r), by_u, by_n], -1), r, u

    def back(self, factors, d):
        by, r, u = factors
        (dh,) = d
        dz = jnp.tile(dh, (1, 3)) * by
        k = dh.shape[-1]
        dp = jnp.concatenate([dz[:, : 2 * k], dz[:, 2 * k :] * r], 1)
        return Back(dz, dp, (dh * u,))


CELLS: dict[str, Cell] = {
    "rnn": Tanh(),
    "relu": Rectified(),
    "lstm": LSTM(),
    "gru": GRU(),
}
