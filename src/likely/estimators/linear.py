r"""Linear regression, plain and ridge: y | x ~ N(x·w + b, σ²) (D1-D4, D7, D8)."""

from typing import Any, no_type_check

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from likely.core.linalg import lstsq
from likely.core.rows import pad, weighted_mean
from likely.estimators.collinearity import warn_collinear
from likely.estimators.shell import AbstractRegressor, learn, nonnegative
from likely.families import Normal
from likely.models import Linear, Shared
from likely.solvers import ridge, ridge_folds
from likely.typing import Batch, Key


class NormalLinear(eqx.Module):
    """φ of a normal linear model: the line, log σ, and whether it was determined."""

    model: Linear
    log_scale: Float[Array | np.ndarray, "*batch"]
    singular: Bool[Array | np.ndarray, "*batch"]


class NormalLinearLearner(eqx.Module):
    r"""argmin of $\sum_i w_i (y_i - x_i·w - b)^2 + α\lVert w\rVert^2$, then σ² by likelihood.

    Both are the recipe's: a normal family at any σ, prior w ~ N(0, σ²/α). Exact, by
    one decomposition for all α, or by QR where there is no penalty.
    """

    penalised: bool = eqx.field(static=True)
    intercept: bool = eqx.field(static=True)
    decomposition: str = eqx.field(static=True, default="qr")
    family: Normal = Normal()

    def learn(self, key: Key, hyper: dict, batch: Batch) -> NormalLinear:
        """The line with its learned scale."""
        X, y, w = batch.x, batch.y, batch.w
        singular = jnp.asarray(False)
        if self.penalised:
            found = ridge(X, y[:, None], w, hyper["alpha"], intercept=self.intercept)
            model = Linear(*found) if self.intercept else Linear(found[0], None)
        else:
            model = Linear.zeros(X.shape[1], 1, self.intercept)
            A = model.design(X)
            nothing = jnp.zeros(A.shape[1], A.dtype)
            found = lstsq(A, y[:, None], w, nothing, decomposition=self.decomposition)
            B, singular = found
            model = model.with_coefficients(B)
        residual = y - model(X)[0][:, 0]
        variance = jnp.maximum(weighted_mean(residual**2, w), jnp.finfo(y.dtype).tiny)
        return NormalLinear(model, 0.5 * jnp.log(variance), singular)

    @property
    def leaves_out(self) -> bool:
        """Ridge regression has a shorter way to leave parts out: its moments subtract."""
        return self.penalised

    def leave_out(
        self, hypers: dict, parts: Batch
    ) -> tuple[NormalLinear, Float[Array, "m j"]]:
        """The line without each part, for every α, and the held-out nats."""
        found = ridge_folds(
            parts.x, parts.y, parts.w, hypers["alpha"], intercept=self.intercept
        )
        log_scale = 0.5 * jnp.log(found.variance)
        nats = 0.5 * (found.error / found.variance + jnp.log(2 * jnp.pi)) + log_scale

        def one(weight, bias, log_scale) -> NormalLinear:
            model = Linear(weight[:, None], bias[None] if self.intercept else None)
            return NormalLinear(model, log_scale, jnp.asarray(False))

        return jax.vmap(jax.vmap(one))(found.weight, found.bias, log_scale), nats

    def losses(self, phi: NormalLinear, batch: Batch) -> Float[Array, " n"]:
        """½(r/σ)² + log σ + ½ log 2π, with one σ for all rows."""
        r = batch.y - phi.model(batch.x)[0][:, 0]
        square = jnp.exp(-2 * phi.log_scale)
        return 0.5 * (r**2 * square + jnp.log(2 * jnp.pi)) + phi.log_scale

    def eta(self, phi: NormalLinear, X: Float[Array, "n d"]) -> Float[Array, "n 2"]:
        """(x·w + b, log σ)."""
        return Shared(phi.model, jnp.asarray(phi.log_scale)[None])(X)[0]


class LinearRegression(AbstractRegressor):
    r"""Least squares: y | x ~ N(x·w + b, σ²) by maximum likelihood.

    $\hat w = (X^\top X)^{-1}X^\top y$ with a column of ones, computed by QR in float64; σ² is
    the mean squared residual. Where columns are dependent, the solution of least norm.

    Args:
        fit_intercept: whether there is a b.

    Attributes:
        coef_: (d,) w.
        intercept_: b.
        scale_: σ.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, *, fit_intercept: bool = True):
        self.fit_intercept = fit_intercept

    def _learner(self, y: np.ndarray) -> NormalLinearLearner:
        return NormalLinearLearner(penalised=False, intercept=bool(self.fit_intercept))

    def _hyper(self) -> dict[str, np.ndarray]:
        return {}

    def _revise(self, phi: NormalLinear, key: Key, hyper: dict, batch: Batch):
        """Where columns are dependent: name them, and take the least norm."""
        if not np.asarray(phi.singular):
            return phi
        intercept = bool(self.fit_intercept)
        names = getattr(self, "feature_names_in_", None)
        warn_collinear(batch.x[batch.w > 0], names, intercept)
        least = NormalLinearLearner(
            penalised=False, intercept=intercept, decomposition="svd"
        )
        return learn(least, key, hyper, pad(batch))

    def _publish(self, phi: NormalLinear) -> None:
        _publish(self, phi)


class Ridge(AbstractRegressor):
    r"""Ridge regression: y | x ~ N(x·w + b, σ²) with prior w ~ N(0, σ²/α).

    $\hat w = (X^\top X + αI)^{-1}X^\top y$ on centred data: the minimiser of
    $\lVert y - Xw - b\rVert^2 + α\lVert w\rVert^2$, as in scikit-learn. (Notes that print this
    closed form under the objectives $\frac{2}{n}\lVert\cdot\rVert^2 + \frac{λ}{2}\lVert
    w\rVert^2$ or $\frac{1}{2n}\lVert\cdot\rVert^2 + λ\lVert w\rVert^2$ would need nλ/4 or 2nλ
    in the place of α.)

    Args:
        alpha: strength of the penalty; the intercept is not penalised.
        fit_intercept: whether there is a b.

    Attributes:
        coef_: (d,) w.
        intercept_: b.
        scale_: σ.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, alpha: float = 1.0, *, fit_intercept: bool = True):
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    def _learner(self, y: np.ndarray) -> NormalLinearLearner:
        return NormalLinearLearner(penalised=True, intercept=bool(self.fit_intercept))

    def _hyper(self) -> dict[str, np.ndarray]:
        return {"alpha": np.asarray(nonnegative("alpha", self.alpha))}

    def _publish(self, phi: NormalLinear) -> None:
        _publish(self, phi)


def _publish(estimator: Any, phi: NormalLinear) -> None:
    """coef_, intercept_ and scale_."""
    linear = phi.model
    estimator.coef_ = linear.weight[:, 0]
    estimator.intercept_ = 0.0 if linear.bias is None else float(linear.bias[0])
    estimator.scale_ = float(np.exp(phi.log_scale))
