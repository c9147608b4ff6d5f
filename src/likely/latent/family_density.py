r"""Any family as a density: $\hat η = \arg\max_η \sum_i w_i \log p(x_i \mid η)$.

The simplest unsupervised model: rows are independent draws from one distribution, whose
parameters are those of largest likelihood. It is what a mixture, a factor model or a deep
generator has to beat, in the same unit: nats per row.
"""

from typing import Any, no_type_check

import numpy as np

from likely import families
from likely.base.density import Density
from likely.base.marginal import family_of, fit_marginal, for_columns
from likely.base.settings import store
from likely.core.checks import InputError
from likely.families import AbstractFamily, MultivariateNormal, Predictive

FAMILIES = {
    "exponential": families.Exponential,
    "gamma": families.Gamma,
    "geometric": families.Geometric,
    "laplace": families.Laplace,
    "negative_binomial": families.NegativeBinomial,
    "normal": families.Normal,
    "poisson": families.Poisson,
    "student_t": families.StudentT,
}


class FamilyDensity(Density):
    """One distribution for all rows, by maximum likelihood.

    Args:
        family: a name ("normal", "laplace", "student_t", "gamma", "exponential",
            "poisson", "negative_binomial", "geometric") or a family of
            `likely.families`. Several columns are jointly normal with any covariance
            for "normal"; for other names and families of one output they are
            independent. A multivariate family has to have as many outputs as columns.

    Attributes:
        family_: the family of a row.
        eta_: its parameters, unconstrained.
        theta_: its parameters by name.

    Examples:
        >>> X = np.array([[1.0], [2.0], [3.0]])
        >>> lk.FamilyDensity().fit(X).log_prob(X).round(2)
        array([-1.47, -0.72, -1.47])
    """

    family: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, family: Any = "normal"):
        store(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "FamilyDensity":
        """Find the parameters of largest likelihood.

        Args:
            X: (n, d) rows.
            y: not used.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, sample_weight)
        self.family_ = _row_family(self.family, rows.X.shape[1])
        try:
            self.eta_ = fit_marginal(self.family_, self._targets(rows.X), rows.w)
        except InputError as error:  # a family speaks of y
            raise InputError(str(error).replace("y has", "X has", 1)) from None
        return self

    def log_prob(self, X: Any) -> np.ndarray:
        """(n,) log p(x) of each row, in nats; −∞ where x is impossible."""
        X = self._inputs(X)
        eta = np.broadcast_to(self.eta_, (len(X), len(self.eta_)))
        return Predictive(self.family_, eta).log_prob(self._targets(X))

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, d) independent draws."""
        draws = self._distribution().sample(n, random_state=random_state)
        return draws.reshape(n, -1)

    @property
    def theta_(self) -> dict[str, Any]:
        """The parameters by name."""
        return {name: value[0] for name, value in self._distribution().theta.items()}

    def _distribution(self) -> Predictive:
        return Predictive(self.family_, self.eta_[None])

    def _targets(self, X: np.ndarray) -> np.ndarray:
        """Rows as the family takes them: numbers for one output."""
        return X if self.family_.multivariate else X[:, 0]


def _row_family(given: Any, d: int) -> AbstractFamily:
    """The family of a row of d columns."""
    if isinstance(given, str) and given == "normal" and d > 1:
        return MultivariateNormal(d)
    return for_columns(family_of(given, FAMILIES), d, "X")
