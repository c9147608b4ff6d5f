r"""Interactions of two columns: how far their joint effect is from a sum.

With centred partial dependences $f_j$, $f_k$ and $f_{jk}$ at some rows, Friedman's
$H^2 = \sum (f_{jk} - f_j - f_k)^2 / \sum f_{jk}^2$ is the share of the joint effect that no sum
of two effects explains. Predictions are averaged on the scale on which linear models add:
log-odds of classes, logarithms of positive numbers and counts.
"""

from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from likely.workbench.ladder import Event, Ladder
from likely.workbench.report.measured import Interaction
from likely.workbench.target import Target

COLUMNS, POINTS, BACKGROUND = 4, 10, 15
"""The number of columns whose pairs are examined, of points, and of rows that are averaged."""
SIZE = 1500
"""So many rows are predicted, as for a partial effect: no other shape is compiled."""
MIN_SHARE = 0.01
"""Smaller shares are not listed."""
EDGE = 1e-6
"""The smallest probability, and the smallest mean relative to the largest, of a logarithm."""


def interactions(
    ladder: Ladder, name: str, columns: list[str]
) -> tuple[Interaction, ...]:
    """The interactions of the most important columns, the strongest first.

    Args:
        ladder: the run.
        name: of the model.
        columns: names of columns, the most important first.
    """
    used = columns[:COLUMNS]
    if len(used) < 2:
        return ()
    ladder.notify(Event("stage", text="interactions of columns"))
    frame = ladder.table.frame
    rng = np.random.default_rng([ladder.spec.seed, 7])
    order = rng.permutation(len(frame))
    sets = [*((c,) for c in used), *combinations(used, 2)]
    most = ladder.plan.effects(len(sets), POINTS, ladder.parts_of(name))
    points, rows = order[:POINTS], order[-min(BACKGROUND, most) :]
    copies = pa.concat_tables([_moved(frame, points, rows, c) for c in sets])
    filled = copies.take(pa.array(np.arange(max(SIZE, len(copies))) % len(copies)))
    model = ladder.of_fold(name, 0)
    dist = model.predict_dist(filled)
    predicted = on_linear_scale(dist, ladder.table.target)[: len(copies)]
    means = predicted.reshape(len(sets), len(points), -1).mean(2)
    means = means - means.mean(1, keepdims=True)
    effect = dict(zip(sets, means, strict=True))
    found = []
    for pair in combinations(used, 2):
        rest = effect[pair] - effect[(pair[0],)] - effect[(pair[1],)]
        total = float((effect[pair] ** 2).sum())
        share = float((rest**2).sum()) / total if total > 0 else 0.0
        if share >= MIN_SHARE:
            size = float(np.sqrt((rest**2).mean()))
            found.append(Interaction(pair, min(share, 1.0), size))
    return tuple(sorted(found, key=lambda i: -(i.size or 0)))


def _moved(
    frame: pa.Table, points: np.ndarray, rows: np.ndarray, columns: tuple[str, ...]
) -> pa.Table:
    """All rows for each point, with the values of that point in some columns."""
    copies = frame.take(pa.array(np.tile(rows, len(points))))
    values = frame.take(pa.array(np.repeat(points, len(rows))))
    for column in columns:
        index = frame.column_names.index(column)
        copies = copies.set_column(index, frame.schema.field(column), values[column])
    return copies


def on_linear_scale(dist: Any, target: Target) -> np.ndarray:
    """Predictions on the scale on which linear models add."""
    if target.is_class:
        probs = np.clip(np.asarray(dist.probs, float), EDGE, 1 - EDGE)
        logits = np.log(probs / (1 - probs))
        return (
            logits[:, -1] if logits.shape[1] == 2 else logits[:, logits.std(0).argmax()]
        )
    if target.kind in ("positive", "survival"):
        return np.log(np.maximum(np.asarray(dist.quantile(0.5), float), 1e-300))
    mean = np.asarray(dist.mean, float)
    if target.kind == "real":
        return mean
    return np.log(np.maximum(mean, EDGE * max(mean.max(), 1e-300)))
