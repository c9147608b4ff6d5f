r"""What models with coefficients share: a basis, formulas, inference, `summary()`.

The statistics are computed when they are first asked for, from the rows of the fit, which
are remembered beside the estimator (not in it: they are in no file, pickle or clone). What
was computed once is kept as `inference_`, and that is saved.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import equinox as eqx
import numpy as np
from jaxtyping import PyTree
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from likely.core.checks import InputError
from likely.core.precision import float64, to_numpy
from likely.core.random import key_of
from likely.core.rows import pad
from likely.estimators.linear import uncertainty as spread
from likely.estimators.linear.collinearity import dependence_sentence
from likely.estimators.linear.evidence import Evidence
from likely.estimators.linear.formula import AbstractFormulaModel
from likely.estimators.linear.penalty import choose_alpha
from likely.estimators.linear.places import forget_inputs, remember_inputs
from likely.estimators.shell import AbstractPredictor, learn_padded, nonnegative
from likely.families import Predictive
from likely.inference import Estimate, Summary, bootstrap, resampled_weights
from likely.inference.sandwich import KINDS
from likely.models import Linear, Shared
from likely.typing import Batch, Key

ERRORS = ("model", *KINDS, "bootstrap")
RESAMPLES = 200


class Remembered(NamedTuple):
    """The rows of a fit and its settings."""

    hyper: dict[str, np.ndarray]
    batch: Batch


_ROWS: WeakKeyDictionary[Any, Remembered] = WeakKeyDictionary()


class Parts(NamedTuple):
    """What φ of any linear model is made of."""

    weight: np.ndarray
    bias: np.ndarray | None
    tail: np.ndarray
    """Entries of η that all rows share."""


def parts_of(phi: PyTree) -> Parts:
    """Weights, bias and shared entries of η, whatever holds them."""
    tail = getattr(phi, "log_scale", None)
    tail = np.zeros(0) if tail is None else np.atleast_1d(tail)
    model: Any = phi.model
    while not isinstance(model, Linear):
        tail = np.asarray(model.tail) if isinstance(model, Shared) else tail
        model = model.model
    bias = None if model.bias is None else np.asarray(model.bias)
    return Parts(np.asarray(model.weight), bias, tail)


class AbstractLinearModel(AbstractFormulaModel, AbstractPredictor, ABC):
    """A predictor with coefficients.

    You write `_estimate` (the statistics, from evidence) beside what any predictor needs,
    and `_penalty` where coefficients can be penalised.
    """

    n_features_in_: int

    @abstractmethod
    def _estimate(self, evidence: Evidence) -> Estimate:
        """Coefficients, covariance and likelihoods, from the rows of the fit."""

    @abstractmethod
    def _unit(self) -> Any:
        """The family with its dispersion fixed: what robust errors start from."""

    def _penalty(self) -> str | None:
        """A hook: why p-values mean nothing here, or None."""
        alpha = getattr(self, "alpha", 0.0)
        if alpha == "cv" or alpha > 0:
            return (
                f"{type(self).__name__} was fitted with a penalty (alpha = {alpha}), which "
                "pulls coefficients towards zero: the estimate is biased, and standard "
                "errors and p-values of maximum likelihood do not hold for it. Fit "
                "without a penalty (alpha=0.0, or LinearRegression), or ask for "
                'summary(errors="none").'
            )
        return None

    def _refusal(self, errors: str) -> str | None:
        """A hook: why errors of this kind are refused, or None."""
        return self._penalty()

    # Fitting ---------------------------------------------------------------------------

    def _expand(self, X: np.ndarray, w: np.ndarray | None = None) -> np.ndarray:
        basis = getattr(self, "basis", None)
        if basis is None:
            forget_inputs(self)
            return X
        if w is not None:
            remember_inputs(self, X)
            names = getattr(self, "feature_names_in_", None)
            fresh: Any = clone(basis)
            self.basis_ = fresh.fit(X, sample_weight=w)
            if names is not None:
                self.basis_.feature_names_in_ = names
        return np.asarray(self.basis_._columns(X))

    def _choose(self, key: Key, hyper: dict, batch: Batch) -> dict:
        if getattr(self, "alpha", None) != "cv":
            return hyper
        found = choose_alpha(self, key, hyper, batch)
        self.alpha_, self.alphas_, self.cv_nll_ = found
        return {**hyper, "alpha": np.asarray(self.alpha_)}

    def _remember(self, hyper: dict, batch: Batch) -> None:
        vars(self).pop("inference_", None)
        forget_inputs(self)
        _ROWS[self] = Remembered(hyper, batch)

    def _eta(self, X: Any) -> np.ndarray:
        X, offset = X if isinstance(X, tuple) else (X, None)
        weight, bias, tail = parts_of(self.phi_)
        eta = X @ weight
        if bias is not None:
            eta = eta + bias
        if offset is not None:
            eta = eta + offset[:, None]
        return np.concatenate([eta, np.broadcast_to(tail, (len(X), len(tail)))], axis=1)

    # Names -----------------------------------------------------------------------------

    def _column_names(self) -> list[str]:
        """Names of the columns that have coefficients."""
        if hasattr(self, "basis_"):
            return list(self.basis_.get_feature_names_out())
        names = getattr(self, "feature_names_in_", None)
        d = self.n_features_in_
        return [f"x{j}" for j in range(d)] if names is None else list(map(str, names))

    def _coefficient_names(self) -> list[str]:
        """A hook: as in the table, an intercept first."""
        first = [] if parts_of(self.phi_).bias is None else ["intercept"]
        return first + self._column_names()

    # Inference -------------------------------------------------------------------------

    def summary(
        self,
        *,
        errors: str = "model",
        coverage: float = 0.95,
        n_resamples: int = RESAMPLES,
        random_state: int = 0,
    ) -> Summary:
        """The table of coefficients: errors, tests, intervals, and how well it fits.

        Args:
            errors: "model" (the family is right), "HC0" to "HC3" (the mean is right, the
                variance may not be), "bootstrap" (refits on rows drawn again), or "none".
            coverage: of the confidence intervals.
            n_resamples: refits of the bootstrap.
            random_state: of the bootstrap.
        """
        check_is_fitted(self)
        if errors == "none":
            return self._bare(self._refusal("model"), coverage)
        if errors not in ERRORS:
            raise InputError(
                f'errors is {errors!r}; give one of {", ".join(ERRORS)}, or "none".'
            )
        reason = self._refusal(errors)
        if reason is not None:
            raise InputError(reason)
        found, notes = self._inference(), list(self._notes())
        if errors in KINDS:
            C = self._robust(errors, len(found.coefficients))
            found = eqx.tree_at(lambda e: e.covariance, found, C)
        elif errors == "bootstrap":
            draws = self._bootstrap_coefficients(n_resamples, random_state)
            C = np.atleast_2d(np.cov(draws, rowvar=False))
            found = eqx.tree_at(lambda e: e.covariance, found, C)
            notes.append(f"bootstrap of {n_resamples} resamples")
        names = tuple(self._coefficient_names())
        return Summary(self._title(), names, found, errors, coverage, tuple(notes))

    def _bare(self, reason: str | None, coverage: float) -> Summary:
        """Coefficients alone."""
        weight, bias, _ = parts_of(self.phi_)
        B = np.r_[weight.T.ravel()] if bias is None else np.r_[bias, weight.T.ravel()]
        q, no = len(B), float("nan")
        found = Estimate(B, np.full((q, q), no), np.ones(q, bool), no, no, no, no, q)
        names = [*self._coefficient_names(), *[""] * q][:q]
        notes = (reason,) if reason else ()
        return Summary(self._title(), tuple(names), found, "none", coverage, notes)

    def _title(self) -> str:
        formula = self.formula
        return f"{type(self).__name__}" + (f": {formula.text}" if formula else "")

    def _notes(self) -> list[str]:
        """A hook: sentences at the foot of the table."""
        return []

    def _inference(self) -> Estimate:
        """The statistics, computed once."""
        if not hasattr(self, "inference_"):
            rows = self._remembered("these statistics")
            evidence = self._evidence(rows)
            found = self._estimate(evidence)
            self._refuse_dependent(evidence, found)
            self.inference_ = found
        return self.inference_

    def _refuse_dependent(self, evidence: Evidence, found: Estimate) -> None:
        """Where the errors look as if columns were dependent, find out which."""
        unit = max(found.dispersion, np.finfo(float).tiny)
        diagonal = np.diagonal(found.covariance)[: evidence.p] / unit
        inflation = diagonal * evidence.squares()
        if np.isfinite(inflation).all() and (inflation < 1e12).all():
            return
        names = np.asarray(self._column_names(), dtype=object)
        sentence = dependence_sentence(evidence.X, names, bool(self._first))
        if sentence is not None or not np.isfinite(diagonal).all():
            what = sentence or "the information about the coefficients is singular"
            raise InputError(
                f"{what}, so there are no standard errors. Drop a column, or use a ridge."
            )

    @property
    def _first(self) -> int:
        """Columns of the design before those of X: 1 with an intercept."""
        return int(parts_of(self.phi_).bias is not None)

    def _remembered(self, what: str) -> Remembered:
        if self not in _ROWS:
            raise InputError(
                f"the rows of the fit, which {what} need, are not kept in files, pickles "
                "or copies; ask before saving, or fit again."
            )
        return _ROWS[self]

    def _evidence(self, rows: Remembered) -> Evidence:
        batch = rows.batch
        here = batch.w > 0
        inputs = batch.x if isinstance(batch.x, tuple) else (batch.x,)
        X, y, w = inputs[0], batch.y, batch.w
        if not here.all():
            inputs = tuple(a[here] for a in inputs)
            X, y, w = inputs[0], y[here], w[here]
        k = parts_of(self.phi_).weight.shape[1]
        eta = self._eta(inputs if len(inputs) > 1 else X)[:, :k]
        return Evidence(self._unit(), X, self._first, eta, y, w)

    def _null(self, rows: Remembered) -> PyTree:
        """φ of the model without columns: the same program on columns of zeros."""
        x = rows.batch.x
        empty = (
            (np.zeros_like(x[0]), x[1]) if isinstance(x, tuple) else np.zeros_like(x)
        )
        with float64():
            key = key_of(getattr(self, "random_state", 0))
            batch = rows.batch._replace(x=empty)
            return to_numpy(learn_padded(self.learner_, key, rows.hyper, batch))

    def _log_likelihood(self, phi: PyTree, x: Any) -> float:
        """Σ w log p(y | x) at φ on the rows of the fit."""
        batch = self._remembered("likelihoods").batch
        kept, self.phi_ = self.phi_, phi
        try:
            eta = self._eta(x)
        finally:
            self.phi_ = kept
        here = batch.w > 0
        log_prob = Predictive(self.family_, eta[here]).log_prob(batch.y[here])
        return float(batch.w[here] @ log_prob)

    def _likelihoods(self) -> tuple[float, float]:
        """Of the fit, and of the null model."""
        rows = self._remembered("likelihoods")
        x = rows.batch.x
        own = self._log_likelihood(self.phi_, x)
        if self._first:
            return own, self._log_likelihood(self._null(rows), x)
        nothing = eqx.tree_at(
            lambda p: _linear(p).weight,
            self.phi_,
            np.zeros_like(parts_of(self.phi_).weight),
        )
        return own, self._log_likelihood(nothing, x)

    def _robust(self, kind: str, q: int) -> np.ndarray:
        evidence = self._evidence(self._remembered("robust errors"))
        C = evidence.robust(kind)
        full = np.full((q, q), np.nan)
        full[: len(C), : len(C)] = C
        return full

    def _bootstrap(self, n_resamples: int, random_state: int) -> PyTree:
        """φ of every refit."""
        rows = self._remembered("bootstrap errors")
        batch = pad(rows.batch)
        rng = np.random.default_rng(random_state)
        weights = resampled_weights(batch.w, int(n_resamples), rng)
        with float64():
            key = key_of(getattr(self, "random_state", 0))
            return to_numpy(bootstrap(self.learner_, key, rows.hyper, batch, weights))

    def _bootstrap_coefficients(self, n_resamples: int, random_state: int):
        """(m, q) coefficients in the order of the table."""
        phi = self._bootstrap(n_resamples, random_state)
        return np.stack([self._table_order(one) for one in _each(phi, n_resamples)])

    def _table_order(self, phi: PyTree) -> np.ndarray:
        """A hook: the coefficients of φ as the table has them."""
        weight, bias, _ = parts_of(phi)
        return np.r_[[] if bias is None else bias, weight[:, 0]]

    def __getstate__(self) -> Any:
        self._settle()
        return super().__getstate__()

    def _settle(self) -> None:
        """Compute what files keep, while the rows are there."""
        known = hasattr(self, "inference_") or not hasattr(self, "phi_")
        if known or self not in _ROWS or self._penalty() is not None:
            return
        try:
            self._inference()
        except (InputError, np.linalg.LinAlgError):
            return

    # Prediction ------------------------------------------------------------------------

    def _uncertain(self, X: Any, how: str) -> Predictive:
        """The predictive distribution with the uncertainty of the coefficients."""
        if how == "none":
            return self._plugged(X)
        if how == "bootstrap":
            phi, kept = self._bootstrap(RESAMPLES // 4, 0), self.phi_
            parts = []
            for one in _each(phi, RESAMPLES // 4):
                self.phi_ = one
                parts.append(self._eta(X))
            self.phi_ = kept
            return spread.mixed(self.family_, parts)
        found = self._inference()
        rows = X[0] if isinstance(X, tuple) else X
        A = np.column_stack([np.ones(len(rows)), rows]) if self._first else rows
        p, eta = A.shape[1], self._eta(X)
        C = found.covariance[:p, :p]
        if how == "exact":
            unscaled = C / found.dispersion
            s2, df = found.dispersion, found.df_residual
            return spread.exact(eta[:, 0], A, unscaled, s2, df)
        variance = np.einsum("ij,jk,ik->i", A, C, A, optimize=True)
        return spread.delta(self.family_, eta, variance, found.tail_variance)


def _linear(phi: PyTree) -> Linear:
    model = phi.model
    while not isinstance(model, Linear):
        model = model.model
    return model


def _each(phi: PyTree, m: int):
    """The m members of a tree with a leading axis."""
    import jax

    for i in range(m):
        yield jax.tree.map(lambda a, i=i: a[i], phi)


def alpha_of(value: Any) -> np.ndarray:
    """A strength, checked; a placeholder where it is to be chosen by cross-validation."""
    if isinstance(value, str):
        if value != "cv":
            raise InputError(f'alpha is {value!r}; give a number, or "cv".')
        return np.asarray(1.0)
    return np.asarray(nonnegative("alpha", value))
