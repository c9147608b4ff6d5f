"""Bias and variance of a network from 200 refits, against a loop of scikit-learn's.

Both sides draw 200 training sets of one generator, fit the same network to each (as many epochs,
batches of as many rows, Adam at the same rate) and compute noise, bias and variance at 1000 new
points. The answer counts where the risks agree within a tenth. The double descent of random
features has no peer; it is measured against the ten seconds that it may take.
"""

import warnings
from functools import partial

import numpy as np

from benchmarks.harness import Case

ROWS, COLUMNS, REFITS, POINTS = 200, 10, 200, 1000
HIDDEN, EPOCHS, BATCH, RATE = (50, 50), 100, 50, 1e-3
SECONDS = 10.0
"""How long the curve of double descent may take, warm."""


def waves(n, random_state=None):
    """A function that a network fits, with its truth."""
    from likely.data import Dataset

    def mean(X):
        return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]

    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n, COLUMNS))
    y = mean(X) + 0.3 * rng.normal(size=n)
    return Dataset(X, y, truth={"mean": mean, "noise": 0.3})


def nothing():
    return None


def ours(_):
    import likely as lk
    from likely import diagnostics

    model = lk.MLPRegressor(
        HIDDEN, solver="adam", max_iter=EPOCHS, batch_size=BATCH,
        learning_rate_init=RATE, alpha=1e-4,
    )  # fmt: skip
    found = diagnostics.bias_variance(model, waves, n=ROWS, refits=REFITS, test=POINTS)
    parts = (found.risk, found.noise, found.bias, found.variance)
    return {"parts": np.concatenate(parts)}


def _one(rows, X, seed):
    from sklearn.neural_network import MLPRegressor

    warnings.simplefilter("ignore")
    model = MLPRegressor(
        hidden_layer_sizes=HIDDEN, max_iter=EPOCHS, batch_size=BATCH, tol=0.0,
        learning_rate_init=RATE, n_iter_no_change=EPOCHS, alpha=1e-4, random_state=seed,
    )  # fmt: skip
    return model.fit(rows.X, rows.y).predict(X)


def peer(_, n_jobs=1):
    from joblib import Parallel, delayed

    rng = np.random.default_rng(0)
    sets = [waves(ROWS, own) for own in rng.spawn(REFITS)]
    new = waves(POINTS, rng)
    jobs = (delayed(_one)(rows, new.X, seed) for seed, rows in enumerate(sets))
    F = np.array(Parallel(n_jobs=n_jobs)(jobs))
    noise, spread = 0.09, F.var(0, ddof=1).mean()
    risk = ((F - new.truth["mean"](new.X)) ** 2).mean() + noise
    return {"parts": np.array([risk, noise, risk - noise - spread, spread])}


def agree(a, b):
    gap = np.abs(a["parts"] - b["parts"]).max() / b["parts"][0]
    return None if gap <= 0.1 else f"parts differ by {gap:.2f} of the risk"


def descent(_):
    from likely import diagnostics

    found = diagnostics.double_descent()
    return {"ratio": np.array([found.ratio, found.peak])}


def budget(_):
    """The time that the curve may take, as a peer that sleeps."""
    import time

    time.sleep(SECONDS)
    return {"ratio": np.array([100.0, 100.0])}


def peaks(ours, asked):
    ratio, at = ours["ratio"]
    if at != asked["ratio"][1]:
        return f"the peak is at {at:g}, not at the number of rows"
    return None if ratio > asked["ratio"][0] else f"peak/minimum is {ratio:.0f}"


CASES = {
    "bias and variance of MLPRegressor, a loop": Case(
        nothing, ours, peer, agree, at_least=6.0, repeats=1
    ),
    "bias and variance of MLPRegressor, two processes": Case(
        nothing, ours, partial(peer, n_jobs=2), agree, at_least=6.0, repeats=1
    ),
    "double descent of random features, 10 s": Case(
        nothing, descent, budget, peaks, at_least=1.0, repeats=1
    ),
}
