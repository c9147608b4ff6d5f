"""The body of a trained network: what another network begins from.

It is all that comes before the head, with its running statistics and the units of its inputs.
"""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from likely.base.training.blocks import (
    block_numbers,
    body_units,
    difference,
    is_array,
)
from likely.base.training.members import Network
from likely.core.checks import InputError


class Body(eqx.Module):
    """Parameters to begin from; those of several members have a leading axis m.

    Args:
        arrays: the parameters before the head, in the order of the network.
        statistics: the running statistics of its norms.
        center: what is subtracted from inputs; None where they have no units.
        scale: what they are divided by.
        whole: whether the parameters of the head are among them.
    """

    arrays: tuple[Any, ...]
    statistics: tuple[Any, ...] = ()
    center: Any = None
    scale: Any = None
    whole: bool = eqx.field(static=True, default=False)

    @classmethod
    def of(cls, phi: Network) -> "Body":
        """Of trained members (with a leading axis)."""
        found, scaling = phi.solution, phi.scaling
        numbers = jax.tree.leaves(block_numbers(found.model))
        leaves = jax.tree.leaves(found.model)
        kept = [
            a for a, k in zip(leaves, numbers, strict=True) if k > 0 and is_array(a)
        ]
        statistics = jax.tree.leaves(found.state)
        return cls(tuple(kept), tuple(statistics), scaling.center, scaling.scale)

    def members(self, count: int, dtype: Any) -> "Body":
        """For so many members, each of which begins from one of these in turn."""

        def taken(a: Any) -> np.ndarray:
            a = np.asarray(a)
            kind = dtype if a.dtype.kind == "f" else a.dtype
            return a[np.arange(count) % len(a)].astype(kind)

        return jax.tree.map(taken, self)

    def graft(self, model: Any, state: Any) -> tuple[Any, Any]:
        """A new model with this body in the place of its own, and its running statistics."""
        leaves, treedef = jax.tree.flatten(model)
        numbers = jax.tree.leaves(block_numbers(model))
        given = iter(self.arrays)
        leaves = [
            next(given).astype(a.dtype) if is_array(a) and (self.whole or k > 0) else a
            for a, k in zip(leaves, numbers, strict=True)
        ]
        if self.statistics:
            state = jax.tree.unflatten(jax.tree.structure(state), self.statistics)
        return jax.tree.unflatten(treedef, leaves), state

    def scaled(self, scaling: Any) -> Any:
        """The units of rows, with those of the inputs of this body."""
        if self.center is None:
            return scaling
        kinds = scaling.center.dtype, scaling.scale.dtype
        units = [
            a.astype(k) for a, k in zip((self.center, self.scale), kinds, strict=True)
        ]
        return eqx.tree_at(lambda s: (s.center, s.scale), scaling, units)


@runtime_checkable
class Pretrained(Protocol):
    """What `pretrained` may be: something trained that has a body to give."""

    def body(self, like: Any) -> tuple[Body, list[Any]]:
        """The body (leading axis m) for a network, and its layers.

        Args:
            like: the estimator that begins from it.
        """
        ...

    def architecture_settings(self) -> dict[str, Any]:
        """The settings of the network, by the names that estimators have for them."""
        ...


def check_pretrained(source: Any) -> Pretrained:
    """Refuse what is no trained network."""
    if isinstance(source, Pretrained):
        return source
    raise InputError(
        f"pretrained is a {type(source).__name__}; give a fitted network: an estimator, "
        "MaskedPretraining or text.MaskedLanguageModel."
    )


def check_body(units: list[Any], model: PyTree) -> None:
    """Refuse a body that does not fit into a model, and name what differs.

    Args:
        units: the layers of the body.
        model: the new model, or its shapes.
    """
    found = difference(units, body_units(model))
    if found is not None:
        theirs, ours = found
        raise InputError(
            f"pretrained has {theirs} of its body, and this network has {ours}; give the "
            "same settings of the architecture and the same columns, as from_pretrained does."
        )
