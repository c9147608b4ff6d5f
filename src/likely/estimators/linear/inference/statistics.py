r"""The statistics of a fitted linear model, from the rows of its fit.

They are computed when they are first asked for and kept in the record of the fit, which
is in memory only: files, pickles and copies hold the computed statistics, not the rows.
"""

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree
from scipy.sparse import issparse

from likely.base.learning import learn
from likely.core.checks import InputError
from likely.core.precision import float64, to_numpy
from likely.core.random import key_of
from likely.core.rows import pad
from likely.estimators.linear.coefficients import Coefficients, coefficients_of, eta_at
from likely.estimators.linear.inference.collinearity import dependence_sentence
from likely.estimators.linear.inference.evidence import Evidence
from likely.estimators.linear.inference.spread import Spread, spread
from likely.estimators.linear.inference.uncertainty import columns_of
from likely.families import Censored, Predictive
from likely.inference import Estimate, Summary, bootstrap, resampled_weights
from likely.inference.sandwich import KINDS
from likely.typing import Batch

ERRORS = ("model", *KINDS, "bootstrap")
MAX_WRITTEN_OUT, MAX_COVARIANCE = 50_000_000, 3000
"""Numbers of a sparse matrix, with its zeros, and columns, of which errors are computed."""
MAX_INFLATION = 1e12
"""Variance inflation from which columns are suspected to be dependent."""


class FitRecord:
    """The rows and settings of a fit, and the statistics once they were asked for."""

    def __init__(self, hyper: dict[str, np.ndarray], batch: Batch, learner: Any):
        self.hyper, self.batch, self.learner = hyper, batch, learner
        self.estimate: Estimate | None = None
        self.spread: list[Spread] | None = None


def record_of(model: Any, what: str) -> FitRecord:
    """The rows of the fit, where the model still has them."""
    if "_record" not in vars(model):
        raise InputError(
            f"the rows of the fit, which {what} need, are not kept in files, pickles "
            "or copies; ask before saving, or fit again."
        )
    return model._record


def statistics_of(model: Any) -> Estimate:
    """Coefficients, covariance and likelihoods, computed once."""
    if "inference_" in vars(model):
        return model.inference_
    record = record_of(model, "these statistics")
    found = record.estimate
    if found is None:
        evidence = evidence_of(model, _with_zeros(record.batch))
        evidence.refuse_wide()
        try:
            found = model._estimate(evidence)
        except np.linalg.LinAlgError:
            raise _dependent(model, evidence) from None
        _refuse_dependent(model, evidence, found)
        record.estimate = found
    return found


def statistics_or_none(model: Any) -> Estimate | None:
    """The statistics where there are any."""
    kept = "inference_" in vars(model) or "_record" in vars(model)
    if not kept or model._refusal("model") is not None:
        return None
    try:
        return statistics_of(model)
    except (InputError, np.linalg.LinAlgError):
        return None


def spread_of(model: Any) -> list[Spread] | None:
    """What predictions need to know about the uncertainty of each output, computed once.

    None for classes and censored times, and for models from files that hold no such thing.
    """
    if "spread_" in vars(model):
        return model.spread_
    known = not (model._predicts_classes or isinstance(model.family_, Censored))
    if not known or "_record" not in vars(model):
        return None
    record = model._record
    if record.spread is None:
        batch, phi = present_rows(record.batch), model.phi_
        second = getattr(phi, "second", None)
        with float64(work=0.0):
            record.spread = spread(
                model.family_,
                columns_of(batch.x),
                batch.y,
                batch.w,
                eta_at(phi, batch.x),
                *model.learner_.penalty(phi, record.hyper, batch.w),
                intercept=bool(model._first),
                known=None if second is None else (second, phi.means),
            )
    return record.spread


def summarize(
    model: Any, errors: str, coverage: float, n_resamples: int, random_state: int
) -> Summary:
    """The table of coefficients; see `LinearModel.summary`."""
    if errors == "none":
        return _bare_summary(model, coverage)
    if errors not in ERRORS:
        raise InputError(
            f'errors is {errors!r}; give one of {", ".join(ERRORS)}, or "none".'
        )
    reason = model._refusal(errors)
    if reason is not None:
        raise InputError(reason)
    found, notes = statistics_of(model), list(model._notes())
    if errors in KINDS:
        found = _robust_estimate(model, errors, found)
    elif errors == "bootstrap":
        fits = refits(model, n_resamples, random_state)
        draws = np.stack([model._table_order(phi) for phi in fits])
        C = np.atleast_2d(np.cov(draws, rowvar=False))
        found = _with_covariance(found, C, None)
        notes.append(f"bootstrap of {n_resamples} resamples")
    names = tuple(model._coefficient_names())
    return Summary(_title(model), names, found, errors, coverage, tuple(notes))


def _bare_summary(model: Any, coverage: float) -> Summary:
    """Coefficients without errors."""
    weight, bias, _ = coefficients_of(model.phi_)
    B = weight.T.ravel() if bias is None else np.r_[bias, weight.T.ravel()]
    if weight.shape[1] == 1:
        B = model._table_order(model.phi_)
    q, no = len(B), float("nan")
    found = Estimate(B, np.full((q, q), no), np.ones(q, bool), no, no, no, no, q)
    names = [*model._coefficient_names(), *[""] * q][:q]
    reason = model._refusal("model")
    notes = (reason,) if reason else ()
    return Summary(_title(model), tuple(names), found, "none", coverage, notes)


def _title(model: Any) -> str:
    formula = model.formula
    return f"{type(model).__name__}" + (f": {formula.text}" if formula else "")


def _refuse_dependent(model: Any, evidence: Evidence, found: Estimate) -> None:
    """Where the errors look as if columns were dependent, find out which."""
    unit = max(found.dispersion, np.finfo(float).tiny)
    others, own = np.flatnonzero(~found.slopes), np.flatnonzero(found.slopes)
    place = np.r_[others[: evidence.first], own][: evidence.p]
    C = found.covariance[np.ix_(place, place)] / unit
    diagonal, inflation = np.diagonal(C), evidence.inflation(C)
    if np.isfinite(diagonal).all() and (inflation < MAX_INFLATION).all():
        return
    if not np.isfinite(diagonal).all() or _dependence(model, evidence) is not None:
        raise _dependent(model, evidence)


def _dependence(model: Any, evidence: Evidence) -> str | None:
    """Which column is a combination of which others, or None."""
    names = np.asarray(model._column_names(), dtype=object)
    return dependence_sentence(evidence.X, names, bool(evidence.first))


def _dependent(model: Any, evidence: Evidence) -> InputError:
    """Why there are no standard errors."""
    what = _dependence(model, evidence)
    what = what or "the information about the coefficients is singular"
    return InputError(
        f"{what}, so there are no standard errors. Drop a column, or use a ridge."
    )


def evidence_of(model: Any, batch: Batch) -> Evidence:
    """What the present rows say about the coefficients."""
    x, y, w = present_rows(batch)
    k = coefficients_of(model.phi_).weight.shape[1]
    eta = eta_at(model.phi_, x)[:, :k]
    X = x[0] if isinstance(x, tuple) else x
    second = getattr(model.phi_, "second", None)
    known = None if second is None else (second, model.phi_.means)
    return Evidence(model._unit(), X, model._first, eta, y, w, known=known)


def _with_zeros(batch: Batch) -> Batch:
    """The rows with a sparse matrix written out, if it is not too large for statistics."""
    X = columns_of(batch.x)
    if not issparse(X):
        return batch
    n, d = X.shape
    if d + 1 > n or n * d > MAX_WRITTEN_OUT or d > MAX_COVARIANCE:
        raise InputError(
            f"the sparse matrix has {n} rows and {d} columns, of which there are no "
            f"standard errors: they need fewer columns than rows, at most "
            f"{MAX_COVARIANCE} of them and {MAX_WRITTEN_OUT:,} numbers with its zeros. "
            'Ask for summary(errors="none"), or fit fewer columns.'
        )
    x = X.toarray()
    return batch._replace(x=(x, *batch.x[1:]) if isinstance(batch.x, tuple) else x)


def present_rows(batch: Batch) -> Batch:
    """The rows of positive weight."""
    here = batch.w > 0
    return batch if here.all() else jax.tree.map(lambda a: a[here], batch)


def likelihoods(model: Any) -> tuple[float, float]:
    """The log-likelihoods of the fit and of the model without columns."""
    record = record_of(model, "likelihoods")
    rows = _with_zeros(record.batch)
    if model._first:
        empty = jax.tree.map(lambda a: np.zeros_like(a) if a.ndim == 2 else a, rows.x)
        batch = rows._replace(x=empty)
        null = learn(model.learner_, key_of(0), record.hyper, batch)
    else:
        null = Coefficients.without_weights(model.phi_)
    own, nothing = (
        log_likelihood(model.family_, phi, record.batch) for phi in (model.phi_, null)
    )
    return own, nothing


def likelihood_estimate(
    model: Any, evidence: Evidence, covariance: np.ndarray, **more: Any
) -> Estimate:
    """The statistics of a model that was fitted by maximum likelihood.

    Args:
        model: the fitted model.
        evidence: its rows.
        covariance: of the coefficients, in the order of the table.
        more: fields of `Estimate` that are not the usual ones.
    """
    own, nothing = likelihoods(model)
    usual = {
        "slopes": np.arange(evidence.p) >= evidence.first,
        "total": evidence.total,
        "df_residual": evidence.df_residual,
        "log_likelihood": own,
        "null_log_likelihood": nothing,
        "n_counted": evidence.p,
        "condition": evidence.condition(),
    }
    table = model._table_order(model.phi_)
    return Estimate(table, covariance, **usual | more)


def log_likelihood(family: Any, phi: PyTree, batch: Batch) -> float:
    """Σ w log p(y | x) at φ."""
    present = batch.w > 0
    eta = eta_at(phi, batch.x)[present]
    log_prob = Predictive(family, eta).log_prob(batch.y[present])
    return float(batch.w[present] @ log_prob)


def _robust_estimate(model: Any, kind: str, found: Estimate) -> Estimate:
    """The estimate with the sandwich of this kind.

    Parameters that it is not about have no error.
    """
    evidence = evidence_of(model, _with_zeros(record_of(model, "robust errors").batch))
    evidence.refuse_saturated()
    slopes = found.coefficients[evidence.first : evidence.p]
    C, wald = evidence.robust(kind, slopes)
    full = np.full(found.covariance.shape, np.nan)
    full[: len(C), : len(C)] = C
    return _with_covariance(found, full, wald)


def _with_covariance(found: Estimate, C: np.ndarray, wald: float | None) -> Estimate:
    """The estimate with another covariance."""
    return eqx.tree_at(
        lambda e: (e.covariance, e.wald), found, (C, wald), is_leaf=lambda a: a is None
    )


def refits(model: Any, n_resamples: int, random_state: int) -> Iterator[PyTree]:
    """φ of fits to rows drawn again, one after the other."""
    record = record_of(model, "bootstrap errors")
    batch = pad(_with_zeros(record.batch))
    rng = np.random.default_rng(random_state)
    weights = resampled_weights(batch.w, int(n_resamples), rng)
    with float64(work=0.0):
        found = bootstrap(record.learner, key_of(0), record.hyper, batch, weights)
        phi = to_numpy(found)
    for i in range(int(n_resamples)):
        yield jax.tree.map(lambda a, i=i: a[i], phi)


def penalty_sentence(model: Any) -> str | None:
    """Why a penalty makes p-values meaningless, or None where there is none."""
    alpha, C = getattr(model, "alpha", 0.0), getattr(model, "C", None)
    if C is None and not (isinstance(alpha, str) or alpha > 0):
        return None
    what = f"alpha = {alpha}" if C is None else f"C = {C}"
    return (
        f"{type(model).__name__} was fitted with a penalty ({what}), which pulls "
        "coefficients towards zero: the estimate is biased, and standard errors and "
        "p-values of maximum likelihood do not hold for it. Fit without a penalty "
        '(alpha=0.0, or LinearRegression), or ask for summary(errors="none").'
    )
