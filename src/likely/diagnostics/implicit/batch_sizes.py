r"""Small batches and the solutions they find: norm and sharpness over the batch size.

The batch term of the modified loss grows as batches shrink, so stochastic descent prefers weights
where rows agree: flatter ones (a lower largest eigenvalue of the Hessian), mostly of a lower
norm. Every batch size runs from the same first weights, for the same number of steps at the same
rate, and all runs are one program: a batch is a vector of row weights, 0 for the rows that are
not in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import stats

from likely.base.settings import above_zero, at_least
from likely.core.checks import InputError, check_batch
from likely.core.lanczos import lanczos, ritz_pairs
from likely.core.random import key_of
from likely.diagnostics.result import Result
from likely.objectives import NegativeLogLikelihood
from likely.solvers import Constant, GradientDescent
from likely.solvers.flat import flatten
from likely.typing import Batch, Key, State

LANCZOS_STEPS = 25


class DrawnBatch(eqx.Module):
    """An objective on a random part of the rows, drawn anew at each step.

    Args:
        objective: of all rows.
        size: the number of rows of a batch; an array, so that sizes share one program.
    """

    objective: Any
    size: Any

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The loss of a batch, weighted so that its mean over draws is that of all rows."""
        if key is None:
            return self.objective(model, batch, key=None, state=state)
        n = len(batch.w)
        rank = jnp.argsort(jnp.argsort(jax.random.uniform(key, (n,))))
        w = jnp.where(rank < self.size, batch.w * n / self.size, 0.0)
        return self.objective(model, batch._replace(w=w), key=None, state=state)


@dataclass(frozen=True, repr=False, eq=False)
class BatchSizeStudy(Result):
    """What descent by batches of several sizes found, from several seeds."""

    sizes: tuple[int, ...]
    """Batch sizes, ascending; the last one may be all rows."""
    n_rows: int
    rate: float
    steps: int
    loss: Float[np.ndarray, "b s"]
    """On all training rows at the end."""
    held_out: Float[np.ndarray, "b s"] | None
    """On other rows, where they are given."""
    norm: Float[np.ndarray, "b s"]
    """Of the weights."""
    sharpness: Float[np.ndarray, "b s"]
    """The largest eigenvalue of the Hessian, by Lanczos' method."""
    residual: float
    """The largest residual of these."""

    def trend(self, values: Float[np.ndarray, "b s"]) -> tuple[float, float]:
        """The slope of log values by log batch size, mean over seeds, and its standard error."""
        x = np.log(np.array(self.sizes, float))
        x = x - x.mean()
        good = np.isfinite(values).all(0) & (values > 0).all(0)
        if good.sum() < 2:
            return float("nan"), float("nan")
        slopes = x @ np.log(values[:, good]) / (x @ x)
        return float(slopes.mean()), float(slopes.std(ddof=1) / np.sqrt(good.sum()))

    @property
    def diverged(self) -> int:
        """Runs whose loss is not finite."""
        return int((~np.isfinite(self.loss)).sum())

    @property
    def verdict(self) -> str:
        """Whether small batches found flatter weights, and ones of lower norm."""
        small, large = self.sizes[0], self.sizes[-1]
        parts = [
            self._compared("sharpness", self.sharpness, "flatter", "sharper"),
            self._compared("norm", self.norm, "of lower norm", "of higher norm"),
        ]
        rest = (
            f"Their training loss is {self._mean(self.loss, 0)} and "
            f"{self._mean(self.loss, -1)}"
        )
        if self.held_out is not None:
            rest += (
                f", the held-out one {self._mean(self.held_out, 0)} and "
                f"{self._mean(self.held_out, -1)}"
            )
        if self.diverged:
            rest += f"; {self.diverged} of {self.loss.size} runs diverged"
        return (
            f"From the same starts, with {self.steps} steps at rate {self.rate:g}, batches of "
            f"{small} rather than {large} rows find weights that are {' and '.join(parts)}. {rest}."
        )

    def _compared(self, name: str, values: np.ndarray, less: str, more: str) -> str:
        slope, error = self.trend(values)
        seeds = values.shape[1]
        shown = np.abs(slope) > stats.t.ppf(0.975, max(seeds - 1, 1)) * error
        if not shown:
            return f"not shown to differ in {name}"
        ratio = np.nanmean(values[0]) / np.nanmean(values[-1])
        word = less if slope > 0 else more
        return f"{word} ({name} {ratio:.3g} times; slope {slope:.2f} ± {error:.1g})"

    def _mean(self, values: np.ndarray, i: int) -> str:
        row = values[i][np.isfinite(values[i])]
        if len(row) < 2:
            return "unknown"
        return f"{row.mean():.4g} ± {row.std(ddof=1) / np.sqrt(len(row)):.1g}"

    def table(self) -> dict[str, Any]:
        """One row for each batch size: means over seeds with standard errors."""
        columns: dict[str, Any] = {"batch size": list(self.sizes)}
        measures = {
            "loss": self.loss,
            "held out": self.held_out,
            "norm": self.norm,
            "sharpness": self.sharpness,
        }
        for name, values in measures.items():
            if values is not None:
                root = np.sqrt(values.shape[1])
                columns[name] = values.mean(1).tolist()
                columns[f"± {name}"] = (values.std(1, ddof=1) / root).tolist()
        return columns

    def plot(self) -> Any:
        """Norm, sharpness and losses over the batch size."""
        from likely.plots import batch_size_study

        return batch_size_study(self)


def batch_size_study(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    family: Any,
    batch_sizes: Sequence[int] = (2, 4, 8, 16, 32, 64),
    rate: float | int = 0.1,
    n_steps: int = 3000,
    n_seeds: int = 5,
    X_val: Any = None,
    y_val: Any = None,
    random_state: Any = 0,
) -> BatchSizeStudy:
    """Train a model by batches of several sizes, all as one program, and measure what they find.

    Args:
        model: settings with `build(n_in, n_out, key=)`, such as `models.MLP((32,), "tanh")`, for
            new first weights with each seed; or any model, to begin from its weights.
        X: inputs.
        y: targets.
        sample_weight: how often each row counts.
        family: p(y | θ), one of `likely.families`.
        batch_sizes: at most the number of rows; larger ones are left out.
        rate: the learning rate, the same for all.
        n_steps: the same for all, so that small batches see fewer rows in all.
        n_seeds: at least 2.
        X_val: inputs of held-out rows.
        y_val: their targets.
        random_state: the seed.
    """
    rate, steps = above_zero("rate", rate), at_least("n_steps", n_steps, 1, whole=True)
    seeds = at_least("n_seeds", n_seeds, 2, whole=True)
    rows = _rows(X, y, sample_weight, family)
    n = len(rows.w)
    sizes = tuple(sorted({int(b) for b in batch_sizes if 0 < b <= n}))
    if len(sizes) < 2:
        raise InputError(
            f"batch_sizes has {len(sizes)} between 1 and {n} rows; give two or more."
        )
    other = None if X_val is None else _rows(X_val, y_val, None, family)
    keys = jax.random.split(key_of(random_state), seeds)
    setting = jnp.asarray(rate, jnp.float32), jnp.asarray(steps)
    found = _trained((model, family), (rows, other), jnp.asarray(sizes), keys, setting)
    loss, held_out, norm, alpha, beta = (np.asarray(a, np.float64) for a in found)
    sharpness, residuals = np.full_like(loss, np.nan), np.zeros_like(loss)
    for at in np.argwhere(np.isfinite(alpha).all(2) & np.isfinite(beta).all(2)):
        pairs = ritz_pairs(alpha[tuple(at)], beta[tuple(at)])
        sharpness[tuple(at)] = pairs.values[-1]
        residuals[tuple(at)] = pairs.residuals[-1]
    return BatchSizeStudy(
        sizes,
        n,
        rate,
        steps,
        loss,
        None if other is None else held_out,
        norm,
        sharpness,
        float(residuals.max()),
    )


def _rows(X: Any, y: Any, w: Any, family: Any) -> Batch:
    """Checked rows in single precision."""
    data = check_batch(Batch(np.asarray(X, np.float64), np.asarray(y, np.float64), w))
    NegativeLogLikelihood.check(family, data)
    return jax.tree.map(lambda a: np.asarray(a, np.float32), data)


@eqx.filter_jit
def _trained(
    of: tuple, data: tuple[Batch, Any], sizes: Array, keys: Any, setting: tuple
) -> tuple:
    """Losses, norms and Lanczos' matrices of each batch size and seed."""
    (settings, family), (rows, other) = of, data
    rate, steps = setting
    objective = NegativeLogLikelihood.of(family, rows)

    def one(size: Array, key: Any) -> tuple:
        first, order, start = jax.random.split(key, 3)
        model = settings
        if hasattr(settings, "build"):
            model = settings.build(rows.x.shape[1], family.n_eta, key=first)
        solver = GradientDescent(Constant(rate), steps=steps)
        found = solver.minimize(DrawnBatch(objective, size), model, rows, key=order)
        phi, rebuild = flatten(found.model)

        def mean(phi: Array) -> Array:
            return objective(rebuild(phi), rows)[0]

        def product(v: Array) -> Array:
            return jax.jvp(jax.grad(mean), (phi,), (v,))[1]

        begin = jax.random.normal(start, phi.shape, phi.dtype)
        T = lanczos(product, begin, min(LANCZOS_STEPS, len(phi)))
        held_out = jnp.zeros(())
        if other is not None:
            held_out = NegativeLogLikelihood.of(family, other)(found.model, other)[0]
        return mean(phi), held_out, jnp.linalg.norm(phi), T.alpha, T.beta

    each = jax.vmap(one, (None, 0))
    return jax.vmap(each, (0, None))(sizes, keys)
