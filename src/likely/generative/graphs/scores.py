r"""Scores of a structure: how well a variable is explained by a set of parents.

All scores are sums over families (a variable with its parents), in nats; larger is better.

* "bic": the largest log-likelihood minus $\tfrac12 \log n$ for each free number.
* "bdeu": the exact evidence of tables under Dirichlet priors with α imaginary rows spread evenly,

$$\sum_j \Bigl[\log \frac{Γ(α_j)}{Γ(α_j + N_j)} +
  \sum_k \log \frac{Γ(α_{jk} + N_{jk})}{Γ(α_{jk})}\Bigr];$$

for normal variables the evidence of Geiger and Heckerman (BGe), for each combination of levels of
their discrete parents. Both give equivalent graphs the same score, BIC too.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import gammaln, xlogy

from likely.generative.graphs.statistics import design, regression

SCORES = ("bic", "bdeu")
MAX_FAMILY_CELLS = 1_000_000
"""Combinations of levels of a family, above which it is not looked at."""
LEAST_VARIANCE = 1e-10


@dataclass(frozen=True)
class FamilyScores:
    """Scores of families, each computed once.

    Args:
        values: (n, d) codes and numbers, none missing.
        w: (n,) weights.
        sizes: how many levels each column has; 0 if it is continuous.
        kind: one of `SCORES`.
        prior: the equivalent sample size α.
        least: (d,) the smallest σ of each continuous column.
    """

    values: np.ndarray
    w: np.ndarray
    sizes: tuple[int, ...]
    kind: str
    prior: float
    least: np.ndarray
    known: dict = field(default_factory=dict)

    def __call__(self, child: int, parents: frozenset[int]) -> float:
        """The score of a variable with these parents."""
        at = child, parents
        if at not in self.known:
            self.known[at] = self._score(child, sorted(parents))
        return self.known[at]

    @cached_property
    def codes(self) -> np.ndarray:
        """(d, n) levels of discrete columns, row after row of memory."""
        whole = np.where(np.array(self.sizes) > 0, self.values, 0.0)
        return np.ascontiguousarray(whole.T.astype(np.int64))

    @cached_property
    def log_n(self) -> float:
        """The logarithm of the total weight."""
        return float(np.log(self.w.sum()))

    @cached_property
    def gram(self) -> np.ndarray:
        """(d + 1, d + 1) moments of all columns and 1."""
        Z = np.hstack([self.values, np.ones((len(self.values), 1))])
        return (Z * self.w[:, None]).T @ Z

    def _score(self, child: int, parents: list[int]) -> float:
        discrete = [p for p in parents if self.sizes[p]]
        shape = [self.sizes[p] for p in discrete]
        cells = float(np.prod([float(s) for s in (*shape, max(self.sizes[child], 1))]))
        if cells > MAX_FAMILY_CELLS:
            return -np.inf
        flat = np.zeros(len(self.w), np.int64)
        for p, size in zip(discrete, shape, strict=True):
            flat = flat * size + self.codes[p]
        q = int(np.prod(shape, dtype=np.int64))
        if self.sizes[child]:
            if len(discrete) < len(parents):
                return -np.inf  # a discrete variable has no continuous parents
            return self._table(child, flat, q)
        continuous = [p for p in parents if not self.sizes[p]]
        return self._normal(child, continuous, flat, q)

    def _table(self, child: int, flat: np.ndarray, q: int) -> float:
        r = self.sizes[child]
        N = np.bincount(flat * r + self.codes[child], self.w, q * r).reshape(q, r)
        if self.kind == "bic":
            fit = xlogy(N, N).sum() - xlogy(N.sum(1), N.sum(1)).sum()
            return float(fit - 0.5 * self.log_n * q * (r - 1))
        a, aj = self.prior / (q * r), self.prior / q
        cells = (gammaln(a + N) - gammaln(a)).sum()
        return float(cells - (gammaln(aj + N.sum(1)) - gammaln(aj)).sum())

    def _normal(
        self, child: int, continuous: list[int], flat: np.ndarray, q: int
    ) -> float:
        moments = self._moments([*continuous, child], flat, q)
        n = moments[:, -2, -2]
        if self.kind == "bdeu":
            alpha = self.prior / q
            whole = sum(not size for size in self.sizes)
            both = bge_log_evidence(moments, alpha, whole)
            return float(
                (both - bge_log_evidence(_without_last(moments), alpha, whole)).sum()
            )
        shrink = self.prior / q if q > 1 else 0.0
        _, exact = regression(moments, 0.0, 0.0)
        variance = exact if not shrink else regression(moments, 0.0, shrink)[1]
        variance = np.maximum(variance, max(self.least[child] ** 2, LEAST_VARIANCE))
        fit = (
            -0.5
            * n
            * (np.log(2 * np.pi * variance) + np.where(n > 0, exact, 0.0) / variance)
        )
        return float(fit.sum() - 0.5 * self.log_n * q * (len(continuous) + 2))

    def _moments(self, columns: list[int], flat: np.ndarray, q: int) -> np.ndarray:
        """(q, p + 2, p + 2) of z = (parents, 1, child), for each combination of levels."""
        if q == 1:
            at = np.array([*columns[:-1], -1, columns[-1]])
            return self.gram[np.ix_(at, at)][None]
        Z = design(self.values[:, columns])
        order = np.argsort(flat, kind="stable")
        Z, w, which = Z[order], self.w[order], flat[order]
        starts = np.flatnonzero(np.r_[True, np.diff(which) > 0])
        found = np.zeros((q, Z.shape[1], Z.shape[1]))
        for a, b in zip(starts, [*starts[1:], len(Z)], strict=True):
            found[which[a]] = (Z[a:b] * w[a:b, None]).T @ Z[a:b]
        return found


def _without_last(moments: np.ndarray) -> np.ndarray:
    """The moments of the parents alone, the last of them behind the 1."""
    p = moments.shape[-1] - 2
    if not p:
        return moments[..., :1, :1]
    at = np.array([*range(p - 1), p, p - 1])
    return moments[..., at[:, None], at]


def bge_log_evidence(moments: np.ndarray, alpha: float | int, d: int) -> np.ndarray:
    r"""log p of normal rows under a normal-Wishart prior, for subsets of d variables.

    With m variables, n rows of mean μ and scatter S, prior mean 0 counting α rows, and a prior
    scatter T = tI with $a = d + 2$ degrees of freedom, so that variances are 1 a priori,

    $$\log p = -\tfrac{nm}{2} \log π + \tfrac m2 \log \tfrac{α}{n+α}
      + \log \frac{Γ_m(\frac{n + a - d + m}{2})}{Γ_m(\frac{a-d+m}{2})}
      + \tfrac{a-d+m}{2} \log|T| - \tfrac{n+a-d+m}{2} \log|T + S + \tfrac{nα}{n+α} μ μ^\top| .$$

    Args:
        moments: (q, m + 1, m + 1) of (x₁, ..., 1, x_m).
        alpha: how many rows the prior mean counts for.
        d: the number of all continuous variables.
    """
    m = moments.shape[-1] - 1
    if not m:
        return np.zeros(len(moments))
    at = np.array([*range(m - 1), m])
    n = moments[:, m - 1, m - 1]
    total = moments[:, at, m - 1]
    squares = moments[:, at[:, None], at]
    # S + nα/(n+α) μμᵀ = Σxxᵀ − (Σx)(Σx)ᵀ/(n + α)
    scatter = (
        squares - total[:, :, None] * total[:, None, :] / (n + alpha)[:, None, None]
    )
    a = d + 2.0
    t = alpha * (a - d - 1) / (alpha + 1)
    R = t * np.eye(m) + scatter
    half = 0.5 * (a - d + m)
    gain = _log_multigamma(0.5 * n + half, m) - _log_multigamma(np.full(1, half), m)
    return (
        -0.5 * n * m * np.log(np.pi)
        + 0.5 * m * np.log(alpha / (n + alpha))
        + gain
        + half * m * np.log(t)
        - (0.5 * n + half) * np.linalg.slogdet(R)[1]
    )


def _log_multigamma(a: np.ndarray, m: int) -> np.ndarray:
    """log Γ_m(a) = ¼m(m − 1) log π + Σ_j log Γ(a − ½j), j = 0, ..., m − 1."""
    terms = gammaln(np.asarray(a)[..., None] - 0.5 * np.arange(m))
    return 0.25 * m * (m - 1) * np.log(np.pi) + terms.sum(-1)
