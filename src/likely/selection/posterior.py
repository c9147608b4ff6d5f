r"""Posterior draws of an estimator with a likelihood and a prior, and its predictions.

$$p(φ \mid S) \propto p(S \mid φ)\, p(φ), \qquad
  p(y \mid x, S) = \int p(y \mid x, φ)\, p(φ \mid S)\, dφ \approx \frac1m \sum_j p(y \mid x, φ_j).$$

The penalty of the estimator is its prior. The mode and the curvature there give coordinates
in which the posterior is about a standard normal whatever the units of the columns; chains
run in these.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float
from sklearn.base import clone

from likely.base.predictor import rows_that_count
from likely.core.checks import InputError, check_choice
from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.rows import pad_rows
from likely.estimators.linear.model import LinearModel
from likely.estimators.networks.predictor import NetworkPredictor
from likely.families import mix
from likely.inference import (
    Draws,
    EvidenceEstimate,
    GaussianApproximation,
    advi,
    bridge_sampling,
    importance_sampling,
    metropolis,
    nuts,
)
from likely.inference.evidence.laplace import Mode, find_mode
from likely.inference.mcmc.target import FlatDensity, Layout
from likely.selection.posterior_linear import FLAT, LinearTarget
from likely.selection.posterior_network import NetworkTarget

METHODS = ("auto", "nuts", "metropolis", "laplace", "advi")
MAX_NUTS = 500
"""Parameters up to which NUTS is the default."""
MAX_NEWTON = 1000
"""Parameters up to which the curvature of the posterior is computed."""
MAX_FULL = 50
"""Parameters up to which a variational approximation has a full covariance."""
PREDICTIVE_DRAWS = 200


class Whitened(eqx.Module):
    """A log density in coordinates x, z = mode + L x, as a density of x."""

    density: Any
    mode: Any
    factor: Any
    log_det: Any

    def __call__(
        self, x: Float[Array | np.ndarray, " d"]
    ) -> Float[Array | np.ndarray, ""]:
        """log p(z(x)) + log |det L|."""
        return self.density(self.mode + self.factor @ x) + self.log_det


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior draws of a fitted estimator: coefficients, diagnostics, predictions.

    Attributes:
        estimator: the estimator, fitted by maximum a posteriori.
        draws: in the units of the user's columns.
        prior: the prior, in words.
    """

    estimator: Any
    draws: Draws
    prior: str
    target: Any
    whitened: Any
    white: Draws
    layout: Layout

    @property
    def verdict(self) -> str:
        """The diagnostics in a sentence."""
        return self.draws.verdict

    def summary(self, coverage: float = 0.9) -> Any:
        """The table of coefficients: means, intervals, diagnostics."""
        return self.draws.summary(coverage)

    def __str__(self) -> str:
        name = type(self.estimator).__name__
        return f"Posterior of {name}; prior: {self.prior}\n{self.draws}"

    __repr__ = __str__

    def plot(self, kind: str = "intervals", **options: Any) -> Any:
        """The picture of the draws: "intervals", "trace" or "rank"."""
        return self.draws.plot(kind, **options)

    # Predictions -----------------------------------------------------------------------

    def predict_dist(
        self, X: Any, *, draws: int = PREDICTIVE_DRAWS, **known: Any
    ) -> Any:
        """The posterior predictive p(y | x): the mixture of predictions over draws.

        Args:
            X: (n, d) inputs.
            draws: how many of the draws are mixed, evenly spaced.
            known: `exposure` and `offset` of each row, for models of counts.
        """
        model: Any = self.estimator
        if isinstance(model, LinearModel):
            design: Any = model._design
            x = design(X, **known)
        else:
            x = model._inputs(X)
        flat = self.white.flat
        rows = np.unique(
            np.linspace(0, len(flat) - 1, min(draws, len(flat))).astype(int)
        )
        Z = self.whitened.mode + flat[rows] @ np.asarray(self.whitened.factor).T
        n = len(jax.tree.leaves(x)[0])
        with float64():
            etas = _etas(self.target, self.layout, Z, pad_rows(x))
            etas = np.asarray(etas)[:, :n]
        return mix(self.target.learner.family, etas, classes=self._classes)

    @property
    def _classes(self) -> Any:
        return getattr(self.estimator, "classes_", None)

    def predict(self, X: Any, **known: Any) -> np.ndarray:
        """The posterior mean of y, or its most probable class, for each row."""
        if self._classes is None:
            return self.predict_dist(X, **known).mean
        return self._classes[self.predict_proba(X).argmax(1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, c) posterior predictive probabilities of the classes."""
        if self._classes is None:
            raise InputError("predict_proba is for classes; use predict_dist.")
        return self.predict_dist(X).probs

    def predict_interval(
        self, X: Any, coverage: float = 0.9, **known: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the central predictive interval."""
        return self.predict_dist(X, **known).interval(coverage)

    def nll(self, X: Any, y: Any, sample_weight: Any = None, **known: Any) -> float:
        """The mean of −log p(y | x) of the posterior predictive, in nats."""
        X, y, w, known = rows_that_count(X, y, sample_weight, known)
        return float(-np.average(self.predict_dist(X, **known).log_prob(y), weights=w))

    def evidence(self, *, random_state: Any = 0) -> EvidenceEstimate:
        """log p(y | X), by bridge sampling from the draws.

        Intercepts and scales have a flat prior with density one, so that only
        differences between models with the same flat parameters mean something.
        """
        check_proper(self.target)
        return bridge_sampling(self.whitened, self.white, random_state=random_state)


@lean_jit
def _etas(target: Any, layout: Layout, Z: Float[Array | np.ndarray, "m p"], x: Any):
    """η of every draw at every row."""
    return jax.lax.map(lambda z: target.eta(layout.tree(z), x), Z, batch_size=50)


def check_proper(target: Any) -> None:
    """Refuse an evidence where weights have no proper prior."""
    if isinstance(target, LinearTarget) and target.prior.kind == FLAT:
        raise InputError(
            "the weights have a flat prior, so there is no evidence; give alpha above 0, "
            'or compare by="bic" or "nats".'
        )


def sample_posterior(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    method: str = "auto",
    draws: int = 1000,
    warmup: int = 500,
    chains: int = 4,
    target_acceptance: float | None = None,
    verbose: bool = False,
    random_state: Any = 0,
    **known: Any,
) -> Posterior:
    """Posterior draws of an estimator with a likelihood and a prior.

    Args:
        estimator: a linear model with a family (`LogisticRegression(alpha=1)`, `Ridge`,
            `PoissonRegressor`, ...) or a small network; a copy is fitted. Its penalty is the
            prior; without one weights have a flat prior.
        X: (n, d) inputs.
        y: (n,) targets.
        sample_weight: how often each row counts; 2 is "this row twice".
        method: "nuts", "metropolis", "laplace" (a normal at the mode), "advi" (the
            nearest normal), or "auto": NUTS for up to 500 parameters, else "advi".
        draws: of each chain.
        warmup: steps of each chain before.
        chains: the number of chains.
        target_acceptance: of NUTS; nearer 1 for shorter steps, where paths diverge. By
            default 0.8, and 0.95 for networks.
        verbose: whether NUTS shows a progress bar.
        random_state: the seed.
        known: what else the fit takes, such as `exposure`.
    """
    check_choice("method", method, METHODS)
    model = clone(estimator)
    if not isinstance(model, LinearModel | NetworkPredictor):
        raise InputError(
            f"{type(model).__name__} has no likelihood of parameters with a prior; give a "
            "linear model with a family, or a network."
        )
    model.fit(X, y, sample_weight, **known)
    target, whitened, layout, notes = posterior_of(model, (X, y, sample_weight))
    d = layout.size
    if method == "auto":
        method = "nuts" if d <= MAX_NUTS else "advi"
    if target_acceptance is None:
        target_acceptance = 0.8 if isinstance(target, LinearTarget) else 0.95
    start, options = np.zeros(d), {"chains": chains, "random_state": random_state}
    if method == "nuts":
        options |= {"dense": False, "jitter": 1.0, "verbose": verbose}
        options |= {"warmup": warmup, "target_acceptance": target_acceptance}
        white = nuts(whitened, start, draws=draws, **options)
    elif method == "metropolis":
        options |= {"warmup": 2 * warmup, "scale": 2.4 / np.sqrt(d), "jitter": 1.0}
        white = metropolis(whitened, start, draws=draws, thin=max(5, 2 * d), **options)
    else:
        white = _independent(whitened, method, (chains, draws, d), random_state)
    return _published(model, target, (whitened, white, layout), notes)


def posterior_of(model: Any, rows: tuple) -> tuple[Any, Whitened, Layout, tuple]:
    """The log density of a fitted model, in its own and in whitened coordinates."""
    target: Any
    if isinstance(model, LinearModel):
        target = LinearTarget.of(model)
    else:
        target = NetworkTarget.of(model, rows)
    layout, z = Layout.of(target.start)
    density, notes = FlatDensity(target, layout), ()
    linear = isinstance(target, LinearTarget)
    found = Mode(z, 0.0, None, False, 0)
    if layout.size <= MAX_NEWTON:
        found = find_mode(density, z, max_steps=200 if linear else 30)
    factor = found.factor
    if factor is None and linear:
        raise InputError(
            "rows and prior do not determine all coefficients (the posterior is "
            "improper): remove dependent or constant columns, or give alpha above 0."
        )
    if factor is None:
        factor = np.diag(np.full(layout.size, 0.1))
    log_det = np.log(np.diagonal(factor)).sum()
    return (
        target,
        Whitened(density, found.z, factor, np.asarray(log_det)),
        layout,
        notes,
    )


def _independent(whitened: Whitened, method: str, shape: tuple, random_state: Any):
    """Draws of a normal approximation, as chains."""
    chains, draws, d = shape
    layout, z = Layout.of(np.zeros(d))
    if method == "advi":
        how = "full rank" if d <= MAX_FULL else "mean-field"
        fit = advi(whitened, z, shape=how, scale=1.0, random_state=random_state)
        q, label = fit.approximation, f"ADVI ({how})"
        notes = () if fit.converged else (f"the solver {fit.status}",)
    else:
        q, label, notes = GaussianApproximation(z, np.eye(d), layout), "Laplace", ()
    found = importance_sampling(
        whitened, q, draws=chains * draws, random_state=random_state
    )
    values = found.values.reshape(chains, draws, d)
    log_p = (found.log_ratios + q.log_prob(found.values)).reshape(chains, draws)
    details = {"effective_share": found.share}
    k = found.pareto_k
    return Draws(values, log_p, layout, label, pareto_k=k, notes=notes, details=details)


def _published(model: Any, target: Any, parts: tuple, notes: tuple) -> Posterior:
    """The posterior with its draws in the units of the user."""
    whitened, white, layout = parts
    Z = whitened.mode + white.values @ np.asarray(whitened.factor).T
    if isinstance(target, LinearTarget):
        values, names = target.report(model, layout.tree(Z))
        prior = target.prior.sentence
    else:
        values, names = target.report(layout, Z)
        prior = "N(0, 1/α) for weights and biases, flat for scales"
    shown = Layout(None, ((len(names),),), tuple(names))
    shown = shown._replace(treedef=jax.tree.structure(0))
    draws = Draws(
        np.asarray(values),
        white.log_density,
        shown,
        white.method,
        white.acceptance,
        white.divergent,
        white.saturated,
        white.pareto_k,
        white.notes + notes,
        white.details,
    )
    return Posterior(model, draws, prior, target, whitened, white, layout)
