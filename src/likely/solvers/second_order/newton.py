r"""Newton's method: steps to the minimum of the second-order Taylor polynomial.

$$f(x + d) \approx f + g^\top d + \tfrac12 d^\top H d, \qquad d = -H^{-1} g,$$

with d halved until the loss decreases enough. Where H is not positive definite the polynomial has
no minimum, and a positive definite matrix takes its place: H with the absolute values
of its eigenvalues, or H plus a shift. So d descends also near saddles.

For a `LinearModel` under a `Separable` objective with row losses $l_i(η_i)$, η = AB, the
Hessian is $A^\top \operatorname{diag}(w\,l'')\,A$ plus that of the penalty: iteratively
reweighted least squares. Entries of η that all rows share (a scale, thresholds) are columns
of ones of their own. Any other model gets its Hessian from automatic differentiation.
"""

from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.linalg import weighted_gram
from likely.solvers.flat import flatten, value_and_gradient
from likely.solvers.full_batch import AbstractFullBatch
from likely.solvers.second_order.descent import AbstractMethod, Proposal, Rules, descend
from likely.solvers.second_order.line_search import Point
from likely.solvers.second_order.pointwise import curvature
from likely.solvers.settings import Real, Whole
from likely.typing import Batch, LinearModel, SharedModel, Solution, State

SECOND_SHIFT = 1e-3
"""What is added to the Hessian, of unit diagonal, after a line search that failed."""


class Newton(AbstractFullBatch):
    """Damped Newton steps, for as many parameters as a dense Hessian allows.

    Args:
        max_steps: the step limit.
        tolerance: stop when √(gᵀH⁻¹g) is smaller; half its square is the decrease to come.
        path: whether the trace keeps the parameters of each step.
    """

    rules: Rules

    def __init__(
        self,
        max_steps: int | Whole = 100,
        tolerance: float | Real = 1e-10,
        *,
        path: bool = False,
    ):
        self.rules = Rules(max_steps, tolerance, "backtracking", path)

    def trace_length(self) -> int:
        """The number of points of the trace."""
        return self.rules.capacity

    def solve(
        self, objective, model, data: Batch, *, key, state, capacity: int
    ) -> Solution:
        """Newton steps until there is a reason to stop."""
        separable = callable(getattr(objective, "pointwise", 0))
        if isinstance(model, LinearModel) and separable:
            linear = _reweighted(objective, model, data, key, state)
            x, rebuild, evaluate, hessian = linear
            method = _Reweighted(hessian)
        elif separable and _is_shared_line(model):
            shared = _shared(objective, model, data, key, state)
            x, rebuild, evaluate, hessian = shared
            method = _Reweighted(hessian)
        else:
            x, rebuild = flatten(model)
            evaluate = value_and_gradient(objective, rebuild, data, key)
            hessian = jax.jacfwd(lambda x: evaluate(x, state)[1])
            method = _DenseHessian(hessian, self.rules.tolerance)
        return descend(method, evaluate, x, rebuild, state, self.rules)


class _AbstractHessian(AbstractMethod):
    """A method that computes the Hessian at each step.

    Its memory is a shift of the Hessian, of unit diagonal: 0, unless a search failed,
    as where rows beyond the bend of Huber's loss have no curvature.
    """

    knows_hessian: ClassVar[bool] = True

    def init(self, x: Float[Array, " p"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def learn(self, memory: Array, old: Point, new: Point) -> Float[Array, ""]:
        return jnp.zeros_like(memory)

    def retry(self, x: Float[Array, " p"]) -> Float[Array, ""]:
        return jnp.full((), SECOND_SHIFT, x.dtype)


class _Reweighted(_AbstractHessian):
    """Directions from the Hessian of a linear model, shifted where it is indefinite."""

    hessian: Callable[[Array], tuple[Array, Array]]
    """The Hessian at x, and the norm of what rounding adds to the gradient."""
    checks_curvature: ClassVar[bool] = False

    def direction(self, memory: Array, at: Point) -> Proposal:
        H, noise = self.hessian(at.x)
        step = shifted_step(H, memory)
        d = step(at.g)
        return Proposal(d, jnp.ones((), d.dtype), norm=_norm(step), noise=noise)


class _DenseHessian(_AbstractHessian):
    """Directions from any Hessian; a saddle is left along a negative curvature."""

    hessian: Callable[[Array], Array]
    tolerance: Real
    checks_curvature: ClassVar[bool] = True

    def direction(self, memory: Array, at: Point) -> Proposal:
        H = self.hessian(at.x)
        low, v = lowest(H)
        step = absolute_step(H, memory)
        norm = _norm(step)
        saddle = (norm(at.g) <= self.tolerance) & (low < 0)
        d = jnp.where(saddle, v, step(at.g))
        return Proposal(d, jnp.ones((), d.dtype), low >= 0, norm)


def lowest(H: Float[Array, "q q"]) -> tuple[Float[Array, ""], Float[Array, " q"]]:
    """The lowest eigenvalue (0 if only rounding makes it negative) and its eigenvector."""
    values, V = jnp.linalg.eigh(H)
    noise = 8 * len(H) * jnp.finfo(H.dtype).eps * jnp.max(jnp.abs(values))
    return jnp.where(values[0] < -noise, values[0], 0.0), V[:, 0]


Step = Callable[[Float[Array, " q"]], Float[Array, " q"]]


def absolute_step(H: Float[Array, "q q"], shift: Array | float = 0.0) -> Step:
    """g ↦ −|H|⁻¹g, where |H| has the absolute eigenvalues of H, and at least the shift."""
    C, scale = _unit_diagonal(H)
    values, V = jnp.linalg.eigh(C)
    values = jnp.abs(values)
    least = jnp.maximum(len(H) * jnp.finfo(H.dtype).eps, shift)
    values = jnp.maximum(values, least * values.max())
    return lambda g: -(V @ ((V.T @ (g / scale)) / values)) / scale


def shifted_step(H: Float[Array, "q q"], shift: Array | float = 0.0) -> Step:
    """g ↦ −(H + shift)⁻¹g by Cholesky, more where H is not positive definite then."""
    C, scale = _unit_diagonal(H)
    q, eps = len(H), jnp.finfo(H.dtype).eps

    def factor(shift):
        return shift, jnp.linalg.cholesky(C + shift * jnp.eye(q, dtype=C.dtype))

    def indefinite(c):
        shift, L = c
        definite = jnp.all(jnp.isfinite(L)) & (jnp.diagonal(L).min() > (q * eps) ** 0.5)
        return ~definite & (shift < 100 * q)

    def increase(c):
        return factor(jnp.maximum(4 * c[0], 1e-3))

    start = factor(jnp.maximum(jnp.asarray(4 * q * eps, C.dtype), shift))
    _, L = jax.lax.while_loop(indefinite, increase, start)

    def step(g: Float[Array, " q"]) -> Float[Array, " q"]:
        d = -jax.scipy.linalg.cho_solve((L, True), g / scale) / scale
        return jnp.where(jnp.all(jnp.isfinite(d)), d, -g)

    return step


def _norm(step: Step) -> Callable[[Float[Array, " q"]], Float[Array, ""]]:
    """√(gᵀH⁻¹g), from the step of a gradient."""
    return lambda g: jnp.sqrt(jnp.maximum(-(g @ step(g)), 0.0))


def _unit_diagonal(H: Float[Array, "q q"]) -> tuple[Array, Array]:
    """H scaled so that its diagonal is ±1, and the scales."""
    scale = jnp.sqrt(jnp.abs(jnp.diagonal(H)))
    scale = jnp.where(scale > 0, scale, 1.0)
    return H / (scale[:, None] * scale[None]), scale


def _reweighted(objective, model: LinearModel, data: Batch, key, state):
    """B as a vector x, and functions of x: the model, loss and gradient, the Hessian.

    The Hessian is Σ wᵢ aᵢaᵢᵀ ⊗ lᵢ″ plus the penalty's. η is rounded by some ε·max|η|, which
    changes the gradient by δ with δᵀH⁻¹δ of at most Σ wᵢ lᵢ″ (δηᵢ)².
    """
    A, B = model.design(data.x), model.coefficients
    eta, _ = model(data.x, w=data.w, key=key, state=state)
    offset, total = eta - A @ B, data.w.sum()

    def rebuild(x: Float[Array, " q"]) -> LinearModel:
        return model.with_coefficients(x.reshape(B.shape))

    def penalty(x: Float[Array, " q"]) -> Float[Array, ""]:
        return objective.penalty(rebuild(x))

    def link(x: Float[Array, " q"]) -> Float[Array, "n k"]:
        return A @ x.reshape(B.shape) + offset

    def likelihood(eta: Float[Array, "n k"]) -> Float[Array, ""]:
        return (data.w @ objective.pointwise(eta, data.y)) / total

    def evaluate(x: Float[Array, " q"], state: State):
        f, g = jax.value_and_grad(likelihood)(link(x))
        penalty_f, penalty_g = jax.value_and_grad(penalty)(x)
        return (f + penalty_f, state), (g.T @ A).T.ravel() + penalty_g

    def hessian(x: Float[Array, " q"]) -> tuple[Float[Array, "q q"], Float[Array, ""]]:
        eta = link(x)
        _, h = curvature(objective, eta, data.y)
        h = h * (data.w / total)[:, None, None]
        bend = jnp.abs(jnp.trace(h.sum(0)))
        noise = 8 * jnp.finfo(A.dtype).eps * jnp.max(jnp.abs(eta)) * jnp.sqrt(bend)
        return _gram(A, h) + jax.hessian(penalty)(x), noise

    return B.ravel(), rebuild, evaluate, hessian


def _is_shared_line(model) -> bool:
    """Whether η is that of a linear model, and entries beside it that all rows share."""
    is_shared = isinstance(model, SharedModel) and model.order is None
    return is_shared and isinstance(model.model, LinearModel)


def _shared(objective, model, data: Batch, key, state):
    """What `_reweighted` gives, for x = (B, tail) and η = (AB, tail)."""
    line = model.model
    A, B, q = line.design(data.x), line.coefficients, line.coefficients.size
    eta, _ = line(data.x, w=data.w, key=key, state=state)
    offset, k, total = eta - A @ B, B.shape[1], data.w.sum()

    def rebuild(x: Float[Array, " q"]):
        parts = line.with_coefficients(x[:q].reshape(B.shape)), x[q:]
        return eqx.tree_at(lambda m: (m.model, m.tail), model, parts)

    def penalty(x: Float[Array, " q"]) -> Float[Array, ""]:
        return objective.penalty(rebuild(x))

    def link(x: Float[Array, " q"]) -> Float[Array, "n k"]:
        tail = jnp.broadcast_to(x[q:], (len(A), len(x) - q))
        return jnp.concatenate([A @ x[:q].reshape(B.shape) + offset, tail], 1)

    def likelihood(eta: Float[Array, "n k"]) -> Float[Array, ""]:
        return (data.w @ objective.pointwise(eta, data.y)) / total

    def evaluate(x: Float[Array, " q"], state: State):
        f, g = jax.value_and_grad(likelihood)(link(x))
        penalty_f, penalty_g = jax.value_and_grad(penalty)(x)
        parts = [(g[:, :k].T @ A).T.ravel(), g[:, k:].sum(0)]
        return (f + penalty_f, state), jnp.concatenate(parts) + penalty_g

    def hessian(x: Float[Array, " q"]) -> tuple[Float[Array, "q q"], Float[Array, ""]]:
        eta = link(x)
        _, h = curvature(objective, eta, data.y)
        h = h * (data.w / total)[:, None, None]
        bend = jnp.abs(jnp.trace(h.sum(0)))
        noise = 8 * jnp.finfo(A.dtype).eps * jnp.max(jnp.abs(eta)) * jnp.sqrt(bend)
        cross = jnp.einsum("nkt,np->pkt", h[:, :k, k:], A).reshape(q, -1)
        corner = h[:, k:, k:].sum(0)
        H = jnp.block([[_gram(A, h[:, :k, :k]), cross], [cross.T, corner]])
        return H + jax.hessian(penalty)(x), noise

    return jnp.concatenate([B.ravel(), model.tail]), rebuild, evaluate, hessian


def _gram(A: Float[Array, "n p"], h: Float[Array, "n k k"]) -> Float[Array, "q q"]:
    """Σᵢ aᵢaᵢᵀ ⊗ hᵢ, with the coefficients in row-major order (p, k)."""
    p, k = A.shape[1], h.shape[1]
    i, j = np.triu_indices(k)
    blocks = jax.vmap(lambda h: weighted_gram(A, h), in_axes=1)(h[:, i, j])
    full = jnp.zeros((k, k, p, p), A.dtype).at[i, j].set(blocks).at[j, i].set(blocks)
    return full.transpose(2, 0, 3, 1).reshape(p * k, p * k)
