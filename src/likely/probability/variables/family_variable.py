"""A random variable with the distribution of a family."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import softmax

from likely import families
from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.random import seed_of
from likely.families.predictive import Predictive
from likely.probability.host import scipy_law
from likely.probability.tables.from_law import MAX_TAIL, support_of
from likely.probability.variables.generating import (
    HEAVY_TAILED,
    Generating,
    generating_of,
    points,
)
from likely.probability.variables.quadrature import Rule, density_rule
from likely.probability.variables.variable import AbstractVariable

FAR, MAX_TAIL_SHARE = 1e12, 1e-6
"""How far out the end of the rule begins, and the share of an integral it may have."""


class FamilyVariable(AbstractVariable):
    """A random variable with the distribution of one row of a `Predictive`."""

    def __init__(self, predictive: Predictive):
        self.predictive = predictive

    def __repr__(self) -> str:
        theta = {name: np.round(v, 6).tolist() for name, v in self.theta.items()}
        shown = ", ".join(f"{name}={value}" for name, value in theta.items())
        return f"{type(self.predictive.family).__name__}({shown})"

    @property
    def family(self) -> Any:
        """The family."""
        return self.predictive.family

    @property
    def discrete(self) -> bool:
        """Whether it takes whole numbers, with probabilities."""
        return self.predictive.discrete

    @cached_property
    def theta(self) -> dict[str, Any]:
        """The parameters of the family."""
        return {name: value[0] for name, value in self.predictive.theta.items()}

    @cached_property
    def _host(self) -> Any | None:
        """SciPy's distribution, where it has the family: it needs no compiling."""
        return scipy_law(self.family, self.theta)

    @property
    def dimension(self) -> int | None:
        """The length of a vector, or None for a number."""
        return self.family.n_outputs if self.family.multivariate else None

    @property
    def mean(self) -> Any:
        """E[X], by the formula of the family."""
        if self._host is not None:
            return float(self._host.mean())
        if self.dimension is None:
            return float(self.predictive.mean[0])
        return self._vector_moments()[0]

    @property
    def covariance(self) -> Any:
        """The covariance matrix, or the variance of a number."""
        if self._host is not None:
            return float(self._host.var())
        if self.dimension is None:
            return float(self.predictive.var[0])
        return self._vector_moments()[1]

    @cached_property
    def _rule(self) -> Rule:
        if self.discrete:
            y = support_of(self.family, self.quantile(1 - MAX_TAIL))
            return Rule(y, self.log_prob(y))
        mode = float(np.ravel(self.predictive.mode)[0])
        return density_rule(self, mode, zero=self.family.zeros)

    def expectation(self, g: Callable[[np.ndarray], Any]) -> float:
        """E[g(X)], by a sum, or by Gauss's rule between quantiles."""
        self._check_number("an expectation")
        y, logs = self._rule
        weight = np.exp(logs)
        with np.errstate(over="ignore", invalid="ignore"):
            terms = weight * np.broadcast_to(np.asarray(g(y), np.float64), y.shape)
        terms = np.where(weight > 0, terms, 0.0)
        size = float(np.sum(np.abs(terms)))
        if not np.isfinite(size) or not (self.discrete or _fades(y, weight, terms)):
            raise InputError(
                f"the expectation over {self!r} does not converge: the function grows as fast "
                "as the tails of the distribution fall."
            )
        return float(np.sum(terms))

    def central_moment(self, k: int) -> float:
        """E[(X − EX)^k]; for k = 2 and 3 from the generating function, where it has a formula."""
        found = generating_of(self.predictive) if k in (2, 3) else None
        if found is None or self.dimension is not None:
            return self._integrated_central_moment(k)
        return float(self.cumulants(k)[k - 1])

    def cdf(self, t: Any) -> Any:
        """P(X ≤ t)."""
        if self._host is not None:
            return np.asarray(self._host.cdf(np.asarray(t, np.float64)))
        return self._at("cdf", t)

    def log_prob(self, t: Any) -> Any:
        """The log-density at t, or the log-probability of counts."""
        if self._host is not None:
            t = np.asarray(t, np.float64)
            host = self._host
            return np.asarray(host.logpmf(t) if self.discrete else host.logpdf(t))
        return self._at("log_prob", t)

    def pdf(self, t: Any) -> Any:
        """The density at t; the probability of t for counts."""
        return np.exp(self.log_prob(t))

    def quantile(self, q: Any) -> Any:
        """The smallest t with P(X ≤ t) ≥ q."""
        self._check_number("a quantile")
        q = np.asarray(q, np.float64)
        if self._host is not None:
            least = (
                0.0 if self.discrete else -np.inf
            )  # SciPy has −1 for counts at q = 0
            return np.maximum(self._host.ppf(q), least)
        found = self._rows(q.size).quantile(q.reshape(-1, 1))
        return found.reshape(q.shape).astype(np.float64)

    def slope_of_cdf(self, t: Any) -> Any:
        """The derivative of the cdf at t, by automatic differentiation: it is the density."""
        self._check_number("a cdf")
        if self.discrete:
            raise InputError("the cdf of counts has steps and no derivative; use pdf.")
        t = np.asarray(t, np.float64)
        with float64():
            eta = jnp.asarray(self.predictive.eta[0])
            found = _slopes(self.family, eta, jnp.asarray(t.reshape(-1)))
        return np.asarray(found).reshape(t.shape)

    def sample(self, n: int, *, random_state: Any = None) -> np.ndarray:
        """(n,) or (n, d) independent draws."""
        if self._host is not None:
            rng = np.random.default_rng(seed_of(random_state))
            return np.asarray(self._host.rvs(size=n, random_state=rng), np.float64)
        return self.predictive.sample(n, random_state=random_state)[:, 0]

    def generating(self) -> Generating:
        """The formula of the family, or a sum over the points of the rule of integration."""
        found = generating_of(self.predictive)
        if found is not None:
            return found
        if self.dimension is not None:
            name = type(self.family).__name__
            raise InputError(f"{name} has no generating function of vectors here.")
        keep = np.isfinite(self._rule.log_weight)
        K = eqx.Partial(points, self._rule.y[keep], self._rule.log_weight[keep])
        if isinstance(self.family, HEAVY_TAILED):
            low = -np.inf if float(self.quantile(0.0)) == 0 else 0.0
            return Generating(K, low, 0.0)
        return Generating(K)

    def _vector_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the covariance matrix of a vector."""
        theta = self.theta
        if isinstance(self.family, families.MultivariateNormal):
            return theta["loc"], theta["scale_tril"] @ theta["scale_tril"].T
        if isinstance(self.family, families.Multinomial):
            p, n = softmax(theta["logits"]), self.family.total_count
            return n * p, n * (np.diag(p) - np.outer(p, p))
        name = type(self.family).__name__
        raise InputError(f"{name} has no covariance matrix here; draw a sample.")

    def _rows(self, n: int) -> Predictive:
        """The distribution n times, for n points."""
        return Predictive(self.family, np.repeat(self.predictive.eta, n, axis=0))

    def _at(self, name: str, t: Any) -> Any:
        """A method of the predictive at many points."""
        t = np.asarray(t, np.float64)
        d = self.dimension
        rows = t.reshape(-1) if d is None else t.reshape(-1, d)
        found = getattr(self._rows(len(rows)), name)(rows)
        if d is None:
            return found.reshape(t.shape)
        return found.reshape(*t.shape[:-1], *found.shape[1:])


def _fades(y: np.ndarray, weight: np.ndarray, terms: np.ndarray) -> bool:
    """Whether the ends of the rule add next to nothing to an integral."""
    size = np.abs(terms)
    order = np.argsort(y)
    inside = order[weight[order] > 0]
    ends = size[inside[[0, -1]]].sum()
    far = size[np.abs(y) > FAR * np.median(np.abs(y))].sum()
    return bool(max(ends, far) <= MAX_TAIL_SHARE * size.sum())


@lean_jit
def _slopes(family, eta, t):
    one = lambda t: family.cdf(eta[None], t[None])[0]  # noqa: E731
    return jax.vmap(lambda t: jax.jvp(one, (t,), (jnp.ones_like(t),))[1])(t)
