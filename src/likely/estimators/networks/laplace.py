r"""Laplace's approximation in the last layer: how sure a network is of its η.

The layers before the last give features $h$ (with a 1 for the bias), and η is linear in
the last weights, so around the fit their posterior is normal with

$$Σ^{-1} = \sum_i w_i\, h_i h_i^\top \otimes Λ_i + δ I,
  \qquad Λ_i = -\nabla_η^2 \log p(y_i \mid η_i),$$

(negative eigenvalues of Λ count as zero), and η at x is normal with covariance
$h^\top Σ h$. The precision δ of the weights is a number that is given, or the one of the
highest evidence $\tfrac12\bigl(P \log δ - δ\lVert W\rVert^2 - \log\det Σ^{-1}\bigr)$. Biases have
a flat prior. Away from the data h is large and so is the variance.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri
from scipy.stats import qmc

from likely.base.training.members import Network
from likely.core.checks import InputError
from likely.estimators.networks.learner import (
    NetworkLearner,
    last_layer,
    own_entries,
)
from likely.estimators.networks.units import in_data_units
from likely.families import Bernoulli, Categorical, Normal
from likely.inference import curvature, information
from likely.layers import Chain
from likely.typing import Batch

PRECISIONS = np.logspace(-4, 4, 33)
FLAT_PRECISION = 1e-8
"""Precision of biases, where there are rows to determine them."""
N_DRAWS = {True: 128, False: 16}
"""Draws of η: for classes, for numbers."""


class LastLayer(eqx.Module):
    """The posterior of the last weights, entry of η by entry of η."""

    covariance: Float[Array | np.ndarray, "*m p p"]
    precision: Float[Array | np.ndarray, "*m"]


def last_layer_posterior(
    learner: NetworkLearner, phi: Network, batch: Batch, given: Any
) -> LastLayer:
    """Of every member; in float64.

    Args:
        learner: the core.
        phi: with a leading axis of members.
        batch: the (padded) rows of the fit.
        given: δ, or True for the one of the highest evidence.
    """
    if last_layer(phi.solution.model) is None:
        raise InputError("laplace needs a network that ends with a Dense layer.")
    H, W = (np.asarray(a) for a in _curvature_of(learner, phi, batch))
    found = [_posterior(h, w, given) for h, w in zip(H, W, strict=True)]
    return LastLayer(*(np.stack(part) for part in zip(*found, strict=True)))


@eqx.filter_jit
def _curvature_of(learner: NetworkLearner, phi: Network, batch: Batch):
    """Σ w hhᵀ ⊗ Λ, and the weights (k, p) of the last layer, for each member."""
    own = own_entries(learner.family, learner.shared)

    def one(phi: Network):
        scaled = phi.scaling(jax.tree.map(jnp.asarray, batch))
        eta, _ = phi.solution.model(scaled.x, state=phi.solution.state)
        H = curvature(learner.family, eta, scaled.y).hessian[:, own][:, :, own]
        values, U = jnp.linalg.eigh(0.5 * (H + H.swapaxes(1, 2)))
        H = jnp.einsum("nij,nj,nkj->nik", U, jnp.maximum(values, 0.0), U)
        h = _features(phi, scaled.x)
        return information(h, H, scaled.w), last_layer(phi.solution.model).weight.T

    return jax.vmap(one)(phi)


def _features(phi: Network, X: Float[Array, "n ..."]) -> Float[Array, "n p"]:
    """h: what the last layer is given, and a 1."""
    model, state = phi.solution.model, phi.solution.state
    while not isinstance(model, Chain):
        model = model.model
    states = state or (None,) * len(model.layers)
    for layer, own in zip(model.layers[:-1], states[:-1], strict=True):
        X, _ = layer(X, state=own)
    return jnp.concatenate([X, jnp.ones_like(X[:, :1])], axis=1)


def _posterior(H: np.ndarray, W: np.ndarray, given: Any) -> tuple:
    """Σ and δ of one member."""
    k, p = W.shape
    weights = np.tile(np.r_[np.ones(p), 0.0], k)
    flat = FLAT_PRECISION * (1 + H.diagonal().max()) * (1 - weights)

    def factor(precision: float):
        return cho_factor(H + np.diag(precision * weights + flat), lower=True)

    def evidence(precision: float) -> float:
        half_log_det = np.log(factor(precision)[0].diagonal()).sum()
        fit = 0.5 * precision * (W**2).sum()
        return 0.5 * W.size * np.log(precision) - fit - half_log_det

    if given is True:
        precision = PRECISIONS[int(np.argmax([evidence(d) for d in PRECISIONS]))]
    elif float(given) > 0:
        precision = float(given)
    else:
        raise InputError(f"laplace is {given}; give True, False or a positive number.")
    return cho_solve(factor(precision), np.eye(len(H))), np.asarray(precision)


@eqx.filter_jit
def eta_covariance(
    learner: NetworkLearner,
    phi: Network,
    last: LastLayer,
    X: Float[Array, "n ..."],
) -> Float[Array, "m n k k"]:
    """Of η in the units of the data; entries that all rows share are taken for known."""
    own = own_entries(learner.family, learner.shared)
    size = learner.family.n_eta

    def one(phi: Network, covariance: Any):
        h = _features(phi, phi.scaling.inputs(X))
        blocks = covariance.reshape(len(own), h.shape[1], len(own), h.shape[1])
        C = jnp.einsum("np,ipjq,nq->nij", h, blocks, h)
        whole = jnp.zeros((len(X), size, size), C.dtype)
        whole = whole.at[:, own[:, None], own[None]].set(C)
        scaling = phi.scaling
        a, _ = in_data_units(learner.family, scaling.shift, scaling.spread)
        return whole * (a[:, None] * a[None])[None]

    return jax.vmap(one)(phi, last.covariance)


def with_uncertain_weights(
    learner: NetworkLearner, etas: np.ndarray, covariance: np.ndarray
) -> np.ndarray:
    """(parts, n, k): η of members whose last weights are uncertain, as equal parts.

    A normal with one σ stays one, of variance σ² + Var[μ]. All others are drawn from,
    by the same quasi-random numbers for every row.
    """
    family = learner.family
    if isinstance(family, Normal) and learner.shared:
        wide = 0.5 * np.log(np.exp(2 * etas[..., 1]) + covariance[..., 0, 0])
        return np.stack([etas[..., 0], wide], axis=-1)
    m, n, k = etas.shape
    draws = _quasi_normals(N_DRAWS[isinstance(family, Bernoulli | Categorical)], k)
    values, U = np.linalg.eigh(covariance)
    root = U * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    moved = etas[None] + np.einsum("mnij,sj->smni", root, draws)
    return moved.reshape(-1, n, k)


def _quasi_normals(size: int, k: int) -> np.ndarray:
    """(size, k) normal numbers that fill the space evenly; always the same."""
    if k == 1:
        return ndtri((np.arange(size) + 0.5) / size)[:, None]
    points = qmc.Sobol(k, scramble=True, rng=np.random.default_rng(0)).random(size)
    return ndtri(np.clip(points, 1e-6, 1 - 1e-6))
