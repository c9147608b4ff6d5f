r"""Directions in the space of weights, along which a loss is looked at.

A random direction of a network says little by its length: a ReLU network whose one layer is
multiplied by c and the next divided by c is the same function. *Filter normalisation* gives each
filter of a direction (the weights into one unit or channel) the length of the same filter of the
network, so that steps are relative to the weights and landscapes of different networks can be
compared; biases, scales and shifts stay where they are.

*Principal* directions are those in which a path of weights $φ_0, \dots, φ_T$ extends most: the
first right singular vectors of the matrix of $φ_t - φ_T$.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError, check_choice, suggestion
from likely.core.random import seed_of
from likely.diagnostics.landscape.sources import weights_of_model
from likely.diagnostics.landscape.surface import LossSurface
from likely.solvers.settings import WEIGHT_NAMES

KINDS = ("filter-normalised", "random", "principal")


class Directions(NamedTuple):
    """One or two directions, with what is written at their axes."""

    vectors: Float[np.ndarray, "m p"]
    labels: tuple[str, ...]
    shifts: Float[np.ndarray, " m"]
    """What is added to a coordinate on the axis: the value of a chosen coefficient."""
    explained: Float[np.ndarray, " m"] | None = None
    """The shares of the squared length of a path, of principal directions."""

    @property
    def chosen(self) -> tuple[bool, ...]:
        """Whether each is the axis of one weight."""
        return tuple(bool((v != 0).sum() == 1 and v.max() == 1) for v in self.vectors)


def directions_of(
    surface: LossSurface,
    kind: Any,
    paths: Sequence[np.ndarray],
    random_state: Any,
) -> Directions:
    """The directions that a setting asks for.

    Args:
        surface: the loss, with the weights at its centre.
        kind: a word of `KINDS`, or one or two of: the name or number of a weight, a direction
            as a vector or as a tree like the model.
        paths: (t, p) weights along the way of solvers, for "principal".
        random_state: the seed of random directions.
    """
    rng = np.random.default_rng(seed_of(random_state))
    if isinstance(kind, str) and kind not in (surface.names or ()):
        check_choice("directions", kind, KINDS)
        if kind == "principal":
            return _principal(surface, paths)
        normal = rng.normal(size=(2, surface.n_parameters))
        if kind == "random":
            size = np.linalg.norm(surface.center) or 1.0
            lengths = np.linalg.norm(normal, axis=1, keepdims=True)
            return _plain(normal * size / lengths, ("random 1", "random 2"))
        vectors = np.stack([filter_normalised(surface.model, v) for v in normal])
        return _plain(vectors, ("filter-normalised 1", "filter-normalised 2"))
    given = [kind] if isinstance(kind, str | int | np.integer) else list(kind)
    if not 1 <= len(given) <= 2:
        raise InputError(f"directions has {len(given)} entries; give one or two.")
    found = [_chosen(surface, one, i) for i, one in enumerate(given)]
    vectors = np.stack([vector for vector, _, _ in found])
    if len(vectors) == 2 and np.linalg.matrix_rank(vectors) < 2:
        raise InputError("the two directions are the same; give two that span a plane.")
    shifts = np.array([shift for _, _, shift in found])
    return Directions(vectors, tuple(label for _, label, _ in found), shifts)


def direction_to(model: Any, other: Any) -> Float[np.ndarray, " p"]:
    """The direction from the weights of one model to those of another; step 1 arrives.

    Args:
        model: a model, or a fitted network or linear model.
        other: one of the same architecture.
    """
    start, end = (_vector(weights_of_model(m)) for m in (model, other))
    if start.shape != end.shape:
        raise InputError(
            f"the models have {start.size} and {end.size} weights; give two of the same "
            "architecture."
        )
    return end - start


def filter_normalised(
    model: Any, v: Float[np.ndarray, " p"]
) -> Float[np.ndarray, " p"]:
    """The direction with each filter as long as that of the model, 0 for all but weights.

    A filter is what goes into one output: all entries of a weight at one index of its last axis.

    Args:
        model: a network.
        v: a direction as a vector.
    """
    leaves = jax.tree_util.tree_leaves_with_path(
        eqx.filter(model, eqx.is_inexact_array)
    )
    parts, at = [], 0
    for path, leaf in leaves:
        d, leaf = v[at : at + leaf.size].reshape(leaf.shape), np.asarray(leaf)
        at += leaf.size
        if getattr(path[-1], "name", None) not in WEIGHT_NAMES:
            parts.append(np.zeros(leaf.size))
            continue
        axes = tuple(range(leaf.ndim - 1))
        own, new = (np.sqrt((a**2).sum(axes, keepdims=True)) for a in (leaf, d))
        parts.append((d * own / np.where(new > 0, new, 1.0)).ravel())
    return np.concatenate(parts)


def _principal(surface: LossSurface, paths: Sequence[np.ndarray]) -> Directions:
    if not paths:
        raise InputError(
            "principal directions are those of a path of weights; give paths, from a solver "
            "with path=True."
        )
    moved = np.concatenate([path - surface.center for path in paths])
    _, sizes, rows = np.linalg.svd(moved, full_matrices=False)
    if len(sizes) < 2 or not sizes[1] > 1e-12 * sizes[0]:
        raise InputError("the path is a straight line; it has no second direction.")
    signs = np.where((moved[:1] @ rows[:2].T)[0] < 0, -1.0, 1.0)
    shares = sizes[:2] ** 2 / (sizes**2).sum()
    labels = tuple(f"principal {i + 1} ({100 * s:.3g} %)" for i, s in enumerate(shares))
    return Directions(signs[:, None] * rows[:2], labels, np.zeros(2), shares)


def _plain(vectors: np.ndarray, labels: tuple[str, ...]) -> Directions:
    return Directions(vectors, labels, np.zeros(len(vectors)))


def _chosen(surface: LossSurface, one: Any, i: int) -> tuple[np.ndarray, str, float]:
    """A direction, its label, and what is added to its coordinate."""
    p, names = surface.n_parameters, surface.names
    if isinstance(one, str):
        if names is None or one not in names:
            known = list(names or ())
            near = suggestion(one, known, "give one of") if known else (
                "the weights of this model have no names; give a number or a direction."
            )  # fmt: skip
            raise InputError(f"there is no weight {one!r}; {near}")
        one = names.index(one)
    if isinstance(one, int | np.integer):
        if not -p <= one < p:
            raise InputError(f"there is no weight number {one}; the model has {p}.")
        at = int(one) % p
        label = f"weight {at}" if names is None else names[at]
        return np.eye(1, p, at)[0], label, float(surface.center[at])
    vector = _vector(one)
    if vector.shape != (p,):
        raise InputError(
            f"direction {i + 1} has {vector.size} entries but the model has {p} weights; "
            "give a vector of all weights or a tree like the model."
        )
    if not np.isfinite(vector).all() or not vector.any():
        raise InputError(
            f"direction {i + 1} has to be finite, and not zero everywhere."
        )
    return vector, f"direction {i + 1}", 0.0


def _vector(tree: Any) -> np.ndarray:
    """The inexact arrays of a tree as one vector."""
    if isinstance(tree, list | tuple):
        tree = np.asarray(tree, float)
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    parts = [np.asarray(leaf, np.float64).ravel() for leaf in leaves]
    return np.concatenate(parts) if parts else np.zeros(0)
