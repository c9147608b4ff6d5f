"""Networks as estimators against scikit-learn's and against a loop in PyTorch.

Digits: the same architecture, batches and epochs; the answer counts where our loss on the
training rows is as low as the peer's. Refits: two hundred bootstraps of one network; the
answer counts where the mean prediction is as close to the truth as the peer's.
"""

import functools
import warnings

import numpy as np

from benchmarks.harness import Case

HIDDEN, EPOCHS, RATE, ROWS = 100, 100, 1e-3, 200
MEMBERS = 200


# Digits -------------------------------------------------------------------------------


def digits():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    spread = X.std(0)
    return (X - X.mean(0)) / np.where(spread > 0, spread, 1.0), y


def surprise(probs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mean nats on the training rows."""
    return np.atleast_1d(
        -np.log(np.maximum(probs[np.arange(len(y)), y], 1e-300)).mean()
    )


def digits_ours(data):
    from likely.estimators import MLPClassifier

    X, y = data
    model = MLPClassifier(
        (HIDDEN,),
        solver="adam",
        max_iter=EPOCHS,
        batch_size=ROWS,
        learning_rate_init=RATE,
    ).fit(X, y)
    return {"loss": surprise(model.predict_proba(X), y)}


def digits_sklearn(data):
    from sklearn.neural_network import MLPClassifier

    X, y = data
    model = MLPClassifier(
        hidden_layer_sizes=(HIDDEN,), max_iter=EPOCHS, batch_size=ROWS, tol=0.0,
        learning_rate_init=RATE, n_iter_no_change=EPOCHS, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return {"loss": surprise(model.predict_proba(X), y)}


def digits_torch(data):
    import torch
    from torch import nn

    torch.manual_seed(0)
    X, y = torch.from_numpy(data[0].astype(np.float32)), torch.from_numpy(data[1])
    model = nn.Sequential(nn.Linear(64, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))
    solver = torch.optim.Adam(model.parameters(), RATE, fused=True)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(y)).split(ROWS):
            solver.zero_grad()
            nn.functional.cross_entropy(model(X[rows]), y[rows]).backward()
            solver.step()
    with torch.no_grad():
        return {"loss": surprise(model(X).softmax(1).numpy(), data[1])}


def as_low(ours, peer) -> str | None:
    a, b = float(ours["loss"][0]), float(peer["loss"][0])
    return None if a <= 1.1 * b + 1e-4 else f"our loss is {a:.2e}, the peer's {b:.2e}"


# Refits -------------------------------------------------------------------------------


def curve(n=500, d=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    truth = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, truth + 0.3 * rng.normal(size=n), truth


@functools.cache
def _two_devices() -> None:
    import likely as lk

    lk.tune_host(devices=2)


def refits_ours(data):
    """A bootstrap has some 316 different rows of 500: three steps an epoch, as the peer."""
    _two_devices()
    from likely.estimators import MLPRegressor

    X, y, truth = data
    model = MLPRegressor(
        (50, 50), solver="adam", n_members=MEMBERS, bootstrap=True, max_iter=200,
        batch_size=120,
    ).fit(X, y)  # fmt: skip
    return _answer(model.predict(X), truth)


def _one(X, y, seed):
    from sklearn.neural_network import MLPRegressor

    warnings.simplefilter("ignore")
    rows = np.random.default_rng(seed).integers(len(y), size=len(y))
    model = MLPRegressor(hidden_layer_sizes=(50, 50), max_iter=200, random_state=seed)
    return model.fit(X[rows], y[rows]).predict(X)


def refits_peer(data):
    from joblib import Parallel, delayed

    X, y, truth = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Parallel(n_jobs=2)(delayed(_one)(X, y, s) for s in range(MEMBERS))
    return _answer(np.mean(found, axis=0), truth)


def _answer(mean, truth):
    return {"error": np.atleast_1d(np.sqrt(np.mean((mean - truth) ** 2)))}


def as_close(ours, peer) -> str | None:
    a, b = float(ours["error"][0]), float(peer["error"][0])
    return None if a <= 1.1 * b else f"our error is {a:.3f}, the peer's {b:.3f}"


CASES = {
    "MLPClassifier on digits, scikit-learn": Case(
        digits, digits_ours, digits_sklearn, as_low, at_least=3.0, repeats=3
    ),
    "MLPClassifier on digits, PyTorch": Case(
        digits, digits_ours, digits_torch, as_low, at_least=3.0, repeats=9
    ),
    "200 bootstraps of MLPRegressor": Case(
        curve, refits_ours, refits_peer, as_close, at_least=6.0, repeats=3
    ),
}
