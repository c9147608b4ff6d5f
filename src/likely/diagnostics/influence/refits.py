r"""Fits without single rows, made in full: the truth that one Newton step approximates.

Linear models of `likely` are refitted as one program over weight vectors, each with a zero
in another place; any other predictor one fit after another. A network goes on from the
weights that it has, so that the change is that of its own minimum and not of the start.
"""

from copy import deepcopy
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from likely.core.precision import float64, to_numpy
from likely.core.random import key_of
from likely.core.rows import pad
from likely.diagnostics.influence.linear_fit import LinearFit
from likely.diagnostics.influence.linearised import Steps
from likely.estimators.linear.coefficients import coefficients_of
from likely.estimators.networks.predictor import NetworkPredictor
from likely.inference import bootstrap
from likely.selection.members import distribution_of, fitted


def refitted_steps(
    model: Any, fit: LinearFit, data: tuple[Any, Any, Any], found: Steps
) -> Steps:
    """The steps with the changes of full refits of a linear model of ours.

    Args:
        model: the fitted model.
        fit: its arrays.
        data: X, y and weights of the fit.
        found: the steps that approximate them.
    """
    copy: Any = clone(model)
    problem = copy._problem(*data).present()
    hyper = dict(problem.hyper)
    if hasattr(model, "alpha_"):
        hyper["alpha"] = np.asarray(model.alpha_)
    batch = pad(problem.batch)
    n = len(fit.w)
    weights = np.tile(batch.w, (n, 1))
    weights[np.arange(n), np.arange(n)] = 0.0
    with float64():
        phi = to_numpy(bootstrap(problem.learner, key_of(0), hyper, batch, weights))
    B = [_coefficients(jax.tree.map(lambda a, i=i: a[i], phi)) for i in range(n)]
    difference = np.stack(B) - fit.B[None]  # (n, p, k)
    eta_change = np.einsum("np,npk->nk", fit.A, difference)
    change = -difference.swapaxes(1, 2).reshape(n, -1)
    return found._replace(change=change, eta_change=eta_change)


def _coefficients(phi: Any) -> np.ndarray:
    weight, bias, _ = coefficients_of(phi)
    return weight if bias is None else np.concatenate([bias[None], weight])


class LossChanges(NamedTuple):
    """How losses change where single rows are left out of a fit, in nats."""

    own: Float[np.ndarray, " m"]
    """Of the row itself."""
    held_out: Float[np.ndarray, " m"] | None = None
    """The mean over other rows."""
    error: Float[np.ndarray, " m"] | None = None
    """The standard error of that mean, over the other rows."""


def refitted_losses(
    model: Any,
    data: tuple[Any, np.ndarray, np.ndarray],
    rows: np.ndarray,
    on: tuple[Any, np.ndarray] | None,
) -> LossChanges:
    """The changes by full refits of any predictor, one after another.

    Args:
        model: the fitted predictor, which is not changed.
        data: X, y and weights of its fit.
        rows: the numbers of the rows to leave out, one at a time.
        on: inputs and targets of other rows.
    """
    X, y, w = data
    classes = np.unique(y[w > 0]) if is_classifier(model) else None
    weighted = not (w[w > 0] == 1).all()

    def losses(predictor: Any, X: Any, y: np.ndarray) -> np.ndarray:
        return -distribution_of(predictor, X, classes, scale).log_prob(y)

    here = np.flatnonzero(w > 0)
    scale = _scale(model, _safe_indexing(X, here), y[here], w[here], classes)
    before = losses(model, X, y)
    other = None if on is None else losses(model, *on)
    own, held_out, error = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
    for j, i in enumerate(rows):
        if w[i] == 0:
            continue
        kept = here[here != i]
        part = _safe_indexing(X, kept), y[kept], w[kept] if weighted else None
        copy = _refitted(model, *part)
        own[j] = losses(copy, _safe_indexing(X, [i]), y[[i]])[0] - before[i]
        if on is not None and other is not None:
            change = losses(copy, *on) - other
            held_out[j] = change.mean()
            error[j] = change.std(ddof=1) / np.sqrt(len(change))
    return LossChanges(own) if on is None else LossChanges(own, held_out, error)


def _refitted(model: Any, X: Any, y: np.ndarray, w: np.ndarray | None) -> Any:
    """A copy that is fitted to these rows; a network goes on from where it is."""
    if not isinstance(model, NetworkPredictor):
        return fitted(model, X, y, w)
    copy = deepcopy(model).set_params(warm_start=True)
    return copy.fit(X, y, w)


def _scale(model: Any, X: Any, y: np.ndarray, w: np.ndarray, classes: Any) -> float:
    """The spread of the errors, for regressors that predict numbers only."""
    if classes is not None:
        return 1.0
    error = np.asarray(model.predict(X), np.float64) - y
    return float(np.sqrt(max(w @ error**2 / w.sum(), 1e-300)))
