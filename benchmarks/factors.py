"""PCA, randomised PCA and non-negative factors, against scikit-learn on the same BLAS.

PCA has to find the same variances and directions. NMF stops by its own rule, at a loss that
may not be larger than the peer's by more than a thousandth.
"""

import warnings

import numpy as np

from benchmarks.harness import Answer, Case

SLACK = 1e-3
"""How much larger the root of the loss of NMF may be, as a share."""


def rows(n: int, d: int, rank: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n, rank)) * np.linspace(5, 1, rank)
    return signal @ rng.normal(size=(rank, d)) + rng.normal(size=(n, d)) + 3


def tall() -> np.ndarray:
    return rows(100_000, 100, 10)


def square() -> np.ndarray:
    return rows(2000, 400, 20)


def large() -> np.ndarray:
    return rows(5000, 1500, 20)


def parts() -> np.ndarray:
    rng = np.random.default_rng(0)
    signal = rng.gamma(0.3, size=(5000, 20)) @ rng.gamma(0.3, size=(20, 400))
    return signal + 0.1 * rng.random((5000, 400))


def directions(model) -> Answer:
    return {"variances": model.explained_variance_, "components": model.components_}


def pca(k, solver):
    def ours(X: np.ndarray) -> Answer:
        from likely import PCA

        return directions(PCA(k, svd_solver=solver).fit(X))

    def peer(X: np.ndarray) -> Answer:
        from sklearn.decomposition import PCA

        named = "auto" if solver == "exact" else solver
        return directions(PCA(k, svd_solver=named, random_state=0).fit(X))

    return ours, peer


def nmf(k: int, loss: str):
    def ours(X: np.ndarray) -> Answer:
        from likely import NMF

        return {"loss": np.array(NMF(k, beta_loss=loss).fit(X).reconstruction_err_)}

    def peer(X: np.ndarray) -> Answer:
        from sklearn.decomposition import NMF

        solver = "cd" if loss == "frobenius" else "mu"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = NMF(k, beta_loss=loss, solver=solver, random_state=0).fit(X)
        return {"loss": np.array(made.reconstruction_err_)}

    return ours, peer


def same_directions(mine: Answer, other: Answer) -> str | None:
    gap = np.abs(mine["variances"] / other["variances"] - 1).max()
    cosines = np.abs((mine["components"][:10] * other["components"][:10]).sum(1))
    if gap > SLACK or cosines.min() < 1 - SLACK:
        return f"variances differ by {gap:.1e}, the least cosine is {cosines.min():.5f}"
    return None


def as_low(mine: Answer, other: Answer) -> str | None:
    found, wanted = float(mine["loss"]), float(other["loss"])
    print(f"root of the loss: ours {found:.4f}, peer {wanted:.4f}", flush=True)
    return None if found <= wanted * (1 + SLACK) else f"loss {found} against {wanted}"


CASES = {
    "PCA, 100,000 x 100": Case(tall, *pca(10, "auto"), same_directions, 0.9),
    "PCA, 2,000 x 400, all": Case(square, *pca(None, "auto"), same_directions, 0.9, 3),
    "PCA, randomized, 5,000 x 1,500": Case(
        large, *pca(20, "randomized"), same_directions, 0.9, 3
    ),
    "NMF, squares, 5,000 x 400": Case(parts, *nmf(10, "frobenius"), as_low, 1.0, 3),
    "NMF, Kullback-Leibler, 5,000 x 400": Case(
        parts, *nmf(10, "kullback-leibler"), as_low, 1.0, 3
    ),
}
