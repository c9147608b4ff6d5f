"""New rows of a diffusion model: how the way back is gone, and by which member."""

from typing import Any, NamedTuple

import numpy as np

from likely.base.settings import at_least, one_of
from likely.generative.diffusion.denoising import Diffuser
from likely.generative.diffusion.reverse import Steps, steps_back, walk
from likely.generative.diffusion.schedule import NoiseSchedule

METHODS = {"ddpm": 1.0, "ddim": 0.0}
"""How much of the random noise a step back keeps."""
ENOUGH_STEPS = {"ddpm": 250, "ddim": 50}
"""Steps of a draw that are enough, where the fit had more."""


class Way(NamedTuple):
    """How to go from noise to rows."""

    method: str
    n_steps: int | None
    guidance: float

    def count(self, schedule: NoiseSchedule) -> int:
        """How many steps there are."""
        one_of("method", self.method, METHODS)
        if self.n_steps is None:
            return min(ENOUGH_STEPS[self.method], schedule.n_steps)
        return at_least("n_steps", self.n_steps, 1, whole=True)

    def steps(self, schedule: NoiseSchedule) -> Steps:
        """The steps."""
        return steps_back(schedule, self.count(schedule), METHODS[self.method])

    def frames(self, schedule: NoiseSchedule, n_frames: int) -> tuple[int, ...]:
        """After how many steps to look, so that there are n_frames with the last."""
        count = at_least("n_frames", n_frames, 2, whole=True)
        every = np.linspace(1, self.count(schedule), count)[:-1].astype(int)
        return tuple(np.unique(every).tolist())


def draw_points(
    models: list[Diffuser],
    way: Way,
    row: tuple[int, ...],
    design: np.ndarray,
    *,
    seed: Any,
    clip: float | None,
    n_frames: int = 0,
) -> np.ndarray:
    """(n, ...) points at the end of the way back; (n, n_frames, ...) with some before.

    Args:
        models: of all members; each row comes from one of them, drawn at random.
        way: how to go.
        row: the shape of a point.
        design: (n, g) of what rows are conditioned on.
        seed: of the draws.
        clip: the largest size of a number, or None.
        n_frames: how many points to keep on the way; 0 for the last alone.
    """
    rng, n = np.random.default_rng(seed), len(design)
    schedule = models[0].schedule
    steps = way.steps(schedule)
    frames = way.frames(schedule, n_frames) if n_frames else ()
    start = rng.normal(size=(n, *row))
    member = rng.integers(len(models), size=n)
    parts, order = [], []
    for m in np.unique(member).tolist():
        rows = np.flatnonzero(member == m)
        found = walk(
            models[m],
            start[rows],
            design[rows],
            steps,
            seed=int(rng.integers(2**31)),
            guidance=float(way.guidance),
            clip=clip,
            frames=frames,
        )
        parts.append(found)
        order.append(rows)
    return np.concatenate(parts)[np.argsort(np.concatenate(order))]
