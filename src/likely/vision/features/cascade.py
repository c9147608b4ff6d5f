"""A cascade of boosted Haar-like features: most windows are refused by the first few.

Each stage is a sum of stumps, log-odds η of "object" against what passed the stages before;
a window passes if η reaches the cut of the stage. Cuts are low, so that nearly every object
passes, and each stage removes a good part of what is left of the rest. An image has a hundred
thousand windows and few objects, so the mean cost of a window is what counts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.ndimage import zoom

from likely.core.checks import InputError
from likely.vision.boxes.suppression import nms
from likely.vision.features.grey import grey
from likely.vision.features.haar import checked_windows
from likely.vision.features.integral import integral_image


@dataclass(frozen=True)
class HaarCascade:
    """A fitted cascade, from `haar_cascade`.

    Attributes:
        shape: (h, w) of its windows.
        rectangles: (t, 3, 4) y1, x1, y2, x2 of the feature of each stump.
        weights: (t, 3) of their sums.
        thresholds: (t,) of the features.
        values: (t, 2) what a stump adds below and above its threshold.
        starts: (s + 1,) the first stump of each stage.
        stages: (s, 2) bias and cut of each stage.
        recalls: (s,) share of held-out objects that pass this and all earlier stages.
        false_positive_rates: (s,) share of other held-out windows that do.
    """

    shape: tuple[int, int]
    rectangles: Int[np.ndarray, "t 3 4"]
    weights: Float[np.ndarray, "t 3"]
    thresholds: Float[np.ndarray, " t"]
    values: Float[np.ndarray, "t 2"]
    starts: Int[np.ndarray, " s1"]
    stages: Float[np.ndarray, "s 2"]
    recalls: Float[np.ndarray, " judged"]
    false_positive_rates: Float[np.ndarray, " judged"]

    def run(
        self, windows: Any
    ) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """The number of stages that windows (n, h, w) pass, and the score of the last one.

        The score is the log-odds of the last stage that a window reached, less its cut.
        """
        W = checked_windows(windows, self.shape)
        places = np.zeros((len(W), 3), np.int64)
        places[:, 0] = np.arange(len(W))
        return self._run(W, places)

    def predict(self, windows: Any) -> Bool[np.ndarray, " n"]:
        """Whether windows (n, h, w) pass all stages."""
        return self.run(windows)[0] == len(self.stages)

    def detect(
        self,
        image: Any,
        *,
        step: int = 2,
        scale_factor: float | int = 1.2,
        min_size: int | None = None,
        iou_threshold: float | int = 0.3,
    ) -> tuple[Float[np.ndarray, "k 4"], Float[np.ndarray, " k"]]:
        """Objects in an image: corners (x1, y1, x2, y2) and scores, the best first.

        Windows of all sizes are tried: the image is made smaller, again and again.

        Args:
            image: (h, w), or (h, w, c) of which the brightness is used.
            step: pixels from one window to the next, at the size of the window.
            scale_factor: from one size to the next, above 1.
            min_size: the least height of an object in pixels; that of the windows unless
                given.
            iou_threshold: for the suppression of windows that overlap.
        """
        plane, (h, w) = grey(image), self.shape
        if step < 1 or not scale_factor > 1:
            raise InputError(
                f"step is {step} and scale_factor {scale_factor}; give a step of at least 1 "
                "and a factor above 1."
            )
        scale, boxes, scores = (min_size or h) / h, [], []
        while min(plane.shape[0] / h, plane.shape[1] / w) >= scale:
            small: Any = zoom(plane, 1 / scale, order=1, mode="nearest", grid_mode=True)
            if small.shape[0] >= h and small.shape[1] >= w:
                y, x = np.mgrid[
                    : small.shape[0] - h + 1 : step, : small.shape[1] - w + 1 : step
                ]
                places = np.stack([0 * y.ravel(), y.ravel(), x.ravel()], 1)
                passed, score = self._run(small[None], places)
                found = places[passed == len(self.stages), :0:-1] * scale
                boxes.append(np.concatenate([found, found + [w * scale, h * scale]], 1))
                scores.append(score[passed == len(self.stages)])
            scale *= scale_factor
        table = np.concatenate([np.empty((0, 4)), *boxes])
        score = np.concatenate([np.empty(0), *scores])
        kept = nms(table, score, iou_threshold=iou_threshold)
        return table[kept], score[kept]

    def _run(self, images: np.ndarray, places: np.ndarray) -> tuple:
        from likely.vision.features.cascade_kernel import run_cascade

        S, Q = integral_image(images), integral_image(images**2)
        passed, scores = np.zeros(len(places), np.int64), np.zeros(len(places))
        stumps = (
            self.rectangles,
            self.weights,
            self.thresholds,
            self.values,
            self.starts,
            self.stages,
        )
        run_cascade(S, Q, places, tuple(self.shape), stumps, passed, scores)
        return passed, scores
