"""SIFT and SURF: blobs of known place and size, symmetries, warps; matches and maps."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, map_coordinates

import likely as lk
from likely.core.checks import InputError
from likely.vision import Keypoints, find_homography, match_keypoints
from likely.vision.features.homography import project

rng = np.random.default_rng(3)


def picture(side: int = 129, seed: int = 0) -> np.ndarray:
    """Squares and discs of many sizes and shades, a little blurred."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    image = np.full((side, side), 0.5)
    for i in range(120):
        cx, cy, r = *rng.uniform(0, side, 2), rng.uniform(2, 14)
        far = (
            np.maximum(abs(x - cx), abs(y - cy)) if i % 2 else np.hypot(x - cx, y - cy)
        )
        image[far < r] = rng.uniform()
    return gaussian_filter(image, 0.8)


def blob(x: float, y: float, sigma: float) -> np.ndarray:
    j, i = np.meshgrid(np.arange(80), np.arange(70))
    return np.exp(-((j - x) ** 2 + (i - y) ** 2) / (2 * sigma**2))


@pytest.mark.parametrize("sigma", [3.0, 5.0, 8.0])
@pytest.mark.parametrize(("find", "share"), [(lk.sift, 2 ** (-1 / 6)), (lk.surf, 1.0)])
def test_a_blob_is_found_where_it_is(find, share, sigma):
    """The difference of Gaussians answers most at σ·2^(−1/6) for three levels an octave."""
    found = find(blob(37.3, 31.8, sigma))
    best = found[found.responses == found.responses.max()]
    near = 0.1 if find is lk.sift else 0.6
    np.testing.assert_allclose(best.points[0], [37.3, 31.8], atol=near)
    assert best.scales[0] == pytest.approx(
        share * sigma, rel=0.06 if near < 0.5 else 0.3
    )


def test_sift_turns_with_the_image():
    """A turn by 90 degrees moves points, turns angles, and leaves descriptors alone."""
    image = picture()
    a, b = lk.sift(image), lk.sift(np.rot90(image))
    assert len(a) == len(b) > 50
    pairs = match_keypoints(a, b, ratio=1.0)
    a, b = a[pairs[:, 0]], b[pairs[:, 1]]
    moved = np.stack([a.points[:, 1], len(image) - 1 - a.points[:, 0]], 1)
    close = np.linalg.norm(b.points - moved, axis=1) < 1e-6
    assert close.mean() > 0.95  # two that share a place may swap their directions
    turn = (b.angles - a.angles + np.pi / 2 + np.pi) % (2 * np.pi) - np.pi
    assert np.abs(turn[close]).max() < 1e-6
    np.testing.assert_allclose(a.scales[close], b.scales[close], atol=1e-9)
    np.testing.assert_allclose(a.descriptors[close], b.descriptors[close], atol=1e-9)


@pytest.mark.parametrize(("find", "k"), [(lk.sift, 128), (lk.surf, 64)])
def test_light_does_not_matter(find, k):
    """Darker by half and lifted: the same places, the same unit vectors."""
    a, b = find(picture()), find(0.5 * picture() + 0.3)
    pairs = match_keypoints(a, b, ratio=1.0)
    assert len(pairs) >= 0.9 * len(b) > 20
    a, b = a[pairs[:, 0]], b[pairs[:, 1]]
    np.testing.assert_allclose(a.points, b.points, atol=1e-6)
    near = np.abs(a.descriptors - b.descriptors).max(1) < 1e-6
    assert near.mean() > 0.95  # SURF rounds places to pixels: a last bit may decide
    assert a.descriptors.shape[1] == k
    np.testing.assert_allclose(np.linalg.norm(a.descriptors, axis=1), 1.0)


def turned(shape, degrees: float, scale: float, tilt: float) -> np.ndarray:
    """H that turns about the middle of an image, makes it larger and tilts it."""
    h, w = shape
    a = np.deg2rad(degrees)
    C = np.array([[1, 0, -(w - 1) / 2], [0, 1, -(h - 1) / 2], [0, 0, 1]])
    R = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [tilt, 0, 1]])
    return np.linalg.inv(C) @ np.diag([scale, scale, 1]) @ R @ C


def warped(image: np.ndarray, H: np.ndarray) -> np.ndarray:
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    where = project(np.linalg.inv(H), np.stack([x.ravel(), y.ravel()], 1).astype(float))
    return map_coordinates(image, where[:, ::-1].T, order=1).reshape(image.shape)


@pytest.mark.parametrize("find", [lk.sift, lk.surf])
@pytest.mark.parametrize(
    ("degrees", "scale", "tilt"), [(25, 1.3, 2e-4), (-15, 0.75, 0.0)]
)
def test_a_warp_is_found_again(find, degrees, scale, tilt):
    image = picture(200, seed=1)
    H = turned(image.shape, degrees, scale, tilt)
    a, b = find(image), find(warped(image, H))
    pairs = match_keypoints(a, b)
    found = find_homography(a.points[pairs[:, 0]], b.points[pairs[:, 1]])
    corners = np.array([[0, 0], [199, 0], [199, 199], [0, 199.0]])
    error = np.linalg.norm(found(corners) - project(H, corners), axis=1)
    assert error.max() < (1.0 if find is lk.sift else 3.0)


def test_homography_in_spite_of_wrong_pairs():
    H = turned((100, 120), 20, 1.2, 1e-3)
    a = rng.uniform(0, 100, (60, 2))
    b = project(H, a)
    exact = find_homography(a[:4], b[:4])
    np.testing.assert_allclose(exact.matrix, H / H[2, 2], atol=1e-8)
    noisy = b + rng.normal(0, 0.3, b.shape)
    noisy[:30] = rng.uniform(0, 100, (30, 2))
    found = find_homography(a, noisy)
    assert found.inliers[30:].all()
    assert found.inliers[:30].sum() <= 3
    assert found.error == pytest.approx(0.3 * np.sqrt(2), rel=0.4)
    np.testing.assert_allclose(found(a[30:]), b[30:], atol=0.6)
    again = find_homography(a, noisy)
    np.testing.assert_array_equal(found.matrix, again.matrix)


def test_matches_by_loops():
    A, B = (Keypoints(*(np.zeros(s) for s in ((n, 2), n, n, n)), rng.normal(size=(n, 5)))
            for n in (12, 9))  # fmt: skip
    expected = set()
    for i, row in enumerate(A.descriptors):
        d = np.linalg.norm(B.descriptors - row, axis=1)
        j, second = np.argsort(d)[:2]
        back = np.linalg.norm(A.descriptors - B.descriptors[j], axis=1).argmin()
        if d[j] < 0.9 * d[second] and back == i:
            expected.add((i, int(j)))
    assert {tuple(p) for p in match_keypoints(A, B, ratio=0.9).tolist()} == expected
    assert len(match_keypoints(A, B, ratio=1.0, mutual=False)) == 12
    assert match_keypoints(A, B[:0]).shape == (0, 2)


def test_nothing_to_find():
    for image in (np.zeros((40, 50)), np.full((9, 9), 0.3), np.zeros((1, 1))):
        for find in (lk.sift, lk.surf):
            assert len(find(image)) == 0
    few = lk.sift(picture(), max_keypoints=7)
    assert len(few) == 7
    assert (np.diff(few.responses) <= 0).all()
    colours = np.repeat((picture() * 255).astype(np.uint8)[..., None], 3, 2)
    assert len(lk.sift(colours)) > 50


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lk.sift(np.zeros((3, 4, 5))), "the last axis has 1 channel"),
        (lambda: lk.sift(np.full((9, 9), np.nan)), "image contains NaN"),
        (lambda: lk.sift(np.zeros(9)), "give one image"),
        (lambda: lk.sift([["a"]]), "give numbers"),
        (lambda: lk.sift(np.zeros((9, 9)), levels=0), "levels is 0"),
        (lambda: lk.surf(np.zeros((9, 9)), max_keypoints=0), "max_keypoints is 0"),
        (
            lambda: find_homography(np.zeros((3, 2)), np.zeros((3, 2))),
            "needs at least 4",
        ),
        (lambda: find_homography(np.zeros((9, 2)), np.ones((9, 2))), "agree on a map"),
        (
            lambda: find_homography(np.zeros((9, 2)), np.ones((8, 2))),
            "give .n, 2. of each",
        ),
        (
            lambda: match_keypoints(lk.sift(picture(40)), lk.surf(picture(40))),
            "same method",
        ),
    ],
)
def test_errors_are_sentences(call, words):
    with pytest.raises(InputError, match=words):
        call()
