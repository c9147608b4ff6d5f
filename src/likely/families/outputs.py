"""The distribution of each output on its own, of families with several outputs."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.core.precision import float64
from likely.families.binomial import Binomial
from likely.families.family import AbstractFamily
from likely.families.multinomial import Multinomial, log_odds
from likely.families.multivariate_normal import MultivariateNormal
from likely.families.normal import Normal
from likely.families.product import Product


def outputs_of(
    family: AbstractFamily, eta: Float[np.ndarray, "n k"]
) -> list[tuple[AbstractFamily, Float[np.ndarray, "n _"]]]:
    """The family and η of each output, where one observation is a vector."""
    with float64():
        rows = jnp.asarray(eta)
        if isinstance(family, Product):
            parts = zip(family.families, family.split(rows), strict=True)
            return [(member, np.asarray(own)) for member, own in parts]
        if isinstance(family, Multinomial):
            odds = np.asarray(log_odds(rows))
            return [
                (Binomial(family.total_count), column[:, None]) for column in odds.T
            ]
        if isinstance(family, MultivariateNormal):
            loc = eta[:, : family.n_outputs].T
            scale = np.asarray(family.scales(rows)).T
            return [
                (Normal(), np.asarray(Normal().eta(loc=m, scale=s)))
                for m, s in zip(loc, scale, strict=True)
            ]
    raise InputError(f"{type(family).__name__} has no distributions of single outputs.")
