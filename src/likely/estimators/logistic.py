r"""Logistic regression, binary and multinomial (D14-D16)."""

import warnings
from typing import Any, no_type_check

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.core.rows import pad, pad_rows
from likely.estimators.shell import AbstractClassifier, eta_of, learn, nonnegative
from likely.families import AbstractFamily, Bernoulli, Categorical, Predictive
from likely.models import Linear
from likely.objectives import GaussianPrior, NegativeLogLikelihood
from likely.solvers import LBFGS, Newton, Whitened
from likely.typing import Batch, Key, Solution, Solver

SOLVERS = {
    "lbfgs": lambda **settings: Whitened(LBFGS(search="backtracking", **settings)),
    "newton": Newton,
}


SEPARABLE_ALPHA = 1e-6


class SeparationWarning(UserWarning):
    """The classes are separable: maximum likelihood does not exist."""


class LinearLearner(eqx.Module):
    """The recipe for a linear model: family, prior w ~ N(0, 1/α), solver."""

    family: AbstractFamily
    solver: Solver
    intercept: bool = eqx.field(static=True)

    def learn(self, key: Key, hyper: dict, batch: Batch) -> Solution[Linear]:
        """Start at the null model and minimise."""
        k = self.family.n_eta
        start = self.family.marginal(batch.y, batch.w) if self.intercept else False
        model = Linear.zeros(batch.x.shape[1], k, start)
        prior = GaussianPrior(jnp.asarray(hyper["alpha"]))
        objective = NegativeLogLikelihood.of(self.family, batch, prior)
        found = self.solver.minimize(objective, model, batch, key=key)
        if not isinstance(self.family, Categorical):
            return found
        B = found.model.coefficients  # a constant added to all classes changes nothing
        centred = found.model.with_coefficients(B - B.mean(1, keepdims=True))
        return eqx.tree_at(lambda s: s.model, found, centred)

    def losses(self, phi: Solution[Linear], batch: Batch) -> Float[Array, " n"]:
        """−log p of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    def eta(self, phi: Solution[Linear], X: Float[Array, "n d"]) -> Float[Array, "n k"]:
        """x·W + b."""
        return phi.model(X)[0]


class LogisticRegression(AbstractClassifier):
    r"""P(y = 1 | x) = σ(x·w + b), or softmax(x·W + b) for more than two classes.

    Minimises $\sum_i -\log p(y_i \mid x_i) + \frac{α}{2}\lVert W\rVert^2$, without penalty by
    default; the intercept is never penalised. Exact to the tolerance on the
    gradient, whatever the scales of the columns.

    Args:
        alpha: strength of the penalty; w ~ N(0, 1/α).
        C: scikit-learn's 1/alpha; give one of the two.
        fit_intercept: whether there is a b.
        solver: "lbfgs" (in whitened coordinates) or "newton", or a solver.
        max_iter: the step limit.
        tol: the largest entry of the gradient, in nats per unit of weight.

    Attributes:
        classes_: the labels, sorted.
        coef_: (1, d) or (c, d) weights, as in scikit-learn.
        intercept_: (1,) or (c,).
        n_iter_: steps taken.
        status_: how the solver ended, a sentence.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        alpha: float = 0.0,
        *,
        C: float | None = None,
        fit_intercept: bool = True,
        solver: str | Solver = "lbfgs",
        max_iter: int = 500,
        tol: float = 1e-10,
    ):
        self.alpha = alpha
        self.C = C
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol

    def _learner(self, y: np.ndarray) -> LinearLearner:
        c = len(self.classes_)
        family = Bernoulli() if c == 2 else Categorical(c)
        return LinearLearner(family, self._solver(), bool(self.fit_intercept))

    def _solver(self) -> Any:
        if not isinstance(self.solver, str):
            return self.solver
        if self.solver not in SOLVERS:
            raise InputError(f"solver is {self.solver!r}; give one of {list(SOLVERS)}.")
        return SOLVERS[self.solver](max_steps=self.max_iter, tolerance=self.tol)

    def _hyper(self) -> dict[str, np.ndarray]:
        alpha = nonnegative("alpha", self.alpha)
        if self.C is not None:
            if alpha:
                raise InputError("alpha and C are both given; C is 1/alpha: give one.")
            if not self.C > 0:
                raise InputError(f"C is {self.C}; give a number above 0.")
            alpha = 1 / self.C
        return {"alpha": np.asarray(alpha)}

    def _revise(self, phi, key: Key, hyper: dict, batch: Batch) -> Solution[Linear]:
        """Where a plane separates the classes there is no maximum: say so, and lean.

        Any model that ranks every row's own class first shows the separation: larger
        weights are likelier without end. A slight penalty makes the answer unique.
        """
        if hyper["alpha"] > 0:
            return phi
        eta = np.asarray(eta_of(self.learner_, phi, pad_rows(batch.x)))[: len(batch.y)]
        own = (Predictive(self.family_, eta).mode == batch.y) | (batch.w == 0)
        if not np.all(own):
            return phi
        lean = SEPARABLE_ALPHA * batch.w.sum()
        warnings.warn(
            "a plane separates the classes, so the likelihood has no maximum and "
            "larger weights are always likelier; the fit uses alpha = "
            f"{lean:.3g}. Give alpha yourself to say how large weights may be.",
            SeparationWarning,
            stacklevel=4,
        )
        exact = LinearLearner(self.family_, Newton(tolerance=1e-14), self.fit_intercept)
        return learn(exact, key, {"alpha": np.asarray(lean)}, pad(batch))

    def _publish(self, phi: Solution[Linear]) -> None:
        self.coef_ = phi.model.weight.T
        k = len(self.coef_)
        self.intercept_ = np.zeros(k) if phi.model.bias is None else phi.model.bias

    def decision_function(self, X: Any) -> np.ndarray:
        """x·W + b: the log-odds of the second class, or one column a class."""
        eta = self.predict_dist(X).eta
        return eta[:, 0] if eta.shape[1] == 1 else eta
