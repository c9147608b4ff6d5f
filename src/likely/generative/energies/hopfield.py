r"""Hopfield networks: patterns that are recalled from a part, or from noise.

The classical network has units ±1 and the energy $E(x) = -\tfrac12 x^\top W x$. Updating one
unit after another, $x_i \leftarrow \operatorname{sign} \sum_j W_{ij} x_j$, never raises E, so the
network rests in a minimum: near what was stored, if not too much was. *Dense* associative
memories replace the square by a steeper function of the overlaps,
$E(x) = -\sum_μ F(ξ_μ \cdot x)$, with $F(z) = z^n$ or $e^z$, and store far more. The *modern*
network of real numbers has

$$E(x) = -\tfrac1β \log \sum_μ e^{-\frac β2 |x - ξ_μ|^2}, \qquad
  x \leftarrow \sum_μ \operatorname{softmax}_μ\bigl(β\,ξ_μ \cdot x
  - \tfrac β2 |ξ_μ|^2\bigr)\, ξ_μ .$$

For patterns of equal length that is attention, softmax(β Ξx), with the patterns as keys and
values; the lengths are there so that a long pattern does not attract everything.
"""

from typing import Any, NamedTuple, no_type_check

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.base.rows import dense, weights_of
from likely.base.settings import above_zero, at_least, one_of, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError, check_finite
from likely.core.random import seed_of
from likely.generative.energies.kernels.hopfield import settle_dense, settle_quadratic
from likely.generative.energies.storage import RULES, stored_weights

SIGNED = (*RULES, "polynomial", "exponential")
"""Rules of networks whose units are −1 or 1."""
UPDATES = ("asynchronous", "synchronous")
CLOSE_SHARE = 0.05
"""The share of patterns that may be closer to another than β = "auto" tells apart."""
MIN_GAP = 1e-6


class Recall(NamedTuple):
    """Where a network came to rest."""

    states: np.ndarray
    """(n, d) in the values of the patterns."""
    energies: np.ndarray
    """(n, sweeps + 1) before and after each sweep over all units."""
    n_sweeps: int
    """How many sweeps the slowest row needed."""
    converged: np.ndarray
    """(n,) whether each row rests."""


class HopfieldNetwork(Transformer):
    """An associative memory: it stores rows, and finds the stored row from a disturbed one.

    Args:
        rule: "softmax" stores rows of numbers; the others rows of two values (0 and 1, or −1 and
            1): "hebbian", "storkey", "pseudo_inverse", and the dense memories "polynomial" (F(z)
            = zⁿ) and "exponential" (F(z) = eᶻ).
        beta: β of "softmax": how sharply it chooses among patterns; "auto" makes the nearest
            stored row win. It counts for rows in units of their mean square.
        degree: n of "polynomial".
        update: "asynchronous" (one unit after another, in random order; the energy never
            rises) or "synchronous" (all at once, which may end in a cycle of two).
        max_sweeps: over all units, at most.
        random_state: of the order of units.

    Attributes:
        patterns_: (p, d) what is stored: ±1, or rows divided by `scale_`.
        weights_: (d, d) of "hebbian", "storkey" and "pseudo_inverse".
        beta_: β.
        scale_: of rows of numbers.
        low_, high_: the two values of rows of signs.

    Examples:
        >>> patterns = np.array([[1, 1, -1, -1], [-1, 1, -1, 1]])
        >>> network = lk.HopfieldNetwork("hebbian").fit(patterns)
        >>> network.weights_.shape
        (4, 4)
    """

    rule: Any
    beta: Any
    degree: Any
    update: Any
    max_sweeps: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        rule: str = "softmax",
        *,
        beta: Any = "auto",
        degree: int = 3,
        update: str = "asynchronous",
        max_sweeps: int = 100,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> "HopfieldNetwork":
        """Store rows.

        Args:
            X: (p, d) patterns.
            y: not used.
            sample_weight: how often each counts, for Hebb's rule; others store a row of
                positive weight once.
        """
        rule = one_of("rule", self.rule, ("softmax", *SIGNED))
        one_of("update", self.update, UPDATES)
        check: Any = validate_data
        X = check(self, dense(X), dtype=np.float64, ensure_all_finite=False)
        w = weights_of(sample_weight, len(X))
        check_finite("X", X, w, names=getattr(self, "feature_names_in_", None))
        X, w = X[w > 0], w[w > 0]
        if rule == "softmax":
            return self._store_numbers(X)
        self.low_, self.high_ = _two_values(X)
        P = self._signs(X)
        if (
            rule != "hebbian"
        ):  # a pattern twice is stored once, in the order they came in
            first = np.unique(P, axis=0, return_index=True)[1]
            P, w = P[np.sort(first)], w[np.sort(first)]
        self.patterns_ = np.ascontiguousarray(P)
        if rule in RULES:
            self.weights_ = stored_weights(P, w, rule)
        elif rule == "polynomial":
            at_least("degree", self.degree, 2, whole=True)
        return self

    def _store_numbers(self, X: np.ndarray) -> "HopfieldNetwork":
        X = np.unique(X, axis=0)
        size = float(np.sqrt((X**2).mean()))
        self.scale_ = size if size > 0 else 1.0
        self.patterns_ = X / self.scale_
        self.beta_ = self._sharpness()
        return self

    def _sharpness(self) -> float:
        """β: given, or such that at a stored row all others weigh 1 % together."""
        if self.beta != "auto":
            return above_zero("beta", self.beta)
        P = self.patterns_
        if len(P) == 1:
            return 1.0
        squares = (P**2).sum(1)
        gaps = 0.5 * (squares[:, None] + squares[None]) - P @ P.T  # ½|ξ − ξ'|²
        gaps = np.where(np.eye(len(P), dtype=bool), np.inf, gaps).min(1)
        gap = float(np.quantile(gaps, CLOSE_SHARE))
        return float(np.log(100 * len(P)) / max(gap, MIN_GAP))

    # Recall ----------------------------------------------------------------------------

    def recall(self, X: Any, *, update: str | None = None) -> Recall:
        """Where the network comes to rest from each row.

        Args:
            X: (n, d) rows of the values of the patterns; 0 between −1 and 1, or NaN, is an
                unknown unit, which begins at random.
            update: another one than that of the settings.
        """
        check_is_fitted(self)
        return self._recall(self._inputs(X), update)

    def _recall(self, X: np.ndarray, update: str | None = None) -> Recall:
        kind = one_of("update", self.update if update is None else update, UPDATES)
        if self.rule == "softmax":
            return self._attend(X)
        rng = np.random.default_rng(seed_of(self.random_state))
        S = self._begin(X, rng)
        most = at_least("max_sweeps", self.max_sweeps, 1, whole=True)
        if kind == "synchronous":
            found = self._together(S, most)
        else:
            found = self._one_by_one(S, most, rng)
        states, energies, n_sweeps, converged = found
        values = np.where(states > 0, self.high_, self.low_)
        return Recall(values, energies[:, : n_sweeps + 1], n_sweeps, converged)

    def energy(self, X: Any) -> np.ndarray:
        """(n,) the energy of rows."""
        check_is_fitted(self)
        X = self._inputs(X)
        if self.rule == "softmax":
            return self._attention_energy(X / self.scale_)
        return self._signed_energy(self._signs(X))

    def _columns(self, X: np.ndarray) -> np.ndarray:
        return self._recall(X).states

    @property
    def _n_features_out(self) -> int:
        return self.patterns_.shape[1]

    def _one_by_one(self, S: np.ndarray, most: int, rng: np.random.Generator) -> tuple:
        orders = np.stack([rng.permutation(S.shape[1]) for _ in range(most)])
        energies = np.empty((len(S), most + 1))
        if self.rule in RULES:
            n = settle_quadratic(self.weights_, S, orders, energies)
        else:
            degree = int(self.degree) if self.rule == "polynomial" else 0
            n = settle_dense(self.patterns_, S, orders, degree, energies)
        rests = energies[:, n] == energies[:, n - 1]
        return S, energies, int(n), rests

    def _together(self, S: np.ndarray, most: int) -> tuple:
        energies = np.empty((len(S), most + 1))
        energies[:, 0] = self._signed_energy(S)
        rests = np.zeros(len(S), bool)
        for step in range(most):
            field = self._fields(S)
            new = np.where(field == 0, S, np.sign(field))
            rests = (new == S).all(1)
            S = new
            energies[:, step + 1] = self._signed_energy(S)
            if rests.all():
                return S, energies, step + 1, rests
        return S, energies, most, rests

    def _fields(self, S: np.ndarray) -> np.ndarray:
        """(n, d) the sign that each unit should have, given the others."""
        if self.rule in RULES:
            return S @ self.weights_
        found = np.empty_like(S)
        for i in range(S.shape[1]):  # the gain of +1 over −1
            up, down = S.copy(), S.copy()
            up[:, i], down[:, i] = 1.0, -1.0
            found[:, i] = self._signed_energy(down) - self._signed_energy(up)
        return found

    def _signed_energy(self, S: np.ndarray) -> np.ndarray:
        if self.rule in RULES:
            return -0.5 * ((S @ self.weights_) * S).sum(1)
        overlaps = S @ self.patterns_.T
        if self.rule == "exponential":
            return -np.asarray(logsumexp(overlaps, axis=1))
        return -((overlaps / S.shape[1]) ** int(self.degree)).sum(1)

    def _attend(self, X: np.ndarray) -> Recall:
        S = X / self.scale_
        most = at_least("max_sweeps", self.max_sweeps, 1, whole=True)
        energies = [self._attention_energy(S)]
        rests = np.zeros(len(S), bool)
        for _ in range(most):
            new = softmax(self._logits(S), axis=1) @ self.patterns_
            rests = np.abs(new - S).max(1) < 1e-12
            S = new
            energies.append(self._attention_energy(S))
            if rests.all():
                break
        steps = len(energies) - 1
        return Recall(S * self.scale_, np.stack(energies, axis=1), steps, rests)

    def _attention_energy(self, S: np.ndarray) -> np.ndarray:
        soft = np.asarray(logsumexp(self._logits(S), axis=1)) / self.beta_
        return 0.5 * (S**2).sum(1) - soft

    def _logits(self, S: np.ndarray) -> np.ndarray:
        """(n, p) β ξ · x − ½β |ξ|²."""
        lengths = 0.5 * (self.patterns_**2).sum(1)
        return self.beta_ * (S @ self.patterns_.T - lengths)

    # Values ----------------------------------------------------------------------------

    def _signs(self, X: np.ndarray) -> np.ndarray:
        """Rows of two values as ±1."""
        bad = ~np.isin(X, (self.low_, self.high_))
        if bad.any():
            row, j = np.argwhere(bad)[0]
            raise InputError(
                f"X has {X[row, j]:g} in row {row}, column {j}; the units of this network are "
                f'{self.low_:g} or {self.high_:g}. For numbers take rule="softmax".'
            )
        return np.where(self.high_ == X, 1.0, -1.0)

    def _begin(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        unknown = np.isnan(X) | ((X == 0) & (self.low_ == -1))
        signs = rng.choice([-1.0, 1.0], X.shape)
        known = self._signs(np.where(unknown, self.high_, X))
        return np.ascontiguousarray(np.where(unknown, signs, known))

    def _inputs(self, X: Any) -> np.ndarray:
        check: Any = validate_data
        X = check(
            self, dense(X), reset=False, dtype=np.float64, ensure_all_finite=False
        )
        if self.rule == "softmax":
            check_finite("X", X)
        return X


def _two_values(X: np.ndarray) -> tuple[float, float]:
    """The values of units: 0 and 1, or −1 and 1."""
    values = np.unique(X)
    for low in (0.0, -1.0):
        if np.isin(values, (low, 1.0)).all():
            return low, 1.0
    bad = values[~np.isin(values, (-1.0, 0.0, 1.0))]
    shown = f"{bad[0]:g}" if len(bad) else "−1, 0 and 1"
    raise InputError(
        f"X has {shown}; this rule stores units of two values, 0 and 1 or −1 and 1: cut numbers "
        'by a threshold, or take rule="softmax".'
    )
