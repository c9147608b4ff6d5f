"""RoI align and RoI pooling against loops over samples and pixels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from likely.core.checks import InputError
from likely.vision import boxes

rng = np.random.default_rng(2)
F = rng.normal(size=(9, 12, 2))
REGIONS = np.array(
    [[4, 4, 30, 20], [-9, -3, 12, 60], [100, 100, 130, 130], [8, 8, 8, 8], [1, 2, 3, 4]]
)


def sample(y: float, x: float) -> np.ndarray:
    h, w, c = F.shape
    if not (-1 <= y <= h and -1 <= x <= w):
        return np.zeros(c)
    y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
    i, j = min(int(y), h - 2), min(int(x), w - 2)
    a, b = y - i, x - j
    top = (1 - b) * F[i, j] + b * F[i, j + 1]
    return (1 - a) * top + a * ((1 - b) * F[i + 1, j] + b * F[i + 1, j + 1])


def align_by_loops(box, shape, ratio, scale, aligned):
    x1, y1, x2, y2 = box * scale - (0.5 if aligned else 0)
    least = 0 if aligned else 1
    height, width = max(y2 - y1, least), max(x2 - x1, least)
    out = np.zeros((*shape, F.shape[2]))
    for p, q in np.ndindex(*shape):
        for s, t in np.ndindex(ratio, ratio):
            y = y1 + (p + (s + 0.5) / ratio) * height / shape[0]
            x = x1 + (q + (t + 0.5) / ratio) * width / shape[1]
            out[p, q] += sample(y, x) / ratio**2
    return out


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("ratio", [1, 3])
def test_align_is_the_mean_of_samples(aligned, ratio):
    got = boxes.roi_align(F, REGIONS, (3, 2), ratio, scale=0.25, aligned=aligned)
    expected = [align_by_loops(b, (3, 2), ratio, 0.25, aligned) for b in REGIONS]
    np.testing.assert_allclose(got, expected, atol=2e-6)


def pool_by_loops(box, shape, scale):
    x1, y1, x2, y2 = np.floor(box * scale + 0.5).astype(int)
    height, width = max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1)
    out = np.zeros((*shape, F.shape[2]))
    for p, q in np.ndindex(*shape):
        rows = slice(*_inside(p, height / shape[0], y1, F.shape[0]))
        columns = slice(*_inside(q, width / shape[1], x1, F.shape[1]))
        cell = F[rows, columns].reshape(-1, F.shape[2])
        out[p, q] = cell.max(0) if len(cell) else 0
    return out


def _inside(p, step, start, length):
    ends = int(np.floor(p * step)) + start, int(np.ceil((p + 1) * step)) + start
    return [min(max(e, 0), length) for e in ends]


def test_pool_is_the_largest_of_pixels():
    got = boxes.roi_pool(F, REGIONS, (3, 2), scale=0.25)
    expected = [pool_by_loops(b, (3, 2), 0.25) for b in REGIONS]
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_slopes_and_images():
    """Slopes in features and boxes against differences; images one by one and together."""
    features, regions = jnp.asarray(F), jnp.asarray([[5.0, 6.0, 21.0, 27.0]])

    def loss(features, regions):
        return (boxes.roi_align(features, regions, 2, scale=0.25) ** 2).sum()

    with jax.enable_x64(True):
        features = jnp.asarray(F, jnp.float64)
        regions = jnp.asarray([[5.3, 6.2, 21.1, 27.7]], jnp.float64)
        check_grads(jax.jit(loss), (features, regions), 1, ["rev"], eps=1e-6)
    stacked = boxes.roi_pool(np.stack([F, -F]), np.stack([REGIONS, REGIONS]), 2)
    np.testing.assert_array_equal(stacked[1], boxes.roi_pool(-F, REGIONS, 2))
    assert boxes.roi_align(F, [], 2).shape == (0, 2, 2, 2)
    assert boxes.roi_pool(F, [], 2).shape == (0, 2, 2, 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: boxes.roi_align(F[0], REGIONS, 2), "give .h, w, c. and .r, 4."),
        (lambda: boxes.roi_align(F, REGIONS, 0), "at least 1 cell"),
        (lambda: boxes.roi_align(F, REGIONS, 2, 0), "sampling_ratio is 0"),
        (lambda: boxes.roi_pool(F, [[3, 0, 1, 1]], 2), "negative size"),
    ],
)
def test_errors_are_sentences(call, words):
    with pytest.raises(InputError, match=words):
        call()
