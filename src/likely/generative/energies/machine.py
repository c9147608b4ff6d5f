r"""The restricted Boltzmann machine: visible and hidden units with an energy.

Binary visible units v and binary hidden units h have

$$E(v, h) = -v^\top W h - b^\top v - c^\top h, \qquad p(v, h) = e^{-E(v, h)} / Z,$$

real ones $E = \tfrac12 \lVert (v - b)/σ \rVert^2 - (v/σ)^\top W h - c^\top h$. There are no
connections within a layer, so each layer is independent given the other, and the hidden
units can be summed out: $p(v) = e^{-F(v)}/Z$ with the free energy

$$F(v) = -b^\top v - \sum_j \log\bigl(1 + e^{c_j + v^\top W_j}\bigr).$$
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from likely.typing import Batch, Key, State


class BoltzmannMachine(eqx.Module):
    """The numbers of a restricted Boltzmann machine.

    Args:
        weight: (d, m) W.
        visible_bias: (d,) b.
        hidden_bias: (m,) c.
        log_scale: (d,) log σ of real visible units; None if they are binary.
        n_chains: how many Markov chains are kept from step to step of a training; 0: none.
    """

    weight: Float[Array | np.ndarray, "*batch d m"]
    visible_bias: Float[Array | np.ndarray, "*batch d"]
    hidden_bias: Float[Array | np.ndarray, "*batch m"]
    log_scale: Float[Array | np.ndarray, "*batch d"] | None = None
    n_chains: int = eqx.field(static=True, default=0)

    @property
    def binary(self) -> bool:
        """Whether the visible units are 0 or 1."""
        return self.log_scale is None

    def initial_state(self) -> State:
        """No chains, or (chains, how many steps they were run)."""
        if not self.n_chains:
            return None
        shape = (self.n_chains, len(self.visible_bias))
        return jnp.zeros(shape, self.weight.dtype), jnp.zeros((), self.weight.dtype)

    def __call__(
        self,
        X: Float[Array, "n d"],
        *,
        w: Any = None,
        key: Any = None,
        state: Any = None,
    ) -> tuple[Float[Array, "n m"], State]:
        """P(h = 1 | v) of rows, as a layer of features."""
        return self.hidden(X), state

    def inputs(self, v: Float[Array, "n d"]) -> Float[Array, "n m"]:
        """The inputs of the hidden units, c + Wᵀ(v/σ)."""
        scaled = v if self.log_scale is None else v * jnp.exp(-self.log_scale)[None]
        return jnp.asarray(scaled @ self.weight + self.hidden_bias[None])

    def free_energy(self, v: Float[Array, "n d"]) -> Float[Array, " n"]:
        """F(v) of each row."""
        if self.log_scale is None:
            own = -(v @ self.visible_bias)
        else:
            gap = (v - self.visible_bias[None]) * jnp.exp(-self.log_scale)[None]
            own = 0.5 * (gap**2).sum(1)
        return own - jax.nn.softplus(self.inputs(v)).sum(1)

    def hidden(self, v: Float[Array, "n d"]) -> Float[Array, "n m"]:
        """P(h = 1 | v)."""
        return jax.nn.sigmoid(self.inputs(v))

    def visible(self, h: Float[Array, "n m"]) -> Float[Array, "n d"]:
        """E[v | h]: probabilities of binary units, means of real ones."""
        top = h @ self.weight.T
        if self.log_scale is None:
            return jax.nn.sigmoid(top + self.visible_bias[None])
        return (
            jnp.asarray(self.visible_bias)[None] + jnp.exp(self.log_scale)[None] * top
        )

    def draw_visible(self, h: Float[Array, "n m"], key: Key) -> Float[Array, "n d"]:
        """v | h."""
        mean = self.visible(h)
        if self.log_scale is None:
            return (jax.random.uniform(key, mean.shape) < mean).astype(mean.dtype)
        noise = jax.random.normal(key, mean.shape, mean.dtype)
        return mean + jnp.exp(self.log_scale)[None] * noise

    def gibbs(self, v: Float[Array, "n d"], key: Key) -> Float[Array, "n d"]:
        """One step of Gibbs sampling: hidden units given v, then v given them."""
        k_hidden, k_visible = jax.random.split(key)
        p = self.hidden(v)
        h = (jax.random.uniform(k_hidden, p.shape) < p).astype(p.dtype)
        return self.draw_visible(h, k_visible)

    def run(self, v: Float[Array, "n d"], key: Key, steps: Any) -> Float[Array, "n d"]:
        """Some steps of Gibbs sampling from v."""
        return jax.lax.fori_loop(
            0, steps, lambda t, v: self.gibbs(v, jax.random.fold_in(key, t)), v
        )

    def run_clamped(
        self,
        v: Float[Array, "n d"],
        free: Bool[Array, "n d"],
        key: Key,
        steps: Any,
        keep: Any,
    ) -> tuple[Float[Array, "n d"], Float[Array, "n d"]]:
        """Gibbs sampling of some units while the others stay as they are.

        Args:
            v: the values to begin with.
            free: which are drawn.
            key: of the draws.
            steps: how many, of which ...
            keep: ... the last so many are averaged.

        Returns:
            The last draw, and the mean of E[v | h] over the last steps.
        """

        def step(t: Any, carry: tuple) -> tuple:
            v, total = carry
            k_hidden, k_visible = jax.random.split(jax.random.fold_in(key, t))
            p = self.hidden(v)
            h = (jax.random.uniform(k_hidden, p.shape) < p).astype(p.dtype)
            new = jnp.where(free, self.draw_visible(h, k_visible), v)
            counts = (t >= steps - keep).astype(v.dtype)
            return new, total + counts * self.visible(h)

        start = v, jnp.zeros_like(v)
        v, total = jax.lax.fori_loop(0, steps, step, start)
        return v, jnp.where(free, total / keep, v)


def first_machine(
    data: Batch, n_hidden: int, key: Key, *, binary: bool, n_chains: int
) -> BoltzmannMachine:
    """A machine that begins at independent columns, with small random weights.

    Args:
        data: rows; missing values are 0 and flagged in y.
        n_hidden: m.
        key: of the weights.
        binary: whether the visible units are.
        n_chains: of persistent contrastive divergence.
    """
    there = (1.0 - data.y[:, : data.x.shape[1]]) * data.w[:, None]
    mean = ((there * data.x).sum(0) + 0.5) / (there.sum(0) + 1.0)
    d = data.x.shape[1]
    W = 0.01 * jax.random.normal(key, (d, n_hidden), data.x.dtype)
    c = jnp.zeros(n_hidden, data.x.dtype)
    if binary:
        return BoltzmannMachine(W, jnp.log(mean) - jnp.log1p(-mean), c, None, n_chains)
    zero = jnp.zeros(d, data.x.dtype)
    W = 0.1 * W / 0.01
    return BoltzmannMachine(W, zero, c, zero, n_chains)


def as_numpy(machine: BoltzmannMachine) -> BoltzmannMachine:
    """The machine in double precision, NumPy leaves."""
    return jax.tree.map(lambda a: np.asarray(a, np.float64), machine)
