"""EM for normal mixtures from several starts at once, each to its own end."""

from typing import NamedTuple

import numpy as np

from likely.latent.clusters.gaussian.components import Components, maximize
from likely.latent.clusters.gaussian.incomplete import IncompleteRows
from likely.latent.clusters.gaussian.packed import MAX_COLUMNS, PackedRows

SLACK = 1e-10
"""By which share of itself rounding may lower the log-likelihood in a step."""


class Found(NamedTuple):
    """Where EM ended from each start.

    Attributes:
        components: of r starts.
        log_prob: (r,) the mean log-likelihood of a row there, in nats.
        n_iter: (r,) the number of steps.
        converged: (r,) whether the last step changed less than the tolerance.
        paths: for each start the mean log-likelihood before each step and at the end.
    """

    components: Components
    log_prob: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray
    paths: list[np.ndarray]

    @property
    def best(self) -> int:
        """The start with the fewest components at the floor, of these the likeliest.

        A component that shrinks onto a few rows has a likelihood as large as the floor
        allows, and says nothing about other rows.
        """
        raised = self.components.raised.sum(1)
        return int(np.lexsort((-self.log_prob, raised))[0])


def engine_of(X: np.ndarray, w: np.ndarray, kind: str) -> PackedRows | IncompleteRows:
    """The faster way to the moments of these rows."""
    diagonal = kind in ("diag", "spherical")
    few = diagonal or X.shape[1] <= MAX_COLUMNS
    if few and not np.isnan(X).any():
        return PackedRows(X, w, diagonal=diagonal)
    return IncompleteRows(X, w)


def expectation_maximization(
    X: np.ndarray,
    w: np.ndarray,
    start: Components,
    *,
    kind: str,
    floor: float,
    tol: float,
    max_iter: int,
) -> Found:
    """EM from several starts; the likelihood of each never falls.

    Where rounding of the fast steps lowers a likelihood, all go on by the exact ones; a
    start that falls there too ends where it was.

    Args:
        X: (n, d) rows of columns with mean 0 and variance 1; values may be NaN.
        w: (n,) their weights.
        start: components of r starts; is changed.
        kind: of the covariances.
        floor: the smallest variance in any direction.
        tol: a start ends when its mean log-likelihood rises by less.
        max_iter: the largest number of steps.
    """
    engine, weight = engine_of(X, w, kind), w.sum()
    r = len(start.weights)
    log_prob, n_iter = np.full(r, -np.inf), np.zeros(r, int)
    converged, active, before = np.zeros(r, bool), np.arange(r), start
    paths: list[list[float]] = [[] for _ in range(r)]
    while len(active):
        moments = engine.moments(start.take(active))
        now = moments.log_prob / weight
        fell = now < log_prob[active] - SLACK * (1 + np.abs(now))
        if fell.any() and isinstance(engine, PackedRows):
            engine = IncompleteRows(X, w)
            start.put(active, before)
            log_prob[active] = -np.inf
            n_iter[active] -= 1
            for i in active:
                paths[i].pop()
            continue
        if fell.any():
            start.put(active[fell], before.take(np.flatnonzero(fell)))
        rise = now - log_prob[active]
        log_prob[active[~fell]] = now[~fell]
        for i, value in zip(active[~fell], now[~fell], strict=True):
            paths[i].append(float(value))
        settled = fell | (rise <= tol)
        converged[active[settled]] = True
        goes_on = ~settled & (n_iter[active] < max_iter)
        active, kept = active[goes_on], np.flatnonzero(goes_on)
        before = start.take(active)
        part = type(moments)(*(a[kept] for a in moments))
        start.put(active, maximize(part, kind, floor))
        n_iter[active] += 1
    return Found(start, log_prob, n_iter, converged, [np.array(p) for p in paths])
