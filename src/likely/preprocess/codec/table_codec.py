r"""Tables as arrays of codes and back, for models of whole rows.

`TableEncoder` makes inputs for predictors, which nothing has to turn back. A generative model
needs both directions, and densities in the units of the table: with v the codes of the
continuous columns,

$$\log p(x) = \log p(v) + \sum_j \log \Bigl|\frac{dv_j}{dx_j}\Bigr|,$$

while words, truth values, counts and whole numbers have probabilities, which need no units.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from likely.core.checks import InputError, check_weights
from likely.data.columns import as_levels
from likely.data.frames import to_arrow
from likely.data.new_rows import read_new
from likely.data.schema import Schema
from likely.families import Product
from likely.preprocess.codec.column_code import ColumnCode
from likely.preprocess.codec.container import Container
from likely.preprocess.codec.inputs import CellInputs
from likely.preprocess.codec.learning import DAY, EPOCH, learn, read_numbers
from likely.preprocess.levels import UNKNOWN, codes_among


@dataclasses.dataclass(frozen=True)
class TableCodec:
    """The codes of a table, learned from rows with weights.

    Example:
        ```python
        codec = TableCodec.fit(frame)
        V = codec.encode(frame)         # (n, q) numbers, NaN where cells are missing
        codec.decode(V)                 # the same frame again
        ```
    """

    schema: Schema
    columns: tuple[ColumnCode, ...]
    """The columns that vary, in the order of their codes."""
    constants: tuple[ColumnCode, ...]
    """Columns with one value, which are not modelled but written again."""
    dropped: tuple[str, ...]
    """Identifiers, prose and empty columns, which are left out."""
    container: Container

    @classmethod
    def fit(
        cls,
        X: Any,
        w: Any = None,
        *,
        kinds: Mapping[str, str] | None = None,
        counts: bool = True,
    ) -> "TableCodec":
        """Learn the codes of a table.

        Args:
            X: a pandas, polars or Arrow frame, a dictionary of columns, or a
                two-dimensional array, whose columns are called x0, x1, ...
            w: (n,) how often each row counts; rows of weight 0 are not looked at.
            kinds: kinds of some columns by name: "number", "positive", "whole", "count",
                "category", "boolean", "date", or "text" to leave a column out.
            counts: whether counts have a kind of their own; else they are whole numbers.
        """
        table = to_arrow(X)
        if not len(table):
            raise InputError("the table has no rows; give at least one.")
        w = check_weights(np.ones(len(table)) if w is None else w, len(table))
        container = Container.of(X, table)
        if not (w > 0).all():
            table, w = table.filter(pa.array(w > 0)), w[w > 0]
        array = container.make == "array"
        found = learn(table, w, dict(kinds or {}), counts=counts, array=array)
        return cls(*found, container)

    @property
    def q(self) -> int:
        """How many columns are modelled."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the modelled columns."""
        return tuple(column.name for column in self.columns)

    @property
    def discrete(self) -> np.ndarray:
        """(q,) whether each column has probabilities."""
        return np.array([column.discrete for column in self.columns])

    @property
    def continuous(self) -> np.ndarray:
        """(q,) whether each column has a density."""
        return ~self.discrete

    @property
    def family(self) -> Product:
        """Independent columns, each of the family of its kind."""
        return Product(*(column.family for column in self.columns))

    # Codes -----------------------------------------------------------------------------

    def encode(self, X: Any) -> Float[np.ndarray, "n q"]:
        """The codes of new rows, NaN where a cell is missing."""
        return self.encode_columns(X, self.columns, check_constants=True)

    def encode_columns(
        self, X: Any, columns: tuple[ColumnCode, ...], *, check_constants: bool = False
    ) -> np.ndarray:
        """The codes of some columns of new rows, which may lack the others.

        Args:
            X: rows.
            columns: some of `columns`.
            check_constants: whether to refuse new values of columns that are constant.
        """
        every = columns + (self.constants if check_constants else ())
        wanted = {column.name for column in every}
        schema = dataclasses.replace(
            self.schema, columns=tuple(c for c in self.schema if c.name in wanted)
        )
        levels = {c.name: c.levels for c in every if c.read == "levels"}
        table = read_new(X, schema, levels)
        found = np.empty((len(table), len(columns)))
        for j, column in enumerate(columns):
            found[:, j] = _codes(column, table[column.name])
        if check_constants:
            for column in self.constants:
                _check_constant(column, table[column.name])
        return found

    def decode(self, V: Any) -> Any:
        """Rows with these codes, in a container of the kind that the codec learned from.

        Args:
            V: (n, q) codes; those of sampled reals are first moved to the nearest that a
                cell can have. NaN becomes a missing cell.
        """
        V = np.asarray(V, np.float64)
        if V.ndim != 2 or V.shape[1] != self.q:
            raise InputError(f"V has shape {V.shape}; give codes, {self.q} columns.")
        columns = {}
        for column, v in zip(self.columns, V.T, strict=True):
            columns[column.name] = _values(column, v)
        for column in self.constants:
            columns[column.name] = _constant(column, len(V))
        words = (c for c in (*self.columns, *self.constants) if c.read == "levels")
        return self.container.build(columns, {c.name: c.levels for c in words})

    # Units -----------------------------------------------------------------------------

    def log_slopes(self, V: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n q"]:
        """log |dv/dx| of each cell; 0 for counts, categories and missing cells."""
        pairs = zip(self.columns, np.asarray(V, np.float64).T, strict=True)
        with np.errstate(invalid="ignore"):  # missing cells
            found = np.stack([column.log_slope(v) for column, v in pairs], axis=1)
        return np.where(np.isnan(V), 0.0, found)

    def log_det(self, V: Float[np.ndarray, "n q"]) -> Float[np.ndarray, " n"]:
        """The sum of `log_slopes` over the columns that have densities."""
        return self.log_slopes(V)[:, self.continuous].sum(1)

    def dequantize(
        self, V: Float[np.ndarray, "n q"], rng: np.random.Generator
    ) -> Float[np.ndarray, "n q"]:
        """The codes with uniform noise of one step's width in columns of whole numbers."""
        steps = [c.step if c.kind == "whole" else 0.0 for c in self.columns]
        return V + np.asarray(steps) * (rng.random(V.shape) - 0.5)

    def project(self, V: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n q"]:
        """The nearest codes that cells can have."""
        pairs = zip(self.columns, np.asarray(V, np.float64).T, strict=True)
        return np.stack([column.projected(v) for column, v in pairs], axis=1)

    # Inputs of networks ----------------------------------------------------------------

    @property
    def incomplete(self) -> np.ndarray:
        """(q,) whether cells of each column were missing."""
        return np.array([column.incomplete for column in self.columns])

    @property
    def cell_inputs(self) -> CellInputs:
        """How codes become inputs of networks."""
        return CellInputs.of(self.columns)

    @property
    def n_inputs(self) -> int:
        """How many inputs a network has."""
        return self.cell_inputs.width

    def inputs(self, V: Any) -> Any:
        """(n, n_inputs) inputs of networks, from codes in NumPy or JAX: see `CellInputs`."""
        return self.cell_inputs(V)


def _codes(column: ColumnCode, values: Any) -> np.ndarray:
    """The codes of the cells of a column."""
    if column.read == "levels":
        levels = as_levels(values, column.name)
        codes = codes_among(levels, column.levels)
        unknown = codes == UNKNOWN
        if unknown.any():
            row = int(np.argmax(unknown))
            raise InputError(
                f"column {column.name!r} has {levels.categories[levels.codes[row]]!r} in "
                f"row {row}, which the rows of the fit did not have, so that it has no "
                "probability; declare it as a category of the frame, or leave the row out."
            )
        return np.where(codes < 0, np.nan, codes)
    x = read_numbers(values, column.name, column.read)
    if column.kind == "category":
        return _few_numbers(column, x)
    rounded = column.kind in ("whole", "count")
    bad = (rounded & (x != np.round(x))) | ((column.kind == "count") & (x < 0))
    if column.kind == "positive":
        bad = x <= 0
    bad &= ~np.isnan(x)
    if bad.any():
        row = int(np.argmax(bad))
        what = {"positive": "a positive number", "count": "a count"}
        raise InputError(
            f"column {column.name!r} has {x[row]:g} in row {row}, which is not "
            f"{what.get(column.kind, 'a whole number')}, as all were in the rows of the "
            f"fit; correct the cell, or fit with kinds={{{column.name!r}: 'number'}}."
        )
    return column.encoded(x)


def _few_numbers(column: ColumnCode, x: np.ndarray) -> np.ndarray:
    """Codes of numbers that are levels."""
    known = np.array(column.levels, float)
    code = np.clip(np.searchsorted(known, x), 0, len(known) - 1)
    missing = np.isnan(x)
    bad = ~missing & (known[code] != x)
    if bad.any():
        row = int(np.argmax(bad))
        few = f"one of {len(known)} numbers from {known[0]:g} to {known[-1]:g}"
        other = "whole" if (known == np.round(known)).all() else "number"
        raise InputError(
            f"column {column.name!r} has {x[row]:g} in row {row}, and was {few} in the "
            "fit, so that it has no probability; fit with "
            f"kinds={{{column.name!r}: {other!r}}}."
        )
    return np.where(missing, np.nan, code)


def _check_constant(column: ColumnCode, values: Any) -> None:
    """Refuse rows that differ in a column that was constant."""
    if column.read == "levels":
        levels = as_levels(values, column.name)
        bad, shown = codes_among(levels, column.levels) == UNKNOWN, column.levels[0]
    else:
        x = read_numbers(values, column.name, column.read)
        bad, shown = ~((x == column.center) | np.isnan(x)), f"{column.center:g}"
    if bad.any():
        raise InputError(
            f"column {column.name!r} was {shown} in every row of the fit and is something "
            f"else in row {int(np.argmax(bad))}, which has no probability then; leave the "
            "column out, or fit to rows in which it varies."
        )


def _values(column: ColumnCode, v: np.ndarray) -> np.ndarray:
    """The cells of codes."""
    if column.kind != "category":
        return _cells(column, column.decoded(v))
    codes = column.projected(v)
    place = np.where(np.isnan(codes), len(column.levels), codes).astype(int)
    if column.read != "levels":
        return np.array([*map(float, column.levels), np.nan])[place]
    return np.array([*column.levels, None], object)[place]


def _constant(column: ColumnCode, n: int) -> np.ndarray:
    if column.read == "levels":
        return np.full(n, column.levels[0], object)
    return _cells(column, np.full(n, column.center))


def _cells(column: ColumnCode, x: np.ndarray) -> np.ndarray:
    """Numbers, or dates, from numbers of days."""
    if column.read != "date":
        return x
    micro = np.where(np.isnan(x), 0.0, x) * (DAY / np.timedelta64(1, "us"))
    times = EPOCH + np.round(micro).astype("timedelta64[us]")
    return np.where(np.isnan(x), np.datetime64("NaT"), times)
