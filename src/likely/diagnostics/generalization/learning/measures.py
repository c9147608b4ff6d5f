r"""Losses by size with errors that know which rows, and which draws, they are means over.

Every row has its mean loss where it was trained on and its mean loss where it was held out. Rows
(or groups of rows) are resampled, the same ones for all sizes and for both losses, so that errors
of differences are those of paired rows. To this comes what the choice of the training rows adds:
the variance of repeated draws within a fold.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from likely.evaluate.scores import Score
from likely.inference import resampled_weights

RESAMPLES = 400


class SizeLosses(NamedTuple):
    """Losses of the fits to training sets of one size: k folds, r draws in each."""

    held_out: Float[np.ndarray, "k r n"]
    """NaN where a row is not held out."""
    train: Float[np.ndarray, "k r n"]
    """NaN where a row is not trained on."""

    def by_row(self, part: str) -> Float[np.ndarray, " n"]:
        """The mean loss of each row over fits, NaN where there is none.

        Args:
            part: "held_out" or "train".
        """
        losses = getattr(self, part)
        known = ~np.isnan(losses)
        count = known.sum((0, 1))
        total = np.where(known, losses, 0.0).sum((0, 1))
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)


class Units(NamedTuple):
    """Resampled weights of rows, which all means share."""

    w: Float[np.ndarray, " n"]
    draws: Float[np.ndarray, "b n"]

    @classmethod
    def of(cls, w: np.ndarray, groups: np.ndarray | None, rng: np.random.Generator):
        """Resamples of rows, or of whole groups.

        Args:
            w: weights of the rows.
            groups: what each row belongs to, or None.
            rng: where randomness comes from.
        """
        if groups is None:
            return cls(w, resampled_weights(w, RESAMPLES, rng))
        label = np.unique(groups, return_inverse=True)[1]
        present = np.bincount(label, w > 0) > 0
        counts = resampled_weights(present.astype(float), RESAMPLES, rng)
        return cls(w, counts[:, label] * w)

    def mean(self, values: Float[np.ndarray, " n"]) -> float:
        """The weighted mean of what is known."""
        known = ~np.isnan(values) & (self.w > 0)
        return float(np.average(values[known], weights=self.w[known]))

    def resampled(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " b"]:
        """The same for each resample."""
        known = ~np.isnan(values)
        total = self.draws @ np.where(known, values, 0.0)
        weight = self.draws @ known
        return np.where(weight > 0, total / np.maximum(weight, 1e-300), np.nan)

    def score(self, values: Float[np.ndarray, " n"]) -> Score:
        """The mean and its standard error."""
        return Score(
            self.mean(values), float(np.nanstd(self.resampled(values), ddof=1))
        )


def draw_variance(
    losses: Float[np.ndarray, "k r n"], w: Float[np.ndarray, " n"]
) -> float:
    """The variance of a mean over folds by the choice of training rows, r draws in each."""
    r = losses.shape[1]
    if r < 2:
        return 0.0
    known = ~np.isnan(losses)
    total = (np.where(known, losses, 0.0) * w).sum(2)
    weight = (known * w).sum(2)
    means = total / np.maximum(weight, 1e-300)  # (k, r)
    share = weight.mean(1) / weight.mean(1).sum()
    return float(share**2 @ means.var(1, ddof=1) / r)
