r"""Gradient flow of linear networks in closed form, for $R = E\lVert y - A x\rVert^2$.

One layer, with $Σ = E[x x^\top]$: $\dot A = 2(A^* - A)Σ$, so

$$A(t) = A^* + (A_0 - A^*)\,e^{-2Σt};$$

gradient descent has $(I - 2ηΣ)^n$ for $e^{-2Σt}$. With white inputs and target I this is
$\dot A = 2(I - A)$.

Two layers, A = QW, white inputs ($Σ = cI$) and $G = E[y x^\top]$: $\dot Q = 2(G - cA)W^\top$,
$\dot W = 2Q^\top(G - cA)$. From *balanced* layers, $Q^\top Q = W W^\top$, which the flow
preserves, $Z = [W^\top; Q]$ obeys a Riccati equation (Fukumizu 1998),

$$P = ZZ^\top, \quad \dot P = 2(FP + PF - cP^2), \quad
  F = \begin{pmatrix}0 & G^\top\\ G & 0\end{pmatrix},$$

$$P(t) = e^{2Ft} Z_0 \Bigl[I + 2c\,Z_0^\top \int_0^t e^{4Fs}ds\;Z_0\Bigr]^{-1} Z_0^\top e^{2Ft} .$$

Where $Q_0$ and $W_0$ have the singular vectors of G, each of its modes, of singular value cs, is
learned alone, along a sigmoid: $\dot a = 4c\,a(s - a)$,

$$a(t) = \frac{s}{1 + (s/a_0 - 1)\,e^{-4cst}}, \qquad t_{1/2} = \frac{\log(s/a_0 - 1)}{4cs},$$

strong modes first (Saxe, McClelland and Ganguli 2014).
"""

from typing import Any

import numpy as np
from jaxtyping import Float


def one_layer(
    first: Float[np.ndarray, "k d"],
    best: Float[np.ndarray, "k d"],
    moments: Float[np.ndarray, "d d"],
    times: Float[np.ndarray, " t"],
) -> Float[np.ndarray, "t k d"]:
    """A(t) of one layer.

    Args:
        first: A at time 0.
        best: A*, of least squares.
        moments: Σ, the second moments of the inputs.
        times: t.
    """
    values, V = np.linalg.eigh(moments)
    shrunk = np.exp(-2 * np.outer(times, values))  # (t, d)
    return best + ((first - best) @ V * shrunk[:, None]) @ V.T


def one_layer_steps(
    first: Float[np.ndarray, "k d"],
    best: Float[np.ndarray, "k d"],
    moments: Float[np.ndarray, "d d"],
    rate: float,
    steps: Any,
) -> Float[np.ndarray, "t k d"]:
    """A after some steps of gradient descent at this rate, exactly."""
    values, V = np.linalg.eigh(moments)
    shrunk = (1 - 2 * rate * values)[None] ** np.asarray(steps)[:, None]
    return best + ((first - best) @ V * shrunk[:, None]) @ V.T


def two_layers(
    W: Float[np.ndarray, "h d"],
    Q: Float[np.ndarray, "k h"],
    G: Float[np.ndarray, "k d"],
    c: float,
    times: Float[np.ndarray, " t"],
) -> Float[np.ndarray, "t k d"]:
    """A(t) = QW of two balanced layers on white inputs, from time to time.

    Args:
        W: the first layer at time 0.
        Q: the second layer.
        G: E[y xᵀ].
        c: the second moment of each input.
        times: ascending, from 0 on.
    """
    k, d = G.shape
    F = np.block([[np.zeros((d, d)), G.T], [G, np.zeros((k, k))]])
    values, basis = np.linalg.eigh(F)
    Z = basis.T @ np.concatenate([W.T, Q])
    found, before = np.zeros((len(times), k, d)), 0.0
    for i, t in enumerate(times):
        parts = max(1, int(np.ceil(4 * np.abs(values).max() * (t - before) / 20)))
        for _ in range(parts):
            Z = _advanced(Z, values, c, (t - before) / parts)
        before = t
        whole = basis @ Z
        found[i] = whole[d:] @ whole[:d].T
    return found


def _advanced(Z: np.ndarray, values: np.ndarray, c: float, t: float) -> np.ndarray:
    """Z a time t later, up to a rotation that ZZᵀ does not see, in the basis of F."""
    grown = np.where(
        np.abs(values) > 1e-12,
        np.expm1(4 * values * t) / (4 * np.where(values == 0, 1.0, values)),
        t,
    )
    inner = np.eye(Z.shape[1]) + 2 * c * (Z.T * grown) @ Z
    C = np.linalg.cholesky(inner)
    return np.linalg.solve(C, (np.exp(2 * values * t)[:, None] * Z).T).T


def sigmoid_mode(
    s: Any, a: Any, c: float, times: Float[np.ndarray, " t"]
) -> Float[np.ndarray, "t m"]:
    """The strength a(t) of modes that begin at a and end at s, each learned alone.

    Args:
        s: (m,) the strengths at the end.
        a: (m,) those at time 0.
        c: the second moment of each input.
        times: t.
    """
    s, a = np.asarray(s, float), np.asarray(a, float)
    shrunk = np.exp(-4 * c * np.outer(times, s))
    return s * a / (a + (s - a) * shrunk)


def half_time(s: Any, a: Any, c: float) -> np.ndarray:
    """When each mode has half its strength: log(s/a − 1)/(4cs); 0 if it begins above."""
    s, a = np.asarray(s, float), np.asarray(a, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(np.maximum(s / a - 1, 1.0)) / (4 * c * s)
    return np.where(s > 0, found, np.nan)
