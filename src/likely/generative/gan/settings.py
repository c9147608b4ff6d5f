"""From the settings of a GAN, where they are left open, to its players and their training."""

from typing import Any, NamedTuple

import numpy as np

from likely.base.settings import at_least, one_of
from likely.base.training.options import IMAGES, TABLES, Limits, is_auto
from likely.generative.autoencoders.networks import LAST_LAYER_INIT, coder_of
from likely.generative.gan.players import GANProblem, PointHead
from likely.generative.point_cells import ImageCells, TableCells
from likely.objectives.adversarial import GAMES
from likely.solvers import Adam, Alternating
from likely.solvers.first_order.schedules import as_schedule

TABLE_LIMITS = TABLES._replace(
    ensemble_rows=0,
    epochs=20,
    steps=4000,
    plain_steps=2000,
    batch_rows=256,
    rate=2e-3,
    alpha=0.0,
    learning_rate="cosine",
)
IMAGE_LIMITS = IMAGES._replace(
    ensemble_rows=0,
    epochs=30,
    steps=3000,
    plain_steps=1000,
    batch_rows=64,
    rate=1e-3,
    alpha=0.0,
    learning_rate="cosine",
)
TABLE_HIDDEN, IMAGE_HIDDEN = (128, 128, 128), (256,)
PENALTIES = {"nonsaturating": 0.1, "minimax": 0.1, "wasserstein": 0.3}
"""λ for tables ..."""
IMAGE_PENALTIES = {"nonsaturating": 1.0, "minimax": 1.0, "wasserstein": 10.0}
"""... and for images."""
TURNS = {"nonsaturating": 1, "minimax": 1, "wasserstein": 2}
MIN_LATENT, IMAGE_LATENT = 8, 64
DECAY, DECAY_SQUARE = 0.5, 0.9
"""Of Adam's averages: shorter than usual, as the loss of a player changes all the time."""


class CriticAndGenerator(NamedTuple):
    """How the solver that follows from settings moves two players."""

    turns: int
    ratio: float
    """The generator's rate over the critic's."""

    def __call__(self, solver: Adam) -> Alternating:
        """A solver of both, with the rate, the steps and the batches of one."""
        rule = {
            "decay": DECAY,
            "decay_square": DECAY_SQUARE,
            "clip": solver.clip,
        }
        return Alternating(
            first=Adam(rate=as_schedule(1.0), **rule),
            second=Adam(rate=as_schedule(self.ratio), **rule),
            turns=self.turns,
            rate=solver.rate,
            steps=solver.steps,
            batch_size=solver.batch_size,
            average=solver.average,
        )


def players_of(model: Any) -> CriticAndGenerator:
    """How critic and generator move, by the settings of a GAN."""
    turns = model.critic_steps
    turns = TURNS[_game(model)] if is_auto(turns) else turns
    ratio = at_least("rate_ratio", model.rate_ratio)
    return CriticAndGenerator(
        at_least("critic_steps", turns, 1, whole=True), float(ratio)
    )


def limits_of(model: Any, *, images: bool) -> Limits:
    """How long to train; a step of several updates of the critic has as many batches."""
    limits = IMAGE_LIMITS if images else TABLE_LIMITS
    return limits._replace(batch_rows=limits.batch_rows * players_of(model).turns)


def gan_problem(model: Any, cells: ImageCells | TableCells) -> GANProblem:
    """What is learned of rows that become such points.

    Args:
        model: the estimator, whose settings count.
        cells: how rows become points.
    """
    row, image = cells.shape, len(cells.shape) == 3
    hidden = model.hidden_layer_sizes
    if is_auto(hidden):
        hidden = IMAGE_HIDDEN if image else TABLE_HIDDEN
    channels = model.channels if image else None
    critic, shape = coder_of(row, channels, hidden, model.activation, last="he")
    last = LAST_LAYER_INIT if image else "zero"  # a table begins at a linear map
    rows, _ = coder_of(row, channels, hidden, model.activation, last=last)
    kind = _game(model)
    penalties = IMAGE_PENALTIES if image else PENALTIES
    penalty = penalties[kind] if is_auto(model.penalty) else model.penalty
    return GANProblem(
        rows,
        critic,
        shape,
        _head(cells),
        latent_size(model, row),
        kind,
        np.asarray(at_least("penalty", penalty), np.float32),
        _blur(cells),
    )


def latent_size(model: Any, row: tuple[int, ...]) -> int:
    """How many latent numbers there are."""
    if not is_auto(model.n_components):
        return at_least("n_components", model.n_components, 1, whole=True)
    return IMAGE_LATENT if len(row) == 3 else max(MIN_LATENT, 2 * row[0])


def _game(model: Any) -> str:
    return one_of("loss", model.loss, GAMES)


def _head(cells: ImageCells | TableCells) -> PointHead:
    if isinstance(cells, ImageCells):
        return PointHead(bounded=bool(cells.pixels.levels))
    pairs = zip(cells.codec.columns, cells.places, strict=True)
    levels = tuple((p.start, p.stop) for c, p in pairs if c.kind == "category")
    return PointHead(bounded=False, levels=levels)


def _blur(cells: ImageCells | TableCells) -> np.ndarray | None:
    """The steps of columns of whole numbers; None where there are none."""
    if isinstance(cells, ImageCells):
        return None
    found = np.zeros(cells.shape, np.float32)
    for column, place in zip(cells.codec.columns, cells.places, strict=True):
        if column.discrete and column.kind != "category":
            found[place] = column.step
    return found if found.any() else None
