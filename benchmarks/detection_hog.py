"""The baseline of detectors: HOG of sliding windows, and a linear model of classes."""

from typing import Any

import numpy as np

SIDE, CELL, BLOCK, STEP, SIZES = 24, 6, 2, 4, 3
NEGATIVES, HARD = 6, 6
"""Windows of no object for each image, at random and then those that were mistaken."""


class HOGBaseline:
    """Windows of three sizes at every fourth pixel, each classified by a linear model."""

    def fit(self, scenes: Any) -> "HOGBaseline":
        from likely.vision.detection.anchors import anchors_of
        from likely.vision.detection.targets import packed

        h, w = scenes.images.shape[1:3]
        boxes = [b / [w, h, w, h] for b in scenes.boxes]
        codes = [np.zeros(len(b)) for b in boxes]
        self.sizes = np.array(anchors_of(packed(boxes, codes), SIZES)) * [w, h]
        rng = np.random.default_rng(0)
        X, y = [], []
        for image, b, labels in zip(
            scenes.images, scenes.boxes, scenes.labels, strict=True
        ):
            X += [features(image, box) for box in b]
            y += [int(label) + 1 for label in labels]
            away = self._away(image.shape, b)
            for box in away[rng.permutation(len(away))[:NEGATIVES]]:
                X.append(features(image, box))
                y.append(0)
        self.model = self._model().fit(np.array(X), np.array(y))
        hard = self._hard(scenes, rng)
        self.model = self._model().fit(
            np.array(X + hard), np.array(y + [0] * len(hard))
        )
        return self

    def _model(self) -> Any:
        import likely as lk

        return lk.LogisticRegression(alpha=1.0)

    def _hard(self, scenes: Any, rng: Any) -> list:
        """Windows of no object that look most like one."""
        found = []
        for i in rng.permutation(len(scenes.images))[:500]:
            image = scenes.images[i]
            away = self._away(image.shape, scenes.boxes[i])
            some = away[rng.permutation(len(away))[:150]]
            F = np.array([features(image, box) for box in some])
            worst = np.argsort(self.model.predict_proba(F)[:, 0])[:HARD]
            found += list(F[worst])
        return found

    def _away(self, shape: tuple, boxes: np.ndarray) -> np.ndarray:
        from likely.vision.boxes import iou

        windows = self._windows(shape)
        if not len(boxes):
            return windows
        return windows[iou(windows, boxes).max(1) < 0.3]

    def _windows(self, shape: tuple) -> np.ndarray:
        h, w = shape[:2]
        found = []
        for across, down in self.sizes:
            x = np.arange(0, w - across + 1, STEP)
            y = np.arange(0, h - down + 1, STEP)
            x, y = (a.ravel() for a in np.meshgrid(x, y))
            found.append(np.stack([x, y, x + across, y + down], 1))
        return np.concatenate(found)

    def predict(self, images: np.ndarray) -> list:
        from likely.vision.boxes import nms
        from likely.vision.detection.detections import Detections

        results = []
        for image in images:
            windows = self._windows(image.shape)
            F = np.array([features(image, box) for box in windows])
            p = self.model.predict_proba(F)[:, 1:]
            rows, codes = np.nonzero(p > 0.01)
            scores = p[rows, codes]
            keep = nms(windows[rows], scores, iou_threshold=0.3, labels=codes)[:100]
            names = self.model.classes_[1:][codes[keep]] - 1
            results.append(Detections(windows[rows][keep], names, scores[keep]))
        return results


def features(image: np.ndarray, box: np.ndarray) -> np.ndarray:
    from likely.data.detection.pictures import resized
    from likely.vision.features.hog import hog

    x0, y0, x1, y1 = np.round(box).astype(int)
    part = resized(image[y0 : max(y1, y0 + 2), x0 : max(x1, x0 + 2)], (SIDE, SIDE))
    return hog(part / 255, pixels_per_cell=CELL, cells_per_block=BLOCK)
