"""The progress of a fit in rounds: a bar on stderr, and callbacks that may end the fit."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from likely.core.progress import Bar

Callback = Callable[[dict[str, Any]], Any]


class Rounds:
    """Draws a bar if asked to and calls the callbacks after each round.

    Args:
        total: the number of rounds, at most.
        verbose: whether the bar is drawn.
        callbacks: one function or several of the numbers of a round ("round", "loss",
            ...); a fit ends where one of them returns True.
    """

    def __init__(
        self,
        total: int,
        verbose: Any = False,
        callbacks: Callback | Iterable[Callback] = (),
    ):
        self._bar = Bar(total, enabled=bool(verbose))
        self._callbacks = (callbacks,) if callable(callbacks) else tuple(callbacks)
        self._completed = 0

    def __enter__(self) -> "Rounds":
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def update(self, numbers: Mapping[str, Any]) -> bool:
        """Show the numbers of a round and notify; whether a callback asks to stop."""
        self._completed = max(self._completed, numbers["round"])  # threads may overtake
        losses = [f"{k} {v:.4f}" for k, v in numbers.items() if k != "round"]
        self._bar.update(self._completed, "fitting", detail=", ".join(losses))
        if not self._callbacks:
            return False
        from likely.solvers.training.events import asks_to_stop  # slow to import

        return asks_to_stop([call(dict(numbers)) for call in self._callbacks])
