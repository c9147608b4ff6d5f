r"""The number of components by held-out likelihood.

Rows are split into folds. For each number of components the model is fitted without a fold, as
weights, and $\log p(x)$ of the rows of that fold is what counts, in nats per unit of weight. More
components always explain more of the rows they were fitted to; they do not of other rows.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from likely.evaluate.scores import mean_score, paired_difference
from likely.evaluate.splits import k_fold
from likely.latent.factors.principal_normal import PrincipalNormal
from likely.latent.factors.rows import distinct_rows
from likely.latent.factors.spectrum import (
    Spectrum,
    exact_spectrum,
    randomized_spectrum,
)

FOLDS, MIN_ROWS = 5, 8
"""The number of folds, and the number of different rows from which on there are any."""
MAX_EXACT, MAX_CANDIDATES = 1000, 100
"""Columns up to which all components are compared, and how many of more columns are."""
PATIENCE = 2
"""Numbers of components without a gain after which no larger one is tried."""


class HeldOutNats(NamedTuple):
    """Held-out log-likelihood by number of components, in nats per unit of weight.

    Attributes:
        n_components: the numbers that were compared.
        nats: the mean held-out log-likelihood of each.
        errors: its standard errors.
        differences: how far each is below the best one.
        difference_errors: standard errors of the differences, which are smaller since the
            same rows are easy and hard for all.
        best: the number of components of largest held-out likelihood, at least 1.
    """

    n_components: Int[np.ndarray, " m"]
    nats: Float[np.ndarray, " m"]
    errors: Float[np.ndarray, " m"]
    differences: Float[np.ndarray, " m"]
    difference_errors: Float[np.ndarray, " m"]
    best: int


def summarise(
    candidates: Iterable[int], log_prob: np.ndarray, w: np.ndarray
) -> HeldOutNats:
    """The comparison of held-out log-likelihoods, (m, n), of m numbers of components."""
    numbers = np.array(list(candidates))
    scores = np.array([mean_score(row, w) for row in log_prob])
    allowed = np.where(numbers > 0, scores[:, 0], -np.inf)
    best = int(allowed.argmax())
    gaps = np.array([paired_difference(log_prob[best], row, w) for row in log_prob])
    (nats, errors), (below, below_errors) = scores.T, gaps.T
    return HeldOutNats(numbers, nats, errors, below, below_errors, int(numbers[best]))


def compare_principal(
    X: Float[np.ndarray, "n d"],
    w: Float[np.ndarray, " n"],
    *,
    freedom: int,
    seed: int,
) -> HeldOutNats | None:
    """Probabilistic PCA with 0, 1, 2, ... components; one decomposition for each fold.

    Args:
        X: rows.
        w: their weights.
        freedom: what is taken off the weight in variances: 0 (likelihood) or 1.
        seed: of the folds.
    """
    X, w = distinct_rows(X, w)
    if len(X) < MIN_ROWS:
        return None
    folds = k_fold(len(X), FOLDS, sample_weight=w, random_state=seed)
    found, d = [], X.shape[1]
    for train, held_out in zip(folds.train, folds.held_out, strict=True):
        own = np.flatnonzero(train)
        if min(len(own), d) <= MAX_EXACT:
            spectrum = exact_spectrum(X[own], train[own], by_scatter=len(own) > d)
        else:
            rng = np.random.default_rng(seed)
            count = MAX_CANDIDATES + 1
            spectrum = randomized_spectrum(X[own], train[own], count, rng)
        found.append((spectrum, held_out > 0))
    ranks = [spectrum.rank for spectrum, _ in found]
    most = min(min(ranks) - 1, MAX_CANDIDATES if d > MAX_EXACT else d)
    if d == min(ranks) == 1:
        most = 1
    if most < 1:
        return None
    log_prob = np.zeros((most + 1, len(X)))
    for spectrum, rows in found:
        for k in range(most + 1):
            normal = principal_normal(spectrum, k, freedom)
            log_prob[k, rows] = normal.log_prob(X[rows])
    return summarise(range(most + 1), log_prob, w)


def compare_fits(
    X: Float[np.ndarray, "n d"],
    w: Float[np.ndarray, " n"],
    log_prob: Callable[[np.ndarray, np.ndarray, int, np.ndarray], np.ndarray],
    *,
    most: int,
    seed: int,
) -> HeldOutNats | None:
    """Fits with 1, 2, 3, ... components, until more of them are no better.

    Args:
        X: rows.
        w: their weights.
        log_prob: (training rows, their weights, k, other rows) -> log p(x) of the others.
        most: the largest number of components.
        seed: of the folds.
    """
    X, w = distinct_rows(X, w)
    if len(X) < MIN_ROWS:
        return None
    folds = k_fold(len(X), FOLDS, sample_weight=w, random_state=seed)
    found: list[np.ndarray] = []
    means: list[float] = []
    for k in range(1, most + 1):
        row = np.zeros(len(X))
        for train, held_out in zip(folds.train, folds.held_out, strict=True):
            own, rows = train > 0, held_out > 0
            row[rows] = log_prob(X[own], train[own], k, X[rows])
        found.append(row)
        means.append(float(w @ row / w.sum()))
        if k - 1 - int(np.argmax(means)) >= PATIENCE:
            break
    return summarise(range(1, len(found) + 1), np.array(found), w)


def principal_normal(spectrum: Spectrum, k: int, freedom: int) -> PrincipalNormal:
    """The density of probabilistic PCA with k of the directions of a spectrum."""
    d = len(spectrum.mean)
    divisor = spectrum.weight - freedom
    variances = spectrum.squares[:k] / divisor
    rest = spectrum.squares[k : spectrum.rank].sum()
    if spectrum.total > spectrum.squares.sum() * (1 + 1e-13):  # not all were looked for
        rest = spectrum.total - spectrum.squares[:k].sum()
    noise = float(rest / divisor / (d - k)) if k < d else 0.0
    return PrincipalNormal(spectrum.mean, spectrum.components[:k], variances, noise)
