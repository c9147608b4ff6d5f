r"""Hidden Markov models: $p(x, z) = a_{z_1} \prod_t A_{z_t z_{t+1}} \prod_t p(x_t \mid z_t)$."""

import warnings
from typing import Any, no_type_check

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from likely.base.density import Density
from likely.base.rows import weights_of
from likely.base.settings import at_least, one_of, store
from likely.core.checks import InputError
from likely.core.precision import float64
from likely.core.random import seed_of
from likely.core.threads import thread_count
from likely.families import AbstractFamily, Mixture, Normal, Predictive
from likely.latent.clusters.states.em import Chain, begin, climb
from likely.latent.clusters.states.emissions import (
    FamilyStates,
    SymbolStates,
    family_and_states,
)
from likely.latent.clusters.states.normal_states import NormalStates
from likely.latent.clusters.states.sequences import (
    TABLE,
    Positions,
    positions_of,
)

TIE = 1e-7
"""Likelihoods that differ by a smaller share are equal, so that rounding decides nothing."""


class HiddenMarkovModel(Density):
    r"""Sequences whose observations depend on a state that changes at random, by EM.

    A row is a sequence, as for `SequenceClassifier`: X is a table (n, t) of one number at each of
    t positions, an array (n, t, d), a list of arrays (t_i, d) or (t_i,) of different lengths, or,
    with `lengths`, all positions one after another, (positions, d). Once fitted to another form
    than a table, a single array (t, d) is one sequence. A weight says how often a sequence
    counts. A position with a missing value (NaN) counts as not observed.

    Args:
        n_states: k, the number of states.
        family: of an observation: "normal" (jointly, with a covariance for each state),
            "poisson", "categorical" (symbols 0, 1, 2, ...), another name as in
            `FamilyDensity`, or a family of `likely.families`; columns of families with one
            output are independent given the state.
        covariance_type: of normal observations, "full" or "diag".
        min_variance: the least variance of a state in any direction, as a share of the
            variance of all positions.
        n_init: how many starts are tried; the one of largest likelihood is kept.
        max_iter: the largest number of rounds of EM.
        tol: EM ends when a round gains less than this for each position, in nats.
        n_jobs: the number of threads; all processors where None. The result is the same.
        random_state: draws the starts.

    Attributes:
        startprob_: (k,) the probabilities of the first state.
        transmat_: (k, k) the probabilities of the next state, a row for each state.
        means_: (k, d) of normal observations.
        covariances_: (k, d, d) of normal observations.
        emissionprob_: (k, c) the probabilities of symbols.
        eta_: (k, e) the unconstrained parameters of other families.
        history_: the mean log-likelihood of a sequence after each round; it never falls.
        n_iter_: the number of rounds.
        converged_: whether the tolerance was reached.
    """

    n_states: Any
    family: Any
    covariance_type: Any
    min_variance: Any
    n_init: Any
    max_iter: Any
    tol: Any
    n_jobs: Any
    random_state: Any
    form_: str
    n_channels_: int

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        n_states: int = 2,
        *,
        family: Any = "normal",
        covariance_type: str = "full",
        min_variance: float = 1e-6,
        n_init: int = 3,
        max_iter: int = 200,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, lengths: Any = None
    ) -> "HiddenMarkovModel":
        """Find the parameters of largest likelihood that EM reaches.

        Args:
            X: the sequences.
            y: not used.
            sample_weight: how often each sequence counts.
            lengths: of the sequences where X is all their positions.
        """
        k = at_least("n_states", self.n_states, 1, whole=True)
        starts = at_least("n_init", self.n_init, 1, whole=True)
        limits = at_least("max_iter", self.max_iter, 1, whole=True), float(self.tol)
        at_least("min_variance", self.min_variance)
        one_of("covariance_type", self.covariance_type, ("full", "diag"))
        data, w = self._weighted(X, sample_weight, lengths)
        seen, workers = data.is_seen, thread_count(self.n_jobs)
        each = np.repeat(w, data.lengths)[seen]
        self.family_, alike = family_and_states(self, data.values[seen], each)
        rng = np.random.default_rng(seed_of(self.random_state))
        best = None
        for _ in range(starts if k > 1 else 1):
            start = begin(alike, k, data, w, rng)
            found = climb(start, data, w, limits, workers)
            last = found.history[-1]
            if best is None or last > best.history[-1] + TIE * abs(last):
                best = found
        assert best is not None
        self._keep(best.chain)
        self.history_ = np.array(best.history)
        self.n_iter_, self.converged_ = len(best.history), best.converged
        self.length_ = int(data.lengths.max())
        if not best.converged:
            warnings.warn(
                f"EM did not converge in {limits[0]} rounds; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def log_prob(self, X: Any, *, lengths: Any = None) -> np.ndarray:
        """(n,) log p(x) of each sequence, in nats; −∞ where it is impossible."""
        data = self._judged(X, lengths)
        return self._chain().posterior(data, np.ones(len(data)), self._workers).log_prob

    def predict(self, X: Any, *, lengths: Any = None) -> Any:
        """The likeliest sequence of states (Viterbi), a number for each position."""
        data = self._judged(X, lengths)
        return data.restore(self._chain().path(data, self._workers))

    def predict_proba(self, X: Any, *, lengths: Any = None) -> Any:
        """p(z_t = j | x) of each position, k numbers; NaN where a sequence is impossible."""
        data = self._judged(X, lengths)
        found = self._chain().posterior(data, np.ones(len(data)), self._workers)
        found.G[np.repeat(found.log_prob == -np.inf, data.lengths)] = np.nan
        return data.restore(found.G)

    def forecast(self, X: Any, *, lengths: Any = None) -> Predictive:
        """The distribution of the observation after the last one of each sequence.

        It is a mixture over the next state, for observations of one number.
        """
        data = self._judged(X, lengths)
        if self.n_channels_ > 1 or isinstance(self._emissions(), SymbolStates):
            raise InputError(
                "forecast is for observations of one number; use predict_proba of the last "
                "position times transmat_ for the next state."
            )
        found = self._chain().posterior(data, np.ones(len(data)), self._workers)
        after = found.G[data.ends[1:] - 1] @ self.transmat_
        eta = np.broadcast_to(
            self._scalar_eta().ravel(), (len(data), self._scalar_eta().size)
        )
        logits = np.log(np.maximum(after, np.finfo(float).tiny))
        family = Mixture(self._scalar_family(), len(self.startprob_))
        return Predictive(family, np.hstack([logits, eta]))

    def sample(
        self, n: int = 1, *, length: int | None = None, random_state: Any = None
    ) -> np.ndarray:
        """Independent sequences: (n, t) where the fit had a table, otherwise (n, t, d).

        Args:
            n: the number of sequences.
            length: t; that of the longest sequence of the fit where None.
            random_state: of the draws.
        """
        check_is_fitted(self)
        t = (
            self.length_
            if length is None
            else at_least("length", length, 1, whole=True)
        )
        rng = np.random.default_rng(seed_of(random_state))
        states = np.empty((t, n), int)
        chances = np.tile(self.startprob_, (n, 1))
        for s in range(t):
            u, cumulative = rng.random((n, 1)), np.cumsum(chances, 1)
            states[s] = (u * cumulative[:, -1:] >= cumulative).sum(1)
            chances = self.transmat_[states[s]]
        drawn = self._emissions().draw(states.T.ravel(), rng)
        return drawn.reshape(n, t, *(() if self.form_ == TABLE else (-1,)))

    @property
    def _workers(self) -> int:
        return thread_count(self.n_jobs)

    def _weighted(
        self, X: Any, sample_weight: Any, lengths: Any
    ) -> tuple[Positions, np.ndarray]:
        """The sequences of positive weight, checked."""
        data = positions_of(self, X, lengths, reset=True)
        w = weights_of(sample_weight, len(data))
        data, w = data.keep(w > 0), w[w > 0]
        if np.isinf(data.values).any():
            raise InputError(
                "X contains infinity; give finite numbers, or NaN where missing."
            )
        if not data.is_seen.any():
            raise InputError(
                "every position of X has a missing value (NaN); give observations."
            )
        return data, w

    def _judged(self, X: Any, lengths: Any) -> Positions:
        check_is_fitted(self)
        data = positions_of(self, X, lengths, reset=False)
        if np.isinf(data.values).any():
            raise InputError(
                "X contains infinity; give finite numbers, or NaN where missing."
            )
        return data

    def _keep(self, chain: Chain) -> None:
        self.startprob_, self.transmat_ = chain.a, chain.A
        for name in ("means_", "covariances_", "emissionprob_", "eta_"):
            vars(self).pop(name, None)
        match chain.emissions:
            case NormalStates():
                self.means_ = chain.emissions.means
                self.covariances_ = chain.emissions.covariances
            case SymbolStates():
                self.emissionprob_ = chain.emissions.probs
            case _:
                self.eta_ = chain.emissions.eta

    def _emissions(self) -> Any:
        if hasattr(self, "means_"):
            floor, full = np.zeros(self.n_channels_), self.covariance_type == "full"
            return NormalStates(self.means_, self.covariances_, floor, full)
        if hasattr(self, "emissionprob_"):
            return SymbolStates(self.emissionprob_)
        assert self.family_ is not None
        return FamilyStates(self.family_, self.eta_)

    def _chain(self) -> Chain:
        return Chain(self.startprob_, self.transmat_, self._emissions())

    def _scalar_family(self) -> AbstractFamily:
        return Normal() if self.family_ is None else self.family_

    def _scalar_eta(self) -> np.ndarray:
        """(k, e) the parameters of the states, for observations of one number."""
        if self.family_ is not None:
            return self.eta_
        scale = np.sqrt(self.covariances_[:, 0, 0])
        with float64():
            return np.asarray(Normal().eta(loc=self.means_[:, 0], scale=scale))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
