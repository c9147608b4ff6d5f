r"""Affine combinations of independent random variables.

$$Y = \sum_i a_i X_i + b: \qquad E Y = \sum_i a_i E X_i + b, \quad
  \operatorname{Var} Y = \sum_i a_i^2 \operatorname{Var} X_i, \quad
  K_Y(t) = bt + \sum_i K_{X_i}(a_i t),$$

and for vectors $Y = A X + b$: $\operatorname{Cov} Y = A \operatorname{Cov}(X) A^\top$ and
$K_Y(t) = b^\top t + K_X(A^\top t)$.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.probability.variables.closed_sums import closed_sum, mapped
from likely.probability.variables.generating import Generating
from likely.probability.variables.grid import GridLaw, grid_of
from likely.probability.variables.variable import (
    AbstractVariable,
    central_from_cumulants,
)


class Combination(AbstractVariable):
    """A X + b, for independent numbers X.

    Args:
        parts: the k independent variables.
        A: (k,) coefficients of a number, or (m, k) of a vector.
        b: a number, or (m,).
    """

    def __init__(self, parts: Sequence[AbstractVariable], A: Any, b: Any = 0.0):
        self.parts = tuple(parts)
        self.A = np.asarray(A, np.float64)
        self.b = np.broadcast_to(np.asarray(b, np.float64), self.A.shape[:-1])
        if self.A.ndim not in (1, 2) or self.A.shape[-1] != len(self.parts):
            raise InputError(
                f"A has shape {self.A.shape} and there are {len(self.parts)} variables; give "
                "one coefficient for each."
            )

    def __repr__(self) -> str:
        if self.dimension is not None:
            return f"A @ X + b for {len(self.parts)} independent variables"
        terms = [f"{a:g}·{p!r}" for a, p in zip(self.A, self.parts, strict=True)]
        return " + ".join([*terms, *([f"{float(self.b):g}"] if self.b else [])])

    @property
    def dimension(self) -> int | None:
        """The length of a vector, or None for a number."""
        return None if self.A.ndim == 1 else len(self.A)

    @property
    def discrete(self) -> bool:
        """Whether all parts are."""
        return all(getattr(part, "discrete", False) for part in self.parts)

    @property
    def mean(self) -> Any:
        """A E[X] + b."""
        found = self.A @ np.array([part.mean for part in self.parts]) + self.b
        return float(found) if self.dimension is None else found

    @property
    def covariance(self) -> Any:
        """A Var(X) Aᵀ; Σ a² Var X for a number."""
        spread = np.array([part.variance for part in self.parts])
        found = (self.A * spread) @ self.A.T
        return float(found) if self.dimension is None else found

    @cached_property
    def closed(self) -> AbstractVariable | None:
        """The same law as a family or as points, where the sum has one."""
        return None if self.dimension is not None else closed_sum(self)

    @cached_property
    def grid(self) -> GridLaw:
        """The law on a grid, by fast Fourier transforms, with its error."""
        self._check_number("a density")
        return grid_of(self)

    def expectation(self, g: Callable[[np.ndarray], Any]) -> float:
        """E[g(Y)]: by the closed law, by that of a single part, or on the grid."""
        self._check_number("an expectation")
        if self.closed is not None:
            return self.closed.expectation(g)
        if len(self.parts) == 1:
            return self.parts[0].expectation(lambda x: g(self.A[0] * x + self.b))
        return float(self.grid.masses @ np.asarray(g(self.grid.x), np.float64))

    def central_moment(self, k: int) -> float:
        """E[(Y − EY)^k], from cumulants, which add up."""
        self._check_number("a central moment")
        if k in (2, 3):
            parts = [part.central_moment(k) for part in self.parts]
            return float(self.A**k @ np.array(parts))
        return float(central_from_cumulants(self.cumulants(k))[k - 1])

    def cdf(self, t: Any) -> Any:
        """P(Y ≤ t)."""
        t = np.asarray(t, np.float64)
        if self.closed is not None:
            return self.closed.cdf(t)
        if len(self.parts) == 1:
            z = (t - self.b) / self.A[0]
            part = self.parts[0]
            if self.A[0] > 0:
                return part.cdf(z)
            atoms = part.pdf(z) if getattr(part, "discrete", False) else 0.0
            return 1 - part.cdf(z) + atoms
        return self.grid.cdf(t)

    def pdf(self, t: Any) -> Any:
        """The density (of counts, the probability); of a scaled one f(z/a)/|a|."""
        t = np.asarray(t, np.float64)
        if self.closed is not None:
            return self.closed.pdf(t)
        if len(self.parts) == 1:
            share = 1.0 if self.discrete else abs(self.A[0])
            return self.parts[0].pdf((t - self.b) / self.A[0]) / share
        return self.grid.pdf(t)

    def quantile(self, q: Any) -> Any:
        """The smallest t with P(Y ≤ t) ≥ q."""
        q = np.asarray(q, np.float64)
        if self.closed is not None:
            return self.closed.quantile(q)
        if len(self.parts) == 1:
            level = q if self.A[0] > 0 else 1 - q
            return self.A[0] * self.parts[0].quantile(level) + self.b
        return self.grid.quantile(q)

    def sample(self, n: int, *, random_state: Any = None) -> np.ndarray:
        """(n,) or (n, m) independent draws."""
        seeds = np.random.SeedSequence(seed_of(random_state)).generate_state(
            len(self.parts)
        )
        pairs = zip(self.parts, seeds, strict=True)
        X = np.stack([p.sample(n, random_state=int(s)) for p, s in pairs], axis=-1)
        return X @ self.A.T + self.b

    def generating(self) -> Generating:
        """bᵀt + Σ K_i((Aᵀt)_i), finite where all parts are."""
        found = [part.generating() for part in self.parts]
        K = eqx.Partial(_combined, [part.K for part in found], self.A, self.b)
        if self.dimension is not None:
            return Generating(K)
        pairs = zip(self.A, found, strict=True)
        ends = [sorted((g.low / a, g.high / a)) for a, g in pairs if a]
        low = max((end[0] for end in ends), default=-np.inf)
        return Generating(K, low, min((end[1] for end in ends), default=np.inf))


def _combined(parts, A, b, t):
    """The generating function of A X + b."""
    s = A * t if A.ndim == 1 else t @ A
    shift = b * t if A.ndim == 1 else b @ t
    return shift + sum(K(s[i]) for i, K in enumerate(parts))


def add(x: AbstractVariable, y: AbstractVariable) -> AbstractVariable:
    """The sum of two variables: independent ones, or sums that share some parts."""
    if x.dimension is not None or y.dimension is not None:
        raise InputError(
            "vectors are not added here; add their entries, or stack them."
        )
    total: dict[int, tuple[AbstractVariable, float]] = {}
    shift = 0.0
    for term in (x, y):
        own = isinstance(term, Combination)
        parts = term.parts if own else (term,)
        coefficients = term.A if own else np.ones(1)
        shift += float(term.b) if own else 0.0
        for part, a in zip(parts, coefficients, strict=True):
            total[id(part)] = part, total.get(id(part), (part, 0.0))[1] + float(a)
    kept = [(part, a) for part, a in total.values() if a]
    if not kept:
        raise InputError("the variables cancel, and what is left is a constant.")
    return Combination([part for part, _ in kept], [a for _, a in kept], shift)


def affine(x: AbstractVariable, A: Any, b: Any = 0.0) -> AbstractVariable:
    """A X + b of any variable."""
    A = np.asarray(A, np.float64)
    if x.dimension is None:
        if A.ndim or not np.isfinite(A) or A == 0:
            raise InputError(f"the factor is {A}; give a finite number that is not 0.")
        if isinstance(x, Combination):
            return Combination(x.parts, x.A * A, x.b * A + b)
        return Combination((x,), A[None], b)
    if A.ndim not in (1, 2) or A.shape[-1] != x.dimension:
        raise InputError(
            f"A has shape {A.shape} and X has {x.dimension} entries; give (m, {x.dimension})."
        )
    if isinstance(x, Combination):
        return Combination(x.parts, A @ x.A, A @ x.b + b)
    return mapped(x, A, b)


def stack(*variables: AbstractVariable) -> Combination:
    """The random vector of numbers, which may share parts: `stack(X, X + E)`."""
    if not variables:
        raise InputError("there is nothing to stack; give one or more variables.")
    parts: dict[int, AbstractVariable] = {}
    rows: list[dict[int, float]] = []
    shifts = []
    for variable in variables:
        variable._check_number("an entry of a stack")
        own = isinstance(variable, Combination)
        members = variable.parts if own else (variable,)
        coefficients = variable.A if own else np.ones(1)
        parts |= {id(member): member for member in members}
        pairs = zip(members, coefficients, strict=True)
        rows.append({id(member): float(a) for member, a in pairs})
        shifts.append(float(variable.b) if own else 0.0)
    A: Float[np.ndarray, "m k"] = np.array(
        [[row.get(key, 0.0) for key in parts] for row in rows]
    )
    return Combination(list(parts.values()), A, shifts)
