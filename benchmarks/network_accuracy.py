"""Is an ensemble of our networks as good as its twin in PyTorch? Paired over seeds.

`python -m benchmarks.network_accuracy [seeds]` prints, for each of six regression and six
classification tables (those of `tree_accuracy` and two more), the held-out nats of both,
the mean difference (ours less the twin's) and its standard error. Both have five members
of 64-64 units, Adam at 1e-3 on batches of 200, at most 200 epochs, a tenth of the rows to
stop by (ten epochs without a better one, the best weights kept). "worse" is a mean of
more than two standard errors, and of more than 0.01 nats, above 0.

The twin's batches are of equal size, as ours are: cut into batches of 200 with the rest as
the last one, 1012 rows end in a batch of 12, and such a noisy step an epoch makes the twin
better by 0.02 nats on the first table.
"""

import sys
import time

import numpy as np
from sklearn import datasets

from benchmarks.tree_accuracy import CLASSES, HALF_LOG_2PI, REGRESSION

MEMBERS, EPOCHS, ROWS, PATIENCE = 5, 200, 200, 10
HIDDEN = (64, 64)


def wine(seed):
    return datasets.load_wine(return_X_y=True)


def moons(seed):
    return datasets.make_moons(1000, noise=0.3, random_state=seed)


SIX = {**CLASSES, "wine": wine, "moons": moons}


def halves(X, y, seed):
    order = np.random.default_rng(seed).permutation(len(y))
    cut = 3 * len(y) // 4
    train, test = order[:cut], order[cut:]
    return X[train], y[train], X[test], y[test]


def ours(X, y, X_test, y_test, seed, classes):
    import likely as lk

    kind = lk.MLPClassifier if classes else lk.MLPRegressor
    model = kind(
        HIDDEN, solver="adam", n_members=MEMBERS, max_iter=EPOCHS, batch_size=ROWS,
        early_stopping=True, n_iter_no_change=PATIENCE, random_state=seed,
    )  # fmt: skip
    return model.fit(X, y).nll(X_test, y_test)


def twin(X, y, X_test, y_test, seed, classes):
    """The same in PyTorch: scaled rows, members one after another."""
    import torch

    center, scale = X.mean(0), np.where(X.std(0) > 0, X.std(0), 1.0)
    shift, spread = (0.0, 1.0) if classes else (y.mean(), y.std())
    order = np.random.default_rng(seed).permutation(len(y))
    held = max(1, round(0.1 * len(y)))
    single = lambda a: torch.from_numpy(np.asarray(a, np.float32))  # noqa: E731
    inputs = single((X - center) / scale)
    targets = torch.from_numpy(y) if classes else single((y - shift) / spread)
    fit, look = order[held:], order[:held]
    at, said = single((X_test - center) / scale), []
    for member in range(MEMBERS):
        torch.manual_seed(1000 * seed + member)
        model = _member(inputs[fit], targets[fit], inputs[look], targets[look], classes)
        with torch.no_grad():
            said.append(_log_prob(model, at, y_test, classes, shift, spread))
    return float(-(np.logaddexp.reduce(said, axis=0) - np.log(MEMBERS)).mean())


def _member(X, y, X_val, y_val, classes):
    import torch
    from torch import nn

    k = int(y.max()) + 1 if classes else 1
    sizes, layers = (X.shape[1], *HIDDEN, k), []
    for a, b in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [nn.Linear(a, b), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    log_scale = nn.Parameter(torch.zeros(()))
    solver = torch.optim.Adam([*model.parameters(), log_scale], 1e-3, fused=True)

    def loss(X, y):
        if classes:
            return nn.functional.cross_entropy(model(X), y)
        z = (y - model(X)[:, 0]) * torch.exp(-log_scale)
        return (0.5 * z**2).mean() + log_scale

    best, kept, waited = np.inf, None, 0
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(y)).chunk(-(-len(y) // ROWS)):
            solver.zero_grad()
            loss(X[rows], y[rows]).backward()
            solver.step()
        with torch.no_grad():
            now = float(loss(X_val, y_val))
        waited += 1
        if now < best:
            best, waited = now, 0
            kept = [p.detach().clone() for p in (*model.parameters(), log_scale)]
        if waited >= PATIENCE:
            break
    with torch.no_grad():
        for p, value in zip((*model.parameters(), log_scale), kept, strict=True):
            p.copy_(value)
    return model, log_scale


def _log_prob(found, X, y, classes, shift, spread):
    model, log_scale = found
    if classes:
        logs = model(X).log_softmax(1).numpy()
        return logs[np.arange(len(y)), y]
    mean = model(X)[:, 0].numpy() * spread + shift
    scale = float(log_scale.exp()) * spread
    return -0.5 * ((y - mean) / scale) ** 2 - np.log(scale) - HALF_LOG_2PI


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    began = time.perf_counter()
    for classes, tables in ((False, REGRESSION), (True, SIX)):
        for name, make in tables.items():
            pairs = []
            for seed in range(seeds):
                rows = halves(*make(seed), seed)
                pairs.append([f(*rows, seed, classes) for f in (ours, twin)])
            a, b = np.mean(pairs, axis=0)
            gaps = np.subtract(*np.transpose(pairs))
            error = gaps.std(ddof=1) / np.sqrt(seeds) if seeds > 1 else np.nan
            worse = gaps.mean() > max(2 * error, 0.01)
            print(
                f"{name:<16} ours {a:8.4f}  twin {b:8.4f}  difference {gaps.mean():+.4f} "
                f"± {error:.4f}{'  worse' if worse else ''}",
                flush=True,
            )
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
