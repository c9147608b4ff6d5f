r"""The probability simplex: softmax, sigmoid and their inverses.

$$\operatorname{softmax}(x)_i = \frac{e^{x_i}}{\sum_j e^{x_j}}, \qquad
  \operatorname{logsumexp}(x) = c + \log\sum_j e^{x_j - c},\quad c = \max_j x_j .$$

With two outputs, softmax is the sigmoid of their difference.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

logsumexp = jax.nn.logsumexp
sigmoid = jax.nn.sigmoid
logit = jax.scipy.special.logit


def softmax(
    x: Float[Array | np.ndarray, "*n k"], temperature: float | int | Array = 1.0
) -> Float[Array, "*n k"]:
    r"""The softmax of x / τ over the last axis, its limits included.

    τ = ∞ gives the constant vector 1/k; τ = 0 gives the one-hot vector of the largest
    entry (shared where several are equally large).

    Examples:
        >>> np.asarray(lk.families.softmax(np.log([1.0, 3.0]))).round(2)
        array([0.25, 0.75], dtype=float32)
    """
    x = jnp.asarray(x, jnp.result_type(float, x))
    gap = x - jnp.max(x, -1, keepdims=True)  # ≤ 0, and 0 at the largest
    t = jnp.asarray(temperature, x.dtype)
    limit = jnp.where(gap < 0, -jnp.inf, 0.0)
    return jax.nn.softmax(jnp.where(t > 0, gap / jnp.where(t > 0, t, 1.0), limit), -1)


def in_simplex(
    p: Float[Array | np.ndarray, "*n k"], tolerance: float = 1e-8
) -> np.ndarray:
    """Whether each row of p has no negative entry and sums to 1, up to `tolerance`.

    Examples:
        >>> lk.families.in_simplex(np.array([[0.5, 0.5], [0.5, 0.6]]))
        array([ True, False])
    """
    p = np.asarray(p, dtype=np.float64)
    total = np.abs(p.sum(-1) - 1) <= tolerance
    return np.asarray(total & (p >= -tolerance).all(-1))
