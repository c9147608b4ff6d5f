r"""Restricted Boltzmann machines: $p(v) = \frac1Z \sum_h e^{-E(v, h)}$ with binary hidden units."""

from types import SimpleNamespace
from typing import Any, no_type_check

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.base.generator import Generator
from likely.base.rows import dense, weights_of
from likely.base.settings import at_least, one_of, store
from likely.base.training.options import TABLES
from likely.base.training.trainer import Observers, member_of
from likely.base.training.unsupervised import pack, train_unsupervised
from likely.base.transformer import Transformer
from likely.core.checks import InputError
from likely.core.precision import float64
from likely.core.random import key_of, seed_of
from likely.core.rows import pad_rows
from likely.generative.energies import hidden_states
from likely.generative.energies.divergence import MachineProblem, pseudo_log_likelihood
from likely.generative.energies.fitting import Columns, can_be_exact, fit_exactly
from likely.generative.energies.machine import BoltzmannMachine, as_numpy
from likely.generative.energies.partition import (
    Annealing,
    LogPartition,
    annealed_log_partition,
    can_enumerate,
    exact_log_partition,
)

ALGORITHMS = ("auto", "exact", "cd", "pcd")
VISIBLE = ("auto", "binary", "gaussian")
N_GIBBS = 500
"""Steps of Gibbs sampling before a draw, where exact draws are not possible."""
LIMITS = TABLES._replace(epochs=50, plain_steps=5000, full_rows=0)
FEW_WEIGHTS, RATE, SMALL_RATE = 10_000, 1e-2, 2e-3
"""Up to how many weights the rate is high."""


class RestrictedBoltzmannMachine(Transformer, Generator):
    r"""Visible columns explained by binary hidden units.

    $$E(v, h) = -v^\top W h - b^\top v - c^\top h, \qquad p(v) = \frac1Z \sum_h e^{-E(v, h)} .$$

    Columns of 0 and 1 have binary units; other numbers real ones, normal given the hidden
    units. Few hidden units are fitted by maximum likelihood; many by (persistent) contrastive
    divergence. Missing values are filled in by the machine while it learns.

    Args:
        n_components: m, the number of hidden units.
        visible: "binary", "gaussian", or "auto": binary if all values are 0 or 1.
        algorithm: "exact" maximises the likelihood, "cd" is contrastive divergence, "pcd" its
            persistent variant, "auto" is exact for up to 8 hidden units and else "pcd".
        n_steps: k, the steps of Gibbs sampling of each step of "cd" and "pcd".
        n_chains: of "pcd".
        alpha: strength of the Gaussian prior on W.
        learning_rate_init: Adam's rate, which falls to 0 along a cosine; "auto" is 0.01, and
            0.002 for more than 10,000 weights.
        batch_size: rows in a minibatch.
        max_iter: passes over the rows; steps of L-BFGS if exact.
        tol: of the gradient, if exact.
        ais_chains: chains of annealed importance sampling, where Z cannot be enumerated.
        ais_temperatures: its steps.
        random_state: seed of all that is random.
        verbose: whether to show a progress bar.

    Attributes:
        components_: (m, d) W transposed: what each hidden unit looks at.
        intercept_visible_: (d,) b.
        intercept_hidden_: (m,) c.
        machine_: all of it, for columns of mean 0 and variance 1 if they are real.
        log_partition_: log Z with its standard error. By annealed importance sampling log Z
            is too small on average, and log p too large; its `upper` is an estimate
            from the other side.
        chains_: (p, d) draws at the end of the training; None if it was exact.
        algorithm_: the one that was used.
        history_: the training of "cd" and "pcd"; the difference of free energies that it shows is
            no loss that has to fall.
    """

    n_components: Any
    visible: Any
    algorithm: Any
    n_steps: Any
    n_chains: Any
    alpha: Any
    learning_rate_init: Any
    batch_size: Any
    max_iter: Any
    tol: Any
    ais_chains: Any
    ais_temperatures: Any
    random_state: Any
    verbose: Any
    machine_: BoltzmannMachine
    log_partition_: LogPartition

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        n_components: int = 64,
        *,
        visible: str = "auto",
        algorithm: str = "auto",
        n_steps: int = 1,
        n_chains: int = 100,
        alpha: float = 0.1,
        learning_rate_init: Any = "auto",
        batch_size: int = 100,
        max_iter: Any = "auto",
        tol: float = 1e-7,
        ais_chains: int = 100,
        ais_temperatures: int = 3000,
        random_state: Any = 0,
        verbose: bool = False,
    ):
        store(self, locals())

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        callbacks: Any = (),
        checkpoints: Any = None,
        resume: bool = False,
    ) -> "RestrictedBoltzmannMachine":
        """Learn the weights, and estimate the partition function.

        Args:
            X: (n, d) numbers; NaN is a missing value.
            y: not used.
            sample_weight: how often each row counts.
            callbacks: functions of an `Event`; one that returns True ends the training.
            checkpoints: a folder where the training is saved, or `Checkpoints`.
            resume: whether to go on from there.
        """
        X, w = self._rows(X, sample_weight)
        m = at_least("n_components", self.n_components, 1, whole=True)
        algorithm = one_of("algorithm", self.algorithm, ALGORITHMS)
        if algorithm == "auto":
            algorithm = "exact" if can_be_exact(len(X), m) else "pcd"
        if algorithm == "exact" and m > hidden_states.MAX_HIDDEN:
            raise InputError(
                f'algorithm="exact" sums over 2^{m} states; give at most '
                f'{hidden_states.MAX_HIDDEN} components, or algorithm="pcd".'
            )
        binary = self._is_binary(X)
        units = Columns.of(X, w, binary=binary)
        self.center_, self.scale_ = units
        V = (X - self.center_) / self.scale_
        chains = at_least("n_chains", self.n_chains, 1, whole=True)
        steps = at_least("n_steps", self.n_steps, 1, whole=True)
        problem = MachineProblem(m, binary, chains if algorithm == "pcd" else 0, steps)
        if algorithm == "exact":
            self._fit_exactly(V, w, problem)
        else:
            observers = Observers(callbacks, checkpoints, resume)
            self._train(V, w, problem, observers)
        self.algorithm_ = algorithm
        self.log_partition_ = self._log_partition(V, w)
        return self

    def _fit_exactly(self, V: np.ndarray, w: np.ndarray, problem: Any) -> None:
        most = 500 if self.max_iter == "auto" else self.max_iter
        found = fit_exactly(
            V,
            w,
            problem,
            key_of(self.random_state),
            alpha=at_least("alpha", self.alpha),
            max_iter=at_least("max_iter", most, 1, whole=True),
            tol=at_least("tol", self.tol),
        )
        self.machine_, self.chains_ = found.model, None
        self.n_iter_ = int(found.status.steps)
        self.loss_ = float(found.loss)

    def _train(
        self, V: np.ndarray, w: np.ndarray, problem: Any, observers: Any
    ) -> None:
        rate = self.learning_rate_init
        if rate == "auto":
            rate = SMALL_RATE if V.shape[1] * problem.n_hidden > FEW_WEIGHTS else RATE
        run = SimpleNamespace(
            alpha=self.alpha,
            learning_rate_init=rate,
            learning_rate="cosine",
            batch_size=self.batch_size,
            max_iter=self.max_iter,
            early_stopping=False,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        train_unsupervised(run, problem, pack(V, w), limits=LIMITS, observers=observers)
        found = member_of(run.phi_, 0).solution
        self.machine_ = as_numpy(found.model)
        state = found.state
        self.chains_ = None if state is None else np.asarray(state[0], np.float64)
        self.history_, self.loss_ = run.history_, run.loss_
        self.n_iter_, self.status_ = run.n_iter_, run.status_
        finite = all(np.isfinite(a).all() for a in jax.tree.leaves(self.machine_))
        if not finite:
            raise InputError(
                "the training diverged: weights are not finite; give a smaller "
                "learning_rate_init, or visible='gaussian' for numbers."
            )

    # The partition function ------------------------------------------------------------

    def _log_partition(self, V: np.ndarray, w: np.ndarray) -> LogPartition:
        if can_enumerate(self.machine_):
            return exact_log_partition(self.machine_)
        there = ~np.isnan(V)
        weight = np.where(there, w[:, None], 0.0)
        filled = np.where(there, V, 0.0)
        mean = ((weight * filled).sum(0) + 0.5) / (weight.sum(0) + 1.0)
        if self.machine_.binary:
            base = Annealing(np.log(mean) - np.log1p(-mean), np.zeros_like(mean))
        else:
            base = Annealing(np.zeros_like(mean), np.ones_like(mean))
        return annealed_log_partition(
            self.machine_,
            base,
            jax.random.fold_in(key_of(self.random_state), 1),
            n_chains=at_least("ais_chains", self.ais_chains, 2, whole=True),
            n_temperatures=at_least(
                "ais_temperatures", self.ais_temperatures, 1, whole=True
            ),
            draws=self.chains_,
        )

    # What it says ----------------------------------------------------------------------

    @property
    def components_(self) -> np.ndarray:
        """(m, d) what each hidden unit looks at."""
        return np.asarray(self.machine_.weight).T

    @property
    def intercept_visible_(self) -> np.ndarray:
        """(d,) b."""
        return np.asarray(self.machine_.visible_bias)

    @property
    def intercept_hidden_(self) -> np.ndarray:
        """(m,) c."""
        return np.asarray(self.machine_.hidden_bias)

    def free_energy(self, X: Any) -> np.ndarray:
        """(n,) F(v) of rows without missing values: log p(v) = −F(v) − log Z."""
        V = self._values(X, "free_energy")
        return self._on_rows(_free_energy, V)

    def _log_prob(self, X: Any, *, given: Any = None) -> np.ndarray:
        if given is not None:
            raise InputError("a Boltzmann machine takes no given in log_prob.")
        V = self._values(X)
        units = ~np.isnan(V) @ np.log(self.scale_)
        if np.isnan(V).any():
            if not hidden_states.is_small(self.machine_):
                raise InputError(
                    "X has missing values, over which a machine of more than "
                    f"{hidden_states.MAX_HIDDEN} hidden units cannot sum; impute them first."
                )
            return hidden_states.log_probs(self.machine_, V) - units
        return -self._on_rows(_free_energy, V) - self.log_partition_.value - units

    def pseudo_log_likelihood(self, X: Any) -> np.ndarray:
        r"""(n,) $\sum_i \log p(v_i \mid v_{-i})$, which needs no partition function.

        Args:
            X: (n, d) rows of 0 and 1.
        """
        V = self._values(X, "pseudo_log_likelihood")
        if not self.machine_.binary:
            raise InputError("the pseudo-likelihood is there for binary units only.")
        return self._on_rows(_pseudo, V)

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """(n, m) P(h = 1 | v)."""
        V = (X - self.center_) / self.scale_
        if np.isnan(V).any():
            if hidden_states.is_small(self.machine_):
                return hidden_states.expected_hidden(self.machine_, V)
            V = self._filled(V, 0)[1]
        return self._on_rows(_hidden, V)

    @property
    def _n_features_out(self) -> int:
        return len(self.machine_.hidden_bias)

    # Draws -----------------------------------------------------------------------------

    def sample(
        self,
        n: int = 1,
        *,
        given: Any = None,
        random_state: Any = None,
        n_gibbs: int = N_GIBBS,
    ) -> np.ndarray:
        """(n, d) draws: exact where hidden units are few, else by Gibbs sampling.

        Args:
            n: how many.
            given: (d,) or (n, d) values of which those that are not NaN stay.
            random_state: seed of the draws.
            n_gibbs: steps of Gibbs sampling from the chains of the training, or from rows of
                random units.
        """
        check_is_fitted(self)
        n, d = at_least("n", n, 1, whole=True), len(self.center_)
        known = np.full((1, d), np.nan) if given is None else np.atleast_2d(given)
        if known.shape not in ((1, d), (n, d)):
            raise InputError(
                f"given has shape {known.shape}; give (1, {d}) or ({n}, {d})."
            )
        known = np.asarray(known, np.float64)
        V = np.repeat((known - self.center_) / self.scale_, n // len(known), axis=0)
        if hidden_states.is_small(self.machine_):
            rng = np.random.default_rng(seed_of(random_state))
            drawn = hidden_states.draw_visible(self.machine_, V, rng)
        else:
            drawn = self._filled(V, random_state, n_gibbs)[0]
        return drawn * self.scale_ + self.center_

    def impute(
        self, X: Any, *, n_draws: int | None = None, random_state: Any = 0
    ) -> Any:
        """The rows with their missing values filled, given the others.

        Args:
            X: (n, d) rows, NaN where missing.
            n_draws: None takes the more probable value of binary and the mean of real
                columns; a number gives a list of so many arrays with drawn values.
            random_state: seed of the draws.
        """
        V = self._values(X)
        small = hidden_states.is_small(self.machine_)
        if n_draws is not None:
            draws = at_least("n_draws", n_draws, 1, whole=True)
            key = key_of(random_state)
            seeds = np.asarray(jax.random.key_data(jax.random.split(key, draws)))[:, -1]
            return [
                self._draw(V, int(seed)) * self.scale_ + self.center_ for seed in seeds
            ]
        if small:
            mean = hidden_states.expected_visible(self.machine_, V)
        else:
            mean = self._filled(V, random_state)[1]
        mean = np.round(mean) if self.machine_.binary else mean
        return np.where(np.isnan(V), mean, V) * self.scale_ + self.center_

    def _draw(self, V: np.ndarray, seed: int) -> np.ndarray:
        if hidden_states.is_small(self.machine_):
            rng = np.random.default_rng(seed)
            return hidden_states.draw_visible(self.machine_, V, rng)
        return self._filled(V, seed)[0]

    def _filled(
        self, V: np.ndarray, random_state: Any, n_gibbs: int = N_GIBBS
    ) -> tuple[np.ndarray, np.ndarray]:
        """Missing values drawn, and their means, by Gibbs sampling of these alone."""
        key = key_of(random_state)
        n, free = len(V), np.isnan(V)
        rng = np.random.default_rng(seed_of(random_state))
        start = rng.random(V.shape) < 0.5 if self.machine_.binary else np.zeros(V.shape)
        if self.chains_ is not None:
            start = self.chains_[rng.integers(len(self.chains_), size=n)]
        begin = np.where(free, start, np.where(free, 0.0, V)).astype(np.float32)
        rows, open_cells = pad_rows((begin, free))
        with jax.enable_x64(False):
            steps: Any = np.int32(n_gibbs)
            drawn, means = _clamped(self.machine_, rows, open_cells, key, steps)
        own = [np.asarray(a, np.float64)[:n] for a in (drawn, means)]
        return np.where(free, own[0], V), np.where(free, own[1], V)

    # Inside ----------------------------------------------------------------------------

    def _rows(self, X: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """The rows that count, checked."""
        check: Any = validate_data
        X = check(self, dense(X), dtype=np.float64, ensure_all_finite=False)
        w = weights_of(sample_weight, len(X))
        X, w = X[w > 0], w[w > 0]
        _check_finite(X)
        return X, w

    def _inputs(self, X: Any) -> np.ndarray:
        """Rows of other data, checked."""
        check: Any = validate_data
        X = check(
            self, dense(X), reset=False, dtype=np.float64, ensure_all_finite=False
        )
        _check_finite(X)
        if self.machine_.binary:
            _check_binary(X)
        return X

    def _values(self, X: Any, complete_for: str = "") -> np.ndarray:
        check_is_fitted(self)
        X = self._inputs(X)
        if complete_for and np.isnan(X).any():
            raise InputError(f"{complete_for} needs rows without missing values.")
        return (X - self.center_) / self.scale_

    def _is_binary(self, X: np.ndarray) -> bool:
        kind = one_of("visible", self.visible, VISIBLE)
        if kind == "auto":
            known = X[~np.isnan(X)]
            return bool(((known == 0) | (known == 1)).all())
        if kind == "binary":
            _check_binary(X)
        return kind == "binary"

    def _on_rows(self, function: Any, V: np.ndarray) -> np.ndarray:
        with float64():
            return np.asarray(function(self.machine_, pad_rows(V)))[: len(V)]


def _check_binary(X: np.ndarray) -> None:
    bad = ~((X == 0) | (X == 1) | np.isnan(X))
    if bad.any():
        row, j = np.argwhere(bad)[0]
        raise InputError(
            f"X has {X[row, j]:g} in row {row}, column {j}; binary units are 0 or 1: cut "
            'grey values, such as X > 0.5, or give visible="gaussian".'
        )


def _check_finite(X: np.ndarray) -> None:
    if np.isinf(X).any():
        row, j = np.argwhere(np.isinf(X))[0]
        raise InputError(f"X contains infinity (row {row}, column {j}).")


@eqx.filter_jit
def _free_energy(machine: BoltzmannMachine, V: Array) -> Array:
    return machine.free_energy(jnp.asarray(V))


@eqx.filter_jit
def _hidden(machine: BoltzmannMachine, V: Array) -> Array:
    return machine.hidden(jnp.asarray(V))


@eqx.filter_jit
def _pseudo(machine: BoltzmannMachine, V: Array) -> Array:
    V = jnp.asarray(V)
    return pseudo_log_likelihood(machine, V, jnp.zeros(V.shape, bool), V.shape[1])


@eqx.filter_jit
def _clamped(machine: Any, v: Array, free: Array, key: Any, steps: Array) -> tuple:
    machine = jax.tree.map(jnp.asarray, machine)
    keep = jnp.maximum(steps // 2, 1)
    return machine.run_clamped(jnp.asarray(v), jnp.asarray(free), key, steps, keep)
