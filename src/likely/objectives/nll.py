r"""The negative log-likelihood with a prior: the objective of the recipe.

$$\frac{\sum_i w_i\,(-\log p(y_i \mid η_i))}{\sum_i w_i} \;-\; \frac{\log p(φ)}{\sum_i w_i},
  \qquad η = f(x; φ),$$

in nats per unit of weight. Without a prior, minimising it is minimising the empirical
risk, and the KL divergence from the empirical distribution to the model.
"""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError, concrete
from likely.families.family import AbstractFamily
from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key, Model, State


class NegativeLogLikelihood(eqx.Module):
    """−log likelihood − log prior, per unit of weight. `Separable`, and `Proximable`.

    Args:
        family: p(y | θ).
        prior: p(φ), or None for maximum likelihood.
        rows: the normalisation over all the data (`Normalisation.of`).
    """

    family: AbstractFamily
    prior: AbstractPrior | None
    rows: Normalisation

    @classmethod
    def of(
        cls, family: AbstractFamily, data: Batch, prior: AbstractPrior | None = None
    ) -> "NegativeLogLikelihood":
        """The objective for these data."""
        if concrete(data):
            cls.check(family, data)
        return cls(family, prior, Normalisation.of(data))

    @staticmethod
    def check(family: AbstractFamily, data: Batch) -> None:
        """Refuse observations that the family cannot have."""
        family.check(np.asarray(data.y), np.asarray(data.w))

    def pointwise(self, eta: Float[Array, "n k"], y: Array) -> Float[Array, " n"]:
        r"""The negative log-likelihood of each observation, $-\log p(y_i \mid η_i)$."""
        check_eta(self.family, eta, y)
        return -self.family.log_prob(eta, y)

    def penalty(self, model: Model) -> Float[Array, ""]:
        """−log p(φ) / Σw."""
        return self.rows.penalty(self.prior, model)

    def likelihood(
        self, model: Model, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The weighted mean of the negative log-likelihood, without the prior."""
        eta, state = model(batch.x, w=batch.w, key=key, state=state)
        return self.rows.mean(self.pointwise(eta, batch.y), batch.w), state

    def __call__(
        self, model: Model, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The objective: likelihood and prior."""
        loss, state = self.likelihood(model, batch, key=key, state=state)
        return loss + self.penalty(model), state

    def smooth(
        self, model: Model, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The objective without the non-smooth part of the prior."""
        loss, state = self.likelihood(model, batch, key=key, state=state)
        if self.prior is not None:
            loss -= self.prior.smooth_log_prob(model) / self.rows.total_weight
        return loss, state

    def prox(self, model: Model, step: Float[Array, ""]) -> Model:
        """The proximal map of the non-smooth part of the prior."""
        if self.prior is None:
            return model
        return self.prior.prox(model, step / self.rows.total_weight)


def check_eta(family: AbstractFamily, eta: Any, y: Any) -> None:
    """Refuse η without exactly `family.n_eta` numbers for each observation.

    Only shapes are looked at, so η and y may be traced, or shapes without values.
    """
    name, k = type(family).__name__, family.n_eta
    shape = (*(y.shape[:-1] if family.multivariate else y.shape), k)
    if eta.shape != shape:
        numbers = "1 number" if k == 1 else f"{k} numbers"
        raise InputError(
            f"the model gives η of shape {eta.shape}, but {name} needs shape {shape}: "
            f"{numbers} for each observation. Give the model {k} output{'s'[: k > 1]}, "
            "or another family; `models.Shared` adds numbers that all rows share."
        )
