"""A hidden Markov model with normal emissions, against hmmlearn: as many rounds of EM.

The peer begins where ours begins, so that both climb the same hill and end at the same
likelihood. Ours finds its start within the time that is measured.
"""

import warnings

import numpy as np

from benchmarks.harness import Answer, Case

N, T, K, D, ROUNDS = 100, 200, 8, 4, 10


def setup() -> np.ndarray:
    """100 sequences of 200 positions with 8 states."""
    rng = np.random.default_rng(0)
    A = 0.7 * np.eye(K) + 0.3 * rng.dirichlet(np.full(K, 0.3), K)
    means, X = 2.0 * rng.normal(size=(K, D)), np.empty((N, T, D))
    for i in range(N):
        z = rng.integers(K)
        for t in range(T):
            X[i, t] = means[z] + rng.normal(size=D)
            z = rng.choice(K, p=A[z] / A[z].sum())
    return X


def ours(X: np.ndarray) -> Answer:
    from likely import HiddenMarkovModel

    warnings.simplefilter("ignore")
    model = HiddenMarkovModel(K, n_init=1, max_iter=ROUNDS, tol=-np.inf).fit(X)
    return {"transmat": model.transmat_, "log_prob": model.history_[-1:] * N}


def peer(X: np.ndarray) -> Answer:
    from hmmlearn.hmm import GaussianHMM

    from likely import HiddenMarkovModel
    from likely.core.random import seed_of
    from likely.latent.clusters.states.em import begin
    from likely.latent.clusters.states.emissions import family_and_states
    from likely.latent.clusters.states.sequences import positions_of

    settings = HiddenMarkovModel(K)
    data = positions_of(settings, X, None, reset=True)
    alike = family_and_states(settings, data.values, np.ones(N * T))[1]
    rng = np.random.default_rng(seed_of(0))
    start = begin(alike, K, data, np.ones(N), rng)
    model = GaussianHMM(
        K, "full", n_iter=ROUNDS, tol=-np.inf, init_params="", covars_prior=0.0,
        min_covar=0.0, implementation="scaling",
    )  # fmt: skip
    model.startprob_, model.transmat_ = start.a, start.A
    model.means_, model.covars_ = start.emissions.means, start.emissions.covariances
    rows, lengths = X.reshape(-1, D), [T] * N
    model.fit(rows, lengths)
    return {
        "transmat": model.transmat_,
        "log_prob": np.array([model.score(rows, lengths)]),
    }


def equal(mine: Answer, other: Answer) -> str | None:
    gap = abs(mine["log_prob"][0] - other["log_prob"][0]) / abs(other["log_prob"][0])
    print(
        f"log-likelihood: ours {mine['log_prob'][0]:.6f}, peer {other['log_prob'][0]:.6f}"
    )
    off = np.abs(mine["transmat"] - other["transmat"]).max()
    worse = gap > 1e-8 or off > 1e-6
    return (
        f"likelihoods differ by {gap:.1e}, transitions by {off:.1e}" if worse else None
    )


CASES = {"hidden Markov, 100 x 200, 8 states": Case(setup, ours, peer, equal, 3.0, 3)}
