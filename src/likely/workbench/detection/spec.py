"""The settings of a run that trains a detector, and what follows from them."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from likely.core.checks import InputError, suggestion
from likely.vision import YOLODetector
from likely.workbench.spec import EFFORTS

EPOCHS = {"quick": 15, "normal": "auto", "thorough": 200}
"""Epochs of each effort."""
MAX_SIDE, MULTIPLE = 128, 8
"""The largest side of the images of the network, and what sides are a multiple of."""


@dataclasses.dataclass(frozen=True)
class DetectionSpec:
    """The settings of `likely fit images/ --boxes FILE`.

    Attributes:
        images: the folder of the images.
        boxes: COCO's JSON file, or a folder of Pascal VOC's XML or YOLO's text files.
        effort: "quick", "normal" or "thorough".
        seed: of the split and of the detector.
        coverage: of boxes with margins.
    """

    images: str
    boxes: str
    effort: str = "normal"
    seed: int = 0
    coverage: float = 0.9

    def __post_init__(self):
        if self.effort not in EFFORTS:
            near = suggestion(self.effort, EFFORTS, "give one of")
            raise InputError(f"effort is {self.effort!r}; {near}")
        if not Path(self.images).is_dir():
            raise InputError(
                f"{self.images!r} is no folder; with --boxes give the folder of the images."
            )

    def detector(self, images: Any, *, verbose: bool = False) -> YOLODetector:
        """The detector for these images, which are resized where they differ or are large.

        Args:
            images: of the run.
            verbose: whether to show a progress bar.
        """
        shapes = {np.shape(image)[:2] for image in images}
        longest = max(max(shape) for shape in shapes)
        size = None
        if len(shapes) > 1 or longest > MAX_SIDE:
            size = MULTIPLE * -(-min(MAX_SIDE, longest) // MULTIPLE)
        return YOLODetector(
            image_size=size,
            max_iter=EPOCHS[self.effort],
            random_state=self.seed,
            verbose=verbose,
        )
