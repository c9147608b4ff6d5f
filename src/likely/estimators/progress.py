"""The progress bar of a fit in rounds, and its callbacks."""

from typing import Any


class Progress:
    """Shows rounds, loss and time left if the estimator is verbose; calls callbacks.

    Args:
        estimator: with `n_estimators`, `verbose` and `callbacks`.
    """

    def __init__(self, estimator: Any):
        self.callbacks = tuple(getattr(estimator, "callbacks", ()) or ())
        self.bar: Any = None
        if not getattr(estimator, "verbose", False):
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress as Bar,
            TextColumn,
            TimeRemainingColumn,
        )

        self.bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self.task = self.bar.add_task("compiling", total=int(estimator.n_estimators))

    def __enter__(self) -> "Progress":
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def told(self, now: dict[str, Any]) -> bool:
        """Show the losses of a round, call the callbacks; whether one of them stops."""
        if self.bar is not None:
            losses = [f"{k} {v:.4f}" for k, v in now.items() if k != "round"]
            self.bar.update(
                self.task, completed=now["round"], description=", ".join(losses)
            )
        return any([bool(callback(now)) for callback in self.callbacks])
