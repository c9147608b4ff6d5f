"""The result of an experiment: numbers with their errors, a picture, and a verdict."""

import html
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from likely.core.text_tables import html_table, text_table


class Result(ABC):
    """What every experiment returns; you write `verdict`, `table` and `plot`.

    `print(result)` then shows the verdict and the table, and a notebook both as HTML. A
    result is a frozen dataclass made with `repr=False, eq=False`; its fields are NumPy arrays
    and numbers, each measured number beside its standard error.
    """

    @property
    @abstractmethod
    def verdict(self) -> str:
        """What was found, in a sentence that says so too when nothing was shown."""

    @abstractmethod
    def table(self) -> Mapping[str, Any]:
        """The numbers as columns by name."""

    @abstractmethod
    def plot(self) -> Any:
        """The picture, as a Matplotlib figure."""

    def to_frame(self) -> Any:
        """The table as a pandas frame."""
        import pandas

        return pandas.DataFrame(dict(self.table()))

    def __str__(self) -> str:
        return f"{self.verdict}\n\n{text_table(self.table())}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.verdict)}</p>{html_table(self.table())}"
