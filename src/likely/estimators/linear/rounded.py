r"""Classes as rounded numbers: the baseline that shows a false order.

Classes 0, ..., c−1 are regressed as if they were numbers, and the prediction is
rounded. As a distribution, a normal cut at the half-integers:
$P(y = j) = Φ\bigl(\frac{j + 1/2 - μ}{σ}\bigr) - Φ\bigl(\frac{j - 1/2 - μ}{σ}\bigr)$, the
outer classes reaching to infinity. Between classes 0 and 2 the model must pass
through class 1, whatever class 1 means; `LogisticRegression` has no such order.
"""

from typing import Any, ClassVar, no_type_check

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float
from sklearn.base import ClassifierMixin

from likely.base.labels import class_distribution, class_family
from likely.base.learning import Problem, learn
from likely.base.predictor import Predictor
from likely.base.settings import store
from likely.core.precision import float64
from likely.core.random import key_of
from likely.core.rows import pad_rows
from likely.estimators.linear.coefficients import eta_at
from likely.estimators.linear.normal import NormalLinear, NormalLinearLearner
from likely.estimators.linear.standardised import plain_learner, standardised
from likely.families import AbstractFamily, Categorical, Predictive
from likely.typing import Batch, Key


class RoundedLearner(eqx.Module):
    """Least squares on class numbers, read as a distribution over classes."""

    family: Categorical
    line: NormalLinearLearner
    any_coordinates: ClassVar[bool] = False

    @property
    def intercept(self) -> bool:
        """Whether the line has one."""
        return self.line.intercept

    def learn(self, key: Key, hyper: dict, batch: Batch) -> NormalLinear:
        """The line through the class numbers."""
        return self.line.learn(key, hyper, batch)

    def losses(self, phi: NormalLinear, batch: Batch) -> Float[Array, " n"]:
        """−log p of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    def eta(self, phi: NormalLinear, X: Float[Array, "n d"]) -> Float[Array, "n c"]:
        """Log-probabilities of the cells between half-integers."""
        return self.cells(self.line.eta(phi, X))

    def trimmed(self, phi: NormalLinear, d: int) -> NormalLinear:
        """φ with the weights of the first d columns."""
        return self.line.trimmed(phi, d)

    def cells(self, line: Float[Array, "n 2"]) -> Float[Array, "n c"]:
        """Log-probabilities of the cells, from (x·w + b, log σ)."""
        loc, log_scale = jnp.split(line, 2, axis=1)
        cuts = jnp.arange(1, self.family.n_eta, dtype=loc.dtype) - 0.5
        z = (cuts[None] - loc) / jnp.exp(log_scale)
        below, above = norm.logcdf(z), norm.logcdf(-z)  # (n, c-1)
        ends = jnp.zeros_like(loc)
        none = jnp.full_like(loc, -jnp.inf)
        # log P(low < y ≤ high), from the tail in which the cell lies
        low_side = _log_difference(
            jnp.concatenate([below, ends], 1), jnp.concatenate([none, below], 1)
        )
        high_side = _log_difference(
            jnp.concatenate([ends, above], 1), jnp.concatenate([above, none], 1)
        )
        cells = jnp.arange(self.family.n_eta, dtype=loc.dtype)[None]
        log_p = jnp.where(cells < loc, low_side, high_side)
        return jnp.maximum(log_p, jnp.log(jnp.finfo(loc.dtype).tiny))


class RoundedRegression(ClassifierMixin, Predictor):
    """A classifier that regresses the class number and rounds: a baseline.

    The classes are numbered in sorted order, and that order is taken at face value.

    Args:
        fit_intercept: whether the line has an intercept.

    Attributes:
        classes_: the labels, sorted.

    Examples:
        >>> X, y = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 2])
        >>> print(lk.RoundedRegression().fit(X, y).predict(X))
        [0 0 1 1 2 2]
    """

    fit_intercept: bool
    learner_: RoundedLearner
    phi_: NormalLinear

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, *, fit_intercept: bool = True):
        store(self, locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # that is the point
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "RoundedRegression":
        """Fit the line through the class numbers.

        Args:
            X: (n, d) inputs.
            y: (n,) classes.
            sample_weight: how often each row counts.
        """
        problem = self._problem(X, y, sample_weight)
        self.learner_ = plain_learner(problem.learner)
        self.phi_ = learn(problem.learner, key_of(0), {}, problem.batch)
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """The probabilities of the cells around the class numbers."""
        X = self._inputs(X)
        with float64(work=0.0):
            line = pad_rows(eta_at(self.phi_, X))
            eta = np.asarray(_cells(self.learner_, line))[: len(X)]
        return class_distribution(eta, self.classes_)

    @property
    def family_(self) -> AbstractFamily:
        """The family of p(y | x)."""
        return class_family(len(self.classes_))

    def _problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        rows = self._rows(X, y, sample_weight)
        intercept = bool(self.fit_intercept)
        line = NormalLinearLearner(False, intercept, decomposition="svd")
        learner = RoundedLearner(Categorical(len(self.classes_)), line)
        learner = standardised(learner, rows.X, rows.w)
        return Problem(learner, self._hyper(), rows.batch)

    def _hyper(self) -> dict[str, np.ndarray]:
        return {}


@eqx.filter_jit
def _cells(learner: Any, line):
    return learner.cells(jnp.asarray(line))


def _log_difference(
    a: Float[Array, "n c"], b: Float[Array, "n c"]
) -> Float[Array, "n c"]:
    """log(e^a − e^b) for a ≥ b."""
    gap = jnp.minimum(b - a, 0.0)
    return a + jnp.log(-jnp.expm1(jnp.where(gap < 0, gap, -jnp.inf)))
