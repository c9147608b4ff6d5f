"""Boxes, feature maps and scenes that the golden arrays of vision are made from.

Only NumPy is needed here: the programs that make the arrays run beside other libraries.
"""

import numpy as np

NMS_THRESHOLDS = (0.0, 0.3, 0.5, 0.7)


def boxes(seed: int, n: int, extent: float = 100.0) -> np.ndarray:
    """Boxes of many sizes; the first five are a point, a line, twins, and one far away."""
    rng = np.random.default_rng(seed)
    corner, size = rng.uniform(0, extent, (n, 2)), rng.uniform(1, extent / 3, (n, 2))
    found = np.concatenate([corner, corner + size], 1)
    found[0] = (10, 10, 10, 10)
    found[1] = (5, 20, 40, 20)
    found[3] = found[2]
    found[4] = found[4] + 10 * extent
    return found.astype(np.float32).astype(np.float64)


def scored(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Boxes with scores, all different, and labels."""
    rng = np.random.default_rng(1000 + seed)
    scores = rng.permutation(n) / n
    return boxes(seed, n), scores, rng.integers(0, 4, n)


def feature_map() -> tuple[np.ndarray, np.ndarray]:
    """Features (2, 9, 12, 3) and boxes (2, 6, 4), some of them partly or wholly outside."""
    rng = np.random.default_rng(7)
    features = rng.normal(size=(2, 9, 12, 3)).astype(np.float32)
    corner, size = rng.uniform(-6, 40, (2, 6, 2)), rng.uniform(0.5, 24, (2, 6, 2))
    regions = np.concatenate([corner, corner + size], -1)
    regions[0, 0] = (300, 300, 330, 330)
    regions[1, 0] = (8, 8, 8, 8)
    return features, regions.astype(np.float32)


SCALE = 0.25
"""Cells of the feature map for each pixel."""


def scenes(seed: int = 0, images: int = 40, classes: int = 3) -> dict[str, list]:
    """True objects (some ignored) of images, and noisy detections of them."""
    rng = np.random.default_rng(seed)
    names = ("true_boxes", "true_labels", "ignored", "boxes", "labels", "scores")
    found: dict[str, list] = {name: [] for name in names}

    def some(n: int) -> np.ndarray:
        corner, size = rng.uniform(0, 200, (n, 2)), rng.uniform(8, 130, (n, 2))
        return np.concatenate([corner, corner + size], 1)

    for _ in range(images):
        n = rng.integers(0, 8)
        truth, kinds = some(n), rng.integers(0, classes, n)
        copies = rng.integers(0, 4, n)
        near = np.repeat(truth, copies, 0)
        near = near + rng.normal(0, 3, near.shape)
        wrong = some(rng.integers(0, 5))
        labels = np.concatenate([np.repeat(kinds, copies), np.zeros(len(wrong), int)])
        stray = rng.uniform(size=len(labels)) < 0.15
        labels = np.where(stray, rng.integers(0, classes, len(labels)), labels)
        detected = np.concatenate([near, wrong])
        detected[:, :2] = np.minimum(detected[:, :2], detected[:, 2:] - 1)
        entry = (
            truth,
            kinds,
            rng.uniform(size=n) < 0.15,
            detected,
            labels,
            rng.uniform(size=len(labels)),
        )
        for name, value in zip(names, entry, strict=True):
            found[name].append(value)
    return found
