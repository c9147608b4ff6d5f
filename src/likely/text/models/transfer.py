"""Models of tokens that begin from others: what they take over, and what of them is trained."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.training.blocks import (
    body_units,
    difference,
    parameter_count,
    parameters,
)
from likely.base.training.bodies import Body
from likely.base.training.members import Network
from likely.base.training.regimes import Regime
from likely.base.training.trainer import Trainer, member_of, stacked
from likely.core.checks import InputError


class TokenNetwork:
    """What models of tokens share that are networks and may begin from one of their kind.

    They take over all weights, the tokens and the context; what of it is trained is a
    regime. The output is the matrix of the embedding, so that their head is the last norm.
    """

    _architecture: ClassVar[tuple[str, ...]]
    """The settings that two models share if one begins from the other."""
    pretrained: Any
    trainable: Any
    phi_: Network

    @classmethod
    def from_pretrained(cls, source: Any, **settings: Any):
        """A model with the architecture of a fitted one, which it begins from.

        Args:
            source: a fitted model of this class.
            settings: other settings.
        """
        check_source(cls, source)
        taken = {name: getattr(source, name) for name in cls._architecture}
        return cls(**(taken | {"pretrained": source} | settings))

    @property
    def n_parameters_(self) -> int:
        """The number of parameters of a network."""
        return parameter_count(self._networks[0])

    @property
    def n_trainable_(self) -> int:
        """The number of parameters that were trained."""
        regime, key = Regime.of(self.trainable), jax.random.key(0)
        model = eqx.filter_eval_shape(regime.constrain, self._networks[0], key)
        return parameter_count(model)

    @property
    def _networks(self) -> list[Any]:
        """The members."""
        check_is_fitted(self)
        count = len(stacked(self.phi_).solution.loss)
        return [member_of(self.phi_, i).solution.model for i in range(count)]

    @property
    def _source(self) -> Any:
        """The model that the weights begin from, checked; None where they are drawn."""
        source = self.pretrained
        if source is None:
            return None
        check_source(type(self), source)
        for name in self._architecture:
            own, theirs = getattr(self, name), getattr(source, name)
            if own is not None and not _alike(own, theirs):
                raise InputError(
                    f"{name} is {own!r}, and that of pretrained {theirs!r}; leave it out with "
                    f"{type(self).__name__}.from_pretrained, which copies such settings."
                )
        return source

    def _begin(self, trainer: Trainer) -> Body | None:
        """The weights that a training begins from; None where they are drawn."""
        source = self._source
        if source is None:
            return None
        networks = source._networks
        model = eqx.filter_eval_shape(
            trainer.learner.architecture.build, jax.random.key(0)
        )
        pair = [body_units(each, head=False) for each in (networks[0], model)]
        found = difference(*pair)
        if found is not None:
            raise InputError(
                f"pretrained has {found[0]}, and this network has {found[1]}; begin from a "
                "model without adapters."
            )
        arrays = zip(*map(parameters, networks), strict=True)
        body = Body(tuple(np.stack(each) for each in arrays), whole=True)
        return body.members(trainer.options.member_count, np.float32)

    def __sklearn_clone__(self):
        """A copy without what was learned, which begins from the same fitted model."""
        found: Any = super().__sklearn_clone__()  # pyright: ignore
        found.pretrained = self.pretrained
        return found


def check_source(cls: type, source: Any) -> None:
    """Refuse to begin from anything but a fitted model of the same class."""
    if not isinstance(source, cls) or not hasattr(source, "phi_"):
        state = "" if not isinstance(source, cls) else " that is not fitted"
        raise InputError(
            f"pretrained is a {type(source).__name__}{state}; give a fitted {cls.__name__}."
        )


def _alike(one: Any, other: Any) -> bool:
    """Whether two settings mean the same; tokenizers are compared by their settings."""
    if hasattr(one, "get_params") and type(one) is type(other):
        return one.get_params() == other.get_params()
    return one is other or bool(one == other)
