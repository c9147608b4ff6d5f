r"""Mixtures of as many normal clusters as the rows ask for: a Dirichlet process prior."""

from typing import Any, no_type_check

import numpy as np
from scipy.special import logsumexp

from likely.base.density import Density
from likely.base.settings import above_zero, at_least, store
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.core.threads import thread_count
from likely.latent.clusters.nonparametric.dirichlet_process_sampler import (
    Clusters,
    NormalWishart,
    Partition,
    draw_alpha,
    gibbs_sweep,
    log_joint,
    log_predictive,
)
from likely.latent.clusters.nonparametric.repeated_rows import repeated

ROW_SWEEPS = 2_000_000
"""Rows times sweeps of a fit that does not say how many sweeps, within these limits."""
MIN_SWEEPS, MAX_SWEEPS = 30, 300


class DirichletProcessMixture(Density):
    r"""Normal clusters of an unknown number, drawn from their posterior.

    Partitions have a Chinese restaurant prior with the concentration α, clusters a
    normal-inverse-Wishart prior, conjugate, so that means and covariances are integrated out:
    collapsed Gibbs sampling moves one row at a time. The density of a new row is the mean over
    draws of its predictive density; labels are those of the draw of largest joint probability.

    Columns are centred and scaled by their standard deviations; the prior is in these units.
    A weight has to be a whole number, and says how often a row is there.

    Args:
        alpha: the concentration α; "gamma" draws it too, with the prior Gamma(1, 1).
        mean_strength: κ, how many rows the prior mean of a cluster counts for.
        degrees_of_freedom: ν, how many rows the prior covariance counts for; more than d − 1,
            and d + 2 where None.
        cluster_variance: the prior mean of the variance of a cluster in each direction, as a
            share of that of all rows.
        n_sweeps: how often all rows are moved; where None 300, less for more than 7,000 rows.
        burn_in: the share of sweeps that are not kept.
        n_draws: the number of draws that are kept of the others, at equal distances.
        n_jobs: the number of threads of `log_prob` and `predict`; all where None.
        random_state: of the draws.

    Attributes:
        labels_: (n,) the cluster of each row, the largest cluster first; −1 where its weight is 0.
        n_clusters_: the number of clusters of this partition.
        weights_: (k,) their shares of the rows.
        means_: (k, d) the posterior means of their means.
        covariances_: (k, d, d) the posterior means of their covariances.
        cluster_counts_: (sweeps,) the number of clusters after each sweep.
        log_joint_: (sweeps,) the logarithm of the joint probability after each sweep.
        alphas_: (draws,) the concentration of each draw that was kept.
    """

    alpha: Any
    mean_strength: Any
    degrees_of_freedom: Any
    cluster_variance: Any
    n_sweeps: Any
    burn_in: Any
    n_draws: Any
    n_jobs: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        *,
        alpha: float | str = "gamma",
        mean_strength: float = 0.1,
        degrees_of_freedom: float | None = None,
        cluster_variance: float = 0.1,
        n_sweeps: int | None = None,
        burn_in: float = 0.5,
        n_draws: int = 20,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> "DirichletProcessMixture":
        """Draw partitions from their posterior.

        Args:
            X: (n, d) rows.
            y: not used.
            sample_weight: how often each row is there, whole numbers.
        """
        rows = self._rows(X, sample_weight)
        drawn = self.alpha == "gamma" if isinstance(self.alpha, str) else False
        if isinstance(self.alpha, str) and not drawn:
            raise InputError(
                f"alpha is {self.alpha!r}; give a number above 0, or 'gamma'."
            )
        alpha = 1.0 if drawn else above_zero("alpha", self.alpha)
        rng = np.random.default_rng(seed_of(self.random_state))
        values, source = repeated(rows.X, rows.w, "DirichletProcessMixture", rng)
        self.location_ = values.mean(0)
        spread = values.std(0)
        constant = spread <= 1e-12 * np.abs(self.location_)
        self.scale_ = np.where(constant, 1.0, spread)
        values = np.ascontiguousarray((values - self.location_) / self.scale_)
        n, d = values.shape
        self._set_prior(d)
        sweeps, burn, keep = self._schedule(n)
        at, draws, trace = Partition.empty(n, d, alpha), [], []
        best, prior = None, self._prior()
        for s in range(sweeps):
            at = gibbs_sweep(at, values, prior, rng)
            if drawn:
                at = draw_alpha(at, 1.0, 1.0, rng)
            trace.append((len(at.clusters.counts), log_joint(at, prior)))
            if s in keep:
                draws.append(at._replace(z=at.z[:0]))
            if s >= burn and (best is None or trace[-1][1] > best[0]):
                best = trace[-1][1], at
        assert best is not None
        self.cluster_counts_ = np.array([count for count, _ in trace])
        self.log_joint_ = np.array([value for _, value in trace])
        self.n_sweeps_, self.burn_in_ = sweeps, burn
        number = self._keep(draws, best[1], n)
        labels = np.empty(len(rows.w), int)
        labels[source] = number[best[1].z]
        self.labels_ = labels
        if sample_weight is not None:
            present = np.asarray(sample_weight, float) > 0
            self.labels_ = np.full(len(present), -1)
            self.labels_[present] = labels
        return self

    def log_prob(self, X: Any) -> np.ndarray:
        """(n,) log p(x | rows of the fit), the mean density over draws."""
        Z = self._scaled(X)
        densities = log_predictive(Z, self._drawn(), self._prior(), self._workers)
        total = logsumexp(densities + self.draw_log_weights_, axis=1)
        return np.asarray(total) - np.log(self.scale_).sum()

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, k) the probability of each cluster of `labels_`; new ones are left out."""
        Z = self._scaled(X)
        densities = log_predictive(Z, self._best(), self._prior(), self._workers)
        joint = densities + np.log(self.best_counts_)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def predict(self, X: Any) -> np.ndarray:
        """(n,) the likeliest cluster of each row, among those of `labels_`."""
        return self.predict_proba(X).argmax(1)

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, d) new rows: a draw, a cluster of it or a new one, and a row of that."""
        all_, prior = self._drawn(), self._prior()
        rng = np.random.default_rng(seed_of(random_state))
        p = np.exp(self.draw_log_weights_)
        k = rng.choice(len(p), n, p=p / p.sum())
        kappa, nu = prior.kappa + all_.counts[k], prior.nu + all_.counts[k]
        d = len(prior.mean)
        z = np.einsum("nij,nj->ni", all_.factors[k], rng.normal(size=(n, d)))
        spread = np.sqrt((kappa + 1) / kappa / rng.chisquare(nu - d + 1))
        return self.location_ + self.scale_ * (all_.means[k] + spread[:, None] * z)

    def cluster_count_probs(self) -> dict[int, float]:
        """The posterior of the number of clusters: how often each number was drawn."""
        found = self.cluster_counts_[self.burn_in_ :]
        values, counts = np.unique(found, return_counts=True)
        return dict(zip(values.tolist(), (counts / len(found)).tolist(), strict=True))

    @property
    def _workers(self) -> int:
        return thread_count(self.n_jobs)

    def _scaled(self, X: Any) -> np.ndarray:
        X = self._inputs(X)
        return np.ascontiguousarray((X - self.location_) / self.scale_)

    def _set_prior(self, d: int) -> None:
        nu = self.degrees_of_freedom
        nu = d + 2.0 if nu is None else float(nu)
        if not nu > d - 1:
            raise InputError(
                f"degrees_of_freedom is {nu:g}; give a number above {d - 1}, the number of "
                "columns less one."
            )
        self.nu_, self.kappa_ = nu, above_zero("mean_strength", self.mean_strength)
        variance = above_zero("cluster_variance", self.cluster_variance)
        self.factor_ = np.sqrt(variance * max(nu - d - 1, 1.0)) * np.eye(d)

    def _prior(self) -> NormalWishart:
        zero = np.zeros(len(self.factor_))
        return NormalWishart(zero, self.kappa_, self.nu_, self.factor_)

    def _schedule(self, n: int) -> tuple[int, int, set[int]]:
        """The number of sweeps, of those before any is kept, and which are kept."""
        sweeps = self.n_sweeps
        if sweeps is None:
            sweeps = min(max(ROW_SWEEPS // n, MIN_SWEEPS), MAX_SWEEPS)
        sweeps = at_least("n_sweeps", sweeps, 1, whole=True)
        if not 0 <= at_least("burn_in", self.burn_in) < 1:
            raise InputError(
                f"burn_in is {self.burn_in}; give a share from 0 to below 1."
            )
        burn = int(self.burn_in * sweeps)
        count = min(at_least("n_draws", self.n_draws, 1, whole=True), sweeps - burn)
        kept = np.linspace(sweeps - 1, burn, count).round().astype(int)
        return sweeps, burn, set(kept.tolist())

    def _keep(self, draws: list[Partition], best: Partition, n: int) -> np.ndarray:
        """Keep the draws and the best one; the new number of each of its clusters."""
        self.alphas_ = np.array([draw.alpha for draw in draws])
        none = Clusters(
            np.zeros(1, np.int64), np.zeros((1, len(self.factor_))), self.factor_[None]
        )
        parts = [none] + [draw.clusters for draw in draws]
        self.draw_counts_, self.draw_means_, self.draw_factors_ = (
            np.concatenate([part[j] for part in parts]) for j in range(3)
        )
        shares = [np.array([(self.alphas_ / (n + self.alphas_)).mean()])]
        shares += [d.clusters.counts / (n + d.alpha) / len(draws) for d in draws]
        self.draw_log_weights_ = np.log(np.concatenate(shares))
        order = np.argsort(-best.clusters.counts, kind="stable")
        self.best_counts_, self.best_means_, self.best_factors_ = (
            part[order] for part in best.clusters
        )
        self.n_clusters_, self.weights_ = len(order), self.best_counts_ / n
        self.means_ = self.location_ + self.scale_ * self.best_means_
        spread = self.nu_ + self.best_counts_ - len(self.factor_) - 1
        Psi = self.best_factors_ @ self.best_factors_.transpose(0, 2, 1)
        Psi = Psi / np.maximum(spread, 1e-3)[:, None, None]
        self.covariances_ = Psi * np.outer(self.scale_, self.scale_)
        return np.argsort(order)

    def _drawn(self) -> Clusters:
        return Clusters(self.draw_counts_, self.draw_means_, self.draw_factors_)

    def _best(self) -> Clusters:
        return Clusters(self.best_counts_, self.best_means_, self.best_factors_)
