"""The pure core of language models: a decoder, its windows, a solver."""

from typing import Any

import equinox as eqx

from likely.base.training.members import Network, Start
from likely.models.sequence.transformer import Transformer
from likely.objectives.next_token import NextTokenLikelihood
from likely.text.models.next_token import NextToken
from likely.typing import Batch, Key


class Unscaled(eqx.Module):
    """The units of tokens: there are none, so that rows stay as they are."""

    def __call__(self, data: Batch) -> Batch:
        """The rows as they are."""
        return data


class LanguageLearner(eqx.Module):
    """A decoder trained on windows that the solver draws.

    Args:
        solver: a first-order solver whose noise is `RandomWindows`.
        likelihood: what is minimised.
        settings: of the `Transformer`, by name.
        dtype: what it computes in.
    """

    solver: Any
    likelihood: NextTokenLikelihood
    settings: tuple[tuple[str, Any], ...] = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    def scaling_of(self, data: Batch) -> Unscaled:
        """The units of the rows."""
        return Unscaled()

    def start(
        self,
        key: Key,
        hyper: dict[str, Any],
        batch: Batch,
        begin: Network | None = None,
    ) -> Start:
        """The objective, the first weights, and the rows of a round."""
        decoder = Transformer(**dict(self.settings), kind="decoder", key=key)
        model = NextToken(decoder, self.dtype)
        return Start(self.likelihood, model, batch, None, Unscaled())

    def with_rate(self, hyper: dict[str, Any]) -> Any:
        """The solver, which has a rate of its own."""
        return self.solver
