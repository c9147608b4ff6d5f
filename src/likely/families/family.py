r"""The interface of distribution families: p(y | θ) with θ = link(η).

A new family implements the abstract methods below, and works with every objective, solver,
estimator and score. A family knows no model and no data; φ belongs to the model. A
dispersion is fixed (a number here), shared (a constant column of η, `models.Shared`)
or modelled (a column of η like any other).

Where one observation is a vector (`multivariate`), `cdf` and `quantile` are those of
each output on its own.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro.distributions import Distribution

from likely.core.checks import InputError


class AbstractFamily(eqx.Module):
    """A distribution over y whose parameters θ come from unconstrained η."""

    n_eta: eqx.AbstractVar[int]
    """Length of η for each observation."""
    needs: eqx.AbstractVar[str]
    """What y has to be, in words, for example "counts (0, 1, 2, ...)"."""
    remedy: eqx.AbstractVar[str]
    """What to do where y is something else."""
    discrete: ClassVar[bool] = False
    """Whether y is a whole number, so that p(y | θ) is a probability."""
    zeros: ClassVar[bool] = False
    """Whether 0 has a probability while numbers above it have a density."""
    multivariate: ClassVar[bool] = False
    """Whether one observation is a vector."""
    n_outputs: ClassVar[int] = 1
    """The length of one observation."""

    @abstractmethod
    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The named parameters θ of the distribution, from η by the link."""

    @abstractmethod
    def eta(self, **theta: Any) -> Float[Array, "*n k"]:
        """η from the named parameters: the inverse of `theta`."""

    @abstractmethod
    def distribution(self, **theta: Any) -> Distribution:
        """The NumPyro distribution with parameters θ."""

    @abstractmethod
    def marginal(
        self, y: Num[Array, "n ..."], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The maximum-likelihood η without inputs: the null model, and the start of fits.

        Where the likelihood has no maximum (a class that never occurs, a spread of
        zero) η stays finite, near the limit that the likelihood approaches.
        """

    @abstractmethod
    def outside(self, y: np.ndarray) -> np.ndarray:
        """Which observations lie outside the support, as a boolean (n,)."""

    @abstractmethod
    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "..."]
    ) -> Float[Array, "*n"]:
        """log p(y | η) of each observation, in nats.

        It is finite, with a finite gradient, wherever y is in the support.
        """

    @abstractmethod
    def cdf(
        self, eta: Float[Array, "*n k"], y: Num[Array, "..."]
    ) -> Float[Array, "..."]:
        """P(Y ≤ y | η), for any real y."""

    @abstractmethod
    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        """The smallest y of the support with P(Y ≤ y | η) ≥ q."""

    @abstractmethod
    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "..."]:
        """The most probable y."""

    def __call__(self, eta: Float[Array, "*n k"]) -> Distribution:
        """p(y | θ(η)) as a NumPyro distribution."""
        return self.distribution(**self.theta(eta))

    def check(self, y: np.ndarray, w: np.ndarray | None = None) -> None:
        """Refuse observations of the wrong shape or outside the support."""
        y, name = np.asarray(y), type(self).__name__
        shape = (len(y), self.n_outputs) if self.multivariate else (len(y),)
        if y.shape != shape:
            raise InputError(f"y has shape {y.shape}, but {name} needs shape {shape}.")
        bad = self.outside(y)
        if w is not None:
            bad &= np.asarray(w) > 0
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"y has {y[row]} in row {row}, but {name} needs {self.needs}. "
                f"{self.remedy}"
            )
