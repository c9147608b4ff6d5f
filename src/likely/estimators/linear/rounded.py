r"""Classes as rounded numbers: the baseline that shows a false order.

Classes 0, ..., c−1 are regressed as if they were numbers, and the prediction is
rounded. As a distribution, a normal cut at the half-integers:
$P(y = j) = Φ\bigl(\frac{j + 1/2 - μ}{σ}\bigr) - Φ\bigl(\frac{j - 1/2 - μ}{σ}\bigr)$, the
outer classes reaching to infinity. Between classes 0 and 2 the model must pass
through class 1, whatever class 1 means; `LogisticRegression` has no such order.
"""

from typing import Any, no_type_check

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from likely.core.precision import float64
from likely.core.rows import pad_rows
from likely.estimators.linear.model import parts_of
from likely.estimators.linear.normal import NormalLinear, NormalLinearLearner
from likely.estimators.shell import AbstractClassifier
from likely.families import Categorical
from likely.typing import Batch, Key


class RoundedLearner(eqx.Module):
    """Least squares on class numbers, read as a distribution over classes."""

    family: Categorical
    line: NormalLinearLearner

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
        """The same from (x·w + b, log σ)."""
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


class RoundedRegression(AbstractClassifier):
    """A classifier that regresses the class number and rounds: a baseline.

    The classes are numbered in sorted order, and that order is taken at face value.

    Args:
        fit_intercept: whether the line has an intercept.

    Attributes:
        classes_: the labels, sorted.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, *, fit_intercept: bool = True):
        self.fit_intercept = fit_intercept

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # that is the point
        return tags

    def _learner(self, y: np.ndarray) -> RoundedLearner:
        intercept = bool(self.fit_intercept)
        line = NormalLinearLearner(False, intercept, decomposition="svd")
        return RoundedLearner(Categorical(len(self.classes_)), line)

    def _hyper(self) -> dict[str, np.ndarray]:
        return {}

    def _eta(self, X: np.ndarray) -> np.ndarray:
        weight, bias, tail = parts_of(self.phi_)
        loc = X @ weight + (0.0 if bias is None else bias)
        line = np.column_stack([loc, np.full(len(X), tail[0])])
        with float64():
            return np.asarray(_cells(self.learner_, pad_rows(line)))[: len(X)]

    def _publish(self, phi: NormalLinear) -> None:
        self.coef_ = phi.model.weight[:, 0]


@eqx.filter_jit
def _cells(learner: Any, line):
    return learner.cells(jnp.asarray(line))


def _log_difference(
    a: Float[Array, "n c"], b: Float[Array, "n c"]
) -> Float[Array, "n c"]:
    """log(e^a − e^b) for a ≥ b."""
    gap = jnp.minimum(b - a, 0.0)
    return a + jnp.log(-jnp.expm1(jnp.where(gap < 0, gap, -jnp.inf)))
