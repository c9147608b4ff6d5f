"""Boxes: formats, overlap, coding and matching against counted pixels and plain loops."""

import itertools

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import likely as lk
from likely.core.checks import InputError
from likely.vision import boxes

rng = np.random.default_rng(0)
FORMATS = ("xyxy", "xywh", "cxcywh")


def random_boxes(n: int, extent: float = 50.0) -> np.ndarray:
    corner, size = rng.uniform(0, extent, (n, 2)), rng.uniform(0, extent / 2, (n, 2))
    return np.concatenate([corner, corner + size], 1)


whole = st.tuples(*[st.integers(0, 12)] * 4)


def pixels(box) -> set[tuple[int, int]]:
    x1, y1, x2, y2 = box
    return set(itertools.product(range(x1, x2), range(y1, y2)))


@hypothesis.given(whole, whole)
def test_overlap_counts_pixels(a, b):
    """Boxes at whole numbers are sets of pixels: areas are counts."""
    a, b = ((*np.minimum(c[:2], c[2:]), *np.maximum(c[:2], c[2:])) for c in (a, b))
    A, B = pixels(a), pixels(b)
    hull = (*np.minimum(a[:2], b[:2]), *np.maximum(a[2:], b[2:]))
    ratio = len(A & B) / len(A | B) if A | B else 0.0
    spare = 1 - len(A | B) / len(pixels(hull)) if pixels(hull) else 0.0
    np.testing.assert_allclose(boxes.iou([a], [b]), [[ratio]], atol=1e-12)
    np.testing.assert_allclose(boxes.giou([a], [b]), [[ratio - spare]], atol=1e-12)
    assert boxes.area([a]) == len(A)


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_formats_there_and_back(source, target):
    B = random_boxes(20)
    there = boxes.convert(boxes.convert(B, "xyxy", source), source, target)
    np.testing.assert_allclose(boxes.convert(there, target, "xyxy"), B, atol=1e-12)
    assert there.dtype == np.float64


def test_the_three_formats_of_one_box():
    assert boxes.convert([[2, 3, 6, 13]], "xyxy", "xywh").tolist() == [[2, 3, 4, 10]]
    assert boxes.convert([[2, 3, 6, 13]], "xyxy", "cxcywh").tolist() == [[4, 8, 4, 10]]
    assert boxes.convert([2, 3, 4, 10], "xywh", "cxcywh").tolist() == [4, 8, 4, 10]


def test_rows_and_leading_axes():
    A, B = random_boxes(12), random_boxes(12)
    pairs = boxes.giou(A, B)
    np.testing.assert_array_equal(boxes.giou(A, B, pairwise=False), np.diag(pairs))
    stacked = boxes.iou(A.reshape(3, 4, 4), B.reshape(3, 4, 4))
    np.testing.assert_array_equal(stacked[1], boxes.iou(A[4:8], B[4:8]))


def test_inside_jit_and_slopes():
    """The same numbers under JAX; slopes are finite, also at boxes without area."""
    A, B = random_boxes(6), random_boxes(6)
    A[0] = B[0] = (3, 3, 3, 3)
    a, b = (jnp.asarray(c, jnp.float32) for c in (A, B))
    for function in (boxes.iou, boxes.giou):
        np.testing.assert_allclose(jax.jit(function)(a, b), function(A, B), atol=2e-5)
        loss = lambda c, f=function: f(c, b, pairwise=False).sum()  # noqa: E731
        slopes = jax.jit(jax.grad(loss))(a)
        assert np.isfinite(slopes).all()
    apart = jnp.asarray([[0.0, 0.0, 1.0, 1.0]]), jnp.asarray([[5.0, 0.0, 6.0, 1.0]])
    pull = jax.jit(jax.grad(lambda c: boxes.giou(c, apart[1])[0, 0]))(apart[0])
    assert pull[0, 2] > 0  # GIoU grows as the box reaches for the other one


def test_offsets_there_and_back():
    anchors = boxes.anchors((3, 5), stride=8, sizes=(8, 16), ratios=(0.5, 1, 2))
    assert anchors.shape == (3 * 5 * 6, 4)
    B = random_boxes(len(anchors)) + [0, 0, 1, 1]
    t = boxes.encode(B, anchors)
    np.testing.assert_allclose(boxes.decode(t, anchors), B, atol=1e-9)
    np.testing.assert_allclose(boxes.decode(0 * t, anchors), anchors, atol=1e-12)
    j = jax.jit(boxes.encode)(jnp.asarray(B, jnp.float32), jnp.asarray(anchors))
    np.testing.assert_allclose(j, t, rtol=1e-4, atol=1e-4)
    wild = boxes.decode([[0, 0, 1000, 1000]], anchors[:1])
    assert np.isfinite(wild).all()
    by_hand = boxes.encode([[10, 10, 30, 50]], [[0, 0, 10, 20]])
    np.testing.assert_allclose(by_hand, [[1.5, 1.0, np.log(2), np.log(2)]])


def test_anchors_are_centred_on_cells():
    anchors = boxes.anchors((2, 3), stride=10, sizes=[4], ratios=[4.0])
    assert anchors[0].tolist() == [4, 1, 6, 9]  # 2 wide, 8 high, around (5, 5)
    middle = boxes.convert(anchors, "xyxy", "cxcywh")
    assert middle[:, 0].tolist() == [5, 15, 25] * 2
    assert middle[:, 1].tolist() == [5] * 3 + [15] * 3


def test_clip_keeps_rows():
    inside = boxes.clip([[-5, 2, 30, 8], [40, 1, 50, 2]], (10, 20))
    assert inside.tolist() == [[0, 2, 20, 8], [20, 1, 20, 2]]
    assert (boxes.area(inside) > 0).tolist() == [True, False]


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
def test_matching_is_the_cheapest_of_all(shape):
    cost = rng.normal(size=shape)
    rows, columns = boxes.match(cost)
    wide = cost if shape[0] <= shape[1] else cost.T
    orders = itertools.permutations(range(wide.shape[1]), len(wide))
    least = min(wide[range(len(wide)), list(order)].sum() for order in orders)
    assert cost[rows, columns].sum() == pytest.approx(least)
    both = boxes.match(np.stack([cost, -cost]))
    np.testing.assert_array_equal(both[1][0], columns)
    assert boxes.match(np.zeros((2, 0, 3)))[0].shape == (2, 0)


def test_nothing_is_well_defined():
    assert boxes.iou([], [[0, 0, 1, 1]]).shape == (0, 1)
    assert boxes.area([]).shape == (0,)
    assert boxes.encode([], []).shape == (0, 4)
    assert boxes.convert([], "xyxy", "xywh").shape == (0, 4)
    assert boxes.clip([], (3, 3)).shape == (0, 4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: boxes.iou([[0, 0, 1]], [[0, 0, 1, 1]]), "four numbers for each box"),
        (lambda: boxes.iou([[0, 0, np.nan, 1]], []), "a contains NaN .row 0, column 2"),
        (lambda: boxes.area([[5, 0, 1, 1]]), "negative size in row 0"),
        (lambda: boxes.area([["a", "b", "c", "d"]]), "give numbers"),
        (lambda: boxes.convert([], "xyxy", "yxyx"), "target is 'yxyx'"),
        (
            lambda: boxes.encode([[0, 0, 0, 1]], [[0, 0, 1, 1]]),
            "boxes has a box without",
        ),
        (
            lambda: boxes.iou([[0, 0, 1, 1]], [], pairwise=False),
            "as many boxes of each",
        ),
        (lambda: boxes.iou([0, 0, 1, 1], [0, 0, 1, 1]), "pairwise=False"),
        (lambda: boxes.anchors((0, 3), stride=8, sizes=[8]), "make no anchors"),
        (lambda: boxes.anchors((1, 3), stride=8, sizes=[-8]), "positive"),
        (lambda: boxes.match([[np.inf]]), "cost contains infinity"),
        (lambda: boxes.match([1.0]), "give .n, m."),
        (lambda: boxes.clip([], (3,)), "give .h, w."),
    ],
)
def test_errors_are_sentences(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_the_room_is_public():
    assert lk.boxes is lk.vision.boxes
    assert set(boxes.__all__) >= {"iou", "nms", "match", "mean_average_precision"}
