r"""What batch norm buys, measured: the same network with and without it, over rates and seeds.

- **Invariance**: a network whose first layer is followed by batch norm computes the same from
  $sX + c$ as from $X$, and so does its training.
- **Usable rates**: over how many powers of ten plain SGD reaches half of what can be reached.
- **Smoothness**: how much loss and gradient change along the gradient.
- **Noise**: how much a row's output depends on the rest of its minibatch, and whether that
  narrows the generalisation gap; batch norm with the statistics of all rows, trained on the
  same minibatches, is the control.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from sklearn.utils.multiclass import type_of_target

from likely.base.labels import class_family, codes_of, encode_labels
from likely.base.settings import at_least
from likely.core.checks import InputError, check_batch
from likely.core.random import key_of
from likely.diagnostics.batch_norm.measures import (
    Smoothness,
    batch_noise,
    moved,
    output_change,
    smoothness,
)
from likely.diagnostics.batch_norm.report import (
    BatchNormStudy,
    Invariance,
    Noise,
    Pair,
    RateRange,
    SmoothnessPair,
    over_seeds,
)
from likely.diagnostics.batch_norm.training import (
    AllStatistics,
    Arm,
    BatchStatistics,
    Runs,
    final_losses,
    losses_in_use,
    picked,
    train,
)
from likely.families import AbstractFamily, Normal
from likely.models import MLP
from likely.objectives import NegativeLogLikelihood
from likely.typing import Batch

RATES = tuple(10.0 ** np.arange(-3.0, 1.6, 0.5))
MAX_ROWS = 2000
"""Rows to train on, at most: the control passes all of them at each step."""
HELD_OUT = 0.3


def batch_norm_study(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    X_val: Any = None,
    y_val: Any = None,
    hidden: Any = (32, 32, 32),
    activation: Any = "relu",
    rates: Any = RATES,
    batch_size: int = 16,
    n_steps: int = 150,
    n_seeds: int = 5,
    scale: float = 10.0,
    shift: float = 5.0,
    random_state: Any = 0,
) -> BatchNormStudy:
    """Train a network with and without batch norm on these rows, and compare.

    Inputs are scaled to mean 0 and variance 1 first, and so is a target of numbers, whose loss is
    half the squared error. Classes have the cross-entropy.

    Args:
        X: (n, d) inputs.
        y: (n,) classes or numbers.
        sample_weight: how often each row counts.
        X_val: inputs of other rows, for the generalisation gap; None holds out 30 %.
        y_val: their targets.
        hidden: the widths of the hidden layers.
        activation: of the hidden units.
        rates: learning rates of SGD to compare, ascending.
        batch_size: rows in a minibatch.
        n_steps: steps of each training.
        n_seeds: trainings of each rate, from other weights and with other minibatches.
        scale: what inputs are multiplied by, for the test of invariance.
        shift: what is then added to them.
        random_state: the seed.
    """
    rates = np.sort(np.asarray(rates, float).ravel())
    if len(rates) < 2 or not (rates > 0).all():
        raise InputError("give at least two positive rates.")
    n_seeds = at_least("n_seeds", n_seeds, 2, whole=True)
    n_steps = at_least("n_steps", n_steps, 5, whole=True)
    batch_size = at_least("batch_size", batch_size, 2, whole=True)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key_of(random_state))))
    family, data, other = _rows(X, y, sample_weight, (X_val, y_val), rng)
    keys = jax.random.split(key_of(random_state), n_seeds)
    with jax.enable_x64(False):
        data, other = (jax.tree.map(_single, rows) for rows in (data, other))
        arms = _arms(family, data, (hidden, activation), min(batch_size, len(data.w)))
        runs = [train(arm, rates, keys, n_steps) for arm in arms[:2]]
        found = _rate_range(arms, runs, rates, data)
        at = int(np.argmin(np.where(np.isfinite(m := found.plain.mean(1)), m, np.inf)))
        common = [[picked(each, at) for each in one] for one in runs]
        return BatchNormStudy(
            _invariance(arms, runs, at, (rates, keys, n_steps), (scale, shift)),
            found,
            _smoothness(arms, common, rates[at]),
            _noise(arms, common, other, (rates[at : at + 1], keys, n_steps)),
            n_seeds,
        )


def _single(a: Any) -> Any:
    a = jnp.asarray(a)
    return a.astype(jnp.float32) if jnp.issubdtype(a.dtype, jnp.floating) else a


def _rows(
    X: Any, y: Any, w: Any, validation: tuple, rng: np.random.Generator
) -> tuple[AbstractFamily, Batch, Batch]:
    """The family, rows to train on (with their numbers), and rows to judge by."""
    X, y = np.asarray(X, np.float64), np.asarray(y)
    if X.ndim != 2 or len(X) != len(y):
        raise InputError(
            f"X has shape {X.shape} and y {y.shape}; give (n, d) inputs and n targets."
        )
    classes = None
    if type_of_target(y) in ("binary", "multiclass") and y.dtype.kind != "f":
        classes, y = encode_labels(y)
    batch = check_batch(Batch(X, y.astype(np.float64), w))
    batch = Batch(*(a[batch.w > 0] for a in batch))
    if validation[0] is None:
        order = rng.permutation(len(batch.w))
        cut = max(2, int(HELD_OUT * len(order)))
        judged, batch = (
            Batch(*(a[i] for a in batch)) for i in (order[:cut], order[cut:])
        )
    else:
        y_val = np.asarray(validation[1])
        y_val = y_val if classes is None else codes_of(y_val, classes, "y_val")
        judged = check_batch(Batch(np.asarray(validation[0], float), y_val, None))
    if len(batch.w) < 8:
        raise InputError(
            f"there are {len(batch.w)} rows to train on; a study needs at least 8."
        )
    if len(batch.w) > MAX_ROWS:
        some = rng.permutation(len(batch.w))[:MAX_ROWS]
        batch = Batch(*(a[some] for a in batch))
    center, spread = _moments(batch.x, batch.w)
    place, size = (0.0, 1.0) if classes is not None else _moments(batch.y, batch.w)
    batch, judged = (
        Batch((b.x - center) / spread, (b.y - place) / size, b.w)
        for b in (batch, judged)
    )
    family = Normal(scale=1.0) if classes is None else class_family(len(classes))
    numbers = np.arange(len(batch.w), dtype=np.int32)
    return family, batch._replace(x=(batch.x, numbers)), judged


def _moments(values: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = np.average(values, axis=0, weights=w)
    spread = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=w))
    return mean, np.where(spread > 1e-12 * (1 + np.abs(mean)), spread, 1.0)


def _arms(
    family: AbstractFamily, data: Batch, of: tuple, batch_size: int
) -> tuple[Arm, ...]:
    """The plain network, the one with batch norm, and the one without its noise."""
    hidden, activation = of
    rows = data._replace(x=data.x[0])
    objective = NegativeLogLikelihood.of(family, rows)
    plain, normed = (MLP(hidden, activation, norm=norm) for norm in (None, "batch"))
    usual = BatchStatistics(objective)
    exact = AllStatistics(objective, rows.x, rows.w)
    pairs = (plain, usual), (normed, usual), (normed, exact)
    return tuple(Arm(n, o, data, family.n_eta, batch_size) for n, o in pairs)


def _rate_range(arms: Any, runs: Any, rates: np.ndarray, data: Batch) -> RateRange:
    """The losses at the end, and how far the usable rates extend."""
    losses = [_final(arm, one[-1]) for arm, one in zip(arms, runs, strict=False)]
    family = arms[0].objective.objective.family
    y, w = np.asarray(data.y, np.float64), np.asarray(data.w, np.float64)
    eta = np.asarray(family.marginal(jnp.asarray(y), jnp.asarray(w)))
    nats = -np.asarray(family.log_prob(jnp.tile(eta, (len(y), 1)), jnp.asarray(y)))
    null = float(w @ nats / w.sum())
    target = 0.5 * (null + min(each.mean(1).min() for each in losses))
    step = float(np.mean(np.diff(np.log10(rates))))
    usable = [each <= target for each in losses]
    decades = Pair.of(*[step * each.sum(0) for each in usable])
    lowest = np.log10(rates[0]) - step
    highest = [
        np.where(each, np.log10(rates)[:, None], lowest).max(0) for each in usable
    ]
    plain, normed = losses
    return RateRange(rates, plain, normed, target, decades, Pair.of(*highest))


def _final(arm: Arm, runs: Runs) -> Float[np.ndarray, "r s"]:
    """Training losses, infinite where training diverged."""
    found = np.asarray(final_losses(arm, runs, jax.random.key(0)), np.float64)
    return np.where(np.isfinite(found), found, np.inf)


def _invariance(arms: Any, runs: Any, at: int, of: tuple, change: tuple) -> Invariance:
    """Outputs before training, and losses after it, from changed inputs."""
    outputs, losses = [], []
    for arm, one in zip(arms, runs, strict=False):
        other = moved(arm.data, *change)
        start = picked(one[0], at)
        outputs.append(output_change(arm, start, other.x[0], jax.random.key(0)))
        changed = Arm(arm.network, arm.objective, other, arm.n_out, arm.batch_size)
        ends = (changed, train(changed, *of)[-1]), (arm, one[-1])
        after, before = (_final(which, end)[at] for which, end in ends)
        with np.errstate(invalid="ignore"):
            losses.append(after - before)
    scale, shift = map(float, change)
    return Invariance(scale, shift, Pair.of(*outputs), Pair.of(*losses))


def _smoothness(arms: Any, common: Any, rate: float) -> SmoothnessPair:
    """Means over the segments of the logarithms of the three measures."""
    found = []
    for arm, runs in zip(arms, common, strict=False):
        each = [
            smoothness(arm, run, jnp.asarray(rate, jnp.float32), jax.random.key(0))
            for run in runs
        ]
        logs = [
            np.log10(np.asarray(m, float))
            for m in map(np.stack, zip(*each, strict=True))
        ]
        found.append(Smoothness(*(log.mean(0) for log in logs)))
    pairs = [Pair.of(a, b) for a, b in zip(*found, strict=True)]
    return SmoothnessPair(float(rate), *pairs)


def _noise(arms: Any, common: Any, other: Batch, of: tuple) -> Noise:
    """The spread over minibatches, and the gaps of the three networks."""
    plain, normed, exact = arms
    n = len(normed.data.w)
    sizes = np.array([b for b in (4, 8, 16, 32, 64, 128) if 2 * b <= n] or [2])
    ends = [runs[-1] for runs in common]
    spread = np.stack(
        [
            np.asarray(batch_noise(normed, ends[1], jnp.asarray(b), jax.random.key(b)))
            for b in sizes
        ]
    )
    slopes = _slopes(sizes, spread)
    control = picked(train(exact, *of)[-1], 0)
    runs = [*ends, control]
    train_losses, validation = (
        [
            np.asarray(losses_in_use(a, r, rows), float)
            for a, r in zip(arms, runs, strict=True)
        ]
        for rows in (normed.rows, other)
    )
    gaps = [v - t for t, v in zip(train_losses, validation, strict=True)]
    errors = spread.std(1, ddof=1) / np.sqrt(spread.shape[1])
    return Noise(
        sizes,
        spread.mean(1),
        errors,
        over_seeds(slopes),
        Pair.of(gaps[0], gaps[1]),
        over_seeds(gaps[2]),
        over_seeds(gaps[2] - gaps[1]),
        over_seeds(validation[2] - validation[1]),
    )


def _slopes(
    sizes: np.ndarray, spread: Float[np.ndarray, "b s"]
) -> Float[np.ndarray, " s"]:
    """The slope of log spread over log size, for each seed."""
    if len(sizes) < 2:
        return np.full(spread.shape[1], np.nan)
    return np.polyfit(np.log(sizes), np.log(spread), 1)[0]
