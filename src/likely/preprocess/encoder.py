"""What the encoders of categories share: how their columns are read and written."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from likely.data.columns import Levels
from likely.preprocess.blocks import Writer, write_blocks
from likely.preprocess.levels import new_levels
from likely.preprocess.transformer import AbstractTransformer


class AbstractEncoder(AbstractTransformer):
    """An encoder: write `_fit`, `widths`, `writer` and `_names_out`, get the rest.

    Attributes:
        categories_: the categories of each feature, in order.
    """

    _input_tags = ("categorical", "string", "allow_nan")

    categories_: list[list[str]]

    @abstractmethod
    def widths(self) -> np.ndarray:
        """(d,) the number of columns that each feature becomes."""

    @abstractmethod
    def writer(self, columns: Sequence[Levels]) -> Writer:
        """A function that writes the encoded rows into a block of zeros."""

    def _transform(self, X: Any) -> np.ndarray:
        columns = new_levels(self, X)
        out = np.zeros((len(columns[0].codes), int(self.widths().sum())))
        write_blocks(out, self.writer(columns))
        return out
