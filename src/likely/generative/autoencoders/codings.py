"""Rows as a model takes them, and back: tables by a codec, images and numbers as they are."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array

from likely.base.marginal import family_of
from likely.base.pictures import flat_images, image_shape, shape_of
from likely.base.rows import dense, weights_of
from likely.base.table_rows import check_table, codes_of, fill_missing, learn_codes
from likely.core.checks import InputError
from likely.families import (
    AbstractFamily,
    Bernoulli,
    Categorical,
    Gamma,
    Laplace,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
)
from likely.generative.autoencoders.cells import CellLikelihood
from likely.preprocess import TableCodec
from likely.preprocess.codec.inputs import CellInputs

FAMILIES = {
    "bernoulli": Bernoulli,
    "gamma": Gamma,
    "laplace": Laplace,
    "negative_binomial": NegativeBinomial,
    "normal": Normal,
    "poisson": Poisson,
    "student_t": StudentT,
}
"""Families that all cells of an array may have, by name; and "categorical", "bytes"."""
MAX_CATEGORIES = 1024
MIN_PIXEL_SCALE = 0.1
"""The smallest scale of a pixel, in units of the deviation of all pixels."""


class FittedRows(NamedTuple):
    """The rows of a fit that count."""

    values: np.ndarray
    """(n, ...) numbers, NaN where a cell is missing."""
    w: np.ndarray
    present: np.ndarray
    """(N,) booleans: which of the rows that were given these are."""


@dataclasses.dataclass(frozen=True)
class TableCoding:
    """Rows of a table."""

    codec: TableCodec

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row, as a network sees it."""
        return (self.codec.n_inputs,)

    @property
    def inputs(self) -> CellInputs | None:
        """How cells become inputs of a network."""
        return self.codec.cell_inputs

    @property
    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """Those of the inputs, which come scaled."""
        return np.zeros(()), np.ones(())

    def likelihood(self, *, shared: bool) -> CellLikelihood:
        """Of the cells of a row."""
        return CellLikelihood.of_table(self.codec, shared=shared)

    def encode(self, estimator: Any, X: Any) -> np.ndarray:
        """The numbers of new rows."""
        return codes_of(estimator, X)

    def decode(self, values: np.ndarray) -> Any:
        """Rows, from numbers."""
        return self.codec.decode(self.codec.project(values))

    def fill(self, X: Any, values: np.ndarray) -> Any:
        """The rows X with their missing cells filled from numbers."""
        return fill_missing(self.codec, X, self.codec.project(values))

    def log_det(self, values: np.ndarray) -> np.ndarray:
        """(n,) what densities gain from the units of the columns."""
        return self.codec.log_det(values)


@dataclasses.dataclass(frozen=True)
class ArrayCoding:
    """Images, or rows of numbers, whose cells are all of one family."""

    row: tuple[int, ...]
    """The shape of a row as it came."""
    shape: tuple[int, ...]
    """The shape of a row, as a network sees it: (h, w, c) for images."""
    family: AbstractFamily | None
    """Of every cell; None for bytes."""
    center: np.ndarray
    """(d,) what is subtracted from each cell."""
    scale: np.ndarray
    """(d,) what each cell is divided by."""
    units: tuple[np.ndarray, np.ndarray]
    """Center and scale of the inputs of a network: of each channel, or of each cell."""
    dtype: str

    @property
    def inputs(self) -> CellInputs | None:
        """Cells are inputs of a network as they are, in `units`."""
        return None

    def likelihood(self, *, shared: bool) -> CellLikelihood:
        """Of the cells of a row."""
        size = int(np.prod(self.shape))
        if self.family is None:
            return CellLikelihood.of_bytes(size, shared=shared)
        if len(self.shape) < 3:
            return CellLikelihood.of_family(self.family, size, shared=shared)
        least = MIN_PIXEL_SCALE * float(np.mean(self.units[1]))
        return CellLikelihood.of_family(self.family, size, shared=shared, least=least)

    def encode(self, estimator: Any, X: Any) -> np.ndarray:
        """The numbers of new rows."""
        if len(self.shape) == 3:
            X = flat_images(X, self.shape)  # type: ignore[arg-type]
        flat = check_table(estimator, X, reset=False)
        flat = np.asarray(flat, np.float64)
        _check_cells(self.family, flat, np.ones(len(flat)))
        return ((flat - self.center) / self.scale).reshape(-1, *self.shape)

    def decode(self, values: np.ndarray) -> np.ndarray:
        """Rows, from numbers."""
        flat = np.asarray(values, np.float64).reshape(len(values), -1)
        flat = flat * self.scale + self.center
        if self.dtype == "uint8":
            flat = np.clip(np.round(flat * 255), 0, 255)
        whole = np.dtype(self.dtype).kind in "iub"
        kind = np.float64 if whole and np.isnan(flat).any() else self.dtype
        if whole and kind == self.dtype:
            flat = np.round(flat)
        return flat.astype(kind).reshape(-1, *self.row)

    def fill(self, X: Any, values: np.ndarray) -> np.ndarray:
        """The rows X with their missing cells filled from numbers."""
        X = np.asarray(X)
        return np.where(np.isnan(X), self.decode(values).reshape(X.shape), X)

    def log_det(self, values: np.ndarray) -> np.ndarray:
        """(n,) what densities gain from the units of the columns."""
        here = ~np.isnan(values.reshape(len(values), -1))
        return -(here * np.log(self.scale)).sum(1)


Coding = TableCoding | ArrayCoding


def learn_coding(
    estimator: Any, X: Any, sample_weight: Any, *, family: Any, shape: Any, kinds: Any
) -> tuple[Coding, FittedRows]:
    """How the rows of a fit are coded, and their numbers.

    Args:
        estimator: that is fitted.
        X: a table, an array of numbers, or images.
        sample_weight: how often each row counts.
        family: of the cells; "auto" looks at them.
        shape: the image shape of flat rows, or None.
        kinds: kinds of the columns of a table.
    """
    X = dense(X)
    images = shape is not None or len(shape_of(X)) > 2
    if not images and isinstance(family, str) and family == "auto":
        rows = learn_codes(estimator, X, sample_weight, kinds=kinds)
        return TableCoding(estimator.codec_), FittedRows(*rows)
    if kinds is not None:
        raise InputError(
            'kinds are those of the columns of a table with family="auto"; leave them '
            "out, or the family."
        )
    return _learn_array(estimator, X, sample_weight, family, shape, images=images)


def _learn_array(
    estimator: Any, X: Any, sample_weight: Any, family: Any, shape: Any, *, images: bool
) -> tuple[Coding, FittedRows]:
    came = shape_of(X)[1:]
    dtype = str(getattr(X, "dtype", "float64"))
    dtype = dtype if dtype in ("float32", "uint8", "bool") else "float64"
    form = came
    if images:
        form = image_shape(X, shape)
        X = flat_images(X, form)
    flat = np.asarray(check_table(estimator, X, reset=True), np.float64)
    w = weights_of(sample_weight, len(flat))
    here = w > 0
    if here.sum() < 2:
        raise InputError(
            f"there is {int(here.sum())} sample of positive weight; give two or more."
        )
    check: Any = check_array
    check(flat[here], ensure_all_finite="allow-nan")
    flat, w = flat[here], w[here]
    law = _cell_family(family, flat, dtype, images=images)
    _check_cells(law, flat, w)
    center, scale = np.zeros(flat.shape[1]), np.ones(flat.shape[1])
    if law is not None and _has_units(law) and not images:
        center, scale = _moments(flat, w)
    values = ((flat - center) / scale).reshape(-1, *form)
    bounded = images and (law is None or isinstance(law, Bernoulli))
    channels = form[-1:]
    units = (
        np.zeros(channels),
        np.ones(channels),
    )  # pixels from 0 to 1 stay as they are
    units = units if bounded else _input_units(values, w)
    coding = ArrayCoding(tuple(came), tuple(form), law, center, scale, units, dtype)
    return coding, FittedRows(values, w, here)


def _cell_family(
    given: Any, flat: np.ndarray, dtype: str, *, images: bool
) -> AbstractFamily | None:
    """The family of every cell; None for bytes."""
    known = flat[~np.isnan(flat)]
    if isinstance(given, str) and given == "auto":
        if ((known == 0) | (known == 1)).all():
            return Bernoulli()
        return None if dtype == "uint8" else Normal()
    if isinstance(given, str) and given == "bytes":
        if not images or known.min() < 0 or known.max() > 1:
            raise InputError(
                'family="bytes" is for images of bytes, or of numbers from 0 to 1.'
            )
        return None
    if isinstance(given, str) and given == "categorical":
        top = int(known.max()) + 1
        if top > MAX_CATEGORIES:
            raise InputError(
                f'family="categorical" with class numbers up to {top - 1}; give at most '
                f"{MAX_CATEGORIES} classes."
            )
        return Categorical(top)
    found = family_of(given, FAMILIES)
    if found.multivariate:
        raise InputError(
            f"family is {type(found).__name__}, which is of whole vectors; give a family "
            "of one number, which every cell gets."
        )
    return found


def _check_cells(
    family: AbstractFamily | None, flat: np.ndarray, w: np.ndarray
) -> None:
    """Refuse cells that the family cannot have."""
    if family is None:
        return
    bad = family.outside(flat) & ~np.isnan(flat) & (w > 0)[:, None]
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"X has {flat[row, column]:g} in row {row}, cell {column}, but "
            f"{type(family).__name__} needs {family.needs}. {family.remedy}"
        )


def _has_units(family: AbstractFamily) -> bool:
    """Whether η moves with shifts and stretches of the cells: a scale that is learned."""
    free = getattr(family, "scale", 1) is None
    return free and isinstance(family, Normal | StudentT | Laplace)


def _input_units(values: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Center and scale of inputs: of each channel of images, else of each cell."""
    if values.ndim == 2:
        return _moments(values, w)
    flat = values.reshape(-1, values.shape[-1])
    return _moments(flat, np.repeat(w, len(flat) // len(values)))


def _moments(flat: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d,) means and deviations of the cells that are there; 1 where nothing varies."""
    here = ~np.isnan(flat) * w[:, None]
    total = np.maximum(here.sum(0), 1e-300)
    filled = np.where(np.isnan(flat), 0.0, flat)
    center = (here * filled).sum(0) / total
    spread = np.sqrt((here * (filled - center) ** 2).sum(0) / total)
    return center, np.where(spread > 1e-12 * (1 + np.abs(center)), spread, 1.0)
