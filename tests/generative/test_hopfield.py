"""Hopfield networks: energies that never rise, recall, and how much they can store."""

import numpy as np
import pytest

import likely as lk
from likely.generative import (
    HopfieldNetwork,
    hopfield_capacity,
    hopfield_critical_load,
    hopfield_overlap,
    hopfield_storage,
)

SIGNED = ("hebbian", "storkey", "pseudo_inverse", "polynomial", "exponential")


def patterns(rng, p: int, d: int) -> np.ndarray:
    return rng.choice([-1.0, 1.0], (p, d))


@pytest.mark.parametrize("rule", SIGNED)
def test_energy_never_rises_and_ends_at_rest(rng, rule):
    network = HopfieldNetwork(rule).fit(patterns(rng, 6, 40))
    start = patterns(rng, 50, 40)
    found = network.recall(start)
    assert np.diff(found.energies, axis=1).max() <= 0
    assert found.converged.all()
    np.testing.assert_allclose(found.energies[:, 0], network.energy(start), rtol=1e-9)
    last = network.energy(found.states)
    np.testing.assert_allclose(found.energies[:, -1], last, rtol=1e-9)
    for i in range(40):  # no single unit can lower it
        other = found.states.copy()
        other[:, i] *= -1
        assert (network.energy(other) >= last - 1e-9).all()


def test_hebbian_weights_are_the_sum_over_patterns(rng):
    """W_ij = Σ_μ ξ_i^μ ξ_j^μ / d with zero diagonal: three patterns, four flipped bits."""
    P = patterns(rng, 3, 40)
    network = HopfieldNetwork("hebbian").fit(P)
    W = np.sum([np.outer(x, x) for x in P], axis=0) / 40
    np.fill_diagonal(W, 0)
    np.testing.assert_allclose(network.weights_, W)
    disturbed = P.copy()
    disturbed[:, :4] *= -1
    np.testing.assert_array_equal(network.recall(disturbed).states, P)
    wrong = np.outer(P[0], P[0]).sum(0) / 40  # a sum over units has no index i left
    assert wrong.shape != network.weights_.shape


@pytest.mark.parametrize("rule", SIGNED)
def test_patterns_are_recalled_from_noise(rng, rule):
    P = patterns(rng, 4, 80)
    network = HopfieldNetwork(rule).fit(P)
    noisy = np.where(rng.random(P.shape) < 0.12, -P, P)
    for update in ("asynchronous", "synchronous"):
        np.testing.assert_array_equal(network.recall(noisy, update=update).states, P)
    half = P.copy()
    half[:, 40:] = 0  # unknown
    assert (network.recall(half).states == P).mean() > 0.9
    bits = HopfieldNetwork(rule).fit((P + 1) / 2)
    np.testing.assert_array_equal(bits.transform((noisy + 1) / 2), (P + 1) / 2)


def test_pseudo_inverse_fixes_every_pattern(rng):
    P = patterns(rng, 25, 60)
    network = HopfieldNetwork("pseudo_inverse").fit(P)
    np.testing.assert_array_equal(network.recall(P).states, P)
    assert (HopfieldNetwork("hebbian").fit(P).recall(P).states != P).any()


def test_synchronous_updates_may_alternate():
    """Two units that oppose each other: all at once, they never agree."""
    network = HopfieldNetwork("hebbian").fit([[1.0, -1.0]])
    start = np.array([[1.0, 1.0]])
    assert not network.recall(start, update="synchronous").converged.any()
    assert network.recall(start).converged.all()


def test_modern_network_is_attention(rng):
    P = rng.normal(size=(30, 20))
    P /= np.linalg.norm(P, axis=1, keepdims=True)
    network = HopfieldNetwork(beta=4.0, max_sweeps=1).fit(P)
    x = rng.normal(size=(5, 20))
    size = network.scale_
    logits = 4.0 * (x / size) @ (P / size).T
    share = np.exp(logits - logits.max(1, keepdims=True))
    share /= share.sum(1, keepdims=True)
    np.testing.assert_allclose(network.recall(x).states, share @ P, rtol=1e-9)
    sharp = HopfieldNetwork().fit(P)
    found = sharp.recall(P + 0.02 * rng.normal(size=P.shape))
    assert np.diff(found.energies, axis=1).max() <= 1e-12
    np.testing.assert_allclose(found.states, P, atol=0.02)
    long = np.vstack([P, 10 * P[:1]])  # a long pattern does not attract all others
    np.testing.assert_allclose(
        HopfieldNetwork().fit(long).recall(P[5:9]).states, P[5:9], atol=0.02
    )


def test_capacity_of_hebbs_rule():
    assert abs(hopfield_critical_load() - 0.137905566) < 1e-8
    np.testing.assert_allclose(
        hopfield_overlap([0.0, 0.05, 0.2]), [1, 0.99999, 0], atol=1e-4
    )
    assert hopfield_overlap(hopfield_critical_load() - 1e-9) > 0.96
    found = hopfield_capacity(200, (0.05, 0.1, 0.25), n_networks=3, n_recalls=10)
    low = found.loads < 0.12
    assert (np.abs(found.overlap - found.theory) < 0.01 + 4 * found.error)[low].all()
    assert found.overlap[-1] < 0.7
    better = hopfield_capacity(60, (0.3,), rule="pseudo_inverse", n_networks=2)
    assert better.overlap[0] > 0.99


def test_dense_memories_store_exponentially_many():
    sizes = np.array([16, 20, 24])
    found = [
        np.mean([hopfield_storage(d, random_state=k, n_recalls=20) for k in range(2)])
        for d in sizes
    ]
    slope = np.polyfit(sizes, np.log2(found), 1)[0]
    assert slope > 0.2  # bits per unit: doubled with every five units at least
    assert found[-1] > 4 * 24
    assert hopfield_storage(24, rule="hebbian", n_recalls=20) <= 8


def test_sentences_and_edges(rng):
    with pytest.raises(lk.core.InputError, match="two values"):
        HopfieldNetwork("hebbian").fit(rng.normal(size=(3, 4)))
    with pytest.raises(lk.core.InputError, match="0 or 1"):
        HopfieldNetwork("hebbian").fit(np.eye(3)).recall(np.full((1, 3), 0.5))
    with pytest.raises(lk.core.InputError, match="rule"):
        HopfieldNetwork("hebb").fit(np.eye(3))
    one = HopfieldNetwork().fit([[1.0, 2.0]])
    np.testing.assert_allclose(one.transform([[0.0, 0.0]]), [[1.0, 2.0]])
    P = patterns(rng, 4, 10)
    w = np.array([2.0, 0.0, 1.0, 1.0])
    dirty = np.where(w[:, None] > 0, P, np.nan)
    weighted = HopfieldNetwork("hebbian").fit(dirty, sample_weight=w)
    repeated = HopfieldNetwork("hebbian").fit(P[[0, 0, 2, 3]])
    np.testing.assert_allclose(weighted.weights_, repeated.weights_)
