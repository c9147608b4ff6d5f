"""A fitted linear model of any make as arrays: design, coefficients, family, penalty."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.base import clone

from likely.base.features import feature_names
from likely.base.labels import class_family, class_weights, codes_of
from likely.base.rows import dense, weights_of
from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.rows import pad
from likely.diagnostics.influence.linearised import Linearised
from likely.estimators.linear.coefficients import coefficients_of, eta_at
from likely.estimators.linear.dispersed import DispersedLearner
from likely.estimators.linear.glm import LinearLearner
from likely.estimators.linear.model import LinearModel
from likely.estimators.linear.normal import NormalLinearLearner
from likely.families import AbstractFamily, Gamma, Normal, Poisson, Predictive, Tweedie
from likely.inference import curvature
from likely.selection.members import split_last
from likely.typing import Batch

SMOOTH_LEARNERS = (NormalLinearLearner, LinearLearner, DispersedLearner)
SCIKIT_FAMILIES = {
    "LinearRegression": lambda model: Normal(1.0),
    "Ridge": lambda model: Normal(1.0),
    "RidgeCV": lambda model: Normal(1.0),
    "PoissonRegressor": lambda model: Poisson(),
    "GammaRegressor": lambda model: Gamma(1.0),
    "LogisticRegression": lambda model: class_family(len(model.classes_)),
    "LogisticRegressionCV": lambda model: class_family(len(model.classes_)),
}
"""The families of scikit-learn's linear models, with any dispersion fixed at 1."""
ROUNDING = 1e-6
"""Gradients of rows that are smaller, in units of the largest one, count as zero."""
MAX_ROUNDING = 1e-10
"""Errors of a fit that are smaller, in units of the largest target, are rounding."""
MAX_GRADIENT = 0.02
"""The largest gradient at a fit, in units of what its terms sum to in absolute value."""


class LinearFit(NamedTuple):
    """A linear model at its fit, η = A B, with the rows of the fit.

    Rows of weight 0 are not in it.
    """

    A: Float[np.ndarray, "n p"]
    """The design, a column of ones first where there is an intercept."""
    eta: Float[np.ndarray, "n k"]
    y: Float[np.ndarray, " n"]
    w: Float[np.ndarray, " n"]
    family: AbstractFamily
    """With any dispersion fixed."""
    B: Float[np.ndarray, "p k"]
    penalty: Float[np.ndarray, " p"]
    """The strength of the penalty of each coefficient, in nats of this family."""
    names: tuple[str, ...]
    first: int
    """1 where there is an intercept."""
    rows: np.ndarray
    """The numbers of the rows among those given."""

    @property
    def penalised(self) -> bool:
        """Whether there is a penalty."""
        return bool((self.penalty > 0).any())

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """A name for each coefficient, entry of η by entry of η."""
        k = self.B.shape[1]
        if k == 1:
            return self.names
        return tuple(f"{name} [{j}]" for j in range(k) for name in self.names)

    def linearised(self) -> Linearised:
        """The rows with their derivatives."""
        gradient, hessian = derivatives(self.family, self.eta, self.y)
        n, p, k = *self.A.shape, self.B.shape[1]
        J = self.A[:, None]
        if k > 1:
            J = np.einsum("kl,np->nklp", np.eye(k), self.A).reshape(n, k, k * p)
        return Linearised(J, gradient, hessian, self.w, np.tile(self.penalty, k))

    def loss(self, eta: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " n"]:
        """−log p of each row at another η, of the family with its dispersion fixed."""
        return -Predictive(self.family, eta).log_prob(self.y)

    def check_optimum(self, rows: Linearised) -> None:
        """Refuse rows at which the fit is no minimum: they are not those of the fit."""
        if isinstance(self.family, Normal):
            gap = np.abs(self.y - self.eta[:, 0]).max()
            if gap <= MAX_ROUNDING * np.abs(self.y).max():
                raise InputError(
                    "the model fits all rows exactly, so there are no errors by which to "
                    "tell the influence of rows; give more rows than coefficients, or a "
                    "penalty."
                )
        terms = self.w[:, None, None] * rows.gradient[:, :, None] * self.A[:, None]
        penalty = self.penalty[None] * self.B.T
        rounding = ROUNDING * np.abs(rows.gradient).max() * (self.w @ np.abs(self.A))
        size = np.abs(terms).sum(0) + np.abs(penalty) + rounding
        off = np.abs(terms.sum(0) + penalty) / np.where(size > 0, size, 1.0)
        if off.max() > MAX_GRADIENT:
            raise InputError(
                "the model is not at the minimum of its loss on these rows; give the X, "
                "y and sample_weight that it was fitted to, and check that it converged."
            )


def linear_fit(
    model: Any, X: Any, y: Any, sample_weight: Any = None
) -> LinearFit | None:
    """A fitted linear model with the rows of its fit; None where it is no such model.

    Models whose loss is not smooth (the lasso, quantiles) and those with other parameters
    than coefficients and a dispersion are none. Of a pipeline the last step counts.

    Args:
        model: of `likely` or scikit-learn.
        X: (n, d) inputs.
        y: (n,) targets.
        sample_weight: how often each row counts.
    """
    w = weights_of(sample_weight, len(np.asarray(y)))
    names = feature_names(X)
    last, inputs = split_last(model, X)
    if isinstance(last, LinearModel):
        return _ours(last, inputs, y, sample_weight)
    name = type(last).__name__
    if name not in SCIKIT_FAMILIES or not type(last).__module__.startswith("sklearn"):
        return None
    if inputs is not X:
        names = feature_names(inputs)
    return _scikit(last, np.asarray(dense(inputs), np.float64), np.asarray(y), w, names)


def derivatives(
    family: AbstractFamily, eta: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The first and second derivatives of the loss of each row in η.

    For gamma means the second one is its mean over y, as in Fisher's scoring.
    """
    n = len(y)
    with float64():
        rows = pad(Batch(eta, y, np.ones(n)))
        found = _curvature(family, rows.x, rows.y)
        gradient, hessian = (np.asarray(a)[:n] for a in found)
    if isinstance(family, Gamma):
        hessian = np.ones_like(hessian)
    elif isinstance(family, Tweedie):
        hessian = np.exp((2 - float(family.power)) * eta)[:, :, None]
    return gradient, hessian


@lean_jit
def _curvature(family, eta, y):
    return curvature(family, eta, y)


def _ours(
    model: LinearModel, X: Any, y: Any, sample_weight: Any = None
) -> LinearFit | None:
    if not isinstance(model.learner_, SMOOTH_LEARNERS) or model.family_.multivariate:
        return None
    copy: Any = clone(model)
    power = getattr(model, "power_", None)
    if power is not None:  # of a Tweedie family, which its fit has chosen
        copy.power_ = power
    problem = copy._problem(X, y, sample_weight)
    x, y, w = problem.batch
    known = getattr(vars(model).get("_record"), "batch", None)
    if isinstance(known, Batch) and len(known.w) == len(w):  # offsets are known there
        x = known.x
    hyper = dict(problem.hyper)
    if hasattr(model, "alpha_"):
        hyper["alpha"] = np.asarray(model.alpha_)
    if getattr(model, "separation_", None):
        return None
    X = x[0] if isinstance(x, tuple) else x
    here = np.flatnonzero(w > 0)
    k = coefficients_of(model.phi_).weight.shape[1]
    eta = eta_at(model.phi_, x)[here][:, :k]
    weight, bias, _ = coefficients_of(model.phi_)
    strength = float(model.learner_.penalty(model.phi_, hyper, w[here])[0])
    return _made(
        X[here], eta, y[here], w[here], model._unit(), weight, bias, strength,
        tuple(model._column_names()), here,
    )  # fmt: skip


def _scikit(
    model: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray, names: list[str] | None
) -> LinearFit | None:
    family = SCIKIT_FAMILIES[type(model).__name__](model)
    strength = _strength(model, w)
    if y.ndim > 1 or strength is None:
        return None
    if hasattr(model, "classes_"):
        y = codes_of(y, model.classes_, "y")
        w = class_weights(model.class_weight, model.classes_, y, w)
    here = np.flatnonzero(w > 0)
    weight = np.atleast_2d(model.coef_).T
    bias = np.atleast_1d(model.intercept_) if model.fit_intercept else None
    eta = X[here] @ weight + (0.0 if bias is None else bias)
    if names is None:
        names = feature_names(X, model) or [f"x{j}" for j in range(X.shape[1])]
    y = y[here].astype(np.float64)
    return _made(
        X[here], eta, y, w[here], family, weight, bias, strength, tuple(names), here
    )


def _strength(model: Any, w: np.ndarray) -> float | None:
    """The strength of a ridge of scikit-learn's, in nats; None where it is another penalty."""
    name = type(model).__name__
    if name == "LinearRegression":
        return 0.0
    if name.startswith("Ridge"):
        alpha = getattr(model, "alpha_", getattr(model, "alpha", None))
        return None if alpha is None or np.ndim(alpha) else float(alpha)
    if not name.startswith("Logistic"):
        return float(model.alpha) * float(w.sum())
    penalty = getattr(model, "penalty", "deprecated")
    ratio = getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 0.0))
    mixed = np.any(np.asarray(0.0 if ratio is None else ratio, float) != 0)
    if penalty in ("l1", "elasticnet") or mixed or model.solver == "liblinear":
        return None
    C = float(np.ravel(getattr(model, "C_", getattr(model, "C", np.inf)))[0])
    return 0.0 if penalty is None else 1 / C


def _made(  # noqa: PLR0917
    X, eta, y, w, family, weight, bias, strength, names, rows
) -> LinearFit:
    first = int(bias is not None)
    A = np.column_stack([np.ones(len(X)), X]) if first else np.asarray(X)
    B = weight if bias is None else np.concatenate([bias[None], weight])
    penalty = np.r_[np.zeros(first), np.full(X.shape[1], strength)]
    names = ("intercept", *names) if first else names
    return LinearFit(A, eta, y, w, family, B, penalty, names, first, rows)
