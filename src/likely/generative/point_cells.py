r"""Rows as points of a space: what cells become numbers, and which cells numbers become.

    pixels with L levels    2k/(L − 1) − 1, between −1 and 1
    other pixels            (x − mean)/deviation, the same for all pixels
    numbers, whole numbers  their codes
    categories              a 1 for the level and −1 for the others; one number for two levels

The last step of a diffusion model ends with $x_0 \sim N(\hat x_0, s^2)$ in that space. Of this
normal distribution a cell has the density, or the probability of its part: the interval around
a level (the outermost of pixels are open), or for categories the share of the level's density
among those of all levels. Where the values of a number are known, it has one of them, or else a
part of a normal distribution.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_expit, log_ndtr, log_softmax, logsumexp

from likely.core.numerics import HALF_LOG_2PI
from likely.generative.pixels import PixelCode
from likely.preprocess import TableCodec


class KnownValues(NamedTuple):
    """How probable the values are that numbers of n rows may have."""

    values: np.ndarray
    """(..., K)."""
    logs: np.ndarray
    """(n, ..., K + 1) logarithmic probabilities of the values, the last of none of them ..."""
    mean: np.ndarray
    """(n, ...) where the number is normal ..."""
    spread: np.ndarray
    """(n, ...) with this deviation."""

    def at(self, x: np.ndarray, near: float) -> np.ndarray:
        """(n, ...) the log probability of the value that is as near to x as this."""
        hit = np.abs(x[..., None] - self.values) < near
        return np.asarray(logsumexp(np.where(hit, self.logs[..., :-1], -np.inf), -1))


@dataclasses.dataclass(frozen=True)
class ImageCells:
    """Images as points.

    Args:
        pixels: how pixels become whole numbers.
        center: of pixels that are any numbers.
        scale: their deviation.
    """

    pixels: PixelCode
    center: float = 0.0
    scale: float = 1.0

    @classmethod
    def learn(cls, pixels: PixelCode, codes: np.ndarray) -> "ImageCells":
        """With the units of the images of a fit."""
        if pixels.levels:
            return cls(pixels)
        return cls(pixels, float(codes.mean()), float(codes.std()) or 1.0)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a point, (h, w, c)."""
        return self.pixels.shape

    @property
    def clip(self) -> float | None:
        """The largest size of a number, or None for any."""
        return 1.0 if self.pixels.levels else None

    @property
    def width(self) -> float:
        """The distance of two levels."""
        return 2.0 / max(self.pixels.levels - 1, 1)

    def points(self, codes: np.ndarray) -> np.ndarray:
        """(n, h, w, c) points of codes."""
        if self.pixels.levels:
            return codes * self.width - 1
        return (codes - self.center) / self.scale

    def codes(self, x: np.ndarray) -> np.ndarray:
        """The codes of points."""
        if self.pixels.levels:
            return (x + 1) / self.width
        return x * self.scale + self.center

    def log_prob(
        self,
        codes: np.ndarray,
        mean: np.ndarray,
        spread: np.ndarray,
        known: KnownValues | None = None,
    ) -> np.ndarray:
        """(n,) log p of images whose points are normal.

        Args:
            codes: (n, h, w, c) of the images.
            mean: of the points.
            spread: (h, w, c) their deviations.
            known: the values that they may have instead.
        """
        x = self.points(codes)
        if not self.pixels.levels:
            z = (x - mean) / spread
            logs = -0.5 * z**2 - HALF_LOG_2PI - np.log(spread * self.scale)
        elif known is None:
            logs = self._mass(codes, mean, spread)
        else:
            rest = known.logs[..., -1] + self._mass(codes, known.mean, known.spread)
            logs = np.logaddexp(known.at(x, 0.25 * self.width), rest)
        return logs.reshape(len(x), -1).sum(1)

    def _mass(self, codes: np.ndarray, mean: np.ndarray, spread: np.ndarray):
        """(n, ...) the log probability of the interval around each level."""
        z, half = (self.points(codes) - mean) / spread, 0.5 * self.width / spread
        low = np.where(codes <= 0, -np.inf, z - half)
        return log_mass(
            low, np.where(codes >= self.pixels.levels - 1, np.inf, z + half)
        )


@dataclasses.dataclass(frozen=True)
class TableCells:
    """Rows of a table as points.

    Args:
        codec: how cells become numbers.
    """

    codec: TableCodec

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a point, (D,)."""
        return (self.places[-1].stop,)

    @property
    def clip(self) -> float | None:
        """Numbers may have any size."""
        return None

    @property
    def places(self) -> list[slice]:
        """The numbers of each column."""
        sizes = [c.n_levels if c.n_levels > 2 else 1 for c in self.codec.columns]
        ends = np.cumsum(sizes).tolist()
        return [slice(e - s, e) for e, s in zip(ends, sizes, strict=True)]

    def points(self, codes: np.ndarray) -> np.ndarray:
        """(n, D) points of codes."""
        parts = []
        for column, v in zip(self.codec.columns, codes.T, strict=True):
            if column.kind != "category":
                parts.append(v[:, None])
            elif column.n_levels > 2:
                parts.append(2.0 * (v[:, None] == np.arange(column.n_levels)) - 1)
            else:
                parts.append(2 * v[:, None] - 1)
        return np.concatenate(parts, 1)

    def codes(self, x: np.ndarray) -> np.ndarray:
        """The codes of points: of categories, those of the nearest level."""
        found = []
        for column, place in zip(self.codec.columns, self.places, strict=True):
            part = x[:, place]
            if column.kind != "category":
                found.append(part[:, 0])
            elif column.n_levels > 2:
                found.append(part.argmax(1).astype(float))
            else:
                found.append((part[:, 0] > 0).astype(float))
        return self.codec.project(np.stack(found, 1))

    def log_prob(
        self,
        codes: np.ndarray,
        mean: np.ndarray,
        spread: np.ndarray,
        known: KnownValues | None = None,
    ) -> np.ndarray:
        """(n,) log p of rows whose points are normal, in nats of the table's units.

        Args:
            codes: (n, q) of the rows.
            mean: (n, D) of the points.
            spread: (D,) their deviations.
            known: the values that they may have instead.
        """
        found = self.codec.log_det(codes)
        for j, (column, place) in enumerate(
            zip(self.codec.columns, self.places, strict=True)
        ):
            v, m, s = codes[:, j], mean[:, place], spread[place]
            if column.kind == "category":
                odds = 2 * m / s**2 if known is None else _odds(known, place)
                if column.n_levels > 2:
                    rows = np.arange(len(v)), v.astype(int)
                    found += log_softmax(odds, axis=1)[rows]
                else:
                    found += log_expit((2 * v - 1) * odds[:, 0])
            elif not column.discrete:
                z = (v - m[:, 0]) / s[0]
                found += -0.5 * z**2 - HALF_LOG_2PI - np.log(s[0])
            elif known is None:
                found += _whole_mass(v, m[:, 0], s[0], column.step)
            else:
                found += _whole_values(v, known, place, column.step)
        return found


def _odds(known: KnownValues, place: slice) -> np.ndarray:
    """(n, levels) log p(1) − log p(−1) of the numbers of a category."""
    logs = known.logs[:, place]
    return logs[..., 1] - logs[..., 0]


def _whole_values(v: np.ndarray, known: KnownValues, place: slice, step: float):
    """(n,) log p of whole numbers, each of them a value or a part of the normal rest."""
    own = KnownValues(known.values[place], *(a[:, place] for a in known[1:]))
    mass = _whole_mass(v, own.mean[:, 0], own.spread[:, 0], step)
    return np.logaddexp(
        own.at(v[:, None], 0.25 * step)[:, 0], own.logs[:, 0, -1] + mass
    )


def _whole_mass(v: np.ndarray, mean: np.ndarray, spread: Any, step: float):
    """(n,) the log probability of the interval around each whole number."""
    z, half = (v - mean) / spread, 0.5 * step / spread
    return log_mass(z - half, z + half)


def log_mass(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """log(Φ(high) − Φ(low)), exact in both tails."""
    swap = low > 0  # Φ(b) − Φ(a) = Φ(−a) − Φ(−b), where both are small numbers
    low, high = np.where(swap, -high, low), np.where(swap, -low, high)
    upper, lower = log_ndtr(high), log_ndtr(low)
    with np.errstate(divide="ignore"):
        return upper + np.log(-np.expm1(np.minimum(lower - upper, -1e-300)))
