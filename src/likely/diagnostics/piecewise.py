"""A network as affine maps with kinks between them, where it is one: ReLUs of any model.

Dense layers are affine, and so are batch norms and dropout in use (by running statistics, without
noise). A residual block carries its input along, as units that are not bent.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from likely import recipe
from likely.base.training.trainer import member_of, stacked
from likely.core.checks import InputError
from likely.diagnostics.anatomy import plain_chain
from likely.layers import (
    BatchNorm,
    Chain,
    Dense,
    Dropout,
    LeakyReLU,
    Pointwise,
    PReLU,
    Residual,
    initial_state,
)


@dataclass(frozen=True)
class Affine:
    """An affine map xW + b, in float64."""

    weight: np.ndarray
    bias: np.ndarray


class InnerChain(NamedTuple):
    """The layers of a model, and the units of its inputs."""

    chain: Chain
    state: Any
    center: Any
    """What is subtracted from inputs first; None for a plain model."""
    scale: Any
    """What they are then divided by."""


def inner_chain(
    model: Any, caller: str, *, state: Any = None, member: int = 0
) -> InnerChain:
    """The chain of layers of a plain model, of a fit of the recipe or of a fitted network.

    Args:
        model: a model, what `recipe.fit` returns, or a fitted estimator of a network.
        caller: who asks, for the error.
        state: running statistics of a plain model.
        member: which network of an estimator with several.
    """
    if isinstance(model, recipe.Fit):
        model, state = model.model, model.solution.state
    center = scale = None
    if hasattr(model, "get_params"):
        phi: Any = getattr(model, "phi_", None)
        if not hasattr(getattr(phi, "scaling", None), "center"):
            raise InputError(
                f"{caller} needs a network, and {type(model).__name__} has none (or is not "
                "fitted yet); give a fitted MLPRegressor, MLPClassifier or the like, or a model."
            )
        count = len(stacked(phi).solution.loss)
        if not 0 <= member < count:
            raise InputError(
                f"member is {member}; this estimator has {count} networks."
            )
        phi = member_of(phi, member)
        model, state = phi.solution.model, phi.solution.state
        center, scale = (
            np.asarray(a, np.float64) for a in (phi.scaling.center, phi.scaling.scale)
        )
    chain = plain_chain(model, caller)
    state = initial_state(chain) if state is None else state
    return InnerChain(chain, state, center, scale)


class PiecewiseNetwork(NamedTuple):
    """A piecewise linear network."""

    n_in: int
    maps: tuple[Any, ...]
    """Affine maps and, between them, the slopes of units below 0; above 0 they are 1."""


def piecewise_network(
    model: Any, caller: str, *, state: Any = None, member: int = 0
) -> PiecewiseNetwork:
    """A model as affine maps and kinks; other layers are refused by name.

    Args:
        model: a chain of dense layers and ReLUs (plain, leaky or with learned slopes), with
            batch norms, dropout and residual blocks; a fit of one; a fitted network.
        caller: who asks, for the error.
        state: running statistics of a plain model.
        member: which network of an estimator with several.
    """
    found = inner_chain(model, caller, state=state, member=member)
    maps = list(_chain_maps(found.chain, found.state, 0))
    if not maps or not isinstance(maps[0], Affine):
        raise InputError(f"{caller} needs a network that begins with a dense layer.")
    if found.center is not None:
        scale = np.broadcast_to(found.scale, found.center.shape)
        maps = [Affine(np.diag(1 / scale), -found.center / scale), *maps]
    return PiecewiseNetwork(len(maps[0].weight), tuple(maps))


def _chain_maps(chain: Any, state: Any, carried: int) -> Iterator[Any]:
    """The maps of a chain, which leave the last `carried` numbers as they are."""
    if not isinstance(chain, Chain):
        yield from _layer_maps(chain, state, carried)
        return
    states = state or (None,) * len(chain.layers)
    for layer, own in zip(chain.layers, states, strict=True):
        yield from _layer_maps(layer, own, carried)


def _layer_maps(layer: Any, state: Any, carried: int) -> Iterator[Any]:
    if isinstance(layer, Residual):
        yield from _residual_maps(layer, state, carried)
    elif isinstance(layer, Dense | BatchNorm):
        yield _widened(_affine(layer, state), carried)
    elif isinstance(layer, LeakyReLU | PReLU):
        slope = np.asarray(layer.slope, float)
        yield slope if not carried else _Slopes(slope, carried)
    elif isinstance(layer, Pointwise) and layer.function is jax.nn.relu:
        yield np.asarray(0.0) if not carried else _Slopes(np.asarray(0.0), carried)
    elif not isinstance(layer, Dropout) and not _is_identity(layer):
        name = type(layer).__name__
        if isinstance(layer, Pointwise):
            name = layer.function.__name__
        raise InputError(
            f"{name} is not piecewise linear; give a network of Dense layers and ReLUs (plain, "
            "leaky or with learned slopes)."
        )


class _Slopes(NamedTuple):
    """Slopes of units below 0, and how many numbers after them are left as they are."""

    slope: np.ndarray
    carried: int

    def of(self, size: int) -> np.ndarray:
        own = np.broadcast_to(self.slope, (size - self.carried,))
        return np.concatenate([own, np.ones(self.carried)])


def slopes_of(kink: Any, size: int) -> np.ndarray:
    """The slope of each of so many numbers below 0; 1 for those that are left as they are."""
    if isinstance(kink, _Slopes):
        return kink.of(size)
    return np.broadcast_to(kink, (size,))


def _residual_maps(layer: Residual, state: Any, carried: int) -> Iterator[Any]:
    """h to (h, h), the block on the first half, and the sum of both."""
    inner, outer = state or (None, None)
    block = list(_chain_maps(layer.block, inner, 0))
    shapes = [m.weight.shape for m in block if isinstance(m, Affine)]
    if not shapes:
        raise InputError("a residual block without a dense layer is not supported.")
    d = shapes[0][0]
    k = shapes[-1][1]
    skip = Affine(np.eye(d), np.zeros(d))
    for step in [] if layer.shortcut is None else _chain_maps(layer.shortcut, outer, 0):
        if not isinstance(step, Affine):
            raise InputError("a shortcut that is not affine is not supported.")
        skip = Affine(skip.weight @ step.weight, skip.bias @ step.weight + step.bias)
    both = np.hstack([np.eye(d), skip.weight])
    yield _widened(Affine(both, np.r_[np.zeros(d), skip.bias]), carried)
    yield from _chain_maps(layer.block, inner, carried + k)
    add = Affine(np.vstack([np.eye(k), np.eye(k)]), np.zeros(k))
    yield _widened(add, carried)


def _affine(layer: Any, state: Any) -> Affine:
    """A dense layer, or a batch norm in use."""
    if isinstance(layer, Dense):
        W = np.asarray(layer.weight, float)
        b = np.zeros(W.shape[1]) if layer.bias is None else layer.bias
        return Affine(W, np.asarray(b, float))
    mean, variance, scale, shift = (
        np.asarray(a, float)
        for a in (state.mean, state.variance, layer.scale, layer.shift)
    )
    slope = scale / np.sqrt(variance + layer.epsilon)
    return Affine(np.diag(slope), shift - mean * slope)


def _widened(of: Affine, carried: int) -> Affine:
    """The map on all but the last numbers, which stay."""
    if not carried:
        return of
    d, k = of.weight.shape
    W = np.zeros((d + carried, k + carried))
    W[:d, :k], W[d:, k:] = of.weight, np.eye(carried)
    return Affine(W, np.r_[of.bias, np.zeros(carried)])


def _is_identity(layer: Any) -> bool:
    return isinstance(layer, Pointwise) and layer.function is jax.nn.identity
