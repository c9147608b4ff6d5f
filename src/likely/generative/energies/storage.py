r"""How patterns are stored in the weights of a Hopfield network.

For p patterns ξ of d units ±1, rows of P:

* Hebb: $W = \tfrac1d \sum_μ ξ_μ ξ_μ^\top$ with zero diagonal: units that agree in many patterns
  are connected. About 0.138 d random patterns can be recalled.
* Storkey: one pattern after another, corrected by the local fields $h_{ij}$ of those before;
  more patterns, at the same locality.
* Pseudo-inverse: $W = P^+ P$ projects on the patterns, so that up to d linearly independent
  ones are fixed exactly; not local.
"""

import numpy as np

RULES = ("hebbian", "storkey", "pseudo_inverse")


def stored_weights(P: np.ndarray, w: np.ndarray, rule: str) -> np.ndarray:
    """(d, d) symmetric weights with zero diagonal.

    Args:
        P: (p, d) patterns of ±1.
        w: (p,) how often each counts, for Hebb's rule.
        rule: one of `RULES`.
    """
    d = P.shape[1]
    if rule == "hebbian":
        W = (P * w[:, None]).T @ P / d
    elif rule == "storkey":
        W = np.zeros((d, d))
        for x in P:
            W = _storkey(W, x)
    else:
        W = np.linalg.pinv(P) @ P
        W = 0.5 * (W + W.T)
    np.fill_diagonal(W, 0.0)
    return np.ascontiguousarray(W)


def _storkey(W: np.ndarray, x: np.ndarray) -> np.ndarray:
    """W + (x_i x_j − x_i h_ji − h_ij x_j)/d with h_ij = Σ_{k≠i,j} W_ik x_k."""
    d = len(x)
    h = W @ x
    own = np.diagonal(W) * x
    H = h[:, None] - own[:, None] - W * x[None]
    np.fill_diagonal(H, h - own)
    return W + (np.outer(x, x) - x[:, None] * H.T - H * x[None]) / d
