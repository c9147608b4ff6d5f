r"""Whether chains have converged, and how many independent draws they are worth.

With c chains of n draws, W the mean of their variances and B/n the variance of their means,

$$\hat R = \sqrt{\frac{\frac{n-1}{n} W + \frac{B}{n}}{W}}, \qquad
  \mathrm{ESS} = \frac{cn}{1 + 2\sum_{t \ge 1} ρ_t}, \qquad
  \mathrm{MCSE} = \frac{s}{\sqrt{\mathrm{ESS}}}.$$

Chains are split into halves, so that a drift shows. $\hat R$ and the bulk ESS are of the
normal scores of ranks, which exist for any distribution, also one without a variance; $\hat
R$ is the larger of that of the draws and that of their distances from the median. The tail
ESS is the smaller of those of the 5 % and 95 % quantiles. Autocorrelations are summed in
pairs while the sums are positive and falling (Geyer).
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import fft
from scipy.special import ndtri
from scipy.stats import rankdata

Chains = Float[np.ndarray, "c n *d"]
TAILS = (0.05, 0.95)


def r_hat(draws: Chains) -> Float[np.ndarray, "*d"]:
    """R̂ of rank-normalised split chains: the larger of bulk and folded.

    Examples:
        >>> draws = np.random.default_rng(0).normal(size=(4, 500, 1))
        >>> print(lk.inference.r_hat(draws).round(1))
        [1.]
    """
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.fmax(_basic_r_hat(_scores(halves)), _basic_r_hat(_scores(folded)))


def ess_bulk(draws: Chains) -> Float[np.ndarray, "*d"]:
    """The effective number of draws for the middle of the distribution.

    Examples:
        >>> draws = np.random.default_rng(0).normal(size=(4, 500, 1))
        >>> bool(lk.inference.ess_bulk(draws)[0] > 1000)
        True
    """
    return _ess(_scores(_split(draws)))


def ess_tail(draws: Chains) -> Float[np.ndarray, "*d"]:
    """The effective number of draws for the 5 % and 95 % quantiles.

    Examples:
        >>> draws = np.random.default_rng(0).normal(size=(4, 500, 1))
        >>> bool(lk.inference.ess_tail(draws)[0] > 1000)
        True
    """
    ends = np.quantile(draws, TAILS, axis=(0, 1))
    below = [_ess(_split((draws <= end).astype(float))) for end in ends]
    return np.minimum(*below)


def ess_mean(draws: Chains) -> Float[np.ndarray, "*d"]:
    """The effective number of draws for the mean.

    Examples:
        >>> draws = np.random.default_rng(0).normal(size=(4, 500, 1))
        >>> bool(lk.inference.ess_mean(draws)[0] > 1000)
        True
    """
    return _ess(_split(draws))


def mcse(draws: Chains) -> Float[np.ndarray, "*d"]:
    """The Monte Carlo standard error of the mean.

    Examples:
        >>> draws = np.random.default_rng(0).normal(size=(4, 500, 1))
        >>> bool(lk.inference.mcse(draws)[0] < 0.05)
        True
    """
    return np.std(draws, axis=(0, 1), ddof=1) / np.sqrt(ess_mean(draws))


def _split(draws: Chains) -> np.ndarray:
    """Each chain as two; the middle draw of an odd number is left out."""
    n = draws.shape[1] // 2
    return np.concatenate([draws[:, :n], draws[:, draws.shape[1] - n :]])


def _scores(chains: np.ndarray) -> np.ndarray:
    """The normal scores of the ranks among all chains."""
    flat = chains.reshape(-1, *chains.shape[2:])
    ranks = rankdata(flat, axis=0)
    return ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(chains.shape)


def _basic_r_hat(chains: np.ndarray) -> np.ndarray:
    n = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean(0)
    between = chains.mean(1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((n - 1) / n + between / within)


def _ess(chains: np.ndarray) -> np.ndarray:
    """The effective number of draws of all chains; NaN where nothing varies."""
    c, n, *rest = chains.shape
    flat = chains.reshape(c, n, -1)
    acov = _autocovariance(flat)
    within = acov[:, 0].mean(0) * n / (n - 1)
    total = within * (n - 1) / n + flat.mean(1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (within - acov.mean(0)) / total
    rho[0] = 1.0
    pairs = rho[: n - n % 2].reshape(-1, 2, rho.shape[1]).sum(1)
    stop = np.where(
        (pairs <= 0).any(0), np.argmax(pairs <= 0, axis=0), len(pairs)
    )  # the first pair that is not positive
    sums = np.minimum.accumulate(pairs, axis=0)
    inside = np.arange(len(pairs))[:, None] < stop
    time = -1 + 2 * np.where(inside, sums, 0.0).sum(0)
    edge = np.take_along_axis(rho, np.minimum(2 * stop, len(rho) - 1)[None], axis=0)[
        0
    ]  # the even lag after the last pair reduces the variance of antithetic chains
    time = np.maximum(time + np.maximum(edge, 0.0), 1 / np.log10(c * n))
    found = np.where(total > 0, c * n / time, np.nan)
    return found.reshape(rest)


def _autocovariance(chains: np.ndarray) -> np.ndarray:
    """(c, n, d) autocovariances of every chain at every lag, divided by n."""
    n = chains.shape[1]
    centred = chains - chains.mean(1, keepdims=True)
    size = fft.next_fast_len(2 * n, real=True)
    spectrum: Any = fft.rfft(centred, size, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    found: Any = fft.irfft(power, size, axis=1)
    return found[:, :n] / n
