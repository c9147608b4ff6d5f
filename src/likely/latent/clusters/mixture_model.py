r"""Mixtures of any family by EM: $p(x) = \sum_j π_j\, p(x \mid η_j)$."""

import warnings
from typing import Any, no_type_check

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from likely.base.density import Density
from likely.base.marginal import family_of, for_columns
from likely.base.settings import at_least, store
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.families import MultivariateNormal, Predictive
from likely.latent.clusters.lloyd import all_starts, nearest, tiled
from likely.latent.clusters.mixture_steps import MixtureComponents, MixtureSteps
from likely.latent.clusters.row_order import ordered_rows
from likely.latent.clusters.rows import standardisation, start_numbers
from likely.latent.family_density import FAMILIES

SOFT = 0.1
"""The part of each row that is spread over all components at the start."""
START_STEPS, START_TOL = 20, 1e-3


class MixtureModel(Density):
    r"""Rows from one of k distributions of a family: $p(x) = \sum_j π_j\, p(x \mid η_j)$.

    EM for any family: an M-step fits each component to the rows by maximum likelihood,
    weighted with their responsibilities. For normal components with covariances
    `GaussianMixture` is faster and knows more.

    Args:
        family: a name ("poisson", "student_t", ...) or a family of `likely.families`, as
            in `FamilyDensity`. Columns of families of one output are independent given
            the component.
        n_components: k, at most the number of different rows.
        n_init: the number of starts, from clusters of k-means.
        tol: a start ends when the mean log-likelihood of a row rises by less, in nats.
        max_iter: the largest number of steps of a start.
        random_state: of the starts.

    Attributes:
        family_: the family of a row.
        weights_: (k,) π.
        etas_: (k, p) the parameters of each component, unconstrained.
        thetas_: the parameters by name, one entry for each component.
        lower_bounds_: (t,) the mean log-likelihood of a row before each step and at the end.
        lower_bound_: the last of them.
        n_iter_: the number of steps of the best start.
        converged_: whether it ended before `max_iter`.
    """

    family: Any
    n_components: Any
    n_init: Any
    tol: Any
    max_iter: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        family: Any = "normal",
        n_components: int = 2,
        *,
        n_init: int = 5,
        tol: float = 1e-5,
        max_iter: int = 300,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MixtureModel":
        """Find the components of largest likelihood.

        Args:
            X: (n, d) rows.
            y: not used.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, sample_weight)
        X, w = ordered_rows(rows.X, rows.w)
        k = at_least("n_components", self.n_components, 1, whole=True)
        if k > len(X):
            raise InputError(
                f"n_components is {k}, but there are {len(X)} different rows (n_samples = "
                f"{len(X)}); ask for fewer components, or give more rows."
            )
        self.family_ = self._family(X.shape[1])
        targets = self._targets(X)
        try:
            self.family_.check(targets, w)
        except InputError as error:  # a family speaks of y
            raise InputError(str(error).replace("y has", "X has", 1)) from None
        best = self._best(MixtureSteps(self.family_, targets, w), X, w, k)
        self.weights_, self.etas_ = best.theta
        self.lower_bounds_ = best.log_probs / w.sum()
        self.lower_bound_ = float(self.lower_bounds_[-1])
        self.n_iter_, self.converged_ = len(best.steps), best.converged
        if not self.converged_:
            warnings.warn(
                f"EM did not converge in {self.max_iter} steps; give a larger max_iter, or a "
                "larger tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def log_prob(self, X: Any) -> np.ndarray:
        """(n,) log p(x) of each row, in nats; −∞ where x is impossible."""
        return np.asarray(logsumexp(self._log_joint(X), axis=1))

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, k) the probability that each row came from each component."""
        joint = self._log_joint(X)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def responsibilities(self, X: Any) -> np.ndarray:
        """(n, k) the probabilities of components: another name for `predict_proba`."""
        return self.predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """(n,) the most probable component of each row."""
        return self._log_joint(X).argmax(1)

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Fit, and the most probable component of each row."""
        return self.fit(X, y, sample_weight).predict(X)

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, d) independent draws."""
        check_is_fitted(self)
        seed = seed_of(random_state)
        z = np.random.default_rng(seed).choice(len(self.weights_), n, p=self.weights_)
        dist = Predictive(self.family_, self.etas_[z])
        return dist.sample(1, random_state=seed)[0].reshape(n, -1)

    @property
    def thetas_(self) -> dict[str, Any]:
        """The parameters by name, one entry for each component."""
        return Predictive(self.family_, self.etas_).theta

    def _best(self, steps: MixtureSteps, X, w, k: int):
        """Where EM ended from the best start."""
        starts = at_least("n_init", self.n_init, 1, whole=True)
        tol = at_least("tol", self.tol)
        max_iter = at_least("max_iter", self.max_iter, 1, whole=True)
        middle, scale = standardisation(X, w, common=False)
        Z = (X - middle) / scale
        numbers = start_numbers(seed_of(self.random_state), 1 if k == 1 else starts, k)
        found = all_starts(tiled(Z, w, np.float64), numbers, START_TOL, START_STEPS)
        paths = []
        for clustering in found:
            labels = nearest(Z, clustering.centres[:, : Z.shape[1]])
            paths.append(steps.path(steps.start(labels, k, SOFT), tol, max_iter))
        return max(paths, key=lambda path: path.log_probs[-1])

    def _family(self, d: int):
        if isinstance(self.family, str) and self.family == "normal" and d > 1:
            return MultivariateNormal(d)
        return for_columns(family_of(self.family, FAMILIES), d, "X")

    def _targets(self, X: np.ndarray) -> np.ndarray:
        """Rows as the family takes them: numbers for one output."""
        return X if self.family_.multivariate else X[:, 0]

    def _log_joint(self, X: Any) -> np.ndarray:
        """(n, k) log π + log p(x | component); −∞ where x is impossible."""
        y = self._targets(self._inputs(X))
        steps = MixtureSteps(self.family_, y, np.ones(len(y)))
        joint = steps.log_joint(MixtureComponents(self.weights_, self.etas_))
        return np.where(self.family_.outside(y)[:, None], -np.inf, joint)
