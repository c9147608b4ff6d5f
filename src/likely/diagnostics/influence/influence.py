"""Which rows decide a fit: what would change if each of them were left out."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.rows import weights_of
from likely.core.checks import InputError, check_choice
from likely.core.precision import float64
from likely.diagnostics.influence.effects import effect_on, own_change
from likely.diagnostics.influence.linear_fit import LinearFit, linear_fit
from likely.diagnostics.influence.linearised import steps
from likely.diagnostics.influence.measures import measures
from likely.diagnostics.influence.networks import (
    held_out_by_gradients,
    network_fits,
)
from likely.diagnostics.influence.refits import refitted_losses, refitted_steps
from likely.diagnostics.influence.result import Influence
from likely.estimators.linear.model import LinearModel
from likely.estimators.networks.predictor import NetworkPredictor
from likely.families import Normal
from likely.typing import Batch

METHODS = ("auto", "refit")
DAMPING = 1e-2


def influence(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    on: tuple[Any, Any] | None = None,
    method: str = "auto",
    rows: Any = None,
    damping: float = DAMPING,
) -> Influence:
    """What would change if each row were left out of the fit.

    Linear models of squared loss (with a ridge or none) have an exact formula; other
    linear models take one Newton step, networks their gradients. Everything else, and
    everything with `method="refit"`, is fitted again without each row.

    Args:
        model: a fitted predictor of `likely` or scikit-learn. Of a pipeline, the steps before
            a linear model are taken as they are.
        X: (n, d) the inputs that it was fitted to.
        y: (n,) their targets.
        sample_weight: how often each row counted; a row is left out with all its weight.
        on: inputs and targets of other rows, on which the effect of each row is measured.
        method: "auto", or "refit" for the truth: one program for the linear models of
            `likely`, a fit for each row otherwise.
        rows: the numbers of the rows to leave out; all of them by default.
        damping: for networks: what is added to the diagonal of the Gauss-Newton matrix, in
            units of its mean. The larger, the less the directions count that the rows say
            little about.

    Examples:
        >>> table = lk.data.diabetes()
        >>> model = lk.LinearRegression().fit(table.X, table.y)
        >>> found = lk.diagnostics.influence(model, table.X, table.y)
        >>> type(found).__name__
        'Influence'
    """
    check_choice("method", method, METHODS)
    check_is_fitted(model)
    targets = np.asarray(y)
    w = weights_of(sample_weight, len(targets))
    chosen = _chosen(rows, len(targets))
    if on is not None and len(on) != 2:
        raise InputError("on has to be a pair: inputs and targets of other rows.")
    plain = isinstance(model, LinearModel) and getattr(model, "formula", None) is None
    if method == "auto" or plain:
        fit = linear_fit(model, X, y, sample_weight)
        if fit is not None:
            data = (X, y, sample_weight) if method == "refit" else None
            return _linear(model, fit, on, chosen, data)
    if method == "auto" and isinstance(model, NetworkPredictor):
        return _network(model, (X, y, sample_weight), on, chosen, damping)
    if method == "auto":
        raise InputError(
            f"{type(model).__name__} has no gradients to tell the influence of rows by; give "
            'method="refit", which fits it again without each row (rows= chooses some).'
        )
    other = None if on is None else (on[0], np.asarray(on[1]))
    found = refitted_losses(model, (X, targets, w), chosen, other)
    return Influence(chosen, "refit", found.own, found.held_out, found.error)


def _linear(
    model: Any, fit: LinearFit, on: Any, chosen: np.ndarray, data: Any
) -> Influence:
    rows = fit.linearised()
    fit.check_optimum(rows)
    found = steps(rows)
    exact = isinstance(fit.family, Normal)
    method = "exact" if exact else "one step"
    if data is not None:
        found, method = refitted_steps(model, fit, data, found), "refit"
    known = measures(fit, rows, found)
    held_out, error = None, None
    if on is not None:
        other = linear_fit(model, *on)
        assert other is not None
        held_out, error = effect_on(found.change, other.linearised(), known.dispersion)
    spread = _Spread(len(chosen), chosen, fit.rows)
    return Influence(
        rows=chosen,
        method=method,
        own=spread(known.own),
        held_out=spread(held_out),
        held_out_error=spread(error),
        leverage=spread(found.leverage),
        studentized=spread(known.external),
        internal=spread(known.internal),
        p_outlier=spread(known.p_outlier),
        cooks=spread(known.cooks),
        dffits=spread(known.dffits),
        dfbetas=spread(known.dfbetas),
        names=fit.coefficient_names,
    )


def _network(
    model: NetworkPredictor, data: Any, on: Any, chosen: np.ndarray, damping: float
) -> Influence:
    if not damping > 0:
        raise InputError(f"damping is {damping}; give a number above 0.")
    every = model._batch(*data, first=False, known=True)
    here = np.flatnonzero(every.w > 0)
    x, y, w = (np.asarray(a)[here] for a in every)
    batch = Batch(x, y, w)
    other = None
    if on is not None:
        other = model._batch(on[0], on[1], None, first=False, known=True)
    own, leverage, held_out, errors = [], [], [], []
    with float64():
        for fit in network_fits(model, batch, damping):
            rows = fit.linearised(batch)
            found = steps(rows)
            leverage.append(found.leverage)
            own.append(own_change(rows, found.eta_change))
            if other is None:
                continue
            if fit.whole:
                value, error = effect_on(found.change, fit.linearised(other), 1.0)
            else:
                value = held_out_by_gradients(fit, batch, other)
                error = np.full(len(value), np.nan)
            held_out.append(value)
            errors.append(error)
    spread = _Spread(len(chosen), chosen, here)
    mean = [np.mean(part, 0) if part else None for part in (held_out, errors)]
    return Influence(
        rows=chosen,
        method="gradients",
        own=spread(np.mean(own, 0)),
        held_out=spread(mean[0]),
        held_out_error=spread(mean[1]),
        leverage=spread(np.mean(leverage, 0)),
    )


class _Spread:
    """Values of the rows of a fit, for the rows that were asked for; 0 for absent ones."""

    def __init__(self, size: int, chosen: np.ndarray, known: np.ndarray):
        self.size, self.chosen, self.known = size, chosen, known

    def __call__(self, values: Any) -> Any:
        if values is None:
            return None
        every = np.zeros(
            (int(max(self.chosen.max(), self.known.max())) + 1, *values.shape[1:])
        )
        every[self.known] = values
        return every[self.chosen]


def _chosen(rows: Any, n: int) -> np.ndarray:
    if rows is None:
        return np.arange(n)
    found = np.atleast_1d(np.asarray(rows))
    if found.dtype == bool and found.shape == (n,):
        return np.flatnonzero(found)
    if found.dtype.kind not in "iu" or not len(found):
        raise InputError("rows has to hold numbers of rows, or a boolean for each row.")
    if found.min() < -n or found.max() >= n:
        raise InputError(f"rows has {found.max()}, but there are {n} rows.")
    return found % n
