"""What the lecture notes misprint: the right form holds here, and the printed one fails."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ledger import ROOT, read_ledger
from scipy.sparse import csr_array

from likely.core import float64
from likely.diagnostics import linear_pieces
from likely.families import Bernoulli, Categorical, Normal, Predictive, mix
from likely.layers import Convolution, PolynomialActivation, TokenEmbedding, compose
from likely.models import Linear, mlp
from likely.solvers import step_forecast
from likely.text import eigen_embedding
from likely.text.vectors.softmax import softmax_loss


def test_the_page_has_every_erratum_of_the_ledger():
    """docs/errata.md has those with a test, each once, and no other."""
    page = (ROOT / "docs" / "errata.md").read_text("utf-8")
    found = re.findall(r"X00[0-4]-[0-9]+", page)
    assert len(found) == len(set(found))
    assert set(found) == {row for row in read_ledger() if row.startswith("X")}


def with_numbers(model, *values):
    """The model with these arrays, in the order of its leaves."""
    leaves = [jnp.asarray(value, jnp.float32) for value in values]
    return jax.tree.unflatten(jax.tree.structure(model), leaves)


def sketch(make):
    """A layer or model with the shapes of its arrays instead of numbers."""
    return eqx.filter_eval_shape(make, jax.random.key(0))


# convolutions -------------------------------------------------------------------------


def test_a_filter_has_one_bias():
    """X000-25: a bias of 1 adds 1; inside the sums it would be 3 for channels, 27 for all.

    The window of the first output begins at the first pixel, and the last one fits.
    """
    layer = sketch(lambda k: Convolution(3, 1, 3, padding="valid", key=k))
    image = np.arange(5 * 5 * 3, dtype=np.float32).reshape(1, 5, 5, 3)
    corner = np.zeros((3, 3, 3, 1))
    corner[0, 0, 0] = corner[2, 2, 2] = 1
    found = with_numbers(layer, corner, [1.0])(jnp.asarray(image))[0][0, :, :, 0]
    np.testing.assert_array_equal(found, image[0, :3, :3, 0] + image[0, 2:, 2:, 2] + 1)


def test_a_stride_multiplies_the_position():
    """X001-14: Σ w[k] x[S·i − k]; printed without S."""
    x, w = np.array([1.0, -2, 4, 3, 0.5, 7, -1]), np.array([2.0, -1, 0.5])
    layer = sketch(
        lambda k: Convolution(
            *(1, 1, 3),
            axes=1,
            stride=2,
            padding="valid",
            flipped=True,
            bias=False,
            key=k,
        )
    )
    layer = with_numbers(layer, w[:, None, None])
    found = layer(jnp.asarray(x[None, :, None], jnp.float32))[0][0, :, 0]
    last = 2 + 2 * np.arange(3)  # the last of the three positions that are read
    np.testing.assert_allclose(
        found, [sum(w[k] * x[i - k] for k in range(3)) for i in last]
    )
    printed = [sum(w[k] * x[i - k] for k in range(3)) for i in 2 + np.arange(3)]
    assert not np.allclose(found, printed)


@pytest.mark.parametrize("K", [3, 5])
def test_the_middle_of_a_filter(K):
    """X001-16: entry (K + 1)/2 stands over the pixel itself; the printed 2 is for K = 3."""
    layer = sketch(lambda k: Convolution(1, 1, K, bias=False, key=k))
    image = np.arange(36, dtype=np.float32).reshape(1, 6, 6, 1)
    for place in {2, (K + 1) // 2}:
        one = np.zeros((K, K, 1, 1))
        one[place - 1, place - 1] = 1
        same = with_numbers(layer, one)(jnp.asarray(image))[0]
        assert np.array_equal(same, image) == (place == (K + 1) // 2)


def test_edges_are_of_inputs():
    """X001-17: the inputs go round or are reflected, while the weights stay."""
    x, w = np.array([1.0, 2, 4, 8]), np.array([1.0, 10, 100])
    around = {"cyclic": (8, 1), "reflected": (2, 4)}
    for edges, (before, after) in around.items():
        layer = sketch(
            lambda k, e=edges: Convolution(1, 1, 3, axes=1, edges=e, bias=False, key=k)
        )
        layer = with_numbers(layer, w[:, None, None])
        found = layer(jnp.asarray(x[None, :, None], jnp.float32))[0][0, :, 0]
        wide = np.array([before, *x, after])
        np.testing.assert_allclose(found, np.correlate(wide, w, "valid"))


# networks -----------------------------------------------------------------------------


def test_composed_networks_have_the_bias_of_both(rng):
    """X001-3, X002-20: ψ₁₀ = θ'₁₀ + θ'₁₁φ₀, where θ'₁₀ was lost; f₂ ∘ f₁ is not f₂ ⊙ f₁."""
    network = sketch(lambda k: mlp((1, 3, 1), key=k))
    shapes = [leaf.shape for leaf in jax.tree.leaves(network)]
    first, second = ([rng.normal(size=s) for s in shapes] for _ in range(2))
    both = compose(with_numbers(network, *first), with_numbers(network, *second))

    def plain(x, W, b, V, c):
        return np.maximum(x @ W + b, 0) @ V + c

    x = np.linspace(-2, 2, 9)[:, None]
    found = np.asarray(both(jnp.asarray(x, jnp.float32))[0])
    y = plain(x, *first)
    np.testing.assert_allclose(found, plain(y, *second), rtol=1e-4, atol=1e-5)
    lost = plain(y, second[0], 0 * second[1], *second[2:])  # without θ'₁₀
    assert np.abs(found - lost).max() > 0.1
    assert np.abs(found - y * plain(x, *second)).max() > 0.1


def test_sizes_of_weights_and_biases():
    """X001-4: Ω_k joins D_k with D_(k+1), and β_k has D_(k+1) numbers, not D_k."""
    D = (4, 6, 5, 3, 2)
    model = sketch(lambda k: mlp(D, key=k))
    for k, layer in enumerate(model.layers[::2]):
        assert layer.weight.shape == (D[k], D[k + 1])  # rows are points: X Ωᵀ
        assert layer.bias.shape == (D[k + 1],)


def test_regions_grow_faster_than_printed():
    """X004-22: (n/d)^((L−1)d) nᵈ bounds the most regions from below, not from above.

    For d = 1 and n = 3 it is 3ᴸ, while folds of four pieces make 4ᴸ of L layers.
    """
    network = sketch(lambda k: mlp((1, 3, 1), key=k))
    once = [[1, 1, -1]], [-1 / 8, -1 / 2, 3 / 4], [[-32 / 3], [20 / 3], [-8]], [6]
    fold = with_numbers(network, *once)
    both = compose(fold, fold)
    thrice = compose(both, fold)
    counts = [len(linear_pieces(m, 0, 1).slopes) for m in (fold, both, thrice)]
    assert counts == [4, 16, 64]
    shares = np.array(counts) / 3.0 ** np.arange(1, 4)
    assert (np.diff(shares) > 0).all()


def test_a_power_is_not_linear():
    """X002-24: s^p keeps linearity for p = 1 alone."""
    a, b = jnp.array([1.0, -2.0]), jnp.array([3.0, 0.5])
    for power in (1, 2, 3):
        f = PolynomialActivation(power)
        assert np.allclose(f.of(a + b), f.of(a) + f.of(b)) == (power == 1)


def test_a_token_is_a_one_hot_vector(rng):
    """X001-25: the matrix of tokens is V by N with one 1 in each column."""
    W = rng.normal(size=(5, 3))
    embedding = with_numbers(sketch(lambda k: TokenEmbedding(5, 3, key=k)), W)
    tokens = np.array([4, 0, 3, 3])
    T = (np.arange(5)[:, None] == tokens).astype(float)
    assert T.shape == (5, 4)
    found = embedding.of(jnp.asarray(tokens[None]))[0]
    np.testing.assert_allclose(found.T, W.T @ T, rtol=1e-6)


# models and predictions ---------------------------------------------------------------


def test_rows_in_another_order_are_predictions_in_that_order(rng):
    """X002-10: a model of rows is equivariant to permutations, not "variant"."""
    X, order = rng.normal(size=(5, 3)), np.array([3, 0, 4, 1, 2])
    model = Linear(jnp.asarray(rng.normal(size=(3, 1))), jnp.ones(1))
    y = np.asarray(model(jnp.asarray(X))[0])
    again = np.asarray(model(jnp.asarray(X[order]))[0])
    np.testing.assert_allclose(again, y[order])
    assert not np.allclose(again, y)


def test_an_average_over_models_has_the_posterior_once():
    """X002-8: draws have 1/k each and a list its weights; both at once is too little."""
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
    posterior = np.array([0.8, 0.2])
    family, etas = Categorical(3), np.log(p)[:, None]
    np.testing.assert_allclose(mix(family, etas, posterior).probs[0], posterior @ p)
    draws = etas[[0, 0, 0, 0, 1]]  # in these shares
    np.testing.assert_allclose(mix(family, draws).probs[0], posterior @ p)
    printed = (posterior[:, None] * p).mean(0)
    assert printed.sum() == pytest.approx(0.5)


def test_the_last_term_of_a_normal_log_density_is_negative():
    """X003-10: −½ log 2π − log s − (x − μ)²/(2s²), printed with two minus signs."""
    x, mu, s = np.array([0.4, -1.3]), 0.3, 0.7
    found = Predictive(Normal(s), np.full((2, 1), mu)).log_prob(x)
    parts = -0.5 * np.log(2 * np.pi) - np.log(s), (x - mu) ** 2 / (2 * s**2)
    np.testing.assert_allclose(found, parts[0] - parts[1], rtol=1e-12)
    assert (np.abs(found - (parts[0] + parts[1])) > 0.01).all()


def test_curvature_may_help_a_step():
    """X004-24: (η²/2) gᵀHg is positive where the risk is convex, and elsewhere it need not."""
    with float64():
        found = step_forecast(lambda x: -(x**2).sum(), jnp.array([1.0, 2.0]), 0.1)
    g = -2 * np.array([1.0, 2.0])
    first = -5 - 0.1 * g @ g
    np.testing.assert_allclose(found.forecast - first, -0.5 * 0.1**2 * 2 * (g @ g))
    assert found.forecast < first


def test_word_vectors_are_scaled_by_the_roots_of_eigenvalues():
    """X004-31: V Λ^(1/2) times itself is the matrix; printed is Λ^(1/k)."""
    C = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    X, _, values = eigen_embedding(C, 3)
    np.testing.assert_allclose(X @ X.T, C, atol=1e-12)
    printed = X * values ** (1 / 3 - 1 / 2)
    assert np.abs(printed @ printed.T - C).max() > 1


def test_a_word_has_neighbours_of_probability_one():
    """X004-32: the sum in P(v | w) goes over the words that are predicted."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(2, 4, 3))

    def probability(w, v):
        counts = np.zeros((4, 4))
        counts[w, v] = 1.0
        return np.exp(-softmax_loss(csr_array(counts), X, Z)[0])

    P = np.array([[probability(w, v) for v in range(4)] for w in range(4)])
    np.testing.assert_allclose(P.sum(1), 1.0, rtol=1e-12)
    scores = np.exp(X @ Z.T)  # (given, predicted)
    np.testing.assert_allclose(P, scores / scores.sum(1, keepdims=True), rtol=1e-12)
    printed = scores / scores.sum(0, keepdims=True)
    assert np.abs(printed.sum(1) - 1).min() > 0.01


def test_a_random_word_counts_by_the_probability_that_it_is_none():
    """X004-33: log P(D = 0) = log σ(−s), printed log(1 − P(D = 0))."""
    s = np.array([[1.3]])
    found = Predictive(Bernoulli(), s).log_prob([0.0])
    np.testing.assert_allclose(found, -np.log1p(np.exp(1.3)), rtol=1e-12)
    assert found[0] == pytest.approx(-1.541, abs=5e-4)
    assert np.log(1 - np.exp(found[0])) == pytest.approx(-0.241, abs=5e-4)
