"""Support vector machines against libsvm and liblinear (by scikit-learn).

An answer counts where the dual objectives agree to 1e-4 and the predictions on 99.9 % of
the rows (SVC), or where ours has the lowest objective known to 1e-6 (LinearSVC;
liblinear penalises the intercept a little, so its own lies slightly above).
"""

import numpy as np

from benchmarks.harness import Case


def overlapping(n, d=20):
    """Two classes of several clusters, a tenth of the labels at random."""

    def setup():
        from sklearn.datasets import make_classification

        X, y = make_classification(
            n, d, n_informative=10, n_redundant=0, flip_y=0.1, class_sep=0.7, random_state=0
        )  # fmt: skip
        return X, y

    return setup


def plane(n=100_000, d=100):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    return X, (X @ w / np.sqrt(d) + 0.7 * rng.normal(size=n) + 0.2 > 0).astype(int)


def kernel_ours(data):
    from likely.estimators import SVC

    X, y = data
    model = SVC().fit(X, y)
    return {
        "objective": model.objective_,
        "signs": model.predict(X[:2000]),
    }


def kernel_peer(data):
    from sklearn.svm import SVC

    X, y = data
    model = SVC().fit(X, y)
    return {
        "support": model.support_,
        "coef": model.dual_coef_[0],
        "signs": model.predict(X[:2000]),
    }


def equal_duals(setup):
    def verdict(ours, peer):
        from likely.models.kernels import kernel_of

        X, _ = setup()
        V, b = X[peer["support"]], peer["coef"]
        f = kernel_of("rbf", X).weigh(V, V, b[:, None])[:, 0]
        low = 0.5 * b @ f - np.abs(b).sum()
        gap = abs(ours["objective"][0] / low - 1)
        same = np.mean(ours["signs"] == peer["signs"])
        if gap > 1e-4:
            return f"the dual objectives differ by {gap:.1e}"
        return None if same >= 0.999 else f"predictions agree on {same:.4f}"

    return verdict


def plane_ours(data):
    from likely.estimators import LinearSVC

    model = LinearSVC().fit(*data)
    return {"w": model.coef_[0], "b": model.intercept_, "gap": model.gap_}


def plane_peer(data):
    from sklearn.svm import LinearSVC

    model = LinearSVC().fit(*data)
    return {"w": model.coef_[0], "b": model.intercept_}


def lowest(ours, peer):
    X, y = plane()
    s = np.where(y > 0, 1.0, -1.0)

    def objective(answer):
        slack = np.maximum(0, 1 - s * (X @ answer["w"] + answer["b"]))
        return 0.5 * answer["w"] @ answer["w"] + (slack**2).sum()

    low, other = objective(ours), objective(peer)
    if low > other * (1 + 1e-6) or ours["gap"][0] > 1e-6 * low:
        return f"our objective {low:.8g}, liblinear's {other:.8g}"
    return None if other < low * (1 + 1e-3) else "liblinear has not converged"


CASES = {
    "SVC rbf, 5000 x 20": Case(
        setup=overlapping(5_000),
        ours=kernel_ours,
        peer=kernel_peer,
        verify=equal_duals(overlapping(5_000)),
        at_least=1.0,
        repeats=3,
    ),
    "SVC rbf, 20000 x 20": Case(
        setup=overlapping(20_000),
        ours=kernel_ours,
        peer=kernel_peer,
        verify=equal_duals(overlapping(20_000)),
        at_least=0.8,
        repeats=1,
    ),
    "LinearSVC, 100000 x 100": Case(
        setup=plane,
        ours=plane_ours,
        peer=plane_peer,
        verify=lowest,
        at_least=1.0,
        repeats=2,
    ),
}
