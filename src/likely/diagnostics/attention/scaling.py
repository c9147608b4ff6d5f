r"""Why attention divides by $\sqrt d$: scores, softmax and gradients over the size of a head.

For queries and keys with independent entries of mean 0 and variance 1

$$\operatorname{Var}(q\cdot k) = d, \qquad \operatorname{Var}(q\cdot k/\sqrt d) = 1.$$

The softmax over s keys with scores of variance v has an entropy of about $\log s - v/2$ as long
as $v < 2\log s$; beyond that one key gets nearly everything, and the Jacobian
$\operatorname{diag}(p) - p p^\top$, through which queries and keys learn, goes to 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from likely.core.checks import InputError
from likely.layers.attention.scores import softmax
from likely.typing import Key


class Saturation(NamedTuple):
    """Scores and softmax for each size of a head: means over random queries and keys."""

    variance: Float[np.ndarray, " d"]
    """The variance of the scores."""
    error: Float[np.ndarray, " d"]
    """The standard error of this variance."""
    entropy: Float[np.ndarray, " d"]
    """The entropy of the probabilities, in nats; log(number of keys) if all are equal."""
    largest: Float[np.ndarray, " d"]
    """The largest probability."""
    gradient: Float[np.ndarray, " d"]
    """The Frobenius norm of the Jacobian of the softmax."""


class ScalingStudy(NamedTuple):
    """Attention with and without the factor 1/√d."""

    sizes: Int[np.ndarray, " d"]
    n_keys: int
    plain: Saturation
    """For scores q·k."""
    scaled: Saturation
    """For scores q·k/√d."""

    @property
    def law(self) -> Float[np.ndarray, " d"]:
        """The exact variance of q·k, which is d; with the factor it is 1."""
        return self.sizes.astype(np.float64)

    def __str__(self) -> str:
        lines = [
            f"softmax over {self.n_keys} keys, at most {np.log(self.n_keys):.2f} nats",
            "            q·k                              q·k/√d",
            "   d   variance entropy largest gradient  variance entropy largest gradient",
        ]
        for i, d in enumerate(self.sizes):
            cells = [
                f"{s.variance[i]:9.2f}{s.entropy[i]:8.2f}{s.largest[i]:8.2f}{s.gradient[i]:9.3f}"
                for s in (self.plain, self.scaled)
            ]
            lines.append(f"{d:>5} {cells[0]} {cells[1]}")
        return "\n".join(lines)


def scaling_study(
    sizes: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
    *,
    n_keys: int = 64,
    draws: int = 200,
    key: Key,
) -> ScalingStudy:
    """How scores, entropies and gradients of attention change with the size of a head.

    Queries and keys are standard normal. A smaller size uses the first entries of the
    largest, so that the curves are smooth.

    Args:
        sizes: of a head.
        n_keys: the number of keys that the softmax goes over.
        draws: the number of queries, each with keys of its own.
        key: the random key of the queries and keys.
    """
    if not len(sizes) or min(sizes) < 1:
        raise InputError(f"the sizes are {tuple(sizes)}; give positive ones.")
    if n_keys < 2 or draws < 2:
        raise InputError(
            f"n_keys is {n_keys} and draws {draws}; both have to be at least 2."
        )
    entries = jax.random.normal(key, (draws, 1 + n_keys, max(sizes)))
    found = [
        np.asarray(_saturation(entries, d, power))
        for power in (0.0, -0.5)
        for d in sizes
    ]
    plain, scaled = np.split(np.stack(found, 1), 2, axis=1)
    return ScalingStudy(
        np.asarray(sizes), n_keys, Saturation(*plain), Saturation(*scaled)
    )


@jax.jit
def _saturation(entries: Array, d: Array, power: Array) -> Array:
    """The five numbers for heads of size d, with scores multiplied by d^power.

    The first entries of each draw are the query, the others the keys.
    """
    q, k = entries[:, 0], entries[:, 1:]
    q = jnp.where(jnp.arange(q.shape[1])[None] < d, q, 0)
    S = jnp.einsum("nd,nsd->ns", q, k) * jnp.asarray(d, q.dtype) ** power
    squares = (S**2).mean(1)  # the mean of the scores is exactly 0
    P = softmax(S)
    log_p = jax.nn.log_softmax(S)
    second, third = (P**2).sum(1), (P**3).sum(1)
    # |diag(p) − p pᵀ|² = Σp² − 2Σp³ + (Σp²)²
    norm = jnp.sqrt(jnp.maximum(second - 2 * third + second**2, 0))
    return jnp.stack(
        [
            squares.mean(),
            squares.std(ddof=1) / jnp.sqrt(len(q)),
            -(P * log_p).sum(1).mean(),
            P.max(1).mean(),
            norm.mean(),
        ]
    )
