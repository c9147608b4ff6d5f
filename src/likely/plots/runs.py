"""Traces and paths from the solutions of solvers."""

from collections.abc import Mapping

import jax
import numpy as np

from likely.core.checks import InputError
from likely.typing import Solution, Trace


def named(runs: Solution | Trace | Mapping) -> dict[str, Trace]:
    """Traces by name, from one run or a mapping of names to runs."""
    several = runs if isinstance(runs, Mapping) else {"": runs}
    return {
        name: run.trace if isinstance(run, Solution) else run
        for name, run in several.items()
    }


def points(trace: Trace) -> np.ndarray:
    """The (steps, 2) points that a run visited, the start first."""
    leaves = jax.tree.leaves(trace.model)
    if not leaves:
        raise InputError(
            "this run kept no path; give its solver `path=True` and run it again."
        )
    columns = [np.asarray(leaf).reshape(len(leaf), -1) for leaf in leaves]
    found = np.concatenate(columns, axis=1)
    if found.shape[1] != 2:
        raise InputError(
            f"this run has {found.shape[1]} parameters; a path can be drawn for 2."
        )
    return found[: 1 + np.max(np.flatnonzero(np.isfinite(found).all(1)), initial=0)]
