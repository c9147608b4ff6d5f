"""The same seed gives the same bits on one core and on two, in processes of their own."""

import os
import subprocess
import sys

import pytest

START = """
import os, sys, hashlib
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[1])])
import numpy as np
import likely as lk
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 5)) @ rng.normal(size=(5, 40)) + rng.normal(size=(3000, 40))
def show(*arrays):
    print(hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in arrays)).hexdigest())
"""
MODELS = {
    "PCA": (
        "Y = np.tile(X, (2, 8))[:5001] + rng.normal(size=(5001, 320));"
        "m = lk.PCA(5).fit(Y, sample_weight=1 + np.arange(5001) % 3);"
        "show(lk.PCA(5).fit(Y).components_, m.components_, lk.PCA(5).fit(Y[:99]).components_)"
    ),
    "randomised PCA": (
        "m = lk.PCA(5, svd_solver='randomized', random_state=0).fit(X);"
        "show(m.components_, m.transform(X))"
    ),
    "probabilistic PCA": "m = lk.ProbabilisticPCA(5).fit(X); show(m.log_prob(X))",
    "factor analysis": "m = lk.FactorAnalysis(5).fit(X); show(m.log_prob(X))",
    "ICA": "show(lk.FastICA(5, random_state=0).fit(X).transform(X))",
    "NMF": "show(lk.NMF(5, random_state=0).fit(np.abs(X)).transform(np.abs(X)))",
    "exponential-family PCA": (
        "show(lk.ExponentialFamilyPCA(2, random_state=0).fit(X[:200, :8]).transform(X[:200, :8]))"
    ),
    "correspondence": "show(lk.CorrespondenceAnalysis(2).fit(np.abs(X)).transform(np.abs(X)))",
    "Isomap": "show(lk.Isomap(n_components=2).fit_transform(X[:600]))",
    "locally linear": "show(lk.LocallyLinearEmbedding(n_components=2).fit_transform(X[:600]))",
    "GPLVM": "show(lk.GPLVM(2, random_state=0, max_iter=30).fit(X[:150, :8]).embedding_)",
    "NUTS": (
        "p = lk.sample_posterior(lk.LogisticRegression(alpha=1.0), X[:500, :5], X[:500, 6] > 0,"
        "random_state=0); show(p.draws.values)"
    ),
}


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core only")
@pytest.mark.parametrize("name", MODELS)
def test_the_same_bits_on_one_core_and_on_two(name):
    command = [sys.executable, "-W", "ignore", "-c", START + MODELS[name]]
    found = [
        subprocess.run(
            [*command, cores], check=True, capture_output=True, text=True
        ).stdout
        for cores in ("1", "2")
    ]
    assert found[0] == found[1] != ""
