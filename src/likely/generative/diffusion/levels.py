r"""Numbers of a row that take some values again and again, and what noise leaves of them.

The marginal distribution of such a number has a probability $π_k$ at each of some values $v_k$,
and a normal distribution $N(m, s^2)$ for whatever else it may be, of probability $π_0$. Under
noise, $x_t = a x_0 + σ ε$, each part is as probable as

$$w_k \propto π_k\,N(x_t; a v_k, σ^2), \qquad w_0 \propto π_0\,N(x_t; a m, a^2 s^2 + σ^2),$$

so that with little noise there is no doubt about the value. A network would have to learn that
for every time.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.generative.point_cells import ImageCells, TableCells

MAX_VALUES = 128
"""Values of a column of whole numbers: all of its range, or those that are frequent."""
MAX_PIXEL_VALUES = 32
MIN_PIXEL_SHARE = 0.02
"""The least share of all pixels that a level has which is a value of its own."""
MIN_COUNT = 0.5
"""Rows that are added to each value."""
NEVER = -1e30
"""The logarithm of a probability that is zero."""


class Levels(eqx.Module):
    """The values of each number, and their logarithmic probabilities."""

    values: Float[Any, "... k"]
    logs: Float[Any, "... k"]
    other: Float[Any, "..."]
    """The logarithmic probability of a number that has none of the values."""

    def parts(
        self, xt: Any, a: Any, sigma: Any, mean: Any, variance: Any
    ) -> Float[Array, "n ... parts"]:
        """(n, ..., K + 1) log w of the values, and last of the normal distribution.

        Args:
            xt: (n, ...) noised rows.
            a: √ᾱ of each row, with axes to spread over the row.
            sigma: √(1 − ᾱ), likewise.
            mean: of the normal distribution.
            variance: of it.
        """
        values, logs, other = jax.lax.stop_gradient(
            (self.values, self.logs, self.other)
        )
        far = (xt[..., None] - a[..., None] * values[None]) / sigma[..., None]
        known = logs[None] - 0.5 * far**2 - jnp.log(sigma)[..., None]
        total = a**2 * variance + sigma**2
        rest = other[None] - 0.5 * (xt - a * mean) ** 2 / total - 0.5 * jnp.log(total)
        return jax.nn.log_softmax(jnp.concatenate([known, rest[..., None]], -1), -1)


def levels_of(
    cells: ImageCells | TableCells, codes: np.ndarray, w: np.ndarray
) -> Levels | None:
    """The values that the numbers of weighted rows have; None where all have densities.

    Args:
        cells: how codes become numbers.
        codes: (n, ...) of the rows.
        w: (n,) their weights.
    """
    if isinstance(cells, ImageCells):
        return _pixel_levels(cells, codes, w)
    found = [([], [], 0.0)] * cells.shape[0]
    for j, (column, place) in enumerate(
        zip(cells.codec.columns, cells.places, strict=True)
    ):
        if not column.discrete:
            continue
        if column.kind == "category":
            count = np.bincount(codes[:, j].astype(int), w, column.n_levels) + MIN_COUNT
            share = count / count.sum()
            if column.n_levels == 2:
                share = share[1:]
            each = [([-1.0, 1.0], [1 - p, p], 0.0) for p in share]
        else:
            each = [_whole_levels(codes[:, j], w, column.step)]
        for number, own in zip(range(place.start, place.stop), each, strict=True):
            found[number] = own
    most = max(len(values) for values, _, _ in found)
    return _packed(found, _padded(most)) if most else None


def _whole_levels(v: np.ndarray, w: np.ndarray, step: float) -> tuple[Any, Any, float]:
    """Whole numbers of the range, or the frequent ones; those not seen as if normal."""
    low = v.min()
    place = np.round((v - low) / step).astype(np.int64)
    values = (
        np.arange(place.max() + 1) if place.max() < MAX_VALUES else np.unique(place)
    )
    count = np.zeros(len(values))
    np.add.at(count, np.searchsorted(values, place), w)
    new = count[count <= 1].sum() + 1.0
    points, mean = low + step * values, np.average(v, weights=w)
    z = (points - mean) ** 2 / max(np.average((v - mean) ** 2, weights=w), 1e-12)
    normal = np.exp(-0.5 * z)
    share = (count + new * normal / normal.sum()) / (w.sum() + 2 * new)
    kept = np.sort(np.argsort(-share, kind="stable")[:MAX_VALUES])
    return points[kept], share[kept], float(1 - share[kept].sum())


def _pixel_levels(cells: ImageCells, codes: np.ndarray, w: np.ndarray) -> Levels | None:
    """Levels that many pixels have, such as black, with their shares at each pixel."""
    n_levels = cells.pixels.levels
    if not n_levels:
        return None
    whole = codes.astype(int)
    every = np.bincount(whole.ravel(), np.repeat(w, whole[0].size), n_levels)
    every = every / every.sum()
    some = np.arange(n_levels)
    if n_levels > MAX_PIXEL_VALUES:
        some = np.argsort(-every, kind="stable")[:MAX_PIXEL_VALUES]
        some = np.sort(some[every[some] >= MIN_PIXEL_SHARE])
    if not len(some):
        return None
    count = np.stack([np.tensordot(w, whole == k, 1) for k in some], -1)
    # a pixel is as all of them together, by the weight of some rows
    few = np.sqrt(w.sum())
    share = (count + few * every[some]) / (w.sum() + few + 1.0)
    values = np.broadcast_to(some * cells.width - 1, share.shape)
    pad = _padded(len(some)) - len(some)
    wide = [(0, 0)] * 3 + [(0, pad)]
    logs = np.pad(np.log(np.maximum(share, 1e-30)), wide, constant_values=NEVER)
    other = np.log(np.maximum(1 - share.sum(-1), 1e-30))
    return Levels(_f32(np.pad(values, wide)), _f32(logs), _f32(other))


def _packed(found: list[tuple[Any, Any, float]], size: int) -> Levels:
    """(D, size) values and their logarithms; a number without values is normal."""
    D = len(found)
    values, logs = np.zeros((D, size)), np.full((D, size), NEVER)
    other = np.zeros(D)
    for i, (own, share, rest) in enumerate(found):
        values[i, : len(own)] = own
        logs[i, : len(own)] = np.log(share)
        if len(own):
            other[i] = np.log(rest) if rest > 0 else NEVER
    return Levels(_f32(values), _f32(logs), _f32(other))


def _padded(n: int) -> int:
    """The next power of two, so that few programs are compiled."""
    return 1 << (n - 1).bit_length()


def _f32(a: np.ndarray) -> np.ndarray:
    return np.asarray(a, np.float32)
