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
    """
    mean, covariance = np.asarray(mean, float), np.asarray(covariance, float)
    one = np.asarray(observed, dtype=int)
    two = np.setdiff1d(np.arange(len(mean)), one)
    values = np.asarray(values, float)
    if len(np.unique(one)) != len(one) or len(two) + len(one) != len(mean):
        raise InputError(
            f"observed is {list(one)}; give different indices, 0 to {len(mean) - 1}."
        )
    if values.shape[-1:] != one.shape:
        raise InputError(
            f"values has shape {values.shape}, and {len(one)} coordinates are known; "
            f"give shape (..., {len(one)})."
        )
    cross = covariance[np.ix_(two, one)]
    try:
        factor = cho_factor(covariance[np.ix_(one, one)])
    except np.linalg.LinAlgError:
        raise InputError(
            "the covariance of the observed coordinates is not positive definite; "
            "leave out coordinates that the others determine."
        ) from None
    gain = cho_solve(factor, cross.T).T  # Σ₂₁ Σ₁₁⁻¹
    rest = covariance[np.ix_(two, two)] - gain @ cross.T
    return mean[two] + (values - mean[one]) @ gain.T, 0.5 * (rest + rest.T)
