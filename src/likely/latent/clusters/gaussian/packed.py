r"""A step of EM as two matrix products, for complete rows of few columns.

The log density of a normal component is linear in $φ(x) = (x_i x_j,\; x_i,\; 1)_{i \le j}$, so that
those of all components of all starts are one product $Φ Θ^\top$; and the moments that the
components are fitted to are another, $Q^\top Φ$ with the responsibilities $Q$. Diagonal covariances
need only the squares. Rows come in blocks, so that memory stays bounded.
"""

import numpy as np

from likely.latent.clusters.gaussian.components import Components, Moments

BLOCK_NUMBERS = 2**18
"""Numbers of φ in a block."""
CACHE_BYTES = 2**28
"""Memory in which φ of all rows is kept between steps."""
MAX_COLUMNS = 48
"""Largest number of columns for which products of pairs of columns are formed."""
LOG_2PI = float(np.log(2 * np.pi))


class PackedRows:
    """Complete rows, and the moments that components find in them."""

    def __init__(self, X: np.ndarray, w: np.ndarray, *, diagonal: bool):
        self.X, self.w, self.diagonal = X, w, diagonal
        n, d = X.shape
        self.pairs = (np.arange(d),) * 2 if diagonal else np.triu_indices(d)
        columns = len(self.pairs[0]) + d + 1
        self.size = int(np.clip(BLOCK_NUMBERS // columns, 64, 8192))
        self.starts = range(0, n, self.size)
        keep = 8 * n * columns <= CACHE_BYTES
        self.kept = [self._features(i) for i in self.starts] if keep else None

    def moments(self, components: Components) -> Moments:
        """One E-step: the log-likelihood of each start, and what M-steps need."""
        r, k = components.weights.shape
        theta = self._natural(components)
        log_prob, found = np.zeros(r), np.zeros(theta.shape)
        for number, start in enumerate(self.starts):
            phi = self.kept[number] if self.kept else self._features(start)
            w = self.w[start : start + self.size]
            joint = (phi @ theta.T).reshape(len(w), r, k)
            top = joint.max(2, keepdims=True)
            joint -= top
            np.exp(joint, out=joint)
            total = joint.sum(2)
            log_prob += w @ (top[..., 0] + np.log(total))
            joint *= (w[:, None] / total)[..., None]
            found += joint.reshape(len(w), r * k).T @ phi
        return self._unpacked(log_prob, found.reshape(r, k, -1), components)

    def _features(self, start: int) -> np.ndarray:
        """(b, p) φ of a block of rows."""
        X = self.X[start : start + self.size]
        n, d = X.shape
        p = len(self.pairs[0])
        phi = np.empty((n, p + d + 1))
        if self.diagonal:
            np.multiply(X, X, out=phi[:, :p])
        else:
            first = 0
            for j in range(d):
                last = first + d - j
                np.multiply(X[:, j : j + 1], X[:, j:], out=phi[:, first:last])
                first = last
        phi[:, p : p + d], phi[:, -1] = X, 1.0
        return phi

    def _natural(self, components: Components) -> np.ndarray:
        """(r·k, p) Θ: the factors of φ in log π + log density of each component."""
        weights, means, S, _ = components
        r, k, d = means.shape
        if self.diagonal:
            quadratic, linear = -0.5 / S, means / S
            log_det = np.log(S).sum(-1)
        else:
            L = np.linalg.cholesky(S)
            inverse = np.linalg.inv(L)
            P = np.swapaxes(inverse, -1, -2) @ inverse
            log_det = 2 * np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(-1)
            factor = np.where(self.pairs[0] == self.pairs[1], -0.5, -1.0)
            quadratic = factor * P[..., self.pairs[0], self.pairs[1]]
            linear = (P @ means[..., None])[..., 0]
        square = (linear * means).sum(-1)
        constant = np.log(weights) - 0.5 * (square + log_det + d * LOG_2PI)
        theta = np.concatenate([quadratic, linear, constant[..., None]], -1)
        return theta.reshape(r * k, -1)

    def _unpacked(self, log_prob, found, components: Components) -> Moments:
        """Means and covariances from sums over rows."""
        p, d = len(self.pairs[0]), self.X.shape[1]
        N = found[..., -1]
        none = N <= 0
        total = np.where(none, 1.0, N)[..., None]
        means = found[..., p : p + d] / total
        squares = found[..., :p] / total
        if self.diagonal:
            S = squares - means**2
        else:
            i, j = self.pairs
            S = np.empty((*N.shape, d, d))
            S[..., i, j] = S[..., j, i] = squares - means[..., i] * means[..., j]
        if none.any():  # a component without rows stays where it is
            means[none], S[none] = components.means[none], components.covariances[none]
        return Moments(log_prob, N, means, S)
