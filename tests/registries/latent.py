"""Every public model without targets, at its cheapest honest settings: one entry each."""

from registries.entry import Entry

import likely as lk

DENSITIES = {"density": Entry(lk.FamilyDensity, "density")}
FACTORS: dict[str, Entry] = {
    "PCA": Entry(lambda: lk.PCA(2), "density"),
    "probabilistic PCA": Entry(lk.ProbabilisticPCA, "density"),
    "factor analysis": Entry(lambda: lk.FactorAnalysis(1), "density"),
    "independent components": Entry(lambda: lk.FastICA(2), "columns"),
    "correspondence analysis": Entry(lk.CorrespondenceAnalysis, "nonnegative columns"),
    "NMF": Entry(lambda: lk.NMF(2), "nonnegative columns"),
    "exponential family PCA": Entry(
        lambda: lk.ExponentialFamilyPCA(1),
        "density",
        slow="its steps are compiled for each family",
    ),
}
OF_CLASSIFIERS = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "whatever has probabilities is asked for the tags of a classifier",
)
CLUSTERS: dict[str, Entry] = {
    "k-means": Entry(lambda: lk.KMeans(3, n_init=2), "clusters"),
    "agglomerative clustering": Entry(lk.AgglomerativeClustering, "clusters"),
    "normal mixture": Entry(
        lambda: lk.GaussianMixture(2, n_init=2), "density", fails=OF_CLASSIFIERS
    ),
    "mixture of a family": Entry(
        lambda: lk.MixtureModel("laplace", n_init=2),
        "density",
        slow="its steps are compiled for each number of columns",
        fails=OF_CLASSIFIERS,
    ),
}
STATES: dict[str, Entry] = {
    "hidden Markov model": Entry(
        lambda: lk.HiddenMarkovModel(2, n_init=1), "density", fails=OF_CLASSIFIERS
    ),
    "Dirichlet process mixture": Entry(
        lambda: lk.DirichletProcessMixture(n_sweeps=5),
        "density",
        fails=OF_CLASSIFIERS,
    ),
    "Indian buffet model": Entry(
        lambda: lk.IndianBuffetModel(n_init=1, n_sweeps=5), "columns"
    ),
}
MANIFOLDS: dict[str, Entry] = {
    "Gaussian process latent variables": Entry(
        lambda: lk.GPLVM(1, max_iter=5),
        "columns",
        slow="the position of each new row is searched",
    ),
    "classical scaling": Entry(lk.ClassicalMDS, "columns"),
    "Isomap": Entry(lk.Isomap, "columns"),
    "locally linear embedding": Entry(lk.LocallyLinearEmbedding, "columns"),
    "t-SNE": Entry(lambda: lk.TSNE(max_iter=20), "columns"),
    "UMAP": Entry(
        lambda: lk.UMAP(n_epochs=20),
        "columns",
        slow="its kernels are compiled, and t-SNE has the same face",
    ),
    "retrieval": Entry(lk.Retrieval, "columns"),
}
LATENT = DENSITIES | FACTORS | CLUSTERS | STATES | MANIFOLDS
WITHOUT_TARGETS = ("columns", "nonnegative columns", "density", "clusters")
"""Kinds of estimators that take no targets."""
