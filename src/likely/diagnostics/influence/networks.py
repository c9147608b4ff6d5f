r"""The influence of rows on a network, by gradients at its fit.

At a minimum of the penalised loss, leaving out row i moves the parameters by about
$w_i H^{-1} J_i^\top g_i$, and the mean loss of other rows by the product of that with their
gradient (influence functions). H is the Gauss-Newton matrix, which is positive
semi-definite where the Hessian need not be, plus the penalty and a damping for directions
of which the rows say nothing.

Where the network is small all parameters take part. In a large one the last layer does, whose
loss is convex, and the effect on other rows is that of all parameters, from one system of
equations that conjugate gradients solve without forming H.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from likely.base.training.trainer import cast, member_of, stacked
from likely.core.checks import InputError
from likely.core.precision import float64
from likely.core.rows import pad
from likely.diagnostics.influence.linearised import Linearised
from likely.estimators.networks.learner import last_layer, own_entries
from likely.inference import curvature
from likely.objectives.priors import map_penalised
from likely.typing import Batch

MAX_DENSE_PARAMETERS, MAX_DENSE_ENTRIES = 2000, 5e7
"""Parameters, and numbers in all Jacobians, up to which all parameters take part."""
MAX_STEPS = 300
"""Steps of conjugate gradients."""
ROWS_AT_ONCE = 64


class NetworkFit(NamedTuple):
    """A trained network and scaled rows, η as a function of the parameters that count."""

    phi: Any
    family: Any
    own: tuple[int, ...]
    """The entries of η that the parameters decide: of the last layer, not what rows share."""
    alpha: float
    """The strength of the prior on weights."""
    damping: float
    """What is added to H, in units of the mean of its diagonal."""
    whole: bool
    """Whether all parameters count, or those of the last layer."""

    def spec(self) -> Any:
        """Which leaves count, as a tree of booleans."""
        model = self.phi.solution.model
        spec = jax.tree.map(eqx.is_inexact_array, model)
        if not self.whole:
            chosen = last_layer(spec)
            spec = jax.tree.map(lambda _: False, spec)
            return eqx.tree_at(last_layer, spec, chosen)
        return spec

    def scaled(self, batch: Batch) -> Batch:
        """The rows in the units of the network."""
        return self.phi.scaling(jax.tree.map(jnp.asarray, batch))

    def prior_precision(self) -> Float[np.ndarray, " q"]:
        """α for weights, 0 for biases."""
        model = jax.tree.map(
            lambda a: jnp.zeros_like(a) if eqx.is_inexact_array(a) else a,
            self.phi.solution.model,
        )
        marked = map_penalised(lambda a: a + self.alpha, model, "weight")
        return np.asarray(ravel_pytree(eqx.filter(marked, self.spec()))[0])

    def linearised(self, batch: Batch) -> Linearised:
        """Jacobians and derivatives of rows, with the penalty and the damping."""
        parameters, rest = eqx.partition(self.phi.solution.model, self.spec())
        n, rows = len(batch.w), self.scaled(pad(batch))
        state = self.phi.solution.state
        J = np.asarray(_jacobians(parameters, rest, state, rows.x, self.own))[:n]
        gradient, hessian = (a[:n] for a in _derivatives(self, rows))
        size = np.einsum("n,nkq,nkl,nlq->q", np.asarray(batch.w), J, hessian, J)
        penalty = self.prior_precision() + self.damping * max(size.mean(), 1e-300)
        return Linearised(J, gradient, hessian, np.asarray(batch.w), penalty)


def network_fits(model: Any, batch: Batch, damping: float) -> list[NetworkFit]:
    """The members of a fitted network, in float64.

    Args:
        model: a fitted network.
        batch: the rows of its fit, encoded.
        damping: in units of the mean of the diagonal of the Gauss-Newton matrix.
    """
    learner, phi = model.learner_, cast(stacked(model.phi_), np.float64)
    if learner.positions:
        raise InputError(
            "influence is for networks with one output for each row, not one for each "
            "position."
        )
    own = tuple(map(int, own_entries(learner.family, learner.shared)))
    alpha = float(model._options(batch.w).hyper["alpha"])
    found = []
    for m in range(len(np.asarray(phi.solution.loss))):
        one = member_of(phi, m)
        leaves = jax.tree.leaves(eqx.filter(one.solution.model, eqx.is_inexact_array))
        q = sum(leaf.size for leaf in leaves)
        entries = len(batch.w) * len(own) * q
        whole = q <= MAX_DENSE_PARAMETERS and entries <= MAX_DENSE_ENTRIES
        if not whole and last_layer(one.solution.model) is None:
            raise InputError(
                'a network of this size needs a Dense layer at its end; use method="refit" '
                "with a few rows."
            )
        decided = tuple(range(learner.family.n_eta)) if whole else own
        found.append(NetworkFit(one, learner.family, decided, alpha, damping, whole))
    return found


def held_out_by_gradients(
    fit: NetworkFit, batch: Batch, other: Batch
) -> Float[np.ndarray, " n"]:
    """The change of the mean loss of other rows without each row, by all parameters.

    One system H s = ∇L is solved for all rows at once; the change is w gᵀ J s.

    Args:
        fit: a large network.
        batch: the rows of its fit.
        other: the rows that are judged.
    """
    with float64():
        fit = fit._replace(whole=True, own=tuple(range(fit.family.n_eta)))
        parameters, rest = eqx.partition(fit.phi.solution.model, fit.spec())
        rows, judged = fit.scaled(pad(batch)), fit.scaled(pad(other))
        own, state = fit.own, fit.phi.solution.state
        known, new = (_derivatives(fit, r) for r in (rows, judged))
        args = parameters, rest, state, own, rows, known, fit.prior_precision()
        found = _solved(*args, jnp.asarray(fit.damping), judged, new)
    return np.asarray(found)[: len(batch.w)]


@eqx.filter_jit
def _solved(  # noqa: PLR0917
    parameters, rest, state, own, rows, known, prior, damping, judged, new
):
    """w gᵀ J s of each row, with H s = ∇L by conjugate gradients."""
    vector, unravel = ravel_pytree(parameters)
    gradient, hessian = known
    w = rows.w

    def eta(v, X):
        return _eta(unravel(v), rest, state, X, own)

    _, back = jax.vjp(lambda v: eta(v, judged.x), vector)
    target = back(new[0] * (judged.w / judged.w.sum())[:, None])[0]
    _, push = jax.linearize(lambda v: eta(v, rows.x), vector)
    pull = jax.linear_transpose(push, vector)

    def product(v):
        return pull(w[:, None] * jnp.einsum("nkl,nl->nk", hessian, push(v)))[0]

    probes = jax.random.rademacher(jax.random.key(0), (8, len(vector)), vector.dtype)
    mean = jax.lax.map(lambda v: v @ product(v), probes).mean() / len(vector)
    ridge = prior + damping * jnp.maximum(mean, 1e-300)
    s, _ = jax.scipy.sparse.linalg.cg(
        lambda v: product(v) + ridge * v, target, tol=1e-6, maxiter=MAX_STEPS
    )
    return w * jnp.sum(gradient * push(s), 1)


def _eta(parameters: Any, rest: Any, state: Any, X: Array, own: tuple) -> Array:
    model = eqx.combine(parameters, rest)
    return model(X, state=state)[0][:, np.array(own)]


@eqx.filter_jit
def _jacobians(parameters, rest, state, X, own) -> Float[Array, "n k q"]:
    """∂η/∂θ of each row, some rows at a time."""
    vector, unravel = ravel_pytree(parameters)

    def one(x):
        return jax.jacrev(lambda v: _eta(unravel(v), rest, state, x[None], own)[0])(
            vector
        )

    return jax.lax.map(one, X, batch_size=ROWS_AT_ONCE)


def _derivatives(fit: NetworkFit, rows: Batch) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of the losses in the entries of η that rows have for themselves."""
    found = _curvature(fit.family, fit.phi.solution, rows)
    own = np.array(fit.own)
    gradient, hessian = (np.asarray(a) for a in found)
    hessian = hessian[:, own][:, :, own]
    values, U = np.linalg.eigh(0.5 * (hessian + hessian.swapaxes(1, 2)))
    clipped = (U * np.maximum(values, 0.0)[:, None]) @ U.swapaxes(1, 2)
    return gradient[:, own], clipped


@eqx.filter_jit
def _curvature(family, solution, rows: Batch):
    return curvature(family, solution.model(rows.x, state=solution.state)[0], rows.y)
