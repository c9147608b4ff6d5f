"""Images with boxes: what a detector is fitted to."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AnnotatedImages:
    """Images, and for each of them the boxes of the things in it and what they are.

    Boxes are (x0, y0, x1, y1) in pixels, x to the right and y down; pixel i covers the
    numbers from i to i + 1, so that the box of a whole image is (0, 0, width, height).

    Example:
        ```python
        from likely import data

        scenes = data.shape_scenes(3, size=32)
        scenes.boxes[0].shape, scenes.labels[0]
        ```
    """

    images: np.ndarray | Sequence[np.ndarray]
    """(n, h, w) or (n, h, w, c), or a list of images of different sizes."""
    boxes: Sequence[np.ndarray]
    """For each image (k, 4) corners; k may be 0."""
    labels: Sequence[np.ndarray]
    """For each image (k,) labels."""
    names: Sequence[str] = ()
    """The file of each image; empty where there are no files."""
    description: str = ""
    notes: Sequence[str] = ()
    """Sentences about what was left out or changed in reading."""

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        title = self.description.strip().partition("\n")[0]
        found = sum(len(b) for b in self.boxes)
        return f"AnnotatedImages({len(self)} images, {found} boxes: {title})"

    def rows(self, chosen: Any) -> "AnnotatedImages":
        """Some of the images, by a slice or by their numbers."""
        numbers = np.arange(len(self))[chosen]
        images = self.images
        if isinstance(images, np.ndarray):
            some: Any = images[numbers]
        else:
            some = [images[i] for i in numbers]
        return dataclasses.replace(
            self,
            images=some,
            boxes=[self.boxes[i] for i in numbers],
            labels=[self.labels[i] for i in numbers],
            names=[self.names[i] for i in numbers] if self.names else (),
        )
