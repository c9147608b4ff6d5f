r"""Logistic regression, binary and multinomial."""

import warnings
from typing import Any, ClassVar, no_type_check

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin

from likely.base.labels import class_family, class_weights
from likely.base.learning import Problem, learn
from likely.base.rows import dense
from likely.base.settings import store
from likely.core.checks import InputError
from likely.estimators.linear.coefficients import coefficients_of, eta_at
from likely.estimators.linear.glm import LinearLearner, trim
from likely.estimators.linear.inference.evidence import Evidence
from likely.estimators.linear.inference.statistics import (
    likelihood_estimate,
    penalty_sentence,
    present_rows,
)
from likely.estimators.linear.model import LinearModel, alpha_of
from likely.estimators.linear.overlap import overlap_is_certain
from likely.estimators.linear.penalty import ridge_strengths, weak_strengths
from likely.estimators.linear.ridge_prior import empty_columns
from likely.estimators.linear.separation import MAX_SIZE, Separation, separation
from likely.estimators.linear.standardised import standardised
from likely.evaluate.thresholds import operating_points
from likely.families import AbstractFamily, Bernoulli
from likely.inference import Estimate
from likely.models import Linear
from likely.objectives import FirthLikelihood
from likely.solvers import LBFGS, Newton, Whitened
from likely.typing import Batch, Key, Solution, Solver

SOLVERS = {
    "lbfgs": lambda **settings: Whitened(LBFGS(search="backtracking", **settings)),
    "newton": Newton,
}
MAX_NEWTON_COEFFICIENTS = 128
"""Coefficients up to which Newton's method is the quickest."""
SEPARABLE_ALPHA = 1e-6
CERTAIN_NATS = 1e-6
"""A row with a smaller loss is a reason to look for a separation."""


class SeparationWarning(UserWarning):
    """The classes are separable: maximum likelihood does not exist."""


class FirthLearner(eqx.Module):
    """Firth's likelihood of a binary linear model, by Newton's method."""

    intercept: bool = eqx.field(static=True)
    solver: Solver = eqx.field(default_factory=lambda: Newton(tolerance=1e-11))
    family: AbstractFamily = eqx.field(default_factory=Bernoulli)
    any_coordinates: ClassVar[bool] = True

    def learn(self, key: Key, hyper: dict, batch: Batch) -> Solution[Linear]:
        """Start at zero, where the information is largest."""
        empty = empty_columns(batch.x)
        empty = jnp.concatenate([empty, jnp.zeros(1)]) if self.intercept else empty
        model = Linear.zeros(batch.x.shape[1], 1, self.intercept)
        return self.solver.minimize(FirthLikelihood(empty), model, batch, key=key)

    def losses(self, phi: Solution[Linear], batch: Batch) -> Float[Array, " n"]:
        """−log p of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    def eta(self, phi: Solution[Linear], X: Float[Array, "n d"]) -> Float[Array, "n k"]:
        """x·w + b."""
        return phi.model(X)[0]

    def trimmed(self, phi: Solution[Linear], d: int) -> Solution[Linear]:
        """φ with the weights of the first d columns."""
        return trim(phi, d)


class LogisticRegression(ClassifierMixin, LinearModel):
    r"""P(y = 1 | x) = σ(x·w + b), or softmax(x·W + b) for more than two classes.

    Minimises $\sum_i -\log p(y_i \mid x_i) + \frac{α}{2}\lVert W\rVert^2$, without penalty by
    default; the intercept is never penalised. Exact to the tolerance on the
    gradient, whatever the scales of the columns. Where a plane separates the classes
    the likelihood has no maximum: a warning names the columns.

    Args:
        alpha: strength of the penalty, w ~ N(0, 1/α), or "cv" to choose it by held-out
            nats; "auto" chooses among strengths that are safe also where a plane
            separates the classes.
        C: scikit-learn's 1/alpha; give one of the two.
        fit_intercept: whether there is a b.
        class_weight: weights of classes, a dictionary or "balanced" (each class the
            same in all), on top of `sample_weight`.
        threshold: two classes: predict the second where its probability is above this;
            "f1" or "youden" choose it on the rows of the fit.
        firth: maximise Firth's penalised likelihood instead (two classes), which is
            finite also where classes are separable.
        solver: "lbfgs" (in whitened coordinates), "newton", "auto" (the quicker one for
            so many coefficients), or a solver.
        basis: columns to make of X first.
        alphas: the strengths to choose from.
        cv: the folds to choose by; 5 by default.
        max_iter: the step limit.
        tol: stop when √(gᵀH⁻¹g) is smaller, g the gradient in nats per unit of weight and
            H the Hessian: whatever the units of the columns.

    Attributes:
        classes_: the labels, sorted.
        coef_: (1, d) or (c, d) weights, as in scikit-learn.
        intercept_: (1,) or (c,).
        threshold_: what `predict` uses, for two classes.
        separation_: the sentence about separation, or None.
        n_iter_: steps taken.
        status_: how the solver ended, a sentence.

    Examples:
        >>> X, y = np.arange(8.0)[:, None], np.array([0, 0, 1, 0, 1, 0, 1, 1])
        >>> model = lk.LogisticRegression().fit(X, y)
        >>> print(model.predict_proba([[3.5]]).round(2))
        [[0.5 0.5]]
    """

    _uncertainty = "none"
    _hyper_parameters = ("alpha", "C")
    alpha: Any
    C: Any
    fit_intercept: bool
    class_weight: Any
    threshold: Any
    firth: bool
    solver: Any
    max_iter: int
    tol: float
    separation_: str | None
    threshold_: float

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        alpha: float | str = 0.0,
        *,
        C: float | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        threshold: float | str = 0.5,
        firth: bool = False,
        solver: str | Solver = "auto",
        basis: Any = None,
        alphas: Any = None,
        cv: Any = None,
        max_iter: int = 500,
        tol: float = 1e-10,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        self._fit(X, y, sample_weight)
        self.threshold_ = self._threshold(self._record.batch)
        return self

    # Fitting ---------------------------------------------------------------------------

    def _learner(self, y: np.ndarray) -> LinearLearner | FirthLearner:
        c = len(self.classes_)
        if self.firth:
            if c > 2:
                raise InputError(
                    f"firth=True is for two classes, and y has {c}; use alpha instead."
                )
            return FirthLearner(bool(self.fit_intercept))
        solver = self._solver(min(self.n_features_in_, len(y)))
        return LinearLearner(class_family(c), solver, bool(self.fit_intercept))

    def _solver(self, columns: int) -> Any:
        name = self.solver
        if not isinstance(name, str):
            return name
        if name == "auto":
            several = len(self.classes_) if len(self.classes_) > 2 else 1
            name = "newton" if columns * several <= MAX_NEWTON_COEFFICIENTS else "lbfgs"
        if name not in SOLVERS:
            known = ["auto", *SOLVERS]
            raise InputError(f"solver is {name!r}; give one of {known}.")
        return SOLVERS[name](max_steps=self.max_iter, tolerance=self.tol)

    def _hyper(self) -> dict[str, np.ndarray]:
        alpha = alpha_of(self.alpha, ("cv", "auto"))
        if self.C is not None:
            if alpha:
                raise InputError("alpha and C are both given; C is 1/alpha: give one.")
            if not self.C > 0:
                raise InputError(f"C is {self.C}; give a number above 0.")
            alpha = np.asarray(1 / self.C)
        if self.firth and alpha:
            raise InputError("firth=True has a penalty of its own; leave alpha at 0.")
        return {"alpha": alpha}

    def _strengths(self, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        if self.alpha == "auto":
            return weak_strengths(X, w)
        return ridge_strengths(X, w, per_weight=False)

    def _weights(self, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        return class_weights(self.class_weight, self.classes_, y, w)

    def _revised(
        self, phi, key: Key, hyper: dict, problem: Problem
    ) -> Solution[Linear]:
        """Where a plane separates the classes there is no maximum: warn, and penalise.

        A separation shows in rows that are as good as certain. A fit that is close to a
        minimum proves that there is none (`overlap`); where there is no proof, a linear
        program decides. A slight penalty makes the answer unique.
        """
        self.separation_, batch = None, problem.batch
        if hyper["alpha"] > 0 or self.firth:
            return phi
        found = self._separation(phi, present_rows(batch))
        if found is None:
            return phi
        alpha = SEPARABLE_ALPHA * batch.w.sum()
        self.separation_ = self._sentence(*found)
        warnings.warn(
            f"{self.separation_} The fit uses alpha = {alpha:.3g}, and its probabilities "
            'are too certain: give alpha="auto" (a penalty by held-out rows), alpha '
            "yourself, or firth=True.",
            SeparationWarning,
            stacklevel=5,
        )
        newton = Newton(max_steps=500, tolerance=1e-14)
        exact = LinearLearner(self.family_, newton, bool(self.fit_intercept))
        if getattr(problem.learner, "orthonormal", False):
            exact = problem.learner.around(exact)
        else:
            exact = standardised(exact, batch.x, batch.w, raw_penalty=False)
        return learn(exact, key, {"alpha": np.asarray(alpha)}, batch)

    def _separation(self, phi, rows: Batch) -> Separation | None:
        """What separates the classes, or None where nothing does."""
        X, y, w = rows
        eta, intercept = eta_at(phi, X), bool(self.fit_intercept)
        right = bool((_mode(eta) == y).all())
        if issparse(X) and right:
            return Separation(True, [])
        if issparse(X) and X.shape[0] * X.shape[1] > MAX_SIZE:
            return None
        if not right and not _losses(eta, y).min() < CERTAIN_NATS:
            return None
        X, several = dense(X), len(self.classes_)
        if not right and overlap_is_certain(X, y, w, eta, intercept=intercept):
            return None
        found = separation(X, y, several, intercept=intercept, complete=right)
        return Separation(True, []) if found is None and right else found

    def _sentence(self, complete: bool, columns: list[int]) -> str:
        names = self._column_names()
        how = "a plane separates the classes"
        if not complete:
            how = "a plane separates the classes up to rows that lie on it (quasi-complete)"
        by = ", ".join(names[j] for j in columns[:10])
        more = " and others" if len(columns) > 10 else ""
        by = f", by {by}{more}" if columns else ""
        return (
            f"{how}{by}, so the likelihood has no maximum and larger weights are always "
            "likelier."
        )

    def _publish(self, phi: Solution[Linear]) -> None:
        weight, bias, _ = coefficients_of(phi)
        self.coef_ = weight.T
        self.intercept_ = np.zeros(len(self.coef_)) if bias is None else bias

    def _threshold(self, batch: Batch) -> float:
        two = len(self.classes_) == 2
        if not two and self.threshold != 0.5:
            raise InputError(
                f"threshold is {self.threshold}, which is for two classes; y has "
                f"{len(self.classes_)}."
            )
        if isinstance(self.threshold, str):
            x, y, w = (a[batch.w > 0] for a in batch)
            return operating_points(y, self._at(x).probs[:, 1], w).best(self.threshold)
        if not 0 <= self.threshold <= 1:
            raise InputError(f"threshold is {self.threshold}; give one from 0 to 1.")
        return float(self.threshold)

    # Prediction ------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """x·W + b: the log-odds of the second class, or one column a class."""
        eta = self.predict_dist(X).eta
        return eta[:, 0] if eta.shape[1] == 1 else eta

    def _decide(self, X: Any) -> np.ndarray:
        """The most probable class; of two, by the threshold."""
        probs, threshold = self._probs(X), getattr(self, "threshold_", 0.5)
        if len(self.classes_) > 2 or threshold == 0.5:
            return probs.argmax(1)
        return (probs[:, 1] > threshold).astype(int)

    # Inference -------------------------------------------------------------------------

    def _refusal(self, errors: str) -> str | None:
        separated = getattr(self, "separation_", None)
        if separated:
            return f"{separated} So there are no standard errors; firth=True has finite ones."
        if self.class_weight is not None and errors == "model":
            return (
                "class_weight makes up observations that were not made, so model-based "
                'errors do not hold; ask for errors="HC0" or "bootstrap".'
            )
        return penalty_sentence(self)

    def _notes(self) -> list[str]:
        notes = []
        if len(self.classes_) > 2:
            notes.append(f"log-odds against class {self.classes_[0]}")
        if self.firth:
            notes.append("Firth's penalised likelihood; Wald tests")
        return notes

    def _unit(self) -> AbstractFamily:
        return self.family_

    def _coefficient_names(self) -> list[str]:
        names = super()._coefficient_names()
        if len(self.classes_) == 2:
            return names
        return [f"{name} [{c}]" for c in self.classes_[1:] for name in names]

    def _table_order(self, phi: Any) -> np.ndarray:
        weight, bias, _ = coefficients_of(phi)
        B = weight if bias is None else np.concatenate([bias[None], weight])
        return B[:, 0] if B.shape[1] == 1 else (B[:, 1:] - B[:, :1]).T.ravel()

    def _estimate(self, evidence: Evidence) -> Estimate:
        p, k = evidence.p, evidence.free
        return likelihood_estimate(
            self,
            evidence,
            evidence.unscaled(),
            slopes=np.tile(np.arange(p) >= self._first, k),
            n_counted=p * k,
        )


def _losses(eta: np.ndarray, y: np.ndarray) -> np.ndarray:
    """−log p of each row's own class."""
    if eta.shape[1] == 1:
        return np.logaddexp(0.0, np.where(y == 1, -eta[:, 0], eta[:, 0]))
    own = np.take_along_axis(eta, y.astype(int)[:, None], 1)[:, 0]
    return np.logaddexp.reduce(eta, axis=1) - own


def _mode(eta: np.ndarray) -> np.ndarray:
    """The class that ranks first."""
    return (eta[:, 0] > 0).astype(int) if eta.shape[1] == 1 else eta.argmax(1)
