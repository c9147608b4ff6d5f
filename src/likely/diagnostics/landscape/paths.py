r"""Paths of solvers as weights, and their projection on a plane.

The nearest point of the plane $φ + aD_1 + bD_2$ to the weights $φ_t$ of a step is found by least
squares; how far the step is from the plane is part of the answer.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.typing import Solution, Trace

MAX_STEPS = 400
"""Steps of a path that are kept, evenly."""


class ProjectedPath(NamedTuple):
    """A path of weights, seen in the plane of a landscape."""

    points: Float[np.ndarray, "t m"]
    """The nearest point of the plane to each step, in coordinates."""
    distance: Float[np.ndarray, " t"]
    """How far each step is from that point."""
    loss: Float[np.ndarray, " t"]
    """The loss at the step itself, on all rows."""


def weights_along(run: Any, p: int) -> Float[np.ndarray, "t p"]:
    """The weights of each step of a run, at most some hundreds of them.

    Args:
        run: a solution or trace of a solver with `path=True`, an estimator that was fitted with
            such a solver, models in their order, or a (t, p) array.
        p: the number of weights.
    """
    run = getattr(run, "phi_", run)
    run = getattr(run, "solution", run)
    if isinstance(run, Solution):
        run = run.trace
    if isinstance(run, Trace):
        if run.model is None:
            raise InputError(
                "this run kept no path; give its solver path=True and run it again."
            )
        found = _stacked(run.model)
    elif (
        isinstance(run, list | tuple)
        and len(run)
        and eqx.is_array_like(run[0]) is False
    ):
        found = np.stack([_stacked(model, lead=False) for model in run])
    else:
        found = np.asarray(run, np.float64)
    if found.ndim != 2 or found.shape[1] != p:
        raise InputError(
            f"a path has shape {found.shape}; it needs {p} weights for each step. "
            "Members of an ensemble have paths of their own: give one network."
        )
    found = found[np.isfinite(found).all(1)]
    if not len(found):
        raise InputError("a path has no finite step.")
    kept = np.unique(np.linspace(0, len(found) - 1, MAX_STEPS).round().astype(int))
    return found[kept]


def named_paths(paths: Any, p: int) -> dict[str, np.ndarray]:
    """The weights along several runs, by name; one run has the name "path"."""
    if paths is None:
        return {}
    several = paths if isinstance(paths, Mapping) else {"path": paths}
    return {str(name): weights_along(run, p) for name, run in several.items()}


def projected(
    path: Float[np.ndarray, "t p"],
    center: Float[np.ndarray, " p"],
    vectors: Float[np.ndarray, "m p"],
) -> tuple[Float[np.ndarray, "t m"], Float[np.ndarray, " t"]]:
    """Coordinates of the nearest points of the plane, and the distances to them."""
    moved = path - center
    points = np.linalg.lstsq(vectors.T, moved.T, rcond=None)[0].T
    return points, np.linalg.norm(moved - points @ vectors, axis=1)


def _stacked(tree: Any, *, lead: bool = True) -> np.ndarray:
    """The inexact arrays of a tree side by side, after a leading axis of steps."""
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    arrays = [np.asarray(leaf, np.float64) for leaf in leaves]
    if not lead:
        return np.concatenate([a.ravel() for a in arrays])
    return np.concatenate([a.reshape(len(a), -1) for a in arrays], axis=1)
