r"""Gradient boosting of any family, one tree for each entry of η in each round.

$$η_j \leftarrow η_j + ν\, t_j(x), \qquad t_j \text{ fitted to } g_j = \frac{∂(-\log p)}{∂η_j}
  \text{ and } h_j \approx \frac{∂^2(-\log p)}{∂η_j^2},$$

starting at the family's marginal fit. Every tree makes one Newton step in each of its leaves
(`leafwise`), which the learning rate ν shrinks. All entries of η use the same derivatives.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.rows import pad, pad_rows
from likely.core.threads import row_blocks, thread_count
from likely.families import (
    AbstractFamily,
    Bernoulli,
    Categorical,
    NegativeBinomial,
    Normal,
    Poisson,
)
from likely.families.negative_binomial_slopes import boosting_slopes, marginal_on_host
from likely.models.trees.bins import Bins
from likely.models.trees.boosted import Booster, Limits
from likely.models.trees.derivatives import (
    BERNOULLI,
    CATEGORICAL,
    FIXED_NORMAL,
    NORMAL,
    POISSON,
    add_leave_one_out,
    add_to_rows,
    closed_form,
)
from likely.models.trees.ensemble import Grown, Trees, loop_leaves
from likely.models.trees.fixed_point import fixed_weights
from likely.models.trees.kernels import add_leaves
from likely.models.trees.likelihood import LOCATIONS, row_derivatives
from likely.typing import Batch

MIN_PARALLEL_ROWS = 20_001
"""Rows from which on threads share the computation of derivatives."""
MAX_LOSS_ROWS = 10_000
"""The number of rows on which the training loss is computed."""


class Settings(NamedTuple):
    """The settings of gradient boosting.

    Attributes:
        rounds: the largest number of rounds.
        rate: the learning rate ν.
        limits: the limits of each tree.
        subsample: the share of the rows in each round.
        colsample: the share of the features of each tree.
        patience: stop after so many rounds without a lower validation loss.
        signs: (d,) monotone constraints on the first entry of η.
        seed: the seed of the subsamples.
        n_jobs: the number of threads.
    """

    rounds: int
    rate: float
    limits: Limits
    subsample: float
    colsample: float
    patience: int
    signs: Int[np.ndarray, " d"]
    seed: int
    n_jobs: int | None


class Boosted(NamedTuple):
    """The trees of the best round, and the losses of every round."""

    trees: Trees
    history: dict[str, list[float]]
    rounds: int
    leave_one_out: Float[np.ndarray, " n"] | None
    """Predictions of each row from leaf values computed without it (squared error only)."""


def boost(  # noqa: PLR0915, PLR0917, C901
    family: AbstractFamily,
    bins: Bins,
    codes: np.ndarray,
    data: Batch,
    settings: Settings,
    validation: Batch | None = None,
    watch: Callable[[dict[str, Any]], Any] | None = None,
) -> Boosted:
    """Boost a family on coded rows.

    Args:
        family: p(y | θ).
        bins: the bins of the inputs.
        codes: the codes of `data.x`.
        data: rows that all have weight.
        settings: the settings of boosting.
        validation: rows on which early stopping is based.
        watch: called with the losses after each round; boosting stops if it returns True.
    """
    n, k = len(data.y), family.n_eta
    w, unit = fixed_weights(data.w)
    n_threads = thread_count(settings.n_jobs)
    booster = Booster(bins, codes, w, unit, settings.limits, n_threads)
    start = marginal(family, data.y, data.w)
    eta = np.tile(start, (n, 1))
    validated = None
    if validation is not None:
        validated = _Validation(family, bins, validation, start)
    squared = type(family) is Normal and family.scale is not None
    loo = eta[:, 0].copy() if squared and validated is None else None
    followed = slice(0, MAX_LOSS_ROWS)
    losses = _Losses(family, data.y[followed], data.w[followed])
    history: dict[str, list[float]] = {"loss": []}
    if validated is not None:
        history["val_loss"] = []
    grown: list[Grown] = []
    best, kept = np.inf, 0
    pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None
    derive = derivatives_of(family, data.y, pool, n_threads)
    try:
        for r in range(settings.rounds):
            rng = np.random.default_rng([settings.seed, r])
            booster.w = w
            if settings.subsample < 1:
                booster.w = w * (rng.random(n) < settings.subsample)
            g, h = derive(eta)
            for j in range(k):
                rows = np.arange(n, dtype=np.int32)
                signs = settings.signs.astype(np.int8) * np.int8(j == 0)
                chosen = _some_features(rng, len(bins.categorical), settings.colsample)
                location = j == 0 and isinstance(family, LOCATIONS)
                tree, leaves = booster.grow(
                    g[j], h[j], rows, chosen, signs, pool, location=location
                )
                tree = tree._replace(value=settings.rate * tree.value)
                add_to_rows(eta, j, rows, leaves, tree.value)
                if loo is not None:
                    leaf = (rows, leaves, tree.value, tree.weight)
                    strength = (settings.rate, settings.limits.l2)
                    add_leave_one_out(loo, g[0], booster.w * unit, *leaf, *strength)
                grown.append(tree)
                if validated is not None:
                    validated.add(tree, j)
            now = {"round": r + 1, "loss": losses(eta[followed])}
            if validated is not None:
                now["val_loss"] = validated.losses(validated.eta)
                if now["val_loss"] < best:
                    best, kept = now["val_loss"], r + 1
            for name, values in history.items():
                values.append(now[name])
            if watch is not None and watch(now):
                break
            if validated is not None and r + 1 - kept >= settings.patience:
                break
    finally:
        if pool is not None:
            pool.shutdown()
    rounds = kept if validated is not None and kept else len(grown) // k
    groups = np.tile(np.arange(k, dtype=np.int32), rounds)
    trees = Trees.of(bins, grown[: rounds * k], start, groups)
    return Boosted(trees, history, rounds, loo)


def _some_features(rng: np.random.Generator, d: int, share: float) -> np.ndarray:
    """A random share of the features, as a mask."""
    if share >= 1:
        return np.ones(d, bool)
    mask = np.zeros(d, bool)
    mask[rng.permutation(d)[: max(1, round(share * d))]] = True
    return mask


class _Losses:
    """The mean −log p of some rows."""

    def __init__(self, family: AbstractFamily, y: np.ndarray, w: np.ndarray):
        self.family, self.w = family, w
        self.y = pad_rows(y)

    def __call__(self, eta: np.ndarray) -> float:
        return float(self._of_rows(eta) @ self.w / self.w.sum())

    def _of_rows(self, eta: np.ndarray) -> np.ndarray:
        y = self.y[: len(eta)]
        if type(self.family) is Normal and self.family.scale is not None:
            s = float(self.family.scale)
            r = (y - eta[:, 0]) / s
            return 0.5 * r * r + np.log(s) + 0.5 * np.log(2 * np.pi)
        if type(self.family) is Bernoulli:
            return np.logaddexp(0, eta[:, 0]) - y * eta[:, 0]
        if type(self.family) is Categorical:
            own = eta[np.arange(len(eta)), np.asarray(y, int)]
            top = eta.max(axis=1)
            return top + np.log(np.exp(eta - top[:, None]).sum(axis=1)) - own
        with float64():
            return np.asarray(_nats(self.family, pad_rows(eta), self.y))[: len(eta)]


class _Validation:
    """The validation rows, their losses, and their η so far."""

    def __init__(self, family, bins: Bins, rows: Batch, start: np.ndarray):
        self.losses = _Losses(family, rows.y, rows.w)
        self.bins, self.X = bins, np.ascontiguousarray(rows.x)
        self.eta = np.tile(start, (len(rows.y), 1))

    def add(self, tree: Grown, j: int) -> None:
        """Add a tree to entry j of η."""
        add_leaves(
            self.X,
            self.bins.cuts,
            self.bins.categorical,
            loop_leaves(tree.nodes),
            tree.set_at,
            tree.sets,
            np.array([0, len(tree.nodes)]),
            np.array([j], np.int32),
            tree.value,
            self.eta,
            0,
            len(self.X),
        )


def marginal(
    family: AbstractFamily, y: Float[np.ndarray, " n"], w: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " k"]:
    """The maximum-likelihood η of the family without inputs."""
    if type(family) is Normal and family.scale is not None:
        return np.array([np.average(y, weights=w)])
    found = marginal_on_host(family, y, w)
    if found is not None:
        return found
    with float64():
        batch = pad(Batch(None, y, w))
        return np.asarray(_marginal(family, batch.y, batch.w))


@lean_jit
def _marginal(family, y, w):
    return family.marginal(y, w)


@lean_jit
def _nats(family, eta, y):
    return -family.log_prob(eta, y)


# Derivatives --------------------------------------------------------------------------


def derivatives_of(
    family: AbstractFamily,
    y: Float[np.ndarray, " n"],
    pool: ThreadPoolExecutor | None = None,
    n_threads: int = 1,
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A function from η, (n, k), to first and second derivatives, each (k, n).

    Closed forms fill the same arrays in every call.
    """
    if type(family) is NegativeBinomial:
        return lambda eta: boosting_slopes(eta, y, family.concentration)
    kind = _closed(family)
    k, n = family.n_eta, len(y)
    if kind is None:
        padded = pad_rows(y)

        def automatic(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            with float64():
                g, h = _automatic(family, pad_rows(eta), padded)
                g, h = np.asarray(g)[:n], np.asarray(h)[:n]
            return np.array(g.T, order="C"), np.array(h.T, order="C")  # may be written

        return automatic
    g, h = np.empty((k, n)), np.empty((k, n))
    alone = pool is None or n < MIN_PARALLEL_ROWS or kind == FIXED_NORMAL
    first, *others = row_blocks(n, 1 if alone else n_threads)

    def closed(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        waiting = [
            pool.submit(closed_form, kind, eta, y, g, h, *part)
            for part in others
            if pool is not None
        ]
        closed_form(kind, eta, y, g, h, *first)
        for part in waiting:
            part.result()
        return g, h

    return closed


def _closed(family: AbstractFamily) -> int | None:
    """The number of the closed form of a family, or None."""
    if type(family) is Normal:
        return NORMAL if family.scale is None else FIXED_NORMAL
    kinds = {Bernoulli: BERNOULLI, Categorical: CATEGORICAL, Poisson: POISSON}
    return kinds.get(type(family))


@eqx.filter_jit
def _automatic(family, eta, y):
    """Derivatives by JAX, the second ones made positive.

    A location has the units of y, so its second derivative is at least g² (whose mean is
    the Fisher information); every other entry is a logarithm or log-odds, and no leaf
    changes it by more than 1 in a round.
    """
    g, h, location = row_derivatives(family, eta, y)
    least = jnp.where(location, g**2, jnp.abs(g))
    return jnp.nan_to_num(g), jnp.maximum(h, least)
