r"""Averages of the weights along a run, which are less noisy than the last weights.

Both move the average m towards the weights by a fraction $s_t$,
$m \leftarrow m + s_t\,(θ_t - m)$, so that $m_1 = θ_1$. The run returns the average and
validates it; the steps themselves do not use it.
"""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from likely.solvers.settings import Real, Whole, real, whole


class AbstractAverage(eqx.Module):
    """An average of the weights after each update."""

    @abstractmethod
    def fraction(self, t: Int[Array, ""]) -> Float[Array, ""]:
        """The fraction $s_t$ after update t = 1, 2, ..."""

    def move(self, mean: PyTree, params: PyTree, t: Int[Array, ""]) -> PyTree:
        """The average with the weights after update t."""
        s = self.fraction(t)
        return jax.tree.map(
            lambda m, p: m + (s * (p - m)).astype(m.dtype), mean, params
        )


class ExponentialAverage(AbstractAverage):
    r"""$\sum_i d^{t-i}θ_i / \sum_i d^{t-i}$: about the last 1/(1 − d) updates.

    The denominator corrects for the start at zero.
    """

    decay: Real = real(0.999)

    def fraction(self, t):
        return (1 - self.decay) / (1 - self.decay**t)


class UniformAverage(AbstractAverage):
    r"""The mean of the weights of all updates after the first `start` (SWA)."""

    start: Whole = whole(0)

    def fraction(self, t):
        return 1.0 / jnp.maximum(t - self.start, 1)
