r"""The posterior of a linear model as a log density of its coefficients.

$$\log p(W, b, s \mid \text{data}) = -\sum_i w_i\, l_i(W, b, s) + \log p(W) + \mathrm{const},$$

l the loss of each row in nats as the estimator's learner has it. The penalty of the
estimator is the prior of the weights: w ~ N(0, 1/α) where it is in nats, w ~ N(0, σ²/α) for
ridge regression, Laplace for the lasso. Intercepts, and the logarithm of a scale, have a
flat prior; the dispersion 1/r of a negative binomial has the prior Exp(1), for under a flat
one its posterior may be improper. Of several classes the weights are those with sum zero
over the classes: what their sum is changes no prediction.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from scipy.linalg import helmert

from likely.core.checks import InputError
from likely.core.numerics import HALF_LOG_2PI
from likely.core.precision import float64
from likely.core.rows import pad
from likely.estimators.linear.coefficients import coefficients_of, linear_of
from likely.estimators.linear.dispersed import DispersedLearner
from likely.estimators.linear.glm import LinearLearner, SharedLearner
from likely.estimators.linear.lasso import ElasticNetLearner
from likely.estimators.linear.model import LinearModel
from likely.estimators.linear.normal import NormalLinearLearner
from likely.families import Categorical, NegativeBinomial
from likely.models import Shared

FLAT, RIDGE, LASSO, BOTH = "flat", "ridge", "lasso", "elastic net"
KNOWN = (
    DispersedLearner,
    LinearLearner,
    SharedLearner,
    NormalLinearLearner,
    ElasticNetLearner,
)


class WeightPrior(eqx.Module):
    """The prior that the penalty of an estimator stands for.

    Args:
        square: a, of −a w²/2.
        absolute: b, of −b |w|.
        kind: "flat", "ridge", "lasso" or "elastic net".
        scaled: whether a and b are in units of 1/σ².
    """

    square: Any
    absolute: Any
    kind: str = eqx.field(static=True)
    scaled: bool = eqx.field(static=True)

    def __call__(
        self, W: Float[Array | np.ndarray, "d k"], log_scale: Any
    ) -> Float[Array | np.ndarray, ""]:
        """log p(W), with its constant."""
        if self.kind == FLAT:
            return jnp.zeros(())
        unit = jnp.exp(-2 * log_scale)[None] if self.scaled else jnp.ones((1, 1))
        a, b = self.square * unit, self.absolute * unit
        if self.kind == RIDGE:
            each = 0.5 * jnp.log(a) - HALF_LOG_2PI - 0.5 * a * W**2
        elif self.kind == LASSO:
            each = jnp.log(0.5 * b) - b * jnp.abs(W)
        else:
            t = b / jnp.sqrt(a)
            log_z = jnp.log(2.0) + HALF_LOG_2PI - 0.5 * jnp.log(a)
            log_z = log_z + 0.5 * t**2 + _log_ndtr(-t)
            each = -b * jnp.abs(W) - 0.5 * a * W**2 - log_z
        return each.sum()

    @property
    def sentence(self) -> str:
        """The prior in words."""
        others = "flat for intercepts and scales"
        if self.kind == FLAT:
            return f"flat for all coefficients, {others}"
        unit = ", in units of the error scale" if self.scaled else ""
        return f"that of the {self.kind} penalty for weights{unit}, {others}"


def _log_ndtr(x: Array) -> Array:
    from jax.scipy.special import log_ndtr

    return log_ndtr(x)


class LinearTarget(eqx.Module):
    """log p(coefficients | data) of a fitted linear model.

    The free parameters are a dictionary of `weight` (d, k), `bias` (k,) and `shared`
    (entries of η that all rows share); for classes k is one less than there are.
    """

    learner: Any
    phi: Any
    batch: Any
    prior: WeightPrior
    contrast: Any
    """(k, k − 1) orthonormal columns with sum zero, for classes; else None."""

    @classmethod
    def of(cls, model: LinearModel) -> "LinearTarget":
        """The posterior of an estimator that was fitted."""
        learner, record = model.learner_, model._record
        refusal = _refusal(model)
        if refusal:
            raise InputError(refusal)
        prior = _prior_of(learner, record.hyper, record.batch.w)
        contrast = None
        if isinstance(learner.family, Categorical):
            contrast = helmert(learner.family.n_eta).T
        phi = model.phi_
        if getattr(phi, "second", None) is not None:
            phi = eqx.tree_at(lambda p: (p.second, p.means), phi, (None, None))
        return cls(learner, phi, pad(record.batch), prior, contrast)

    @property
    def start(self) -> dict[str, np.ndarray]:
        """The parameters of the fit."""
        line, shared = linear_of(self.phi), coefficients_of(self.phi).shared
        found = {"weight": np.asarray(line.weight)}
        if line.bias is not None:
            found["bias"] = np.asarray(line.bias)
        if self.contrast is not None:
            found = {name: value @ self.contrast for name, value in found.items()}
        return found | ({"shared": np.asarray(shared)} if len(shared) else {})

    def phi_at(self, free: dict[str, Array]) -> PyTree:
        """φ with these parameters."""
        full = {**free}
        if self.contrast is not None:
            for name in ("weight", "bias"):
                full |= {name: full[name] @ self.contrast.T} if name in full else {}
        phi = eqx.tree_at(lambda p: linear_of(p).weight, self.phi, full["weight"])
        if "bias" in full:
            phi = eqx.tree_at(lambda p: linear_of(p).bias, phi, full["bias"])
        if "shared" not in full:
            return phi
        if getattr(phi, "log_scale", None) is not None:
            own = full["shared"].reshape(np.shape(phi.log_scale))
            return eqx.tree_at(lambda p: p.log_scale, phi, own)
        return eqx.tree_at(lambda p: _shared_of(p).tail, phi, full["shared"])

    def __call__(self, free: dict[str, Array]) -> Float[Array | np.ndarray, ""]:
        """log p(data | φ) + log p(φ)."""
        losses = self.learner.losses(self.phi_at(free), self.batch)
        prior = self.prior(free["weight"], free.get("shared"))
        if _is_overdispersed(self.learner):  # without, r = ∞ would not be excluded
            u = free["shared"].sum()
            prior = prior - u - jnp.exp(-u)
        return prior - self.batch.w @ losses

    @property
    def log_likelihood(self) -> float:
        """log p(data | φ) of the fit, in nats."""
        with float64():
            start, batch = jax.tree.map(jnp.asarray, (self.start, self.batch))
            losses = self.learner.losses(self.phi_at(start), batch)
            return -float(batch.w @ losses)

    def eta(self, free: dict[str, Array], x: Any) -> Float[Array | np.ndarray, "n k"]:
        """η of rows."""
        return self.learner.eta(self.phi_at(free), x)

    def report(self, model: LinearModel, free: dict[str, np.ndarray]):
        """The draws in the units of the columns, (c, n, q), and their names."""
        W, bias = free["weight"], free.get("bias")
        if self.contrast is not None:
            W = W @ self.contrast.T
            bias = None if bias is None else bias @ self.contrast.T
        line, lead = linear_of(self.phi), W.shape[:-2]
        if bias is not None and line.centre is not None:
            bias = bias - np.einsum("j,...jk->...k", np.asarray(line.centre), W)
        B = W if bias is None else np.concatenate([bias[..., None, :], W], axis=-2)
        names = ([] if bias is None else ["intercept"]) + model._column_names()
        labels = _labels(model, B.shape[-1])
        found = [B[..., k].reshape(*lead, -1) for k in range(B.shape[-1])]
        named = [f"{n}{label}" for label in labels for n in names]
        if "shared" in free:
            shared, own = _named_shared(self.learner, free["shared"])
            found.append(shared)
            named += own
        return np.concatenate(found, axis=-1), named


def _is_overdispersed(learner: Any) -> bool:
    """Whether the shared number is r of a negative binomial; 1/r has the prior Exp(1)."""
    return isinstance(learner.family, NegativeBinomial)


def _refusal(model: LinearModel) -> str | None:
    name = type(model).__name__
    separated = getattr(model, "separation_", None)
    if separated:
        return (
            f"{separated} Without a prior the posterior is improper: give alpha, so "
            "that weights have one."
        )
    if not isinstance(model.learner_, KNOWN):
        return (
            f"{name} is not fitted by a likelihood with a prior whose posterior is "
            "known here; use a linear model with a family, or a small network."
        )
    return None


def _prior_of(learner: Any, hyper: dict, w: np.ndarray) -> WeightPrior:
    """The prior of the weights, from the penalty of the learner."""
    alpha, total = float(hyper.get("alpha", 0.0)), float(np.sum(w))
    if isinstance(learner, NormalLinearLearner):
        kind = RIDGE if learner.penalised and alpha > 0 else FLAT
        return WeightPrior(np.asarray(alpha), np.zeros(()), kind, True)
    if isinstance(learner, ElasticNetLearner):
        ratio = float(hyper["l1_ratio"])
        b, a = alpha * ratio * total, alpha * (1 - ratio) * total
        kind = (LASSO if a == 0 else RIDGE if b == 0 else BOTH) if alpha > 0 else FLAT
        return WeightPrior(np.asarray(a), np.asarray(b), kind, True)
    per_weight = isinstance(learner, DispersedLearner) or learner.per_weight
    a = alpha * (total if per_weight else 1.0)
    return WeightPrior(np.asarray(a), np.zeros(()), RIDGE if a > 0 else FLAT, False)


def _shared_of(phi: PyTree) -> Shared:
    model = phi.model
    while not isinstance(model, Shared):
        model = model.model
    return model


def _labels(model: LinearModel, k: int) -> list[str]:
    if k == 1:
        return [""]
    classes = getattr(model, "classes_", None)
    return [f" [{c}]" for c in (range(k) if classes is None else classes)]


def _named_shared(learner: Any, shared: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Scales and shapes themselves, where φ has their logarithms."""
    m = shared.shape[-1]
    which = [""] if m == 1 else [f" [{j}]" for j in range(m)]
    if isinstance(learner, NormalLinearLearner | ElasticNetLearner):
        return np.exp(shared), [f"scale{j}" for j in which]
    if isinstance(learner, DispersedLearner):
        return np.exp(shared), [f"{learner.fixed}{j}" for j in which]
    return shared, [f"shared{j}" for j in which]
