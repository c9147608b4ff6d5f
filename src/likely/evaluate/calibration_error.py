r"""Calibration errors by name, with an interval, and without the part that is noise.

Rows are put into bins b by a predicted probability p of an event, which happened ($y = 1$)
or not. With $\bar d_b$ the mean of $d = y - p$ in bin b, and $n_b$ rows in it,

$$\mathrm{ECE} = \sum_b \frac{n_b}{n} |\bar d_b| .$$

    top-label   the event is that the most probable class is right
    classwise   the event is class c, for each c against the rest; the mean over classes

Frequencies are noisy, so this sum is above zero for a perfect model too: $\bar d_b$ has the
standard error $σ_b$. The *debiased* error takes the sign of $\bar d_b$ from one half of the rows
of a bin and its size from the other half, averaged over all ways to halve them, which has a
formula: with $z = \bar d_b / σ_b$

$$\sum_b \frac{n_b}{n} \bigl(\bar d_b\,(2Φ(z) - 1) - 2 σ_b\,φ(z)\bigr).$$

It is zero on average for a perfect model, and equals the sum above where bins are far off. The
*squared* error $\sum_b \frac{n_b}{n} (\bar d_b^2 - σ_b^2)$ is without bias altogether: it is the
mean of $d_i d_j$ over pairs of different rows of a bin, as in Bröcker (2012) and in Kumar, Liang
and Ma (2019). Either may be below zero, where nothing but noise was found.
"""

from typing import Any

import numpy as np

from likely.evaluate.calibration_cells import CalibrationEstimate, Cells
from likely.evaluate.scores import coded, present


def top_label_error(
    codes: Any, probs: Any, w: Any = None, *, bins: int = 15, equal: str = "width",
    n_resamples: int = 200, coverage: float = 0.95, random_state: Any = 0,
) -> CalibrationEstimate:  # fmt: skip
    """The calibration error of the most probable class (top-label ECE).

    Args:
        codes: (n,) the class of each row, as a number from 0.
        probs: (n, c) probabilities.
        w: how often each row counts.
        bins: how many bins of confidence.
        equal: "width", bins of equal width, or "weight", bins of equal weight (mass).
        n_resamples: resamples of the bootstrap; 0 for no interval.
        coverage: of the interval.
        random_state: seed or NumPy generator of the bootstrap.

    Examples:
        >>> p = np.linspace(0.01, 0.99, 200)
        >>> probs, codes = np.stack([1 - p, p], axis=1), (np.arange(200) % 2 == 0).astype(int)
        >>> round(lk.evaluate.top_label_error(codes, probs, n_resamples=20).value, 2)
        0.25
    """
    codes, probs, w = coded(codes, probs, w)
    right = (probs.argmax(1) == codes).astype(float)
    cells = Cells.of(
        "top-label", right[None], probs.max(1)[None], w, bins=bins, equal=equal
    )
    return cells.error(n_resamples, coverage, random_state)


def classwise_error(
    codes: Any, probs: Any, w: Any = None, *, bins: int = 15, equal: str = "width",
    n_resamples: int = 200, coverage: float = 0.95, random_state: Any = 0,
) -> CalibrationEstimate:  # fmt: skip
    """The calibration error of every class against the rest, and their mean.

    It sees what the top-label error does not: probabilities of classes that are not the
    most probable one, and a class that is predicted too often.

    Args:
        codes: (n,) the class of each row, as a number from 0.
        probs: (n, c) probabilities.
        w: how often each row counts.
        bins: how many bins of probability, for each class.
        equal: "width", bins of equal width, or "weight", bins of equal weight (mass).
        n_resamples: resamples of the bootstrap; 0 for no interval.
        coverage: of the interval.
        random_state: seed or NumPy generator of the bootstrap.

    Examples:
        >>> p = np.linspace(0.01, 0.99, 200)
        >>> probs, codes = np.stack([1 - p, p], axis=1), (np.arange(200) % 2 == 0).astype(int)
        >>> round(lk.evaluate.classwise_error(codes, probs, n_resamples=20).value, 2)
        0.25
    """
    codes, probs, w = coded(codes, probs, w)
    happened = (codes == np.arange(probs.shape[1])[:, None]).astype(float)
    cells = Cells.of("classwise", happened, probs.T, w, bins=bins, equal=equal)
    return cells.error(n_resamples, coverage, random_state)


def event_error(
    happened: Any, p: Any, w: Any = None, *, bins: int = 15, equal: str = "width",
    n_resamples: int = 200, coverage: float = 0.95, random_state: Any = 0,
) -> CalibrationEstimate:  # fmt: skip
    """The calibration error of the probability of one event per row.

    Args:
        happened: (n,) 1 where the event happened.
        p: (n,) its predicted probability.
        w: how often each row counts.
        bins: how many bins of probability.
        equal: "width", bins of equal width, or "weight", bins of equal weight (mass).
        n_resamples: resamples of the bootstrap; 0 for no interval.
        coverage: of the interval.
        random_state: seed or NumPy generator of the bootstrap.

    Examples:
        >>> p = np.linspace(0.05, 0.95, 100)
        >>> found = lk.evaluate.event_error((p > 0.5).astype(int), p, n_resamples=20)
        >>> round(found.value, 2)
        0.23
    """
    happened, p, w = present(happened, p, w=w)
    cells = Cells.of("event", happened[None], p[None], w, bins=bins, equal=equal)
    return cells.error(n_resamples, coverage, random_state)
