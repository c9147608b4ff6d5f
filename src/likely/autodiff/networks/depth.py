r"""Vanishing and exploding signals in deep networks.

With weights of variance $σ^2/n$ in layers of width n, each ReLU layer multiplies the
variance of the pre-activations by about $σ^2/2$ in the forward pass, and that of the
gradients in the backward pass. $σ^2 = 2$ (He) keeps both; with less they vanish, with more
they explode.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.autodiff.program.text import number, table
from likely.core.precision import float64
from likely.typing import Key


@dataclass(frozen=True)
class DepthProfile:
    """Variances by layer, one row for each σ²."""

    scales: tuple[float, ...]
    activations: np.ndarray = field(repr=False)
    """The variance of the pre-activations f_k ~ (scales, depth)."""
    gradients: np.ndarray = field(repr=False)
    """The variance of ∂L/∂f_k ~ (scales, depth)."""

    @property
    def growth(self) -> np.ndarray:
        """The factor of the variance of the pre-activations per layer."""
        depth = self.activations.shape[1]
        return (self.activations[:, -1] / self.activations[:, 0]) ** (1 / (depth - 1))

    def __str__(self) -> str:
        rows = [
            (
                f"{scale:g}",
                *(number(v, 3) for v in (a[0], a[-1], g[-1], g[0])),
                f"{rate:.2f}",
            )
            for scale, a, g, rate in zip(
                self.scales, self.activations, self.gradients, self.growth, strict=True
            )
        ]
        head = ("σ²", "Var f, first", "last", "Var ∂L/∂f, last", "first", "per layer")
        return table(head, rows)

    __repr__ = __str__


def depth_profile(
    scales: Sequence[float] = (1.0, 2.0, 4.0),
    *,
    depth: int = 50,
    width: int = 100,
    rows: int = 100,
    activation: Callable[[Array], Array] = jax.nn.relu,
    key: Key,
) -> DepthProfile:
    """Send random rows through random deep networks and random adjoints back.

    Args:
        scales: σ², the variance of the weights times the width.
        depth: the number of layers.
        width: the number of units of each layer.
        rows: the number of inputs.
        activation: the activation between the layers.
        key: the random key of weights, inputs and adjoints.
    """
    weights, inputs, adjoints = jax.random.split(key, 3)
    with float64():
        W = jax.random.normal(weights, (depth, width, width)) / width**0.5
        x = jax.random.normal(inputs, (rows, width))
        back = jax.random.normal(adjoints, (rows, width))
        run = jax.jit(jax.vmap(lambda s: _profile(activation, W * s**0.5, x, back)))
        forward, gradients = run(jnp.asarray(scales))
    return DepthProfile(tuple(scales), np.asarray(forward), np.asarray(gradients))


def _profile(
    activation: Callable, W: Float[Array, "k n n"], x: Float[Array, "r n"], back: Array
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """The variances of f_k, k = 1 ... depth, and of their adjoints."""

    def through(h, weight):
        f = h @ weight
        return activation(f), f

    _, f = jax.lax.scan(through, x, W)

    def returned(adjoint, layer):
        pre, weight = layer
        delta = jax.vjp(activation, pre)[1](adjoint @ weight.T)[0]  # δ = σ'(f) ⊙ δ Wᵀ
        return delta, delta.var()

    _, variances = jax.lax.scan(returned, back, (f[:-1], W[1:]), reverse=True)
    return f.var(axis=(1, 2)), jnp.append(variances, back.var())


def parameter_count(sizes: Sequence[int]) -> int:
    """Weights and biases of dense layers n₀ → n₁ → ... : Σ (nⱼ₋₁ + 1) nⱼ.

    One input, one output and D hidden units: 3D + 1; K hidden layers of D:
    3D + 1 + (K − 1) D (D + 1).
    """
    return sum((before + 1) * after for before, after in pairwise(sizes))


def multiply_adds(sizes: Sequence[int]) -> int:
    """Multiply-adds of a forward pass for one row: Σ nⱼ₋₁ nⱼ, or (k + 1) n² for width n."""
    return sum(before * after for before, after in pairwise(sizes))
