r"""Precision, recall, density and coverage of generated rows, by nearest neighbours.

A ball around each real row reaches to its k-th nearest real neighbour, and likewise one around
each generated row. With R real and G generated rows

    precision   share of generated rows in some ball of a real row: are they realistic?
    recall      share of real rows in some ball of a generated row: is all of R there?
    density     balls of real rows that a generated row lies in, over k: 1 where G is like R
    coverage    share of real rows whose own ball holds a generated row

Density and coverage bear outliers better, as one far row has a ball that holds everything.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.evaluate.generated.rows import check_neighbors, feature_rows
from likely.evaluate.scores import Score, mean_score
from likely.models.neighbors import neighbors

BLOCK_NUMBERS = 4_000_000
"""Distances that are in memory at once."""


class SupportScores(NamedTuple):
    """How far generated rows lie where real rows do, and the other way round.

    Errors are those of the shares, with the balls taken as they are.
    """

    precision: Score
    recall: Score
    density: Score
    coverage: Score

    def __str__(self) -> str:
        return ", ".join(f"{name} {score}" for name, score in self._asdict().items())


def support_scores(real: Any, generated: Any, *, n_neighbors: int = 5) -> SupportScores:
    """Precision, recall, density and coverage of generated rows.

    Args:
        real: (n, d) features of real rows.
        generated: (m, d) features of generated rows.
        n_neighbors: k, fewer than there are rows in each set.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(60, 2))
        >>> print(lk.evaluate.support_scores(X, X + 100).precision)
        0 ± 0
    """
    R, G = feature_rows(real=real, generated=generated)
    k = check_neighbors(n_neighbors, R, G)
    centre = R.mean(0)
    R, G = R - centre, G - centre
    reach_r, reach_g = (neighbors(X, k, method="exact")[0][:, -1] for X in (R, G))
    n, m = len(R), len(G)
    balls, recalled, covered = np.zeros(m), np.zeros(n, bool), np.zeros(n, bool)
    squares, size = (R**2).sum(1), max(1, BLOCK_NUMBERS // n)
    for start in range(0, m, size):
        own = slice(start, min(m, start + size))
        D = _distances(G[own], R, squares)
        inside = _upper(reach_r) >= D
        balls[own] = inside.sum(1)
        covered |= inside.any(0)
        recalled |= (_upper(reach_g[own])[:, None] >= D).any(0)
    return SupportScores(
        mean_score(balls > 0),
        mean_score(recalled),
        mean_score(balls / k),
        mean_score(covered),
    )


def _upper(reach: np.ndarray) -> np.ndarray:
    """A reach with room for the rounding of distances."""
    return reach * (1 + 1e-7) + 1e-12


def _distances(
    Q: Float[np.ndarray, "q d"],
    R: Float[np.ndarray, "n d"],
    squares: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "q n"]:
    D = (Q**2).sum(1)[:, None] + squares - 2 * Q @ R.T
    scale = float(squares.max(initial=0.0))
    D[1e-13 * scale > D] = 0.0
    return np.sqrt(np.maximum(D, 0.0))
