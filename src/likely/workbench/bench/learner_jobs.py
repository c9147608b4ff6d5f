"""Jobs of trees and networks."""

import warnings
from importlib import import_module
from typing import Any

import numpy as np

from likely.workbench.bench.linear_jobs import log_loss, one
from likely.workbench.bench.machine import cores
from likely.workbench.bench.tables import Table
from likely.workbench.bench.turns import Answer

ROUNDS = 100
HIDDEN, EPOCHS, BATCH, RATE = 100, 50, 200, 1e-3


def _error(prediction: np.ndarray, data: Table) -> Answer:
    """The mean squared error of new rows."""
    return one(score=np.mean((prediction - data.y_new) ** 2))


def boosting_ours(data: Table) -> Answer:
    """Fit gradient boosting with `likely`."""
    import likely as lk

    model = lk.GradientBoostingRegressor(n_estimators=ROUNDS, n_jobs=cores())
    return _error(model.fit(data.X, data.y).predict(data.X_new), data)


def boosting_sklearn(data: Table) -> Answer:
    """Fit gradient boosting with scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    never: Any = False
    model = HistGradientBoostingRegressor(max_iter=ROUNDS, early_stopping=never)
    return _error(model.fit(data.X, data.y).predict(data.X_new), data)


def boosting_lightgbm(data: Table) -> Answer:
    """Fit gradient boosting with LightGBM."""
    lightgbm: Any = import_module("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=ROUNDS, n_jobs=cores(), verbose=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.fit(data.X, data.y).predict(data.X_new)
    return _error(np.asarray(found), data)


def network_ours(data: Table) -> Answer:
    """Train a network with `likely`."""
    import likely as lk

    model = lk.MLPClassifier(
        (HIDDEN,), solver="adam", max_iter=EPOCHS, batch_size=BATCH,
        learning_rate_init=RATE,
    )  # fmt: skip
    return log_loss(model.fit(data.X, data.y), data)


def network_sklearn(data: Table) -> Answer:
    """Train a network with scikit-learn."""
    from sklearn.neural_network import MLPClassifier

    rows: Any = min(BATCH, len(data.y))
    model = MLPClassifier(
        (HIDDEN,), max_iter=EPOCHS, batch_size=rows, tol=0.0,
        learning_rate_init=RATE, n_iter_no_change=EPOCHS, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.X, data.y)
    return log_loss(model, data)


def network_torch(data: Table) -> Answer:
    """Train a network with PyTorch."""
    torch: Any = import_module("torch")
    nn = torch.nn
    torch.manual_seed(0)
    X, y = torch.from_numpy(data.X.astype(np.float32)), torch.from_numpy(data.y)
    net = nn.Sequential(nn.Linear(X.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))
    solver = torch.optim.Adam(net.parameters(), RATE)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(y)).split(BATCH):
            solver.zero_grad()
            nn.functional.cross_entropy(net(X[rows]), y[rows]).backward()
            solver.step()
    new = torch.from_numpy(data.X_new.astype(np.float32))
    with torch.no_grad():
        log_p = net(new).log_softmax(1).numpy()
    return one(score=-log_p[np.arange(len(log_p)), data.y_new].mean())
