r"""Averages of the weights along a run: less noise than the last ones.

Both move the average m towards the weights by a share $s_t$ of the way,
$m \leftarrow m + s_t\,(θ_t - m)$, so that $m_1 = θ_1$. The average is what a run returns
and what validation looks at; the run itself does not see it.
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
    def share(self, t: Int[Array, ""]) -> Float[Array, ""]:
        """How far to go towards the weights after update t = 1, 2, ..."""

    def move(self, mean: PyTree, params: PyTree, t: Int[Array, ""]) -> PyTree:
        """The average with the weights after update t."""
        s = self.share(t)
        return jax.tree.map(
            lambda m, p: m + (s * (p - m)).astype(m.dtype), mean, params
        )


class ExponentialAverage(AbstractAverage):
    r"""$\sum_i d^{t-i}θ_i / \sum_i d^{t-i}$: about the last 1/(1 − d) updates.

    The denominator is the correction for having started at nothing.
    """

    decay: Real = real(0.999)

    def share(self, t):
        return (1 - self.decay) / (1 - self.decay**t)


class UniformAverage(AbstractAverage):
    r"""The mean of the weights of all updates after the first `start` (SWA)."""

    start: Whole = whole(0)

    def share(self, t):
        return 1.0 / jnp.maximum(t - self.start, 1)
