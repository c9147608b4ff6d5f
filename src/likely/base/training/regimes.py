r"""What of a network is trained: all of it, its head, its last blocks, biases, or additions.

A solver trains the real numbers of a model. Parameters that stay as they are stand in it as
whole numbers with the same bits, so that solvers, priors and checkpoints do not see them; a
matrix with a change of low rank stands as its bits and the two factors. `released` gives the
plain model back, changes of low rank merged: $W + \frac{α}{r}AB$.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from likely.base.settings import at_least, one_of
from likely.base.training.blocks import block_numbers, is_array, is_unit
from likely.core.checks import InputError
from likely.layers import (
    Adapted,
    Adapter,
    BatchNorm,
    LearnedPositions,
    LowRank,
    Recurrent,
    TokenEmbedding,
)
from likely.layers.composition.chain import initial_state
from likely.layers.embedding.table_embedding import TableEmbedding
from likely.layers.units.low_rank import LowRankChange
from likely.objectives.priors import AbstractPrior, AbstractSmoothPrior
from likely.solvers.settings import WEIGHT_NAMES
from likely.typing import Key, State

ALL, HEAD, LAST, BIAS, ADAPTERS, LOW_RANK = KINDS = (
    "all", "head", "last", "bias", "adapters", "low_rank"
)  # fmt: skip
BIAS_NAMES = ("bias", "own_bias", "shift")
ADAPTER_WIDTH = 8


class Regime(NamedTuple):
    """What is trained, as plain data."""

    kind: str = ALL
    blocks: int = 0
    """How many blocks before the head, of the kind "last"."""
    width: int = ADAPTER_WIDTH
    """Hidden units of the adapters."""
    low_rank: LowRank = LowRank()

    @classmethod
    def of(cls, trainable: Any) -> "Regime":
        """The regime of a setting.

        Args:
            trainable: "all", "head", "bias", "adapters", "low_rank", a number of blocks,
                ("adapters", width), ("low_rank", rank), or `LowRank`.
        """
        if isinstance(trainable, LowRank):
            return cls(LOW_RANK, low_rank=trainable)
        number = None
        if isinstance(trainable, tuple) and len(trainable) == 2:
            trainable, number = trainable
            one_of("trainable", trainable, (ADAPTERS, LOW_RANK))
            number = at_least(f"trainable=({trainable!r}, ...)", number, 1, whole=True)
        if isinstance(trainable, int | np.integer) and not isinstance(trainable, bool):
            count = at_least("trainable", trainable, 0, whole=True)
            return cls(LAST, blocks=count) if count else cls(HEAD)
        words = (ALL, HEAD, BIAS, ADAPTERS, LOW_RANK)
        if not isinstance(trainable, str) or trainable not in words:
            raise InputError(
                f"trainable is {trainable!r}; give one of {', '.join(words)}, the number of "
                'blocks before the head, ("adapters", width), ("low_rank", rank), or LowRank.'
            )
        if number is None:
            return cls(trainable)
        if trainable == ADAPTERS:
            return cls(ADAPTERS, width=number)
        return cls(LOW_RANK, low_rank=LowRank(number))

    @property
    def adds(self) -> bool:
        """Whether parameters are added, which need a random start."""
        return self.kind in (ADAPTERS, LOW_RANK)

    def constrain(self, model: Any, key: Any) -> Any:
        """The model as a solver trains it.

        Args:
            model: with the weights to begin from.
            key: of the added parameters; None where nothing is added.
        """
        if self.kind == ALL:
            return model
        if self.kind == ADAPTERS:
            model = with_adapters(model, self.width, key)
        numbers = block_numbers(model)
        if self.kind == LAST and self.blocks >= max(jax.tree.leaves(numbers)):
            return model
        changed = {}
        if self.kind == LOW_RANK:
            changed = self._changes(model, numbers, key)

        def leaf(path: tuple, value: Any, number: int) -> Any:
            if not is_array(value) or self._trains(path, number):
                return value
            frozen = FrozenArray.of(value)
            change = changed.get(jax.tree_util.keystr(path))
            return frozen if change is None else ChangedArray(frozen, change)

        found = jax.tree_util.tree_map_with_path(leaf, model, numbers)
        return PartlyTrained(_with_fixed_norms(found))

    def _trains(self, path: tuple, number: int) -> bool:
        """Whether a parameter is trained as it is."""
        names = [getattr(key, "name", None) for key in path]
        return (
            number == 0
            or (self.kind == LAST and number <= self.blocks)
            or (self.kind == BIAS and names[-1] in BIAS_NAMES)
            or (self.kind == ADAPTERS and "adapter" in names)
        )

    def _changes(self, model: Any, numbers: Any, key: Any) -> dict[str, Any]:
        """A change of each matrix of the body, embeddings left out."""
        inside = jax.tree.map(
            lambda node: jax.tree.map(lambda _: not _is_embedding(node), node),
            model,
            is_leaf=_is_embedding,
        )
        every = zip(
            jax.tree_util.tree_leaves_with_path(model),
            jax.tree.leaves(numbers),
            jax.tree.leaves(inside),
            strict=True,
        )
        found = [
            (path, value.shape)
            for (path, value), number, inner in every
            if number and inner and is_array(value) and len(value.shape) > 1
            and getattr(path[-1], "name", None) in WEIGHT_NAMES
        ]  # fmt: skip
        if not found:
            return {}
        keys = jax.random.split(key, len(found))
        return {
            jax.tree_util.keystr(path): LowRankChange(shape, self.low_rank, key=k)
            for (path, shape), k in zip(found, keys, strict=True)
        }

    def prior_of(self, model: Any, prior: AbstractPrior) -> AbstractPrior:
        """The prior on weights that begin somewhere: those of the body are near there.

        Args:
            model: what a solver is given, with the weights to begin from.
            prior: of weights that begin anywhere.
        """
        if self.kind not in (ALL, LAST):
            return prior
        inner = model.model if isinstance(model, PartlyTrained) else model
        nodes = jax.tree.leaves(inner, is_leaf=_is_stand_in)
        numbers = jax.tree.leaves(block_numbers(released(model)))
        origin = [
            value if number else jnp.zeros_like(value)
            for value, number in zip(nodes, numbers, strict=True)
            if is_array(value)
        ]
        return PriorAround(prior=prior, origin=tuple(origin))


class FrozenArray(eqx.Module):
    """Real numbers that are not trained, as the whole numbers with the same bits."""

    bits: Any
    kind: str = eqx.field(static=True)

    @classmethod
    def of(cls, array: Any) -> "FrozenArray":
        """Of an array, or of its shape."""
        array = jnp.asarray(array)
        whole = jnp.dtype(f"uint{8 * array.dtype.itemsize}")
        bits = jax.lax.bitcast_convert_type(array, whole)
        return cls(bits, str(array.dtype))

    @property
    def value(self) -> Any:
        """The numbers."""
        if isinstance(self.bits, np.ndarray):
            return self.bits.view(self.kind)
        return jax.lax.bitcast_convert_type(self.bits, jnp.dtype(self.kind))


class ChangedArray(eqx.Module):
    """A matrix that is not trained, and its change of low rank, which is."""

    frozen: FrozenArray
    change: LowRankChange

    @property
    def value(self) -> Any:
        """The matrix with its change."""
        return self.change.of(self.frozen.value)


class FixedNorm(eqx.Module):
    """A batch norm that uses its running statistics in training too, and keeps them."""

    norm: BatchNorm

    def initial_state(self) -> State:
        """The running statistics."""
        return initial_state(self.norm)

    def __call__(
        self, X: Any, *, w=None, key: Key | None = None, state: State = None
    ) -> tuple[Any, State]:
        """As the norm does in use."""
        return self.norm(X, w=w, key=None, state=state)


class PartlyTrained(eqx.Module):
    """A model of which a solver trains a part.

    Args:
        model: with `FrozenArray` or `ChangedArray` in the place of what stays.
    """

    model: Any

    @property
    def constants(self) -> list[Any]:
        """The bits of what stays, which belong to a run as its settings do."""
        nodes = jax.tree.leaves(self.model, is_leaf=_is_frozen)
        return [node.bits for node in nodes if _is_frozen(node)]

    def initial_state(self) -> State:
        """The state of the model inside."""
        return initial_state(released(self))

    def __call__(
        self, X: Any, *, w: Any = None, key: Key | None = None, state: State = None
    ) -> tuple[Any, State]:
        """η of the model."""
        whole = jax.tree.map(_value, self.model, is_leaf=_is_stand_in)
        return whole(X, w=w, key=key, state=state)


class PriorAround(AbstractSmoothPrior):
    """A prior of how far weights are from where they begin.

    Args:
        prior: of the differences.
        origin: where each of the parameters begins; zero for those of the head.
    """

    prior: AbstractPrior
    origin: tuple[Any, ...]
    on: str = eqx.field(static=True, default="weight")

    def smooth_log_prob(self, model: PyTree) -> Any:
        """log p of the differences."""
        trained, treedef = jax.tree.flatten(eqx.filter(model, eqx.is_inexact_array))
        moved = [a - b for a, b in zip(trained, self.origin, strict=True)]
        return self.prior.smooth_log_prob(jax.tree.unflatten(treedef, moved))


def released(tree: PyTree) -> PyTree:
    """A tree with plain models in the place of those that were partly trained."""
    return jax.tree.map(_plain, tree, is_leaf=lambda n: isinstance(n, PartlyTrained))


def with_adapters(model: Any, width: int, key: Key) -> Any:
    """The model with an adapter after each block of its body; those it has already stay."""

    def stops(node: Any) -> bool:
        return isinstance(node, Recurrent) or is_unit(node)

    numbers = block_numbers(model)
    nodes, treedef = jax.tree_util.tree_flatten_with_path(model, is_leaf=stops)
    count = treedef.flatten_up_to(numbers)
    keys = jax.random.split(key, len(nodes))
    found = []
    for i, ((path, node), number) in enumerate(zip(nodes, count, strict=True)):
        listed = len(path) > 1 and getattr(path[-2], "name", None) == "layers"
        weights = [
            leaf
            for at, leaf in jax.tree_util.tree_leaves_with_path(node)
            if at and getattr(at[-1], "name", None) in WEIGHT_NAMES
        ]
        inside = min(jax.tree.leaves(number), default=0) > 0
        plain = not (isinstance(node, Adapted) or _holds_embedding(node))
        if listed and weights and inside and plain:
            size = _width(node, weights)
            node = Adapted(node, Adapter(size, width, key=keys[i]))
        found.append(node)
    return jax.tree.unflatten(treedef, found)


def _width(node: Any, weights: list[Any]) -> int:
    """The number of features that a layer makes."""
    if isinstance(node, Recurrent):
        return sum(direction.size for direction in node.layers[-1])
    return weights[-1].shape[-1]


def _with_fixed_norms(model: Any) -> Any:
    """The model with batch norms that keep their statistics where they are not trained."""

    def fixed(node: Any) -> Any:
        stays = isinstance(node, BatchNorm) and isinstance(node.scale, FrozenArray)
        return FixedNorm(node) if stays else node

    return jax.tree.map(fixed, model, is_leaf=lambda n: isinstance(n, BatchNorm))


def _plain(node: Any) -> Any:
    if not isinstance(node, PartlyTrained):
        return node
    whole = jax.tree.map(_value, node.model, is_leaf=_is_stand_in)
    return jax.tree.map(
        lambda n: n.norm if isinstance(n, FixedNorm) else n,
        whole,
        is_leaf=lambda n: isinstance(n, FixedNorm),
    )


def _value(node: Any) -> Any:
    return node.value if _is_stand_in(node) else node


def _is_stand_in(node: Any) -> bool:
    return isinstance(node, FrozenArray | ChangedArray)


def _is_frozen(node: Any) -> bool:
    return isinstance(node, FrozenArray)


def _is_embedding(node: Any) -> bool:
    return isinstance(node, TokenEmbedding | TableEmbedding | LearnedPositions)


def _holds_embedding(node: Any) -> bool:
    return _is_embedding(node) or hasattr(node, "embedding")
