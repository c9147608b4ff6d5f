r"""The parts of a risk, averaged over points, with their Monte Carlo errors.

A part is a mean over t points of a number computed from m fits. It varies with the fits that were
drawn and with the points that were drawn, so its squared standard error is the sum of two: that
of the jackknife over fits,

$$\frac{m-1}{m} \sum_j \bigl(\hat θ_{(-j)} - \bar θ\bigr)^2,$$

with $\hat θ_{(-j)}$ the estimate without fit j, and the variance over points divided by their
number; less what is in both, the share of single fits at single points, as in a two-way analysis of
variance. (Where not every fit is judged at every point nothing is subtracted: the error is then
rather too large, at most by a factor of $\sqrt 2$.)
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from likely.evaluate.scores import Score, mean_score

MIN_FITS = 3
"""Fits that a point needs for a variance and its error."""


class Parts(NamedTuple):
    """The risk of a learner and what it is made of: risk = noise + bias + variance."""

    risk: Score
    noise: Score
    """NaN where the truth is not known: it is then part of the bias."""
    bias: Score
    variance: Score
    details: dict[str, Score]
    """What else is measured on the way."""


class Judged(NamedTuple):
    """Which fits are judged at which points, and how much the points count."""

    here: Bool[np.ndarray, "m t"]
    v: Float[np.ndarray, " t"]
    """The weights of the points."""
    fixed: bool
    """Whether the points are given, so that they add nothing to the errors."""

    @property
    def counts(self) -> Float[np.ndarray, " t"]:
        """The number of fits at each point."""
        return self.here.sum(0).astype(float)

    def usable(self) -> Bool[np.ndarray, " t"]:
        """The points with enough fits."""
        return (self.counts >= MIN_FITS) & (self.v > 0)

    def at(self, points: np.ndarray) -> "Judged":
        """At these points only."""
        return Judged(self.here[:, points], self.v[points], self.fixed)

    def mean(self, values: Float[np.ndarray, "m t *c"]) -> Float[np.ndarray, " t *c"]:
        """The mean over the fits that are judged at each point."""
        here = self.here.reshape(*self.here.shape, *[1] * (values.ndim - 2))
        total = np.where(here, values, 0.0).sum(0)
        return total / self.counts.reshape(-1, *[1] * (values.ndim - 2))

    def without(
        self, values: Float[np.ndarray, "m t *c"]
    ) -> Float[np.ndarray, "m t *c"]:
        """The means without each fit in turn; as they are where it is not judged."""
        here = self.here.reshape(*self.here.shape, *[1] * (values.ndim - 2))
        mean = self.mean(values)
        others = self.counts.reshape(-1, *[1] * (values.ndim - 2)) - 1
        with np.errstate(invalid="ignore"):
            return mean - np.where(here, values - mean, 0.0) / others

    def score(
        self, values: Float[np.ndarray, " t"], without: Float[np.ndarray, "m t"] | None
    ) -> Score:
        """The mean over points and its standard error.

        Args:
            values: of each point.
            without: the same without each fit in turn; None for what fits do not change.
        """
        over_points = mean_score(values, self.v)
        squared = 0.0 if self.fixed or np.ptp(values) == 0 else over_points.error**2
        if without is not None:
            m, means = len(without), without @ self.v / self.v.sum()
            over_fits = (m - 1) / m * float(((means - means.mean()) ** 2).sum())
            largest = max(squared, over_fits)
            both = 0.0 if self.fixed else self._counted_twice(without)
            squared = max(squared + over_fits - both, largest)
        return Score(over_points.value, float(np.sqrt(squared)))

    def _counted_twice(self, without: Float[np.ndarray, "m t"]) -> float:
        """The part of the variance that belongs to single fits at single points."""
        (m, t), complete = without.shape, self.here.all() and np.ptp(self.v) == 0
        if not complete or t < 2:
            return 0.0
        own = without - without.mean(0) - without.mean(1)[:, None] + without.mean()
        return (m - 1) * float((own**2).sum()) / ((t - 1) * m * t)


UNKNOWN = Score(float("nan"), float("nan"))
