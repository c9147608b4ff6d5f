r"""Several outputs, independent given x, each of its own family."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro.distributions import Distribution, constraints

from likely.core.checks import InputError
from likely.families.family import AbstractFamily


class Product(AbstractFamily):
    r"""Independent outputs, $p(y) = \prod_j p_j(y_j)$: the loss sums over rows and outputs.

    `Product(Normal(), Poisson())` has a real output and a count. η is the members' η
    side by side; θ has their names with the number of the output: `loc_0`, `rate_1`.

    Examples:
        >>> family = lk.families.Product(lk.families.Normal(), lk.families.Poisson())
        >>> print(family.n_eta)
        3
    """

    families: tuple[AbstractFamily, ...]
    multivariate: ClassVar[bool] = True
    remedy: ClassVar[str] = "Check the order of the outputs and of the families."

    def __init__(self, *families: AbstractFamily):
        if not families or any(f.multivariate for f in families):
            raise InputError("Product needs one or more families of a single output.")
        self.families = families

    @property
    def n_eta(self) -> int:
        """The length of η: the sum over the members."""
        return sum(f.n_eta for f in self.families)

    @property
    def n_outputs(self) -> int:
        """The number of outputs, one for each member."""
        return len(self.families)

    @property
    def needs(self) -> str:
        """What each output has to be."""
        return "; ".join(
            f"in column {j} {f.needs}" for j, f in enumerate(self.families)
        )

    def split(self, eta: Float[Array, "*n k"]) -> list[Float[Array, "*n _"]]:
        """The η of each member."""
        ends = np.cumsum([f.n_eta for f in self.families])
        return [
            eta[..., e - f.n_eta : e] for e, f in zip(ends, self.families, strict=True)
        ]

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The members' parameters, numbered."""
        return {
            f"{name}_{j}": value
            for j, (f, e) in enumerate(zip(self.families, self.split(eta), strict=True))
            for name, value in f.theta(e).items()
        }

    def eta(self, **theta: Any) -> Float[Array, "*n k"]:
        """The members' η, side by side."""
        parts = zip(self.families, self._by_member(theta), strict=True)
        return jnp.concatenate([f.eta(**part) for f, part in parts], axis=-1)

    def distribution(self, **theta: Any) -> "ProductDistribution":
        """The members' distributions as one."""
        parts = zip(self.families, self._by_member(theta), strict=True)
        return ProductDistribution([f.distribution(**part) for f, part in parts])

    def marginal(
        self, y: Num[Array, "n m"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The members' maximum-likelihood η, side by side."""
        parts = [f.marginal(y[:, j], w) for j, f in enumerate(self.families)]
        return jnp.concatenate(parts)

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether any output of each row is outside its support."""
        columns = enumerate(self.families)
        return np.any([f.outside(y[:, j]) for j, f in columns], axis=0)

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n m"]
    ) -> Float[Array, "*n"]:
        """log p = Σ_j log p_j(y_j)."""
        return jnp.sum(self._each("log_prob", eta, y), -1)

    def cdf(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n m"]
    ) -> Float[Array, "*n m"]:
        """The cdf P(Y_j ≤ y_j) of each output."""
        return self._each("cdf", eta, y)

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n m"]
    ) -> Float[Array, "*n m"]:
        """The quantile of each output."""
        return self._each("quantile", eta, q)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n m"]:
        """The members' modes."""
        parts = zip(self.families, self.split(eta), strict=True)
        return jnp.stack([f.mode(e) for f, e in parts], axis=-1)

    def _each(self, name: str, eta: Array, rows: Array) -> Float[Array, "*n m"]:
        """A method of every member, on its own columns."""
        parts = enumerate(zip(self.families, self.split(eta), strict=True))
        return jnp.stack([getattr(f, name)(e, rows[..., j]) for j, (f, e) in parts], -1)

    def _by_member(self, theta: dict[str, Any]) -> list[dict[str, Any]]:
        """The parameters of each member, by the numbers at the ends of their names."""
        parts: list[dict[str, Any]] = [{} for _ in self.families]
        for key, value in theta.items():
            name, _, j = key.rpartition("_")
            parts[int(j)][name] = value
        return parts


class ProductDistribution(Distribution):
    """A vector of independent entries, each with a distribution of its own."""

    arg_constraints = {}
    _support = constraints.real_vector
    pytree_data_fields = ("members",)

    def __init__(self, members: list[Distribution], *, validate_args=None):
        self.members = tuple(members)
        shape = jnp.broadcast_shapes(*(m.batch_shape for m in members))
        super().__init__(shape, (len(members),), validate_args=validate_args)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draws of all entries."""
        keys = jax.random.split(key, len(self.members))
        draws = [
            m.sample(k, sample_shape) for m, k in zip(self.members, keys, strict=True)
        ]
        return jnp.stack([jnp.asarray(d, float) for d in draws], axis=-1)

    def log_prob(self, value: Any, intermediates: Any = None) -> Array:
        """The sum of the log-densities of the entries."""
        parts = [m.log_prob(value[..., j]) for j, m in enumerate(self.members)]
        return jnp.sum(jnp.stack(parts), 0)

    @property
    def mean(self) -> Array:
        """The mean of each entry."""
        return jnp.stack([m.mean for m in self.members], axis=-1)

    @property
    def variance(self) -> Array:
        """The variance of each entry."""
        return jnp.stack([m.variance for m in self.members], axis=-1)
