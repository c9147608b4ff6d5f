"""Maps of the 10,000 shared digits: UMAP against umap-learn, t-SNE against scikit-learn.

umap-learn with a seed runs on one thread; ours runs on all and gives the same bits. Both have their
default settings, the first run of each is the cold one and includes compilation. Ours has to be
as trustworthy, and to give the same bits with one thread; our t-SNE has to have as low a KL
divergence, computed for both by the same function over all pairs of places.
"""

import os
import warnings
from pathlib import Path

import numpy as np

from benchmarks.harness import Answer, Case

NEIGHBORS = 15


def digits() -> np.ndarray:
    from likely.data import read_idx

    root = Path(__file__).parents[1]
    shared = Path(os.environ.get("LIKELY_SHARED", root.parent / "shared"))
    images = read_idx(shared / "data" / "mnist-t10k-images.idx3.gz")
    return np.asarray(images).reshape(len(images), -1).astype(np.float64)


def our_umap(X: np.ndarray) -> Answer:
    from likely import UMAP

    return {"Y": UMAP(random_state=0).fit_transform(X)}


def their_umap(X: np.ndarray) -> Answer:
    import umap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"Y": umap.UMAP(random_state=0).fit_transform(X)}


def as_trustworthy(mine: Answer, other: Answer) -> str | None:
    from likely import UMAP
    from likely.evaluate import trustworthiness

    X = digits()
    found, wanted = (trustworthiness(X, a["Y"], NEIGHBORS) for a in (mine, other))
    print(f"trustworthiness: ours {found:.4f}, peer {wanted:.4f}", flush=True)
    one = UMAP(random_state=0, n_jobs=1).fit_transform(X)
    if not np.array_equal(one, mine["Y"]):
        return "one thread gives other bits"
    return None if found >= wanted else f"trustworthiness {found} against {wanted}"


def our_tsne(X: np.ndarray) -> Answer:
    from likely import TSNE

    return {"Y": TSNE(random_state=0).fit_transform(X)}


def their_tsne(X: np.ndarray) -> Answer:
    from sklearn.manifold import TSNE

    return {"Y": TSNE(random_state=0, n_jobs=os.cpu_count()).fit_transform(X)}


def as_low(mine: Answer, other: Answer) -> str | None:
    from likely.core.threads import Workers
    from likely.latent.manifolds.tsne_descent import loss_and_forces, similarities
    from likely.models.neighbors import neighbors

    D, found = neighbors(digits(), 91)
    with Workers() as workers:
        loss = loss_and_forces(similarities(D, found, 30.0), False, workers)
        ours, theirs = (
            loss(a["Y"].astype(np.float64), 1.0, True)[0] for a in (mine, other)
        )
    print(f"KL: ours {ours:.4f}, peer {theirs:.4f}", flush=True)
    return None if ours <= theirs else f"KL {ours} against {theirs}"


CASES = {
    "UMAP, 10,000 digits": Case(digits, our_umap, their_umap, as_trustworthy, 1.0, 2),
    "t-SNE, 10,000 digits": Case(digits, our_tsne, their_tsne, as_low, 1.0, 1),
}
