"""The pure core of models of tokens: an architecture, what is minimised, a solver."""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax

from likely.base.training.bodies import Body
from likely.base.training.members import Start
from likely.base.training.regimes import Regime
from likely.typing import Batch, Key


@runtime_checkable
class TokenArchitecture(Protocol):
    """The settings of a model of tokens: hashable, without arrays."""

    def build(self, key: Key) -> Any:
        """The model with its first weights."""
        ...


class Unscaled(eqx.Module):
    """The units of tokens: there are none, so that rows stay as they are."""

    def __call__(self, data: Batch) -> Batch:
        """The rows as they are."""
        return data


class TokenLearner(eqx.Module):
    """A model of tokens trained on windows, or pairs, that the solver draws.

    Args:
        solver: a first-order solver whose noise draws the rows of a step.
        likelihood: what is minimised.
        architecture: builds the model.
        regime: what of it is trained.
    """

    solver: Any
    likelihood: Any
    architecture: TokenArchitecture = eqx.field(static=True)
    regime: Regime = eqx.field(static=True, default=Regime())

    def scaling_of(self, data: Batch) -> Unscaled:
        """The units of the rows."""
        return Unscaled()

    def start(
        self,
        key: Key,
        hyper: dict[str, Any],
        batch: Batch,
        begin: Body | None = None,
    ) -> Start:
        """The objective, the first weights, or those of `begin`, and the rows of a round."""
        own = None
        if self.regime.adds:
            key, own = jax.random.split(key)
        model = self.architecture.build(key)
        if begin is not None:
            model, _ = begin.graft(model, None)
        model = self.regime.constrain(model, own)
        return Start(self.likelihood, model, batch, None, Unscaled())

    def with_rate(self, hyper: dict[str, Any]) -> Any:
        """The solver, which has a rate of its own."""
        return self.solver
