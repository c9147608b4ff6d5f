"""A data set: arrays, the names of what is in them, and the truth where it is known."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likely.typing import Batch

Numbers = Sequence[float] | Sequence[int] | np.ndarray


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows to learn from; supervised where `y` is not None.

    Example:
        ```python
        from likely import data

        flowers = data.iris()
        flowers.X.shape, flowers.target_names
        ```
    """

    X: np.ndarray
    """(n, ...) inputs."""
    y: np.ndarray | None
    """(n,) targets: numbers, or codes 0, 1, ... into `target_names`."""
    names: tuple[str, ...] = ()
    """What each column of X is called; empty for images."""
    target_names: tuple[str, ...] = ()
    """What each code of y is called, or the one name of a number."""
    description: str = ""
    truth: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What made the data, for synthetic sets: parameters, and functions of X."""

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        y = "" if self.y is None else f", y {self.y.shape} {self.y.dtype}"
        title = self.description.strip().partition("\n")[0]
        return f"Dataset(X {self.X.shape} {self.X.dtype}{y}: {title})"

    def batch(self, w: np.ndarray | None = None) -> Batch:
        """The rows with weights, one each unless given: what the recipe fits."""
        return Batch(self.X, self.y, np.ones(len(self.X)) if w is None else w)


def column_names(d: int) -> tuple[str, ...]:
    """The names x0, x1, ... of columns that have no others."""
    return tuple(f"x{j}" for j in range(d))


def generator(random_state: Any) -> np.random.Generator:
    """A NumPy generator from whatever scikit-learn accepts as `random_state`."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**32, dtype=np.uint64)
    return np.random.default_rng(random_state)
