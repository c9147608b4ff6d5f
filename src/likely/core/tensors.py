r"""Products of tensors, and the chain rule for tensors.

$X \sim (s_1, \dots, s_n)$ says that X is an array with these axes; `shape` writes
it; the annotations of this library are that notation, and the tests check them.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Shaped

from likely.core.checks import InputError

Tensor = Shaped[Array | np.ndarray, "..."]


def shape(x: ArrayLike, name: str = "X") -> str:
    """The name of a tensor and its axes, as in `X ~ (2, 3)`."""
    return f"{name} ~ ({', '.join(map(str, np.shape(x)))})"


def dot(
    w: Shaped[Array | np.ndarray, " d"], X: Shaped[Array | np.ndarray, "*n d"]
) -> Shaped[Array, "*n"]:
    r"""The inner product $w \cdot x = \sum_i w_i x_i$ of each x with the template w.

    Among unit vectors it is largest for $x = w / \lVert w \rVert$ (Cauchy-Schwarz).
    """
    return jnp.asarray(X) @ jnp.asarray(w)


def matrix_product(
    X: Shaped[Array | np.ndarray, "a b"], Y: Shaped[Array | np.ndarray, "b c"]
) -> Shaped[Array, "a c"]:
    r"""The matrix product $Z_{ij} = \operatorname{row}_i(X) \cdot \operatorname{col}_j(Y)$."""
    return jnp.asarray(X) @ jnp.asarray(Y)


def batched_product(
    X: Shaped[Array | np.ndarray, "n a b"], Y: Shaped[Array | np.ndarray, "n b c"]
) -> Shaped[Array, "n a c"]:
    r"""One matrix product for each of n pairs: (n, a, b) × (n, b, c) → (n, a, c)."""
    return jnp.asarray(X) @ jnp.asarray(Y)


def hadamard(
    X: Shaped[Array | np.ndarray, "*s"], Y: Shaped[Array | np.ndarray, "*s"]
) -> Shaped[Array, "*s"]:
    r"""The entrywise product $Z_{ij} = X_{ij} Y_{ij}$.

    With a mask of zeros and ones it keeps some entries. It is linear in each factor:
    $M \odot (2A + 3B) = 2\,M \odot A + 3\,M \odot B$.
    """
    return jnp.asarray(X) * jnp.asarray(Y)


def reduce(
    X: Tensor,
    axes: int | Sequence[int] | None = None,
    *,
    how: str = "sum",
    keep: bool = False,
) -> Shaped[Array, "..."]:
    """The sum, mean, max or min over some axes (all by default).

    Args:
        X: any tensor.
        axes: the axes to reduce over.
        how: `sum`, `mean`, `max` or `min`.
        keep: whether the reduced axes stay, with length 1.
    """
    reductions = {"sum": jnp.sum, "mean": jnp.mean, "max": jnp.max, "min": jnp.min}
    if how not in reductions:
        raise InputError(f"how={how!r} is no reduction; give sum, mean, max or min.")
    axes = tuple(axes) if isinstance(axes, Sequence) else axes
    return reductions[how](jnp.asarray(X), axis=axes, keepdims=keep)


def contract(P: Tensor, Q: Tensor, axes: int = 1) -> Shaped[Array, "..."]:
    r"""The contraction over the last `axes` axes of P and the first of Q.

    $$T_{i \dots k \dots} = \sum_{j \dots} P_{i \dots j \dots}\, Q_{j \dots k \dots}$$

    One axis and two matrices make the matrix product; all axes, the inner product.
    """
    left, right = np.shape(P), np.shape(Q)
    if not 0 <= axes <= min(len(left), len(right)):
        raise InputError(
            f"cannot contract {axes} axes of {shape(P, 'P')} and {shape(Q, 'Q')}; "
            f"they share at most {min(len(left), len(right))}."
        )
    if left[len(left) - axes :] != right[:axes]:
        raise InputError(
            f"the last {axes} axes of {shape(P, 'P')} are not the first {axes} of "
            f"{shape(Q, 'Q')}; contracted axes have to have equal lengths."
        )
    return jnp.tensordot(jnp.asarray(P), jnp.asarray(Q), axes=axes)


def chain(*jacobians: Tensor, between: Sequence[int]) -> Shaped[Array, "..."]:
    r"""The chain rule for tensors, the outermost derivative first.

    $$\frac{\partial L}{\partial W} =
      \frac{\partial L}{\partial y} \cdot \frac{\partial y}{\partial W}$$

    contracted over the axes of y. The products run from the left, so a scalar L
    costs vector times matrix at each step: reverse mode.

    Args:
        *jacobians: ∂L/∂y, ∂y/∂z, ∂z/∂W ...
        between: the number of axes of y, z ...
    """
    if len(between) != len(jacobians) - 1:
        raise InputError(
            f"{len(jacobians)} Jacobians have {len(jacobians) - 1} values between "
            f"them, but between has {len(between)} numbers of axes."
        )
    product = jnp.asarray(jacobians[0])
    for jacobian, axes in zip(jacobians[1:], between, strict=True):
        product = contract(product, jacobian, axes)
    return product
