"""Closed forms: entropies of families, and divergences within one family.

The letters of each formula are the named parameters θ of its family. Where there is none,
`None` says so, and the caller sums or integrates.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import betaln, digamma, expit, gammaln, rel_entr, xlogy

from likely.families import Predictive
from likely.families.outputs import outputs_of

EULER = float(np.euler_gamma)
Theta = dict[str, np.ndarray]


def closed_entropy(p: Any) -> np.ndarray | None:
    """The entropy of each row in nats, where the family has a formula."""
    formula = ENTROPIES.get(_family(p))
    return None if formula is None else formula(p.theta)


def closed_kl(p: Any, q: Any) -> np.ndarray | None:
    """KL(p, q) of each row in nats, where both are of one family with a formula."""
    formula = DIVERGENCES.get(_family(p))
    if formula is None or _family(q) != _family(p):
        return None
    return formula(p.theta, q.theta)


def uncensored(p: Any) -> Any:
    """The distribution of the times themselves, where some of them are censored."""
    if _family(p) != "Censored":
        return p
    return Predictive(p.family.family, p.eta)


def independent_parts(p: Any) -> list[Predictive] | None:
    """The distributions of independent outputs, whose entropies and divergences add."""
    if _family(p) != "Product":
        return None
    return [Predictive(*output) for output in outputs_of(p.family, p.eta)]


def _family(p: Any) -> str:
    return type(p.family).__name__ if isinstance(p, Predictive) else ""


# Entropies ----------------------------------------------------------------------------


def softplus(z: np.ndarray) -> np.ndarray:
    """log(1 + e^z)."""
    return np.logaddexp(0.0, z)


def _student(t: Theta) -> np.ndarray:
    half, more = t["df"] / 2, (t["df"] + 1) / 2
    spread = np.log(t["scale"]) + 0.5 * np.log(t["df"]) + betaln(half, 0.5)
    return spread + more * (digamma(more) - digamma(half))


def _gamma(t: Theta) -> np.ndarray:
    a = t["concentration"]
    return a - np.log(t["rate"]) + gammaln(a) + (1 - a) * digamma(a)


def _weibull(t: Theta) -> np.ndarray:
    k = t["concentration"]
    return EULER * (1 - 1 / k) + np.log(t["scale"] / k) + 1


def _bernoulli(t: Theta) -> np.ndarray:
    z = t["logits"]
    return softplus(-z) + expit(-z) * z


def _geometric(t: Theta) -> np.ndarray:
    z = t["logits"]  # H of a Bernoulli divided by p
    return softplus(-z) + np.exp(-z) * softplus(z)


def _normals(t: Theta) -> np.ndarray:
    L = t["scale_tril"]
    d = L.shape[-1]
    logs = np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(-1)
    return 0.5 * d * (1 + np.log(2 * np.pi)) + logs


ENTROPIES: dict[str, Callable[[Theta], np.ndarray]] = {
    "Normal": lambda t: np.log(t["scale"]) + 0.5 * (1 + np.log(2 * np.pi)),
    "Laplace": lambda t: 1 + np.log(2 * t["scale"]),
    "Exponential": lambda t: 1 - np.log(t["rate"]),
    "LogNormal": lambda t: (
        t["loc"] + np.log(t["scale"]) + 0.5 * (1 + np.log(2 * np.pi))
    ),
    "StudentT": _student,
    "Gamma": _gamma,
    "Weibull": _weibull,
    "Bernoulli": _bernoulli,
    "Geometric": _geometric,
    "MultivariateNormal": _normals,
}


# Divergences within one family --------------------------------------------------------


def _kl_normal(p: Theta, q: Theta) -> np.ndarray:
    """log(s₁/s₀) − ½ + (s₀² + (m₁ − m₀)²) / (2 s₁²)."""
    ratio = p["scale"] / q["scale"]
    return -np.log(ratio) + 0.5 * (
        ratio**2 - 1 + ((q["loc"] - p["loc"]) / q["scale"]) ** 2
    )


def _kl_laplace(p: Theta, q: Theta) -> np.ndarray:
    gap = np.abs(p["loc"] - q["loc"])
    mean = p["scale"] * np.exp(-gap / p["scale"]) + gap
    return np.log(q["scale"] / p["scale"]) + mean / q["scale"] - 1


def _kl_exponential(p: Theta, q: Theta) -> np.ndarray:
    return np.log(p["rate"] / q["rate"]) + q["rate"] / p["rate"] - 1


def _kl_gamma(p: Theta, q: Theta) -> np.ndarray:
    a, b, c, d = p["concentration"], p["rate"], q["concentration"], q["rate"]
    logs = gammaln(c) - gammaln(a) + c * np.log(b / d)
    return (a - c) * digamma(a) + logs + a * (d - b) / b


def _kl_weibull(p: Theta, q: Theta) -> np.ndarray:
    k, s, m, r = p["concentration"], p["scale"], q["concentration"], q["scale"]
    logs = np.log(k / s**k) - np.log(m / r**m) + (k - m) * (np.log(s) - EULER / k)
    return logs + np.exp(m * np.log(s / r) + gammaln(m / k + 1)) - 1


def _kl_poisson(p: Theta, q: Theta) -> np.ndarray:
    return xlogy(p["rate"], p["rate"] / q["rate"]) - p["rate"] + q["rate"]


def _kl_bernoulli(p: Theta, q: Theta) -> np.ndarray:
    yes, no = expit(p["logits"]), expit(-p["logits"])
    return rel_entr(yes, expit(q["logits"])) + rel_entr(no, expit(-q["logits"]))


def _kl_geometric(p: Theta, q: Theta) -> np.ndarray:
    return _kl_bernoulli(p, q) / expit(p["logits"])


def _kl_normals(p: Theta, q: Theta) -> np.ndarray:
    """½ (tr(S₁⁻¹ S₀) + |L₁⁻¹(m₁ − m₀)|² − d) + log det L₁ − log det L₀."""
    L0, L1 = p["scale_tril"], q["scale_tril"]
    ratio = np.linalg.solve(L1, L0)
    gap = np.linalg.solve(L1, (q["loc"] - p["loc"])[..., None])[..., 0]
    logs = np.log(np.diagonal(ratio, axis1=-2, axis2=-1)).sum(-1)
    return 0.5 * ((ratio**2).sum((-2, -1)) + (gap**2).sum(-1) - L0.shape[-1]) - logs


DIVERGENCES: dict[str, Callable[[Theta, Theta], np.ndarray]] = {
    "Normal": _kl_normal,
    "LogNormal": _kl_normal,
    "Laplace": _kl_laplace,
    "Exponential": _kl_exponential,
    "Gamma": _kl_gamma,
    "Weibull": _kl_weibull,
    "Poisson": _kl_poisson,
    "Bernoulli": _kl_bernoulli,
    "Geometric": _kl_geometric,
    "MultivariateNormal": _kl_normals,
}
