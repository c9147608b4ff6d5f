r"""Held-out log-likelihood in nats for each row, and in bits for each dimension.

With d numbers in a row, such as pixels or columns,

$$\text{nats} = -\frac{1}{\sum w} \sum_i w_i \log p(x_i), \qquad
\text{bits per dimension} = \frac{\text{nats}}{d \ln 2}.$$

A model that knows only a lower bound of log p gives an upper bound of both: it is called so.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.core.written_numbers import with_error
from likely.evaluate.scores import Score, mean_score, present


class HeldOutLikelihood(NamedTuple):
    """How probable held-out rows are."""

    nats: Score
    """−log p for each row; an upper bound of it where `bound`."""
    bits: Score
    """Bits for each dimension."""
    dimensions: int
    bound: bool
    """Whether the numbers are upper bounds."""

    def __str__(self) -> str:
        most = "at most " if self.bound else ""
        return (
            f"{most}{with_error(*self.nats)} nats per row, "
            f"{most}{with_error(*self.bits)} bits per dimension"
        )


def held_out_likelihood(
    log_probs: Any,
    dimensions: int,
    w: Any = None,
    *,
    errors: Any = None,
    bound: bool = False,
) -> HeldOutLikelihood:
    """Mean −log p of held-out rows, in nats for each row and bits for each dimension.

    Args:
        log_probs: (n,) log p of each row, in nats, or a lower bound of it.
        dimensions: numbers in a row: pixels, or columns.
        w: how often each row counts.
        errors: (n,) standard errors of `log_probs` themselves, where they are estimated by
            draws; they add to the error that comes from the choice of rows.
        bound: whether `log_probs` are lower bounds.

    Examples:
        >>> found = lk.evaluate.held_out_likelihood(np.array([-2.0, -3.0, -2.5]), 2)
        >>> print(found.nats)
        2.5 ± 0.29
    """
    if dimensions < 1:
        raise InputError(f"dimensions is {dimensions}; give at least 1.")
    nats = mean_score(-np.asarray(log_probs, np.float64), w)
    if errors is not None:
        own, weights = present(errors, w=w)
        drawn = float(np.sqrt((weights**2 * own**2).sum()) / weights.sum())
        nats = Score(nats.value, float(np.hypot(nats.error, drawn)))
    scale = dimensions * np.log(2)
    bits = Score(nats.value / scale, nats.error / scale)
    return HeldOutLikelihood(nats, bits, int(dimensions), bool(bound))
