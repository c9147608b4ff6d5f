"""Mutual information against scikit-learn: all pairs of binned columns, and by neighbours.

All pairs of 40 columns of 100,000 rows: the peer is a loop over `mutual_info_score`. What each of
twelve columns of 5,000 rows says about a target, by the three nearest neighbours: the
peer is `mutual_info_regression`, the same estimator.
"""

import numpy as np

from benchmarks.harness import Answer, Case, close

ROWS, COLUMNS, LEVELS = 100_000, 40, 10
SAMPLE, FEATURES = 5_000, 12


def binned() -> np.ndarray:
    """Columns of whole numbers, neighbours dependent."""
    rng = np.random.default_rng(0)
    X = rng.integers(LEVELS, size=(ROWS, COLUMNS))
    copied = rng.random((ROWS, COLUMNS - 1)) < 0.3
    X[:, 1:] = np.where(copied, X[:, :-1], X[:, 1:])
    return X


def our_pairs(X: np.ndarray) -> Answer:
    from likely.information import mutual_information_matrix

    return {"I": mutual_information_matrix(X)[np.triu_indices(COLUMNS, 1)]}


def peer_pairs(X: np.ndarray) -> Answer:
    from sklearn.metrics import mutual_info_score

    pairs = zip(*np.triu_indices(COLUMNS, 1), strict=True)
    return {"I": np.array([mutual_info_score(X[:, i], X[:, j]) for i, j in pairs])}


def sample() -> tuple[np.ndarray, np.ndarray]:
    """Numbers, some of which the target depends on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(SAMPLE, FEATURES))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=SAMPLE)


def our_neighbours(data: tuple[np.ndarray, np.ndarray]) -> Answer:
    from likely.information import column_information

    return {"I": column_information(*data)}


def peer_neighbours(data: tuple[np.ndarray, np.ndarray]) -> Answer:
    from sklearn.feature_selection import mutual_info_regression

    return {"I": mutual_info_regression(*data, random_state=0)}


CASES = {
    "mutual information, 780 pairs": Case(
        binned, our_pairs, peer_pairs, close("I", 1e-10), 20.0, 2
    ),
    "mutual information, neighbours": Case(
        sample, our_neighbours, peer_neighbours, close("I", 1e-6), 1.0, 5
    ),
}
