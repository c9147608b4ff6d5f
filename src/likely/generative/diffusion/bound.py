r"""The evidence bound of a diffusion model, in nats.

$$-\log p(x_0) \le KL(q(x_T \mid x_0), N(0, 1)) + \sum_{t=2}^T E\,KL\bigl(q(x_{t-1} \mid x_t, x_0),
p(x_{t-1} \mid x_t)\bigr) - E \log p(x_0 \mid x_1)$$

Both distributions in the middle are normal with means $a x_0 + b x_t$ and
$a \hat x_0 + b x_t$. The variance of the second that makes the bound largest is
$\tilde β_t + a^2 m_t$ with $m_t = E(x_0 - \hat x_0)^2$, which is estimated from held-out rows,
or from those of the fit where none were held out. The last step may also begin later than at 1.
The sum over t is estimated at a few times, drawn in proportion to how much they are expected to
contribute.
"""

import zlib
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from likely.base.generator import Bound
from likely.generative.diffusion.denoising import Diffuser, shown
from likely.generative.diffusion.schedule import NoiseSchedule, posterior
from likely.generative.point_cells import KnownValues
from likely.generative.row_chunks import in_chunks
from likely.typing import Batch

MAX_ROWS = 256
MAX_DOUBLE_NUMBERS = 256
"""Numbers of a row up to which estimates are computed in float64."""
GRID = 24
"""Times at which errors are measured; between them they are interpolated."""
ERROR_ROWS = 512
"""Rows that they are measured on."""
MIN_SQUARE = 1e-10
"""The least square error of an estimate, whose logarithm is taken."""
UNIFORM = 0.1
"""The share of times that are drawn evenly."""


class DenoisingErrors(NamedTuple):
    """m_t, how far estimates of x_0 are off, by the time."""

    grid: np.ndarray
    """(k,) times, increasing."""
    logs: np.ndarray
    """(k, D) logarithms of the mean squared errors of each number of a row."""

    def at(self, t: np.ndarray) -> np.ndarray:
        """(len(t), D) the errors at times, their logarithms linear between those measured."""
        right = np.clip(np.searchsorted(self.grid, t), 1, len(self.grid) - 1)
        low, high = self.grid[right - 1], self.grid[right]
        share = np.clip((t - low) / (high - low), 0.0, 1.0)[:, None]
        return np.exp((1 - share) * self.logs[right - 1] + share * self.logs[right])

    @classmethod
    def measure(cls, model: Diffuser, rows: Batch, seed: int) -> "DenoisingErrors":
        """The errors on rows: points x, the design of conditions y, weights w.

        Few rows are looked at several times, each time with new noise.
        """
        schedule, image = model.schedule, rows.x.ndim > 2
        T = schedule.n_steps
        grid = np.unique(
            np.round(1 + (T - 1) * np.linspace(0, 1, GRID) ** 2).astype(int)
        )
        order = np.random.default_rng(seed).permutation(len(rows.w))
        pick = np.resize(order, ERROR_ROWS)
        chosen = Batch(*(a[pick] for a in rows))
        share = chosen.w / chosen.w.sum()
        found = []
        for t in grid.tolist():
            eps = np.random.default_rng(seed + t).normal(size=chosen.x.shape)
            estimate = noised_estimates(model, chosen, np.full(len(share), t), eps)
            errors = ((chosen.x - estimate) ** 2).reshape(len(share), -1)
            mean = share @ errors
            if image:  # a pixel that hardly ever varies may do so in the next image
                mean = (len(share) * mean + mean.mean()) / (len(share) + 1)
            found.append(mean)
        return cls(grid, np.log(np.maximum(np.asarray(found), MIN_SQUARE)))


def noised_estimates(
    model: Diffuser, rows: Batch, t: np.ndarray, eps: np.ndarray
) -> np.ndarray:
    """x̂_0 of rows with the noise eps (n, ...) at times t (n,)."""
    inputs = (rows.x, rows.y, eps, t)
    return in_chunks(_estimates, model, inputs, double=_double(rows), max_rows=MAX_ROWS)


@eqx.filter_jit
def _estimates(
    model: Diffuser,
    rows: tuple[
        Float[Array, "n ..."],
        Float[Array, "n g"],
        Float[Array, "n ..."],
        Int[Array, " n"],
    ],
) -> Float[Array, "n ..."]:
    x0, given, eps, t = rows
    a, sigma = model.levels(t, x0)
    return model.row(a * x0 + sigma * eps, t, shown(given))


def known_values(model: Diffuser, rows: Batch, eps: np.ndarray) -> KnownValues | None:
    """How probable values of numbers are after the first step of noise; None without any."""
    if model.units is None or model.units.levels is None:
        return None
    found = in_chunks(
        _known_values, model, (rows.x, eps), double=_double(rows), max_rows=MAX_ROWS
    )
    return KnownValues(np.asarray(model.units.levels.values, np.float64), *found)


@eqx.filter_jit
def _known_values(
    model: Diffuser, rows: tuple[Float[Array, "n ..."], Float[Array, "n ..."]]
) -> tuple[Array, Array, Array]:
    x0, eps = rows
    assert model.units is not None
    a, sigma = model.levels(jnp.ones(len(x0), int), x0)
    xt = a * x0 + sigma * eps
    logs = model.units.parts(xt, a, sigma)
    mean, spread = model.units.linear(xt, a, sigma)
    return logs, mean, jnp.broadcast_to(spread, mean.shape)


def _double(rows: Batch) -> bool:
    return int(np.prod(rows.x.shape[1:])) <= MAX_DOUBLE_NUMBERS


def last_time(model: Diffuser, errors: DenoisingErrors) -> int:
    """The time from which the last step goes to x_0, by which the bound is expected largest.

    It is 1 where the network only says what numbers leave open. The errors of other targets may
    be larger than the noise of the first times, and then each of these would count them again.
    """
    if model.units is not None:
        return 1
    terms = expected_terms(model.schedule, errors, 1)
    rest = np.append(terms[::-1].cumsum()[::-1], 0.0)
    end = 0.5 * np.log(errors.at(np.arange(1, model.schedule.n_steps + 1))).sum(1)
    return 1 + int(np.argmin((rest + end)[:-1]))


def expected_terms(
    schedule: NoiseSchedule, errors: DenoisingErrors, last: int
) -> np.ndarray:
    """(T − last,) what each time after the last one is expected to contribute, for one row."""
    t = np.arange(last + 1, schedule.n_steps + 1)
    a, _, variance = posterior(schedule, t, t - 1)
    ratio = (a**2 / variance)[:, None] * errors.at(t)
    return 0.5 * np.log1p(ratio).sum(1)


def evidence_bound(
    model: Diffuser,
    cells: Any,
    codes: np.ndarray,
    given: np.ndarray,
    errors: DenoisingErrors,
    *,
    n_draws: int,
    seed: int,
) -> Bound:
    """The bound of each row, and the standard error of its estimate.

    Args:
        model: the trained denoiser.
        cells: how codes become points, and the likelihood of codes at the last step.
        codes: (n, ...) of rows.
        given: (n, g) the design of their conditions.
        errors: m_t.
        n_draws: times that are looked at for each row.
        seed: of times and noise.
    """
    found, first = [], last_time(model, errors)
    weights = expected_terms(model.schedule, errors, first)
    chances = (1 - UNIFORM) * weights / weights.sum() + UNIFORM / len(weights)
    for start in range(0, len(codes), MAX_ROWS):
        own = slice(start, start + MAX_ROWS)
        x = cells.points(codes[own])
        rows = Batch(x, given[own], np.ones(len(x)))
        shares, eps = row_noise(rows, n_draws, seed)
        last = noised_estimates(model, rows, np.full(len(x), first), eps[:, 0])
        spread = np.sqrt(errors.at(np.array([first])))[0].reshape(last.shape[1:])
        known = known_values(model, rows, eps[:, 0])
        end = cells.log_prob(codes[own], last, spread, known)
        places = np.searchsorted(np.cumsum(chances), shares)
        places = np.minimum(places, len(weights) - 1)
        terms = np.empty(places.shape)
        for k in range(n_draws):
            t = places[:, k] + first + 1
            terms[:, k] = _terms(model, rows, t, errors, eps[:, 1 + k])
        terms /= chances[places]
        values = end - _prior_divergence(model.schedule, x) - terms.mean(1)
        found.append(Bound(values, terms.std(1, ddof=1) / np.sqrt(n_draws)))
    return Bound(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def row_noise(rows: Batch, n_draws: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random numbers that are functions of what a row holds, whatever rows are beside it.

    Args:
        rows: points x and the design of conditions y.
        n_draws: times that are looked at for each row.
        seed: of all rows.

    Returns:
        (n, n_draws) numbers from 0 to 1, one in each n_draws-th part, and
        (n, 1 + n_draws, ...) standard normal numbers.
    """
    n = len(rows.x)
    shares = np.empty((n, n_draws))
    eps = np.empty((n, 1 + n_draws, *rows.x.shape[1:]))
    for i in range(n):
        held = (np.ascontiguousarray(part[i]).tobytes() for part in (rows.x, rows.y))
        rng = np.random.default_rng([seed % 2**63, *(zlib.crc32(b) for b in held)])
        shares[i] = (np.arange(n_draws) + rng.random(n_draws)) / n_draws
        eps[i] = rng.normal(size=eps.shape[1:])
    return shares, eps


def _terms(
    model: Diffuser,
    rows: Batch,
    t: np.ndarray,
    errors: DenoisingErrors,
    eps: np.ndarray,
) -> np.ndarray:
    """(n,) KL(q(x_{t−1} | x_t, x_0), p(x_{t−1} | x_t)) at a time of each row."""
    estimate = noised_estimates(model, rows, t, eps)
    square = ((rows.x - estimate) ** 2).reshape(len(t), -1)
    a, _, variance = (v[:, None] for v in posterior(model.schedule, t, t - 1))
    ratio = a**2 / variance
    wide = 1 + ratio * errors.at(t)
    each = 0.5 * (np.log(wide) + (1 + ratio * square) / wide - 1)
    return each.sum(1)


def _prior_divergence(schedule: NoiseSchedule, x: np.ndarray) -> np.ndarray:
    """(n,) KL(q(x_T | x_0), N(0, 1))."""
    signal, noise = schedule.signal[-1], schedule.noise[-1]
    flat = x.reshape(len(x), -1)
    constant = noise**2 - 1 - 2 * np.log(noise)
    return 0.5 * ((signal * flat) ** 2 + constant).sum(1)
