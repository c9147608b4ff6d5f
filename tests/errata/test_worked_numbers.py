"""Numbers worked out in the lecture notes, by the functions of the library."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln

from likely.core import float64
from likely.core.moments import Moments
from likely.diagnostics import linear_regions
from likely.families import Bernoulli, Geometric, Poisson, Predictive
from likely.inference import correlation
from likely.layers import Chain, Convolution, Dense, Flatten, Pooling, output_shape
from likely.models import VisionTransformer, mlp
from likely.solvers import GradientDescent, minimize


def log_prob(family, eta: float, y) -> np.ndarray:
    return Predictive(family, np.full((np.size(y), 1), eta)).log_prob(y)


def sketch(make):
    """A layer or model with the shapes of its arrays instead of numbers."""
    return eqx.filter_eval_shape(make, jax.random.key(0))


def size(layer) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(layer))


# probabilities ------------------------------------------------------------------------


def test_surprise_is_minus_the_log():
    """W1, X000-32: an event of 0.01 has 4.605170 nats, one of 0.99 has 0.010050."""
    p = np.array([0.01, 0.99])
    nats = -Predictive(Bernoulli(), np.log(p / (1 - p))[:, None]).log_prob([1, 1])
    np.testing.assert_allclose(nats, [4.605170, 0.010050], atol=5e-7)
    assert (np.log(p) < 0).all()  # printed: log(0.01) = 4.61


def best_rate(k, p) -> float:
    """The λ of the Poisson law that is most likely for counts k of weights p."""
    with float64():
        return float(
            jnp.exp(Poisson().marginal(jnp.asarray(k, float), jnp.asarray(p)))[0]
        )


def test_geometric_counts_by_a_poisson_law():
    """W2 to W6, X000-34: p(k) = 2^−(k+1) from k = 0, and 2^−k from k = 1."""
    k = np.arange(200)
    p = np.exp(log_prob(Geometric(), 0.0, k))
    np.testing.assert_allclose(p, 0.5 ** (k + 1))
    entropy = -p @ log_prob(Geometric(), 0.0, k)
    np.testing.assert_allclose(entropy, 2 * np.log(2), rtol=1e-12)
    assert round(entropy, 7) == 1.3862944
    # no rate is better than the mean
    assert best_rate(k, p) == pytest.approx(1, rel=1e-12)
    cross = -p @ log_prob(Poisson(), 0.0, k)
    assert all(-p @ log_prob(Poisson(), np.log(r), k) > cross for r in (0.9, 1.1))
    assert (round(cross, 7), round(cross - entropy, 7)) == (1.5078339, 0.1215396)
    # the other law: the same entropy, another mean
    assert best_rate(k + 1, p) == pytest.approx(2, rel=1e-12)
    cross = -p @ log_prob(Poisson(), np.log(2), k + 1)
    assert (round(cross, 5), round(cross - entropy, 7)) == (1.62937, 0.2430791)
    # printed: the second law by the best Poisson law of the first
    C = sum(gammaln(j + 1) / 2**j for j in range(1, 200))
    mixed = -p @ log_prob(Poisson(), 0.0, k + 1)
    assert (round(C, 7), round(mixed, 5)) == (1.0156678, 2.01567)
    np.testing.assert_allclose(mixed, 1 + C, rtol=1e-12)
    assert round(mixed - entropy, 2) == 0.63


def test_sons_of_tall_fathers(rng):
    """W24: with ρ = 2/3 and equal spreads, a son has 2/3 of his father's excess."""
    covariance = [[1, 2 / 3], [2 / 3, 1]]
    father, son = rng.multivariate_normal([175, 176], covariance, size=40_000).T
    found = correlation(father, son)
    least = np.linalg.lstsq(np.c_[np.ones(40_000), father], son)[0]
    assert found.slope == pytest.approx(least[1], rel=1e-9)
    assert found.slope == pytest.approx(2 / 3, abs=0.015)
    assert found.expected(3.0) == pytest.approx(2.0, abs=0.05)


def test_the_variance_of_a_sample_is_too_small_by_one_part_of_n():
    """W19: σ² = 1 and n = 5: a bias of −1/5, over all samples of a fair coin of ±1."""
    samples = np.array(list(itertools.product([-1.0, 1.0], repeat=5))).T
    with float64():
        moments = Moments.of(jnp.asarray(samples), jnp.ones(5))
        likely, unbiased = (np.asarray(moments.variance(k)).mean() for k in (0, 1))
    np.testing.assert_allclose([likely - 1, unbiased - 1], [-0.2, 0], atol=1e-14)


def test_one_number_after_another(rng):
    """W53, X003-18, X003-19: both updates of the variance, for six numbers."""
    x = rng.normal(size=6) + 3
    with float64():
        one = [Moments(*jnp.array([1.0, number, 0.0])) for number in x]
        parts = list(itertools.accumulate(one, lambda a, b: a.merge(b)))
        mean, S = (
            np.array([getattr(p, k) for p in parts]) for k in ("mean", "squares")
        )
    n, step = np.arange(2, 7), np.diff(mean)
    np.testing.assert_allclose(mean[1:], mean[:-1] + (x[1:] - mean[:-1]) / n)
    np.testing.assert_allclose(np.diff(S), (x[1:] - mean[1:]) * (x[1:] - mean[:-1]))
    np.testing.assert_allclose(np.diff(S), n * (n - 1) * step**2)
    np.testing.assert_allclose(S / np.arange(1, 7), [x[:k].var() for k in range(1, 7)])
    # the sum over the n − 1 earlier numbers, about the new mean
    earlier = [((x[: k - 1] - m) ** 2).sum() for k, m in zip(n, mean[1:], strict=True)]
    np.testing.assert_allclose(earlier, S[:-1] + (n - 1) * step**2)


# sizes --------------------------------------------------------------------------------


def test_sizes_of_the_first_layer_of_alexnet():
    """W45 to W49, X003-14: 290,400 neurons of 364 numbers, or 34,848 weights and 96 biases."""
    layer = sketch(lambda k: Convolution(3, 96, 11, stride=4, padding="valid", key=k))
    neurons = int(np.prod(output_shape(layer, (227, 227, 3))))
    each = layer.weight.size // 96 + 1
    assert (neurons, each) == (55 * 55 * 96, 11 * 11 * 3 + 1) == (290_400, 364)
    assert neurons * each == 105_705_600
    assert (layer.weight.size, size(layer)) == (34_848, 34_944)


def test_weights_of_a_neuron_that_sees_an_image():
    """W43, W44, X003-13: 32·32·3 = 3072, printed 3078; a filter of 5·5·3 has 76 numbers."""
    inputs = output_shape(Chain(Flatten()), (32, 32, 3))
    neuron = sketch(lambda k: Dense(*inputs, 1, key=k))
    assert neuron.weight.size == 3072
    assert size(sketch(lambda k: Convolution(3, 1, 5, key=k))) == 76


def test_pooling_has_a_size_for_each_side():
    """W18, W50, X003-15: 1024 to 512; 55 to 27 and, apart from it, 31 to 15."""
    assert output_shape(Pooling(2), (1024, 1024, 1)) == (512, 512, 1)
    assert output_shape(Pooling(3, 2), (55, 31, 4)) == (27, 15, 4)


def test_quadrants_of_an_image():
    """W17: an image of 512x512 is four tokens of 256x256."""
    model = sketch(
        lambda k: VisionTransformer((512, 512, 1), 2, 8, 1, 1, patch=256, key=k)
    )
    image = jax.ShapeDtypeStruct((1, 512, 512, 1), "float32")
    assert jax.eval_shape(model.cut, image).shape == (1, 4, 256 * 256)


# regions of ReLU networks -------------------------------------------------------------


def relu_network(*values):
    """A network with these weights and biases in turn."""
    arrays = [np.asarray(value, float) for value in values]
    sizes = (len(arrays[0]), *(b.size for b in arrays[1::2]))
    model = sketch(lambda k: mlp(sizes, key=k))
    return jax.tree.unflatten(jax.tree.structure(model), arrays)


def affine_maps(points, values) -> set:
    """The different affine maps of a ReLU network around these points, by its masks."""
    found = set()
    for x in points:
        W, b = np.eye(2), np.zeros(2)
        for i in range(0, len(values), 2):
            W, b = W @ values[i], b @ values[i] + values[i + 1]
            if i + 2 < len(values):
                on = x @ W + b > 0
                W, b = W * on, b * on
        found.add(tuple(np.round([*W.ravel(), *b], 6)))
    return found


@pytest.mark.parametrize(("lines", "expected"), [(3, 7), (6, 22)])
def test_regions_of_lines_in_a_plane(lines, expected):
    """W10: (n² + n + 2)/2."""
    angle = np.pi * np.arange(lines) / lines + 0.1
    values = [np.cos(angle), np.sin(angle)], angle**2, np.ones((lines, 1)), [0.0]
    regions = linear_regions(relu_network(*values), (-300, 300, -300, 300))
    assert len(regions) == expected == (lines**2 + lines + 2) / 2


FOLDS = [
    np.array(
        [[1, 1.02, -0.98, 0.01, 0.02, -0.02], [-0.06, 0.02, 0.04, 1.01, 0.99, -1]]
    ),
    np.array([-0.12, -0.5, 0.75, -0.12, -0.5, 0.75]),
    np.array(
        [
            [-7.52, 6.97, 9.33, 10.64, 3.81, 3.53],
            [4.7, -4.35, -5.83, -6.65, -2.38, -2.21],
            [-5.64, 5.23, 7, 7.98, 2.86, 2.65],
            [-7.57, 8.08, -5.16, 0.79, -9.96, 10.06],
            [4.73, -5.05, 3.23, -0.49, 6.23, -6.29],
            [-5.68, 6.06, -3.87, 0.59, -7.47, 7.55],
        ]
    ),
    np.array([7.78, -7.74, -2.12, -5.85, 3.08, -7.1]),
    np.array([[1.23], [-1.16], [0.08], [0.62], [-1.02], [2.11]]),
    np.array([0.0]),
]
"""Two layers of six units: the first folds a square 4 x 4 times, not quite exactly."""


def test_more_regions_than_the_printed_bound():
    """W11, X000-16, X004-22: (n² + n + 2)/2 (n/2 + 1)² = 352 for n = 6 is no upper bound.

    The proven one is 22² = 484.
    """
    regions = linear_regions(relu_network(*FOLDS), (-40, 40, -40, 40))
    middle = [r.corners.mean(0) for r in regions]
    assert 352 < len(affine_maps(middle, FOLDS)) <= len(regions) <= 484


# rates --------------------------------------------------------------------------------


def test_two_bounds_of_gradient_descent():
    """W56: diag(1, 25) with η = 1/25: 2L‖x₀‖²/(t + 1) and (1 − μ/L)ᵗ f(x₀), each step."""
    h = np.array([1.0, 25.0])
    solver = GradientDescent(1 / 25, steps=59, path=True)
    found = minimize(lambda x: 0.5 * (h * x**2).sum(), np.ones(2), solver=solver)
    path = np.asarray(found.trace.model)[:60]
    t = np.arange(60)
    np.testing.assert_allclose(path, (1 - h / 25) ** t[:, None], atol=1e-12)
    loss = 0.5 * (path**2) @ h
    assert (loss <= 2 * 25 * 2 / (t + 1)).all()
    assert (loss <= (1 - 1 / 25) ** t * loss[0] + 1e-15).all()
