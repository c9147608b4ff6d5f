"""Families by SciPy: the same laws without compiling, for few rows at many points."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from likely import families


def scipy_law(family: Any, theta: dict[str, Any]) -> Any | None:
    """SciPy's frozen distribution of a family, or None where it has none."""
    make = LAWS.get(type(family))
    if make is None:
        return None
    return make({name: np.asarray(v, np.float64)[()] for name, v in theta.items()})


def _whole(n: Any) -> Any:
    return np.asarray(n).astype(int)[()]


def _probability(theta: dict[str, Any]) -> Any:
    return 0.5 * (1 + np.tanh(0.5 * theta["logits"]))


def _negative_binomial(theta: dict[str, Any]) -> Any:
    r = theta["concentration"]
    return stats.nbinom(r, r / (r + theta["mean"]))


LAWS: dict[type, Callable[[dict[str, Any]], Any]] = {
    families.Bernoulli: lambda t: stats.bernoulli(_probability(t)),
    families.Binomial: lambda t: stats.binom(_whole(t["total_count"]), _probability(t)),
    families.Exponential: lambda t: stats.expon(scale=1 / t["rate"]),
    families.Gamma: lambda t: stats.gamma(t["concentration"], scale=1 / t["rate"]),
    families.Geometric: lambda t: stats.geom(_probability(t), loc=-1),
    families.Laplace: lambda t: stats.laplace(t["loc"], t["scale"]),
    families.LogNormal: lambda t: stats.lognorm(t["scale"], scale=np.exp(t["loc"])),
    families.NegativeBinomial: _negative_binomial,
    families.Normal: lambda t: stats.norm(t["loc"], t["scale"]),
    families.Poisson: lambda t: stats.poisson(t["rate"]),
    families.StudentT: lambda t: stats.t(t["df"], t["loc"], t["scale"]),
    families.Weibull: lambda t: stats.weibull_min(t["concentration"], scale=t["scale"]),
}
