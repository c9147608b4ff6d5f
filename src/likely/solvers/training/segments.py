"""How many steps of a run are computed in one call of its program.

Between two such segments callbacks are notified and checkpoints saved. Where only a
progress bar watches, the clock may decide: a call of a few tenths of a second is long
enough to hide the cost of starting it. Where there are callbacks, or several processes
have to agree, the number of steps decides, so that no result depends on the clock.
"""

import time
from dataclasses import dataclass, field

WATCHED_SECONDS = 0.25
"""Length of a segment where there is a bar, a callback or a checkpoint."""
UNWATCHED_SECONDS = 2.0
"""Length of a segment otherwise: an interrupt from the keyboard waits for its end."""


@dataclass
class Segments:
    """Where each segment ends.

    Args:
        block: steps of a block; longer segments are whole blocks.
        every: steps in a segment, or None for the clock.
        multiple: segments end at multiples of this as well (for checkpoints).
        max_steps: the largest number of steps in a segment.
        seconds: length of a segment by the clock.
    """

    block: int
    every: int | None
    multiple: int | None = None
    max_steps: int | None = None
    seconds: float = WATCHED_SECONDS
    size: int = field(default=0)
    calls: int = field(default=0)
    began: float = field(default=0.0)

    def end(self, first: int) -> int:
        """The step at which the segment that starts at `first` ends."""
        if self.every:
            end = first - first % self.every + self.every
        else:
            self.size = self.size or self.block
            end = first + self.size
            if self.size >= self.block:
                end -= end % self.block
        if self.multiple:
            end = min(end, first - first % self.multiple + self.multiple)
        if self.max_steps:
            end = min(end, first + self.max_steps)
        self.began = time.perf_counter()
        return max(end, first + 1)

    def finished(self, steps: int) -> None:
        """Adapt to the time of the last segment (the first one may have compiled)."""
        seconds, self.calls = time.perf_counter() - self.began, self.calls + 1
        if steps:
            wanted = int(steps * self.seconds / max(seconds, 1e-6))
            smallest = 1 if self.calls > 1 else self.size
            self.size = max(smallest, min(wanted, 16 * self.size))
