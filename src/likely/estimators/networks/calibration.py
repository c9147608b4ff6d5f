r"""Calibration of a network by held-out rows: honest scales and probabilities.

Row i was held out by one member, whose prediction of it is an honest one. From these
predictions one number is learned for all rows and members,

$$η_{\text{calibrated}} = a\,η + b,$$

with a = 1/T for classes (a temperature T ≥ 1: confidence is taken away, never added), and b on
the log-scale of numbers. A normal with one σ for all rows has a formula: with v the
mean variance between the members' means,

$$σ^2 = \sum_i w_i (y_i - μ_{k(i)}(x_i))^2 \Big/ \sum_i w_i - v,$$

so that the mixture of the members is as wide as the held-out errors are large. Few rows
determine a scale poorly: it is enlarged as the 90 % interval of Student's t is.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import log_expit, log_softmax
from scipy.stats import norm, t as student_t

from likely.core.precision import float64
from likely.core.rows import pad
from likely.estimators.networks.units import PLACE, SIZE, outputs_of, units_of
from likely.evaluate import temperature
from likely.families import AbstractFamily, Bernoulli, Categorical, Normal
from likely.typing import Batch

MIN_NOISE = 0.25
"""The least share of the squared held-out error that is noise, not difference of members."""
SHIFTS = np.linspace(-6.0, 6.0, 97)
"""What may be added to the log of a scale or shape."""


def calibration_of(
    family: AbstractFamily,
    shared: int,
    etas: np.ndarray,
    batch: Batch,
    fold: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Slope and offset, (m, k) each.

    Args:
        family: p(y | θ).
        shared: how many entries at the end of each output's η all rows share.
        etas: (m, n, ..., k) η of every member for the rows of the fit.
        batch: these rows.
        fold: (n,) the member that held out each row; others than 0, ..., m − 1 are no
            member, and the row is not used.
    """
    m, k = len(etas), etas.shape[-1]
    slope, offset = np.ones((m, k)), np.zeros((m, k))
    used = np.flatnonzero((fold >= 0) & (fold < m) & (batch.w > 0))
    own, y, w = etas[fold[used], used], np.asarray(batch.y)[used], batch.w[used]
    if isinstance(family, Bernoulli | Categorical):
        return slope / max(1.0, _temperature(own, y, w)), offset
    width, start = _width_of_few(w), 0
    columns = [y] if y.ndim == 1 else list(y.T)
    for values, member in zip(columns, outputs_of(family), strict=True):
        entries = slice(start, start + member.n_eta)
        where = start + _entries(member, shared)
        if isinstance(member, Normal) and shared:
            means = etas[:, used, start]
            slope[:, where] = 0.0
            offset[:, where] = np.log(_scale(own[:, start], means, values, w) * width)
        elif len(where):
            shift = _shift(member, own[:, entries], values, w, where - start)
            known = PLACE in units_of(member)
            offset[:, where] = shift + (np.log(width) if known else 0.0)
        start = entries.stop
    return slope, offset


def _temperature(eta: np.ndarray, codes: np.ndarray, w: np.ndarray) -> float:
    """T of the probabilities of rows, or of all positions of rows that have a class."""
    rows, codes = eta.reshape(-1, eta.shape[-1]), codes.ravel()
    w = np.repeat(w, len(rows) // len(w))
    rows, codes, w = (a[~np.isnan(codes)] for a in (rows, codes, w))
    logs = log_softmax(rows, axis=1)
    if eta.shape[-1] == 1:
        logs = np.concatenate([log_expit(-rows), log_expit(rows)], axis=1)
    return temperature(codes.astype(int), np.exp(logs), w)


def _entries(family: AbstractFamily, shared: int) -> np.ndarray:
    """The entries of η that say how wide the distribution of one output is."""
    if shared:
        return np.array([family.n_eta - shared])
    kinds = np.array(units_of(family))
    return np.flatnonzero(kinds == SIZE) if PLACE in kinds else np.zeros(0, int)


def _scale(own: np.ndarray, means: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """σ of a normal: what held-out errors have beyond the difference of the members."""
    square = float(np.average((y - own) ** 2, weights=w))
    apart = float(np.average(means.var(axis=0), weights=w))
    tiny = np.finfo(np.float64).tiny ** 0.5 * (1 + float(np.abs(y).max()))
    return max(max(square - apart, MIN_NOISE * square) ** 0.5, tiny)


def _width_of_few(w: np.ndarray) -> float:
    """How much wider the 90 % interval of Student's t is than that of a normal."""
    n = w.sum() ** 2 / (w**2).sum()
    return float(student_t.ppf(0.95, max(n - 1, 1)) / norm.ppf(0.95))


def _shift(
    family: AbstractFamily, eta: np.ndarray, y: np.ndarray, w: np.ndarray, where: Any
) -> float:
    """What to add to some entries of η for the highest held-out likelihood."""
    rows = pad(Batch(eta, y, w))
    added = np.zeros((len(SHIFTS), 1, family.n_eta))
    added[:, :, where] = SHIFTS[:, None, None]
    with float64():
        losses = np.asarray(_losses(family, *rows, added))
    return float(SHIFTS[np.argmin(np.where(np.isnan(losses), np.inf, losses))])


@eqx.filter_jit
def _losses(family: AbstractFamily, eta: Any, y: Any, w: Any, added: Any) -> Any:
    """Σ w·l for each of several changes of η."""

    def one(change: Any) -> Any:
        logs = jnp.where(w > 0, family.log_prob(eta + change, y), 0.0)
        return -jnp.sum(w * logs)

    return jax.lax.map(one, added)
