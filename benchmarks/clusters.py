"""K-means and normal mixtures, against scikit-learn.

K-means: the best of ten starts by k-means++ has to have as small a sum of squares. Mixtures:
ten steps of EM from the same start have to end at the same likelihood, and the best of twenty
starts has to be as likely; both sides begin each start from k-means, and end at the same
tolerance.
"""

import warnings

import numpy as np

from benchmarks.harness import Answer, Case

SHORTFALL = 1e-6
"""By which share a sum of squares may be larger than the peer's."""
MAX_GAP = 1e-8
"""Difference in nats per row of likelihoods after the same steps."""
NOISE = 5e-3
"""How much less likely a row may be, in nats: what the tolerance of EM leaves open."""
STEPS = 10


def blobs(n: int, k: int, spread: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = spread * rng.normal(size=(k, 20))
    return centres[rng.integers(k, size=n)] + rng.normal(size=(n, 20))


def kmeans_rows() -> np.ndarray:
    return blobs(100_000, 20, 1.0)


def kmeans_ours(X: np.ndarray) -> Answer:
    from likely import KMeans

    return {"inertia": np.array(KMeans(20, n_init=10).fit(X).inertia_)}


def kmeans_peer(X: np.ndarray) -> Answer:
    from sklearn.cluster import KMeans

    model = KMeans(20, n_init=10, random_state=0).fit(X)
    return {"inertia": np.array(model.inertia_)}


def as_small(ours: Answer, peer: Answer) -> str | None:
    found, wanted = float(ours["inertia"]), float(peer["inertia"])
    print(f"inertia: ours {found:.8g}, peer {wanted:.8g}", flush=True)
    small = found <= wanted * (1 + SHORTFALL)
    return None if small else f"inertia {found} against {wanted}"


def many_rows() -> np.ndarray:
    return blobs(50_000, 10, 1.0)


def few_rows() -> np.ndarray:
    return blobs(1000, 10, 2.0)


def same_start(X: np.ndarray) -> dict:
    return {
        "means_init": X[:10],
        "weights_init": np.full(10, 0.1),
        "precisions_init": np.stack([np.eye(20)] * 10),
        "tol": 0.0,
    }


def steps_ours(X: np.ndarray) -> Answer:
    from likely import GaussianMixture

    warnings.simplefilter("ignore")
    model = GaussianMixture(10, max_iter=STEPS, reg_covar=0.0, **same_start(X)).fit(X)
    return {"path": model.lower_bounds_[:STEPS]}


def steps_peer(X: np.ndarray) -> Answer:
    from sklearn.mixture import GaussianMixture

    warnings.simplefilter("ignore")
    model = GaussianMixture(10, max_iter=STEPS, reg_covar=0.0, **same_start(X)).fit(X)
    return {"path": np.asarray(model.lower_bounds_)}


def same_path(ours: Answer, peer: Answer) -> str | None:
    gap = float(np.abs(ours["path"] - peer["path"]).max())
    return None if gap <= MAX_GAP else f"likelihoods differ by {gap:.2e}"


def starts_ours(X: np.ndarray) -> Answer:
    from likely import GaussianMixture

    model = GaussianMixture(10, n_init=20, tol=1e-3, max_iter=100).fit(X)
    return {"log_prob": np.array(model.score(X))}


def starts_peer(X: np.ndarray) -> Answer:
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(10, n_init=20, random_state=0).fit(X)
    return {"log_prob": np.array(model.score(X))}


def as_likely(ours: Answer, peer: Answer) -> str | None:
    found, wanted = float(ours["log_prob"]), float(peer["log_prob"])
    print(f"log-likelihood of a row: ours {found:.6f}, peer {wanted:.6f}", flush=True)
    enough = found >= wanted - NOISE
    return None if enough else f"log-likelihood {found} against {wanted}"


CASES = {
    "k-means, 100,000 rows, 10 starts": Case(
        kmeans_rows, kmeans_ours, kmeans_peer, as_small, 1.0, 3
    ),
    "normal mixture, 50,000 rows, 10 steps": Case(
        many_rows, steps_ours, steps_peer, same_path, 1.5, 3
    ),
    "normal mixture, 50,000 rows, 20 starts": Case(
        many_rows, starts_ours, starts_peer, as_likely, 2.0, 1
    ),
    "normal mixture, 1,000 rows, 20 starts": Case(
        few_rows, starts_ours, starts_peer, as_likely, 4.0, 3
    ),
}
