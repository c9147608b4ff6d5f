"""Whole weights as repeated rows, for samplers that place every row on its own."""

import numpy as np

from likely.core.checks import InputError

MAX_REPEATED = 10_000_000


def repeated(
    X: np.ndarray, w: np.ndarray, name: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The rows, each as often as its weight says, and the number of each of them.

    A row of weight 2 is two rows, which may be in different clusters, so that a weight has to
    be a whole number. Rows are sorted and then shuffled: what is drawn does not depend on the
    order in which they came.

    Args:
        X: (n, d) rows.
        w: (n,) their weights.
        name: of the model, for the message.
        rng: shuffles the rows.
    """
    bad = w != np.round(w)
    if bad.any():
        raise InputError(
            f"sample_weight is {w[np.argmax(bad)]:g} in row {np.argmax(bad)}; "
            f"{name} places every row on its own, so give whole numbers."
        )
    if w.sum() > MAX_REPEATED:
        raise InputError(
            f"the weights sum to {w.sum():g} rows; {name} places every row on its own, so "
            f"give weights that sum to at most {MAX_REPEATED}."
        )
    source = np.repeat(np.arange(len(X)), w.astype(int))
    source = source[np.lexsort(X[source].T[::-1])]
    source = source[rng.permutation(len(source))]
    return np.ascontiguousarray(X[source]), source
