r"""The likelihood where each position of an image or sequence has its own outcome."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from likely.core.checks import InputError, concrete
from likely.objectives.nll import NegativeLogLikelihood, check_eta
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key, Model, State


class PositionLikelihood(eqx.Module):
    r"""$\sum_i w_i \sum_p -\log p(y_{ip} \mid η_{ip}) / \sum_i w_i P_i$, plus the prior.

    The outcomes of a row's $P_i$ positions are independent given x; the loss is in nats per
    position. A row weight applies to all positions of the row. A position whose y is NaN is
    absent: rows may have different numbers of positions.
    """

    likelihood: NegativeLogLikelihood
    positions: Float[Array, ""] | None = None
    """The mean number of positions of a row; None: as many as there are."""

    @classmethod
    def of(cls, family, data: Batch, prior=None) -> "PositionLikelihood":
        """The objective for these data."""
        if concrete(data):
            cls.check(family, data)
        objective = NegativeLogLikelihood(family, prior, Normalisation.of(data))
        if family.multivariate:
            return cls(objective)
        w, here = jnp.asarray(data.w), present_positions(data.y)
        return cls(objective, (w[:, None] * here).sum() / w.sum())

    @staticmethod
    def check(family, data: Batch) -> None:
        """Refuse outcomes that the family cannot have, naming the first row."""
        y = np.asarray(data.y)
        flat = y.reshape(-1, y.shape[-1]) if family.multivariate else y.ravel()
        bad = (
            family.outside(flat).reshape(len(y), -1) & (np.asarray(data.w) > 0)[:, None]
        )
        if not family.multivariate:
            bad &= np.asarray(present_positions(y))
        if bad.any():
            row, position = np.argwhere(bad)[0]
            value = flat.reshape(*bad.shape, *flat.shape[1:])[row, position]
            raise InputError(
                f"y has {value} in row {row}, position {position}, but "
                f"{type(family).__name__} needs {family.needs}. {family.remedy}"
            )

    def pointwise(
        self, eta: Float[Array, "n *positions k"], y: Array
    ) -> Float[Array, " n"]:
        """The negative log-likelihood of each row, in units of the mean number of positions."""
        family = self.likelihood.family
        check_eta(family, eta, y)
        if family.multivariate or self.positions is None:
            nats = -family.log_prob(eta, y)
            return nats.reshape(len(nats), -1).mean(1)
        here = present_positions(y).reshape(y.shape)
        nats = -family.log_prob(eta, jnp.where(here, y, jnp.zeros((), y.dtype)))
        return jnp.where(here, nats, 0.0).reshape(len(nats), -1).sum(1) / self.positions

    def penalty(self, model: Model) -> Float[Array, ""]:
        """−log p(φ) / Σw."""
        return self.likelihood.penalty(model)

    def __call__(
        self, model: Model, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The objective: likelihood and prior."""
        eta, state = model(batch.x, w=batch.w, key=key, state=state)
        rows = self.likelihood.rows
        loss = rows.mean(self.pointwise(eta, batch.y), batch.w)
        return loss + self.penalty(model), state


def present_positions(y: Array | np.ndarray) -> Bool[Array, "n p"]:
    """Which positions of each row have an outcome: those that are not NaN."""
    y = jnp.asarray(y)
    return ~jnp.isnan(y).reshape(len(y), -1)
