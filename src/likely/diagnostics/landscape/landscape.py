r"""Loss landscapes: the loss on one or two directions through fitted weights.

$$(a, b) \mapsto L_D(φ + a D_1 + b D_2)$$

on all rows, on a part of them (another set of rows has another landscape, with its lowest point
elsewhere), and with penalties added.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.diagnostics.landscape.directions import directions_of
from likely.diagnostics.landscape.evaluation import Evaluation, row_losses
from likely.diagnostics.landscape.paths import ProjectedPath, named_paths, projected
from likely.diagnostics.landscape.plane import Plane, targets
from likely.diagnostics.landscape.report import LossLandscape, Station
from likely.diagnostics.landscape.sources import loss_surface
from likely.diagnostics.landscape.surface import LossSurface
from likely.objectives.priors import AbstractPrior

ROUNDING = 1e-7
"""Nats within which two points are equally low."""


def loss_landscape(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    directions: Any = "filter-normalised",
    limits: Any = None,
    n_points: int = 41,
    subset: Any = None,
    penalties: Any = None,
    paths: Any = None,
    random_state: Any = 0,
    **source: Any,
) -> LossLandscape:
    """The loss on a grid of weights around the fitted ones.

    Args:
        model: a fitted network or linear model, a scikit-learn pipeline that ends with one, what
            `recipe.fit` returns, or any model of `likely.models`.
        X: inputs.
        y: targets.
        sample_weight: how often each row counts.
        directions: "filter-normalised" or "random" (two random ones), "principal" (of `paths`),
            or one or two of: the name or the number of a weight, a direction as a vector or as a
            tree like the model (`direction_to` another model).
        limits: (low, high) of both axes or of each: steps along a direction, values of a chosen
            weight. None: what shows the rise of the loss, and the paths.
        n_points: of each axis.
        subset: rows whose own landscape is computed beside: how many (drawn at random), their
            numbers, or (n,) booleans.
        penalties: a prior, or priors by name ({"L1": LaplacePrior(3.0)}): penalties to add.
        paths: what solvers with `path=True` returned, by name; also estimators fitted with such
            a solver, lists of models, or (steps, p) arrays of weights.
        random_state: the seed of random directions and of the subset.
        source: more about the model: see `loss_surface`.
    """
    if n_points < 3:
        raise InputError(f"n_points is {n_points}; give at least 3.")
    priors = _named(penalties)
    surface = loss_surface(
        model, X, y, sample_weight, random_state=random_state, **source
    )
    ways = named_paths(paths, surface.n_parameters)
    found = directions_of(surface, directions, list(ways.values()), random_state)
    W = _weightings(surface, len(np.asarray(y)), subset, random_state)
    plane = Plane(Evaluation.of(surface, W, list(priors.values())), found)
    seen = {name: _seen(plane, path) for name, path in ways.items()}
    box = plane.limits(limits, [s.points for s in seen.values()], origin=bool(priors))
    axes = [np.linspace(low, high, n_points) for low, high in box]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    points, shape = grid.reshape(-1, len(axes)), grid.shape[:-1]
    values = plane(points)
    names = ["all rows", *[f"{int((w > 0).sum())} rows" for w in W[1:]], *priors]
    best = plane.lowest(points, values, np.array([a[1] - a[0] for a in axes]))
    ways_seen = {n: s._replace(points=s.points + found.shifts) for n, s in seen.items()}
    return LossLandscape(
        tuple(a + s for a, s in zip(axes, found.shifts, strict=True)),
        found.labels,
        {n: v.reshape(shape) for n, v in zip(names, targets(values), strict=True)},
        values.error[:, 0].reshape(shape),
        _stations(plane, best, names, box),
        ways_seen,
        found.explained,
        len(W),
    )


def _named(penalties: Any) -> dict[str, AbstractPrior]:
    """Priors by name."""
    if penalties is None:
        return {}
    if isinstance(penalties, AbstractPrior):
        penalties = {type(penalties).__name__.removesuffix("Prior"): penalties}
    for name, prior in penalties.items():
        if not isinstance(prior, AbstractPrior):
            raise InputError(
                f"the penalty {name!r} is a {type(prior).__name__}; give a prior of "
                "`likely.objectives`, such as LaplacePrior(3.0)."
            )
    return {str(name): prior for name, prior in penalties.items()}


def _weightings(
    surface: LossSurface, n: int, subset: Any, random_state: Any
) -> Float[np.ndarray, "r p"]:
    """The weights of all rows and, where asked for, of a part of them."""
    w = surface.w
    if subset is None:
        return w[None]
    present, chosen = np.flatnonzero(w[:n] > 0), np.asarray(subset)
    if chosen.ndim == 0:
        count = int(chosen)
        if not 1 < count <= len(present):
            raise InputError(
                f"subset is {subset}; give 2 to {len(present)} rows, or their numbers."
            )
        rng = np.random.default_rng(seed_of(random_state) + 1)
        chosen = rng.choice(present, count, replace=False)
    elif chosen.dtype == bool and chosen.shape == (n,):
        chosen = np.flatnonzero(chosen)
    if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or not len(chosen):
        raise InputError(
            "subset has to be a number of rows, their numbers, or (n,) booleans."
        )
    if chosen.min() < 0 or chosen.max() >= n:
        raise InputError(f"subset names row {chosen.max()}; there are {n} rows.")
    mask = np.zeros(len(w), w.dtype)
    mask[chosen] = 1
    if not (w * mask).sum() > 0:
        raise InputError("no row of the subset has a positive weight.")
    return np.stack([w, w * mask])


def _seen(plane: Plane, path: Float[np.ndarray, "t p"]) -> ProjectedPath:
    """A path in the plane, with the loss at its steps."""
    surface = plane.evaluation.surface
    points, distance = projected(path, surface.center, plane.directions.vectors)
    loss = plane.evaluation(path.astype(surface.center.dtype)).loss[:, 0]
    return ProjectedPath(points, distance, loss)


def _stations(
    plane: Plane, best: np.ndarray, names: list[str], box: np.ndarray
) -> dict[str, Station]:
    """The fitted weights and the lowest points, with their losses."""
    evaluation, shifts = plane.evaluation, plane.directions.shifts
    points = np.concatenate([np.zeros((1, plane.dimension)), best])
    reference = row_losses(evaluation.surface, plane.weights(best[:1])[0])
    values = plane._replace(evaluation=evaluation._replace(reference=reference))(points)
    own, r = targets(values), values.loss.shape[1]
    found = {}
    for i, name in enumerate(["fitted", *names]):
        t = max(i - 1, 0)  # the loss that is lowest there
        found[name] = Station(
            points[i] + shifts,
            float(own[t, i]),
            float(values.error[i, t if t < r else 0]),
            _beyond_rounding(values.loss[i, 0] - values.loss[1, 0]),
            _beyond_rounding(values.rise_error[i, 0]),
            bool((points[i, :, None] == box).any()),
        )
    return found


def _beyond_rounding(value: float) -> float:
    """A difference of losses, 0 where the search for the lowest point explains it."""
    return float(value) if not abs(value) < ROUNDING else 0.0
