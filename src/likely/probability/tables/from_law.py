"""The probabilities of a discrete family, as rows over its support."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.core.precision import float64
from likely.families.categorical import Categorical
from likely.families.family import AbstractFamily
from likely.families.ordinal import CumulativeLogit
from likely.families.predictive import Predictive
from likely.probability.host import scipy_law

MAX_TAIL = 1e-16
"""The probability that the support of a table may leave out."""
MAX_SUPPORT = 10**6


def predictive_of(law: Any, theta: Mapping[str, Any]) -> Predictive:
    """A family with parameters as a distribution of rows; a `Predictive` is one."""
    if isinstance(law, Predictive) and not theta:
        return law
    if not isinstance(law, AbstractFamily):
        raise InputError(
            f"the distribution is a {type(law).__name__}; give a family of likely.families "
            "with its parameters, or a Predictive."
        )
    with float64():
        given = {name: np.asarray(value, np.float64) for name, value in theta.items()}
        if set(given) == {"eta"}:
            eta = given["eta"]
        else:
            if "probs" in given:
                p = given.pop("probs")
                with np.errstate(divide="ignore"):
                    given["logits"] = np.log(p) if p.ndim else np.log(p) - np.log1p(-p)
            try:
                eta = np.asarray(law.eta(**given), np.float64)
            except TypeError as error:
                name = type(law).__name__
                raise InputError(
                    f"the parameters {sorted(theta)} do not fit {name}: {error}; see "
                    f"families.{name}.eta for their names, or give eta."
                ) from None
    return Predictive(law, eta.reshape(-1, law.n_eta))


def support_of(family: AbstractFamily, last: Any) -> np.ndarray:
    """The whole numbers that have a probability, some way beyond the last that matters."""
    last = float(np.max(last))
    if last > MAX_SUPPORT:
        raise InputError(
            f"the distribution reaches {last:.3g}, and sums go over at most {MAX_SUPPORT} "
            "numbers; use moments_from_mgf of a random variable."
        )
    y = np.arange(np.floor(1.5 * last) + 51)
    return y[~family.outside(y)]


def probabilities_of(
    law: Any, theta: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The support of a discrete law, and (rows, support) its probabilities."""
    predictive = predictive_of(law, theta)
    family = predictive.family
    if not predictive.discrete or family.multivariate:
        raise InputError(
            f"{type(family).__name__} has no probabilities of whole numbers; give a family "
            "of counts or classes."
        )
    if isinstance(family, Categorical | CumulativeLogit):
        values = np.asarray(predictive.probs, np.float64)
        support = np.arange(values.shape[1])
    else:
        support, values = _of_counts(Predictive(family, predictive.eta))
    used = np.flatnonzero(values.max(0) > 0)
    keep = slice(0, used[-1] + 1 if len(used) else 1)
    values = values[:, keep] / values[:, keep].sum(1, keepdims=True)
    support = support[keep].astype(int)
    classes = predictive.classes
    return (support if classes is None else classes[support]), values


def _of_counts(predictive: Predictive) -> tuple[np.ndarray, np.ndarray]:
    """The support and the probabilities of counts, by SciPy where it has the family."""
    family, n = predictive.family, len(predictive)
    columns = {name: value[:, None] for name, value in predictive.theta.items()}
    host = scipy_law(family, columns)
    if host is not None:
        support = support_of(family, host.ppf(1 - MAX_TAIL))
        return support, np.broadcast_to(host.pmf(support), (n, len(support)))
    support = support_of(family, predictive.quantile(1 - MAX_TAIL))
    rows = Predictive(family, np.repeat(predictive.eta, len(support), axis=0))
    return support, np.exp(rows.log_prob(np.tile(support, n))).reshape(n, -1)
