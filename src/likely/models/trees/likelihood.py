r"""A tree whose splits gain log-likelihood, for any family.

At the maximum-likelihood η̂ of a node, the derivatives G of the two sides of a split are
opposite, and the sum of $\tfrac12 \sum_j G_j^2 / H_j$ over both sides is the gain of one Newton
step: the score test. (For Poisson and normal families the true gain is as cheap.) The best
split by that measure is tried, and its true gain is recorded,
$\sum \log p(y \mid \hatη_{\text{child}}) - \sum \log p(y \mid \hatη)$, at the η̂ of the
children.
"""

import heapq
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from likely.core.precision import float64
from likely.core.rows import pad, size_class
from likely.families import AbstractFamily, Huber, Normal, Poisson, StudentT
from likely.families.location_scale import AbstractLocationScale
from likely.models.trees.bins import Bins
from likely.models.trees.ensemble import Grown
from likely.models.trees.fitting import (
    NEWTON,
    NO_LABEL,
    NORMAL,
    POISSON,
    Task,
    TreeLimits,
    call_kernel,
    moment_task,
)
from likely.models.trees.fixed_point import fixed_products, fixed_weights
from likely.typing import Batch

LOCATIONS = (AbstractLocationScale, StudentT, Huber)
"""Families whose first entry of η has the units of y."""


class _Split(NamedTuple):
    """The best split of a node: its gain, word, set and children."""

    gain: float
    word: int
    members: np.ndarray
    children: tuple["_Node", "_Node"]


class _Node(NamedTuple):
    """A node: its rows, their maximum-likelihood η and loss, depth and seed."""

    rows: Int[np.ndarray, " r"]
    eta: Float[np.ndarray, " k"]
    loss: float
    depth: int
    seed: int


class _Likelihood:
    """Fits and derivatives of a family, in few sizes so that few programs are compiled."""

    def __init__(self, family: AbstractFamily, y: np.ndarray, w: np.ndarray):
        self.family, self.y, self.w = family, y, w
        full = size_class(len(y))
        self.sizes = sorted({max(full >> shift, 16) for shift in (0, 3, 6)})

    def node(self, rows: np.ndarray, depth: int, seed: int) -> _Node:
        """A node with its maximum-likelihood η."""
        with float64():
            batch = self._padded(rows)
            eta, loss = map(np.asarray, _fit(self.family, batch.y, batch.w))
        return _Node(rows, eta, float(loss), depth, seed)

    def derivatives(self, node: _Node) -> tuple[np.ndarray, np.ndarray]:
        """The first and second derivatives at the node's η, each (rows, k)."""
        with float64():
            batch = self._padded(node.rows)
            g, h = map(np.asarray, _slopes(self.family, node.eta, batch.y))
        return g[: len(node.rows)], h[: len(node.rows)]

    def _padded(self, rows: np.ndarray) -> Batch:
        size = next(size for size in self.sizes if size >= len(rows))
        return pad(Batch(None, self.y[rows], self.w[rows]), size)


def grow_likelihood(  # noqa: PLR0917
    bins: Bins,
    codes: np.ndarray,
    data: tuple,
    family: AbstractFamily,
    limits: TreeLimits,
    seed: int,
) -> Grown:
    """Grow a tree on rows (X, y, w) that all have weight; values are η."""
    _, y, w = data
    likelihood = _Likelihood(family, y, w)
    task, floor = _task(family, y, w)

    nodes = [likelihood.node(np.arange(len(y), dtype=np.int32), 0, seed)]
    words, gains, set_at, sets = [0], [0.0], [-1], []
    best_first = limits.max_leaves < 2**31 - 1
    waiting: list = []

    def wait(node: int) -> None:
        own = nodes[node]
        if own.depth >= limits.max_depth or len(own.rows) < 2:
            return
        found = _best_split(bins, codes, task, floor, limits, likelihood, own)
        if found is not None:
            rank = -found.gain if best_first else node
            heapq.heappush(waiting, (rank, node, found))

    wait(0)
    while waiting and len(nodes) < 2 * limits.max_leaves - 1:
        _, node, found = heapq.heappop(waiting)
        left = len(nodes)
        words[node] = found.word | left << 32
        gains[node] = found.gain
        if found.word >> 8 & 0xFF == 2:
            set_at[node] = len(sets)
            sets.append(found.members)
        nodes += found.children
        words, gains, set_at = words + [0, 0], gains + [0.0, 0.0], set_at + [-1, -1]
        wait(left)
        wait(left + 1)
    return Grown(
        np.array(words, np.uint64),
        np.array(set_at, np.int32),
        np.array(sets, np.uint64).reshape(-1, 4),
        np.stack([node.eta for node in nodes]),
        np.array([w[node.rows].sum() for node in nodes]),
        np.array(gains),
    )


def _task(family: AbstractFamily, y: np.ndarray, w: np.ndarray) -> tuple[Task, float]:
    """The statistics of the rows, and the smallest variance that a node may have."""
    moments = moment_task(y, w)
    if type(family) is Normal and family.scale is None:
        floor = 1e-10 * float(np.average((y - moments.centre) ** 2, weights=w))
        return moments._replace(criterion=NORMAL, n_stats=3), floor
    whole, unit = fixed_weights(w)
    if type(family) is Poisson:
        counts, own = fixed_products(y, whole, unit)
        stats, units = np.stack([whole, counts], axis=1), np.array([unit, own])
        return Task(stats, NO_LABEL, units, POISSON, 2), 0.0
    stats = np.zeros((len(y), 1 + 2 * family.n_eta), np.int64)
    stats[:, 0] = whole
    units = np.full(stats.shape[1], unit)
    return Task(stats, NO_LABEL, units, NEWTON, stats.shape[1]), 0.0


def _differentiate(task: Task, likelihood: _Likelihood, node: _Node) -> None:
    """Store the derivatives at the node's η in the statistics of its rows."""
    rows, at = node.rows, 1
    for part in likelihood.derivatives(node):
        for column in part.T:
            whole, own = fixed_products(column, task.stats[rows, 0], task.units[0])
            task.stats[rows, at], task.units[at] = whole, own
            at += 1


def _best_split(  # noqa: PLR0917
    bins: Bins,
    codes: np.ndarray,
    task: Task,
    floor: float,
    limits: TreeLimits,
    likelihood: _Likelihood,
    node: _Node,
) -> _Split | None:
    """The best split by the score test, with the true gain from the children's fits."""
    if task.criterion == NEWTON:
        _differentiate(task, likelihood, node)
    rows = node.rows.copy()
    stump = limits._replace(max_depth=1, max_leaves=2, min_gain=0.0)
    words, _, sets, about, _ = call_kernel(
        bins, codes, rows, task, stump, node.seed, floor
    )
    if len(words) == 1:
        return None
    middle = int(about[1, 3])
    children = (
        likelihood.node(rows[:middle], node.depth + 1, _next(node.seed, 1)),
        likelihood.node(rows[middle:], node.depth + 1, _next(node.seed, 2)),
    )
    gain = node.loss - children[0].loss - children[1].loss
    if not gain > max(limits.min_gain, 1e-9 * abs(node.loss)):
        return None
    members = sets[0] if len(sets) else np.zeros(4, np.uint64)
    return _Split(gain, int(words[0]) & 0xFFFFFFFF, members, children)


def _next(seed: int, side: int) -> int:
    """The seed of a child."""
    return (seed * 6364136223846793005 + side) % 2**64


@eqx.filter_jit
def _fit(family, y, w):
    eta = family.marginal(y, w)
    rows = jnp.broadcast_to(eta, (len(y), len(eta)))
    nats = -family.log_prob(rows, y)
    return eta, jnp.sum(jnp.where(w > 0, w * nats, 0.0))


@eqx.filter_jit
def _slopes(family, eta, y):
    """Derivatives of −log p in η; the second one of a location is at least g²."""
    rows = jnp.broadcast_to(eta, (len(y), len(eta)))
    g, h, location = row_derivatives(family, rows, y)
    return jnp.nan_to_num(g), jnp.maximum(h, jnp.where(location, g**2, 0.0))


def row_derivatives(family, eta, y):
    """The first and second derivatives of −log p in each entry of η, of each row, (n, k).

    The last answer, (1, k), is whether an entry is a location, which has the units of y.
    """

    def nats(e, t):
        return -family.log_prob(e[None], t[None])[0]

    g = jax.vmap(jax.grad(nats))(eta, y)
    H = jax.vmap(jax.hessian(nats))(eta, y)
    h = jnp.nan_to_num(jnp.diagonal(H, axis1=1, axis2=2))
    first = jnp.arange(family.n_eta) == 0
    return g, h, (first & isinstance(family, LOCATIONS))[None]
