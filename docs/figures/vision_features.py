"""Draw docs/images/boxes.svg and image-features.svg: suppression, keypoints and matches."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.ndimage import gaussian_filter, map_coordinates

import likely as lk
from likely import plots
from likely.vision import boxes
from likely.vision.features.homography import project

FOLDER = Path(__file__).parents[1] / "images"


def picture(side: int = 160, seed: int = 1) -> np.ndarray:
    """Squares and discs of many sizes and shades."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    image = np.full((side, side), 0.5)
    for i in range(90):
        cx, cy, r = *rng.uniform(0, side, 2), rng.uniform(3, 16)
        far = (
            np.maximum(abs(x - cx), abs(y - cy)) if i % 2 else np.hypot(x - cx, y - cy)
        )
        image[far < r] = rng.uniform()
    return gaussian_filter(image, 0.7)


def save(figure: Figure, name: str) -> None:
    figure.savefig(FOLDER / name, metadata={"Date": None}, dpi=110)


def suppression() -> None:
    """Sixty detections of three objects, and what suppression keeps."""
    rng = np.random.default_rng(0)
    objects = np.array([[10, 10, 40, 40], [50, 20, 80, 70], [15, 60, 45, 90]])
    found = np.repeat(objects, 20, axis=0) + rng.normal(0, 2, (60, 4))
    scores = rng.uniform(0.3, 1.0, 60)
    image = np.full((100, 100), 0.2)
    for x1, y1, x2, y2 in objects:
        image[y1:y2, x1:x2] = 0.55
    kept = boxes.nms(found, scores, iou_threshold=0.3)
    figure = plots.boxes(image, found[kept], scores=scores[kept], true_boxes=found)
    figure.axes[0].images[0].set_clim(0, 1)
    for patch in figure.axes[0].patches[: len(found)]:
        patch.set(linewidth=0.4, linestyle="-", alpha=0.6)
    save(figure, "boxes.svg")


def matches() -> None:
    """Matches between a picture and a warped copy, and the border that was found."""
    image = picture()
    a = np.deg2rad(20)
    turn = np.array(
        [[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [4e-4, 0, 1]]
    )
    C = np.array([[1, 0, -79.5], [0, 1, -79.5], [0, 0, 1]])
    H = np.linalg.inv(C) @ np.diag([0.8, 0.8, 1]) @ turn @ C
    y, x = np.mgrid[:160, :160]
    where = project(np.linalg.inv(H), np.stack([x.ravel(), y.ravel()], 1).astype(float))
    copy = map_coordinates(image, where[:, ::-1].T, order=1).reshape(image.shape)
    known, found = lk.sift(image), lk.sift(copy)
    pairs = lk.match_keypoints(known, found)
    source, target = known.points[pairs[:, 0]], found.points[pairs[:, 1]]
    map = lk.find_homography(source, target)
    figure = plots.keypoint_matches(
        (image, copy),
        source,
        target,
        inliers=map.inliers,
        outline=map([[0, 0], [159, 0], [159, 159], [0, 159]]),
    )
    save(figure, "image-features.svg")


def main() -> None:
    """Draw both."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    suppression()
    matches()


if __name__ == "__main__":
    main()
