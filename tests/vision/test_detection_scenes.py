"""Scenes whose truth is known, and augmentation that moves boxes with their images."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely import data
from likely.core import InputError
from likely.typing import Batch
from likely.vision import BoxAugmentation
from likely.vision.detection.anchors import anchors_of
from likely.vision.detection.images import ImageCanvas, checked_images
from likely.vision.detection.targets import packed, unpacked


@pytest.fixture(scope="module")
def scenes():
    return data.shape_scenes(40, size=48, count=(0, 4), sides=(8, 16), random_state=3)


def overlap_of_smaller(a, b):
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    area = [np.prod(c[2:] - c[:2]) for c in (a, b)]
    return np.prod(np.maximum(sides, 0)) / min(area)


def test_boxes_of_scenes_are_inside_apart_and_of_the_sizes_asked_for(scenes):
    assert scenes.images.shape == (40, 48, 48)
    assert scenes.images.dtype == np.uint8
    counts = [len(b) for b in scenes.boxes]
    assert min(counts) == 0
    assert max(counts) == 4
    for boxes, labels in zip(scenes.boxes, scenes.labels, strict=True):
        assert len(boxes) == len(labels)
        assert (boxes >= 0).all()
        assert (boxes <= 48).all()
        longest = (boxes[:, 2:] - boxes[:, :2]).max(1, initial=8)
        assert ((longest >= 8) & (longest <= 16)).all()
        for i in range(len(boxes)):
            for j in range(i):
                assert overlap_of_smaller(boxes[i], boxes[j]) <= 0.15


def test_the_box_of_an_object_is_where_it_was_painted():
    made = data.shape_scenes(30, size=48, count=(1, 1), random_state=0)
    squares = [i for i in range(30) if made.labels[i][0] == "square"]
    assert len(squares) > 3
    for i in squares:
        x0, y0, x1, y1 = made.boxes[i][0].astype(int)
        assert made.images[i, y0:y1, x0:x1].min() >= 0.6 * 255 - 1
        around = np.ones((48, 48), bool)
        around[y0:y1, x0:x1] = False
        assert np.median(made.images[i][around]) < 80


def test_scenes_are_functions_of_the_seed(scenes):
    again = data.shape_scenes(40, size=48, count=(0, 4), sides=(8, 16), random_state=3)
    other = data.shape_scenes(40, size=48, count=(0, 4), sides=(8, 16), random_state=4)
    np.testing.assert_array_equal(again.images, scenes.images)
    assert (other.images != scenes.images).any()


def test_digits_are_drawn_with_their_labels():
    digits = np.zeros((2, 28, 28), np.uint8)
    digits[0, 4:24, 10:18], digits[1, 10:18, 4:24] = (
        255,
        255,
    )  # an upright and a flat bar
    made = data.digit_scenes(digits, ["up", "flat"], 30, count=(2, 2), random_state=1)
    for boxes, labels in zip(made.boxes, made.labels, strict=True):
        side = boxes[:, 2:] - boxes[:, :2]
        np.testing.assert_array_equal(side[:, 1] > side[:, 0], labels == "up")


def test_some_of_the_images(scenes):
    some = scenes.rows(slice(2, 5))
    assert len(some) == 3
    assert "3 images" in repr(some)
    np.testing.assert_array_equal(some.images, scenes.images[2:5])
    assert len(some.boxes[1]) == len(scenes.boxes[3])


def test_scenes_of_impossible_sizes_are_refused():
    with pytest.raises(InputError, match="shortest and the longest side"):
        data.shape_scenes(2, size=16, sides=(10, 24))
    with pytest.raises(InputError, match="a label for each"):
        data.digit_scenes(np.zeros((2, 8, 8)), [1], 2)


# Augmentation -------------------------------------------------------------------------


def rectangles(rng, n=16, size=40):
    """One bright rectangle in the dark, and its box."""
    X, boxes = np.zeros((n, size, size, 1), np.float32), []
    for image in X:
        x0, y0 = rng.integers(0, size - 16, 2)
        w, h = rng.integers(8, 16, 2)
        image[y0 : y0 + h, x0 : x0 + w] = 1.0
        boxes.append(np.array([[x0, y0, x0 + w, y0 + h]]) / size)
    return X, packed(boxes, [np.zeros(1)] * n)


@pytest.mark.parametrize("settings", [{}, {"flip": 1.0}, {"scale": 0.5, "shift": 0.5}])
def test_boxes_move_with_what_is_in_them(settings):
    X, y = rectangles(np.random.default_rng(0))
    change = BoxAugmentation(brightness=0.0, noise=0.0, **settings)
    batch = Batch(jnp.asarray(X), jnp.asarray(y, jnp.float32), jnp.ones(len(X)))
    moved = eqx.filter_jit(change.batch)(batch, jax.random.key(0))
    boxes = np.asarray(unpacked(moved.y).boxes[:, 0]) * X.shape[1]
    assert np.abs(boxes - y[:, 0, 1:] * X.shape[1]).max() > 1
    for image, box in zip(np.asarray(moved.x)[..., 0], boxes, strict=True):
        for axis, (low, high) in enumerate(((box[1], box[3]), (box[0], box[2]))):
            seen = np.flatnonzero((image > 0.5).any(1 - axis))
            assert abs(seen[0] - low) <= 1
            assert abs(seen[-1] + 1 - high) <= 1


def test_no_object_leaves_the_image(scenes):
    boxes = [b / 48 for b in scenes.boxes]
    y = packed(boxes, [np.zeros(len(b)) for b in boxes])
    X = scenes.images[..., None].astype(np.float32) / 255
    batch = Batch(jnp.asarray(X), jnp.asarray(y, jnp.float32), jnp.ones(len(X)))
    change = BoxAugmentation(shift=1.0, scale=1.0)
    moved = unpacked(eqx.filter_jit(change.batch)(batch, jax.random.key(1)).y)
    before, after = (
        np.asarray(a.boxes[..., 2:] - a.boxes[..., :2])
        for a in (unpacked(batch.y), moved)
    )
    here = np.asarray(moved.present) > 0
    ratio = (after / before)[here]  # nothing is cut: width and height change alike
    np.testing.assert_allclose(ratio[:, 0], ratio[:, 1], rtol=1e-3)
    np.testing.assert_array_equal(moved.present, unpacked(batch.y).present)


def test_amounts_are_checked():
    with pytest.raises(
        InputError, match="flip is 2; give a number of at least 0 and at"
    ):
        BoxAugmentation(flip=2.0)


# Targets, canvas, anchors -------------------------------------------------------------


def test_targets_are_padded_to_few_shapes(scenes):
    boxes = [b / 48 for b in scenes.boxes]
    codes = [np.arange(len(b)) for b in boxes]
    targets = packed(boxes, codes)
    assert targets.shape == (40, 4, 5)
    found = unpacked(targets)
    for row, b, c in zip(range(40), boxes, codes, strict=True):
        here = found.present[row] > 0
        np.testing.assert_array_equal(found.boxes[row][here], b)
        np.testing.assert_array_equal(found.codes[row][here], c)


def test_images_of_any_size_lie_on_one_canvas():
    images = checked_images([np.ones((10, 20)), np.ones((30, 15), np.uint8)])
    canvas = ImageCanvas.of(images, (32, 32), 8)
    placed = canvas.place(images)
    assert placed.shape == (2, 32, 32, 1)
    assert placed.dtype == np.float32
    box = np.array([[2.0, 3.0, 10.0, 8.0]])
    for image in images:
        back = canvas.pixels(canvas.shares(box, image), image)
        np.testing.assert_allclose(back, box)
    with pytest.raises(InputError, match=r"different sizes.*image_size="):
        ImageCanvas.of(images, None, 8)
    assert ImageCanvas.of(images[:1], None, 8).shape == (16, 24, 1)


def test_anchors_are_the_sizes_of_clusters():
    side = np.repeat([[0.1, 0.1], [0.4, 0.2]], 10, 0)
    targets = packed([np.concatenate([0 * side, side], 1)], [np.zeros(20)])
    np.testing.assert_allclose(anchors_of(targets, 2), [[0.1, 0.1], [0.4, 0.2]])
    assert anchors_of(targets, None) == ()
    assert anchors_of(targets, [(0.5, 0.25)]) == ((0.5, 0.25),)
    with pytest.raises(InputError, match="give a number of them, or"):
        anchors_of(targets, [0.5, 0.25])
