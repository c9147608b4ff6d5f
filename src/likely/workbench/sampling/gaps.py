"""Missing cells as something that a model learns: a column that says where they are.

A generative model leaves missing cells out of its likelihood and draws whole rows. So for
every pattern of missing cells a column of yes and no is added, which is modelled with the
others: cells of new rows are then missing where, and together with what, they were before.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute

pc: Any = pyarrow.compute  # its functions are made at import, unseen by type checkers
YES, NO = "missing", "known"


class Gaps(NamedTuple):
    """Columns that say which cells are missing, each for one column or several."""

    flags: dict[str, tuple[str, ...]]
    """The columns whose cells are missing together, by the name of the added column."""

    @classmethod
    def of(cls, frame: pa.Table) -> "Gaps":
        """The patterns of missing cells of a table.

        Args:
            frame: with missing cells as null or NaN.
        """
        found: dict[bytes, list[str]] = {}
        for name in frame.column_names:
            absent = missing_cells(frame[name])
            if absent.any() and not absent.all():
                found.setdefault(np.packbits(absent).tobytes(), []).append(name)
        flags: dict[str, tuple[str, ...]] = {}
        for names in found.values():
            flag = f"{names[0]} is missing"
            while flag in frame.column_names or flag in flags:
                flag += " "
            flags[flag] = tuple(names)
        return cls(flags)

    def added(self, frame: pa.Table) -> pa.Table:
        """The table with these columns."""
        for flag, names in self.flags.items():
            absent = missing_cells(frame[names[0]])
            words = pa.array(np.where(absent, YES, NO))
            frame = frame.append_column(flag, words)
        return frame

    def removed(self, frame: pa.Table) -> pa.Table:
        """New rows without these columns, with cells missing where they say so."""
        for flag, names in self.flags.items():
            if flag not in frame.column_names:  # the same word in all rows of the fit
                continue
            absent = pc.equal(frame[flag], YES)
            for name in names:
                if name in frame.column_names:
                    place = frame.column_names.index(name)
                    column = frame[name]
                    nothing = pa.scalar(None, column.type)
                    column = pc.if_else(absent, nothing, column)
                    frame = frame.set_column(place, name, column)
        return frame.drop_columns([f for f in self.flags if f in frame.column_names])


def missing_cells(values: Any) -> np.ndarray:
    """(n,) which cells of a column are null or NaN."""
    return np.asarray(pc.is_null(values, nan_is_null=True).to_numpy(), bool)
