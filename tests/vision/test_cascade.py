"""Integral images, Haar-like features and the cascade, against plain sums and plain loops."""

import numpy as np
import pytest

import likely as lk
from likely import data
from likely.core.checks import InputError
from likely.data.detection.clutter import clutter
from likely.data.detection.pictures import resized
from likely.vision.features.cascade_fit import held_out
from likely.vision.features.stumps import boosted_stumps

rng = np.random.default_rng(4)


def test_sums_over_boxes():
    whole = rng.integers(0, 255, (3, 7, 9)).astype(np.uint8)
    S = lk.integral_image(whole)
    assert S.dtype == np.int64
    boxes = [[0, 0, 9, 7], [2, 1, 5, 6], [3, 3, 3, 5], [-4, 2, 20, 4]]
    expected = [
        [image[max(b, 0) : d, max(a, 0) : c].sum() for a, b, c, d in boxes]
        for image in whole.astype(int)
    ]
    np.testing.assert_array_equal(lk.box_sums(S, boxes), expected)
    np.testing.assert_allclose(lk.integral_image(whole / 255.0) * 255, S, atol=1e-9)
    assert lk.box_sums(S, []).shape == (3, 0)
    with pytest.raises(InputError, match="whole numbers"):
        lk.box_sums(S, [[0, 0, 1.5, 2]])
    with pytest.raises(InputError, match="give numbers of shape"):
        lk.integral_image([1, 2])


def test_features_by_plain_sums():
    """Each feature is the sum of its white minus that of its black pixels, normalised."""
    W = rng.uniform(size=(4, 6, 7))
    features = lk.haar_features((6, 7))
    values = features.values(W)
    scale = 42 * W.std((1, 2))
    for number in rng.integers(len(features), size=60):
        plain = np.zeros(4)
        for (y1, x1, y2, x2), weight in zip(
            features.rectangles[number], features.weights[number], strict=True
        ):
            plain += weight * W[:, y1:y2, x1:x2].sum((1, 2))
        np.testing.assert_allclose(values[:, number], plain / scale, atol=1e-10)
    np.testing.assert_allclose(features.values(np.ones((1, 6, 7))), 0.0, atol=1e-9)
    brighter = features.values(0.3 * W + 0.5)
    np.testing.assert_allclose(brighter, values, atol=1e-9)


def test_how_many_features_there_are():
    """Viola and Jones count 162,336 in a window of 24 by 24 pixels."""
    assert len(lk.haar_features((24, 24))) == 162_336
    few = lk.haar_features((24, 24), max_features=50, random_state=1)
    assert len(few) == 50


def test_stumps_are_the_boosted_trees():
    X = rng.normal(size=(300, 6))
    y = (X[:, 1] + 0.5 * X[:, 4] > rng.normal(0, 0.5, 300)).astype(float)
    stumps = boosted_stumps(X, y, np.ones(300), 40, 0.3)
    assert set(stumps.features) >= {1, 4}
    eta = stumps.eta(X)
    assert np.mean((eta > 0) == y) > 0.85
    twice = boosted_stumps(np.tile(X, (2, 1)), np.tile(y, 2), np.ones(600), 40, 0.3)
    weighted = boosted_stumps(X, y, np.full(300, 2.0), 40, 0.3)
    np.testing.assert_allclose(twice.eta(X), weighted.eta(X), atol=1e-9)


def crosses(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Windows of 10 by 10: a bright cross on noise, or noise with two stray bars."""
    W = rng.uniform(0, 0.6, (n, 10, 10))
    y = np.arange(n) % 2
    for window, kind in zip(W, y, strict=True):
        row, column = (4, 4) if kind else rng.choice([0, 1, 7, 8], 2)
        window[row : row + 2] += 0.4
        window[:, column : column + 2] += 0.4
    return W, y


@pytest.fixture(scope="module")
def cascade():
    W, y = crosses(800, np.random.default_rng(0))
    noise = [np.random.default_rng(9).uniform(0, 0.6, (60, 60))]
    return lk.haar_cascade(W, y, backgrounds=noise, stumps=(5, 20), n_features=300)


def test_the_cascade_finds_crosses(cascade):
    W, y = crosses(1000, np.random.default_rng(1))
    found = cascade.predict(W)
    assert found[y == 1].mean() > 0.98
    assert found[y == 0].mean() < 0.02
    assert (np.diff(cascade.false_positive_rates) <= 0).all()
    assert (cascade.recalls >= 0.98).all()


def test_the_kernel_adds_up_stumps(cascade):
    """The compiled cascade against features and sums in NumPy."""
    W, _ = crosses(60, np.random.default_rng(2))
    passed, scores = cascade.run(W)
    features = lk.HaarFeatures((10, 10), cascade.rectangles, cascade.weights)
    above = (features.values(W) > cascade.thresholds).astype(int)
    added = cascade.values[np.arange(len(features)), above]
    parts = np.add.reduceat(added, cascade.starts[:-1], axis=1)
    margins = parts + cascade.stages[:, 0] - cascade.stages[:, 1]
    stops = (margins < 0).argmax(1)
    all_passed = (margins >= 0).all(1)
    np.testing.assert_array_equal(
        passed, np.where(all_passed, len(cascade.stages), stops)
    )
    last = np.where(all_passed, len(cascade.stages) - 1, stops)
    np.testing.assert_allclose(scores, margins[np.arange(60), last], atol=1e-9)


def test_detection_in_an_image(cascade):
    rng = np.random.default_rng(5)
    image = rng.uniform(0, 0.6, (60, 70))
    place = image[20:40, 30:50]  # twice as large as the windows
    place[8:12] += 0.4
    place[:, 8:12] += 0.4
    boxes, scores = cascade.detect(image, step=1, min_size=17)
    assert lk.boxes.iou(boxes[:1], [[30, 20, 50, 40]])[0, 0] > 0.6
    assert (np.diff(scores) <= 0).all()
    none, _ = cascade.detect(image[:5, :5])
    assert none.shape == (0, 4)


def test_absent_windows_say_nothing_and_backgrounds_are_mined():
    W, y = crosses(300, np.random.default_rng(6))
    w = np.ones(300)
    w[::7] = 0
    settings = {"stumps": (5,), "n_features": 100}
    a = lk.haar_cascade(W, y, sample_weight=w, **settings)
    spoiled = W.copy()
    spoiled[::7] = np.nan
    b = lk.haar_cascade(spoiled, y, sample_weight=w, **settings)
    np.testing.assert_array_equal(a.thresholds, b.thresholds)
    np.testing.assert_array_equal(a.stages, b.stages)
    images = [np.random.default_rng(7).uniform(0, 1, (40, 40))]
    c = lk.haar_cascade(W, y, backgrounds=images, stumps=(5, 10), n_features=100)
    assert c.predict(images[0][None, :10, :10]).shape == (1,)
    assert len(c.thresholds) <= 15


def digit_windows(digits, scenes, n: int, rng: np.random.Generator):
    """Windows of 24 by 24 cut from clutter, every second one with a digit in its middle."""
    W = np.empty((n, 24, 24))
    for i in range(n):
        scene, (y, x) = scenes[rng.integers(len(scenes))], rng.integers(0, 41, 2)
        W[i] = scene[y : y + 24, x : x + 24]
        if i % 2:
            digit = digits[rng.integers(len(digits))]
            rows, columns = (np.flatnonzero(digit.max(k) > 0.2) for k in (1, 0))
            ink = digit[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
            h, w = (max(3, round(22 * s / max(ink.shape))) for s in ink.shape)
            place = W[i, (24 - h) // 2 :, (24 - w) // 2 :][:h, :w]
            np.maximum(place, rng.uniform(0.6, 1) * resized(ink, (h, w)), out=place)
    return W, np.arange(n) % 2


@pytest.mark.slow
def test_digits_against_clutter(shared_data):
    """On new digits and new clutter: 99 % recall at under 1 % false positives."""
    rng = np.random.default_rng(0)
    D = data.mnist("test", path=shared_data).X / 255.0
    scenes = [clutter(rng, 64, D[:5000]) for _ in range(300)]
    W, y = digit_windows(D[:5000], scenes, 6000, rng)
    cascade = lk.haar_cascade(W, y, backgrounds=scenes)
    fresh = [clutter(rng, 64, D[5000:]) for _ in range(300)]
    W, y = digit_windows(D[5000:], fresh, 8000, rng)
    found = cascade.predict(W)
    assert found[y == 1].mean() >= 0.99
    assert found[y == 0].mean() < 0.01


def test_a_share_of_each_kind_is_held_out():
    codes = rng.integers(0, 2, 1000)
    held = held_out(codes, 0.25)
    for kind in (0, 1):
        assert held[codes == kind].sum() == np.sum(codes == kind) // 4


def test_saved_and_loaded(cascade, tmp_path):
    lk.save(cascade, tmp_path / "cascade.likely")
    again = lk.load(tmp_path / "cascade.likely")
    W, _ = crosses(50, np.random.default_rng(8))
    np.testing.assert_array_equal(again.run(W)[1], cascade.run(W)[1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.predict(np.zeros((2, 9, 9))), "9 by 9 pixels, but 10 by 10"),
        (lambda c: c.predict(np.zeros((9, 9))), "give numbers, .n, h, w."),
        (lambda c: c.detect(np.zeros((20, 20)), step=0), "step is 0"),
        (lambda c: lk.haar_cascade(np.zeros((4, 9, 9)), [0, 1, 2, 0]), "true or false"),
        (
            lambda c: lk.haar_cascade(np.zeros((4, 9, 9)), [0, 1, 1, 0]),
            "give more of each",
        ),
        (lambda c: lk.haar_features((1, 5)), "at least 2 by 2"),
    ],
)
def test_errors_are_sentences(cascade, call, words):
    with pytest.raises(InputError, match=words):
        call(cascade)
