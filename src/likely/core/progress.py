"""A progress bar on stderr, the same one for every fit that takes a while."""

from typing import Any


class Bar:
    """A bar with a description, steps done of all, the time left, and a detail.

    It says "compiling" until the first update replaces the description.

    Args:
        total: the number of steps, or None if it is not known yet.
        description: the text on the left before the first update.
        enabled: whether anything is drawn; a disabled bar does not import `rich`.
        transient: whether the bar disappears at the end.
        console: a `rich.console.Console`; one on stderr if not given.
    """

    def __init__(
        self,
        total: int | None = None,
        description: str = "compiling",
        *,
        enabled: bool = True,
        transient: bool = False,
        console: Any = None,
    ):
        self.total, self.description, self.enabled = total, description, enabled
        self.transient, self.console = transient, console
        self._bar: Any = None
        self._task: Any = None

    def start(self, completed: int = 0) -> None:
        """Draw the bar, with so many steps done already."""
        if not self.enabled:
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[detail]}", markup=False),
            console=self.console or Console(stderr=True),
            transient=self.transient,
        )
        self._task = self._bar.add_task(
            self.description, total=self.total, completed=completed, detail=""
        )
        self._bar.start()

    def update(
        self,
        completed: int | None = None,
        description: str | None = None,
        *,
        detail: str | None = None,
        advance: int | None = None,
        total: int | None = None,
    ) -> None:
        """Change what is given and leave the rest; nothing if the bar is not drawn.

        Args:
            completed: steps done.
            description: the text on the left.
            detail: the text on the right, such as the loss.
            advance: steps done since the last update.
            total: the number of steps.
        """
        if self._bar is not None:
            self._bar.update(
                self._task,
                completed=completed,
                description=description,
                advance=advance,
                total=total,
                **({} if detail is None else {"detail": detail}),
            )

    def stop(self) -> None:
        """Leave the bar as it is (or remove it, if transient); harmless twice."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __enter__(self) -> "Bar":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
