r"""The perceptron: a threshold neuron that learns from its mistakes.

$1[w·x + b \ge 0]$, and for each row on the wrong side $w \leftarrow w \pm x$. Here all mistakes
of a pass move w at once, each as often as its weight says, so the order of rows does not matter
and w=2 is exactly "this row twice". Where a plane separates the classes some pass makes no
mistake; elsewhere the passes go on, and the best weights seen are kept (the pocket).

There is no distribution here, so there are no probabilities.
"""

from typing import Any, no_type_check

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from likely.base.learning import learn
from likely.base.predictor import Predictor, distributes
from likely.base.settings import store
from likely.core.random import key_of
from likely.core.rows import weighted_mean
from likely.estimators.linear.glm import trim
from likely.models import Linear
from likely.solvers.settings import Whole, as_whole, whole
from likely.typing import (
    PARAMETERS,
    STEP_LIMIT,
    Batch,
    Key,
    Solution,
    Status,
    Trace,
)


class PerceptronLearner(eqx.Module):
    """Batch perceptron with a pocket; one row of weights a class, the best score wins."""

    classes: int = eqx.field(static=True)
    intercept: bool = eqx.field(static=True)
    max_passes: Whole = whole(1000)
    family: None = None

    def learn(self, key: Key, hyper: dict, batch: Batch) -> Solution[Linear]:
        """Passes until no row is on the wrong side."""
        X, w = batch.x, batch.w / batch.w.sum()
        mean = weighted_mean(X, w) if self.intercept else jnp.zeros(X.shape[1])
        spread = jnp.sqrt(weighted_mean((X - mean[None]) ** 2, w))
        spread = jnp.where(spread > 0, spread, 1.0)
        A = (X - mean[None]) / spread[None]
        A = jnp.concatenate([A, jnp.full((len(w), 1), float(self.intercept))], 1)
        own = jax.nn.one_hot(batch.y.astype(int), self.classes, dtype=A.dtype)

        def mistakes(W):
            """The other class that scores best, where it scores as well as one's own."""
            score = A @ W
            right = jnp.sum(own * score, 1)
            rival = jnp.where(own > 0, -jnp.inf, score)
            wrong = rival.max(1) >= right
            return wrong, jax.nn.one_hot(rival.argmax(1), self.classes, dtype=A.dtype)

        def one_pass(state):
            W, best, error, k = state
            wrong, rival = mistakes(W)
            now = w @ wrong.astype(A.dtype)
            better = now < error
            best, error = jnp.where(better, W, best), jnp.where(better, now, error)
            push = (w * wrong)[:, None] * (own - rival)
            return W + (push.T @ A).T, best, error, k + 1

        zero = jnp.zeros((A.shape[1], self.classes), A.dtype)
        start = (zero, zero, jnp.asarray(jnp.inf), jnp.asarray(0))
        _, W, error, k = jax.lax.while_loop(
            lambda s: (s[2] > 0) & (s[3] < self.max_passes), one_pass, start
        )
        weight = W[:-1] / spread[:, None]
        bias = W[-1] - mean @ weight if self.intercept else None
        blank = jnp.full(1, jnp.nan)
        status = Status(jnp.where(error > 0, STEP_LIMIT, PARAMETERS), k, error)
        trace = Trace(blank, blank, blank)
        return Solution(Linear(weight, bias), None, error, trace, status)

    def losses(self, phi: Solution[Linear], batch: Batch) -> Float[Array, " n"]:
        """1 for each row on the wrong side."""
        return (self.eta(phi, batch.x).argmax(1) != batch.y).astype(batch.w.dtype)

    def eta(self, phi: Solution[Linear], X: Float[Array, "n d"]) -> Float[Array, "n c"]:
        """The score of each class."""
        return phi.model(X)[0]

    def trimmed(self, phi: Solution[Linear], d: int) -> Solution[Linear]:
        """φ with the weights of the first d columns."""
        return trim(phi, d)


class Perceptron(ClassifierMixin, Predictor):
    """A linear threshold unit (one for each class, if there are more than two).

    Args:
        fit_intercept: whether there is a b.
        max_iter: the most passes over the rows.

    Attributes:
        classes_: the labels, sorted.
        coef_: (1, d) or (c, d) weights.
        intercept_: (1,) or (c,).
        mistakes_: the share of the weight that is on the wrong side.

    Examples:
        >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> print(lk.Perceptron().fit(X, [0, 0, 0, 1]).predict(X))
        [0 0 0 1]
    """

    fit_intercept: bool
    max_iter: int

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, *, fit_intercept: bool = True, max_iter: int = 1000):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Perceptron":
        """Go through the rows until none is on the wrong side, or `max_iter` times.

        Args:
            X: (n, d) inputs.
            y: (n,) classes.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight)
        c, intercept = len(self.classes_), bool(self.fit_intercept)
        self.learner_ = PerceptronLearner(c, intercept, as_whole(self.max_iter))
        phi = learn(self.learner_, key_of(0), {}, rows.batch)
        W, b = phi.model.weight, phi.model.bias
        b = np.zeros(W.shape[1]) if b is None else b
        if c == 2:
            W, b = W[:, 1:] - W[:, :1], b[1:] - b[:1]
        self.phi_, self.coef_, self.intercept_ = phi, W.T, b
        self.n_iter_, self.mistakes_ = int(phi.status.steps), float(phi.loss)
        return self

    def _without_distribution(self) -> str:
        return "Perceptron gives signs, not probabilities; use LogisticRegression."

    @available_if(distributes)
    def predict_dist(self, X: Any) -> Any:
        """There is none: a perceptron gives signs."""

    def decision_function(self, X: Any) -> np.ndarray:
        """w·x + b: above 0 is the second class; or one score a class."""
        score = self._inputs(X) @ self.coef_.T + self.intercept_
        return score[:, 0] if score.shape[1] == 1 else score

    def _decide(self, X: Any) -> np.ndarray:
        score = self.decision_function(X)
        return (score > 0).astype(int) if score.ndim == 1 else score.argmax(1)
