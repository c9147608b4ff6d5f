"""The base of layers without state: functions of their input alone."""

from abc import abstractmethod
from typing import Any

import equinox as eqx

from likely.typing import State


class AbstractLayer(eqx.Module):
    """A layer without state or randomness, which treats every row alike."""

    @abstractmethod
    def of(self, X: Any) -> Any:
        """The output for the rows X."""

    def __call__(
        self, X: Any, *, w=None, key=None, state: State = None
    ) -> tuple[Any, State]:
        """The output, and the state as it is."""
        return self.of(X), state
