r"""Conditioning a joint Gaussian on some of its coordinates."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve

from likely.core.checks import InputError


def condition(
    mean: Float[np.ndarray, " d"],
    covariance: Float[np.ndarray, "d d"],
    observed: Sequence[int],
    values: Float[np.ndarray, "... o"],
) -> tuple[Float[np.ndarray, "... r"], Float[np.ndarray, "r r"]]:
    r"""The Gaussian of the remaining coordinates, given the observed ones.

    With the coordinates split into 1 (observed, at z) and 2 (the rest, in their order),

    $$u_{2|1} = u_2 + Σ_{21} Σ_{11}^{-1} (z - u_1), \qquad
      Σ_{2|1} = Σ_{22} - Σ_{21} Σ_{11}^{-1} Σ_{12} .$$

    The covariance does not depend on z, so `values` may have many rows. The
    off-diagonal blocks are each other's transposes, $Σ_{12} = Σ_{21}^\top$.

    Returns:
        The conditional mean(s) and the conditional covariance.

    Examples:
        >>> mean, covariance = np.zeros(2), np.array([[1.0, 0.8], [0.8, 1.0]])
        >>> found = lk.families.condition(mean, covariance, [0], np.array([1.0]))
        >>> print(found[0].round(2), found[1].round(2))
        [0.8] [[0.36]]
    """
    mean, covariance = np.asarray(mean, float), np.asarray(covariance, float)
    known = np.asarray(observed, dtype=int)
    rest = np.setdiff1d(np.arange(len(mean)), known)
    values = np.asarray(values, float)
    if len(np.unique(known)) != len(known) or len(rest) + len(known) != len(mean):
        raise InputError(
            f"observed is {list(known)}; give different indices, 0 to {len(mean) - 1}."
        )
    if values.shape[-1:] != known.shape:
        raise InputError(
            f"values has shape {values.shape}, and {len(known)} coordinates are observed; "
            f"give shape (..., {len(known)})."
        )
    cross = covariance[np.ix_(rest, known)]
    try:
        factor = cho_factor(covariance[np.ix_(known, known)])
    except np.linalg.LinAlgError:
        raise InputError(
            "the covariance of the observed coordinates is not positive definite; "
            "leave out coordinates that the others determine."
        ) from None
    gain = cho_solve(factor, cross.T).T  # Σ₂₁ Σ₁₁⁻¹
    remaining = covariance[np.ix_(rest, rest)] - gain @ cross.T
    means = mean[rest] + (values - mean[known]) @ gain.T
    return means, 0.5 * (remaining + remaining.T)
