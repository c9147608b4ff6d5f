"""SIFT on photographs under 200 random warps: how far the found map moves the corners.

    python -m benchmarks.sift_warps [--warps 200] [--method sift]

The photographs are those that come with scikit-image (camera, astronaut, coffee). Each warp
turns by up to 30 degrees, scales by 0.7 to 1.4 and tilts mildly; keypoints of the photograph
and of the warped one are matched, and RANSAC finds the map. Asked for: the largest error of
the four corners below 3 pixels in at least 95 % of the warps.
"""

import argparse
import sys
import time

import numpy as np
from scipy.ndimage import map_coordinates

import likely as lk
from likely.vision.features.grey import grey
from likely.vision.features.homography import project

PHOTOGRAPHS = ("camera", "astronaut", "coffee")
MAX_TURN, SCALES, MAX_TILT = 30.0, (0.7, 1.4), 2e-4
MAX_ERROR, MIN_SHARE = 3.0, 0.95


def random_map(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """H about the middle of an image of this shape."""
    h, w = shape
    C = np.array([[1, 0, -(w - 1) / 2], [0, 1, -(h - 1) / 2], [0, 0, 1]])
    a = np.deg2rad(rng.uniform(-MAX_TURN, MAX_TURN))
    s = np.exp(rng.uniform(*np.log(SCALES)))
    R = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    R[2, :2] = rng.uniform(-MAX_TILT, MAX_TILT, 2)
    return np.linalg.inv(C) @ R @ np.diag([s, s, 1]) @ C


def warped(image: np.ndarray, H: np.ndarray) -> np.ndarray:
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    where = project(np.linalg.inv(H), np.stack([x.ravel(), y.ravel()], 1).astype(float))
    return map_coordinates(image, where[:, ::-1].T, order=1).reshape(image.shape)


def corner_error(image, known, find, H) -> float:
    """The largest distance of a corner from where it should be; infinite without a map."""
    found = find(warped(image, H))
    pairs = lk.vision.match_keypoints(known, found)
    h, w = image.shape
    corners = np.array([[0, 0], [w - 1, 0], [w - 1, h - 1], [0, h - 1]], float)
    try:
        got = lk.vision.find_homography(
            known.points[pairs[:, 0]], found.points[pairs[:, 1]]
        )
    except ValueError:
        return np.inf
    return float(np.linalg.norm(got(corners) - project(H, corners), axis=1).max())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warps", type=int, default=200)
    parser.add_argument("--method", choices=("sift", "surf"), default="sift")
    args = parser.parse_args()
    try:
        from skimage import data
    except ImportError:
        print("scikit-image is not installed; it brings the photographs.")
        return 2
    find = getattr(lk.vision, args.method)
    images = [grey(getattr(data, name)()) for name in PHOTOGRAPHS]
    known = [find(image) for image in images]
    rng, errors, began = np.random.default_rng(0), [], time.process_time()
    for i in range(args.warps):
        k = i % len(images)
        H = random_map(rng, images[k].shape)
        errors.append(corner_error(images[k], known[k], find, H))
    share = float(np.mean(np.array(errors) < MAX_ERROR))
    seconds = (time.process_time() - began) / max(args.warps, 1)
    print(
        f"{args.method}: {share:.1%} of {args.warps} warps below {MAX_ERROR:g} px, median "
        f"{np.median(errors):.3f} px, largest {max(errors):.3f} px, "
        f"{seconds:.2f} s of processor time a warp"
    )
    return 0 if share >= MIN_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
