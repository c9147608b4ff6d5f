"""How many steps between two looks at a run.

Where nothing but a bar looks, the clock may say: a program of a few tenths of a second
is long enough to hide the cost of starting it. Where a callback looks, or several
processes have to agree, the steps say, so that nothing is decided by the clock.
"""

import time
from dataclasses import dataclass, field

SECONDS = 0.25
"""Between looks, where somebody looks."""
UNSEEN = 2.0
"""Where nobody does: so that an interrupt from the keyboard is heard."""


@dataclass
class Pace:
    """The next place to pause at.

    Args:
        block: steps of a block; longer pieces are whole blocks.
        every: steps between looks, or None for the clock.
        multiple: pause at multiples of this as well (of checkpoints).
        most: the most steps at once.
        seconds: between looks by the clock.
    """

    block: int
    every: int | None
    multiple: int | None = None
    most: int | None = None
    seconds: float = SECONDS
    size: int = field(default=0)
    calls: int = field(default=0)
    began: float = field(default=0.0)

    def until(self, first: int) -> int:
        """Where to pause when starting at `first`."""
        if self.every:
            end = first - first % self.every + self.every
        else:
            self.size = self.size or self.block
            end = first + self.size
            if self.size >= self.block:
                end -= end % self.block
        if self.multiple:
            end = min(end, first - first % self.multiple + self.multiple)
        if self.most:
            end = min(end, first + self.most)
        self.began = time.perf_counter()
        return max(end, first + 1)

    def made(self, steps: int) -> None:
        """Learn from the piece that was just computed (the first one may have compiled)."""
        took, self.calls = time.perf_counter() - self.began, self.calls + 1
        if steps:
            wish = int(steps * self.seconds / max(took, 1e-6))
            least = 1 if self.calls > 1 else self.size
            self.size = max(least, min(wish, 16 * self.size))
