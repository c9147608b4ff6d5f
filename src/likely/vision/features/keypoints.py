"""Keypoints: places in an image that can be found again, and what is around them."""

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True)
class Keypoints:
    """Places in an image, each with a size, a direction and a description.

    Attributes:
        points: (n, 2) x to the right and y down; the middle of the first pixel is (0, 0).
        scales: (n,) size σ in pixels of what was found.
        angles: (n,) direction in radians, from x towards y.
        responses: (n,) how clearly it was found; the clearest come first.
        descriptors: (n, k) unit vectors that do not depend on place, size, direction or
            brightness.
    """

    points: Float[np.ndarray, "n 2"]
    scales: Float[np.ndarray, " n"]
    angles: Float[np.ndarray, " n"]
    responses: Float[np.ndarray, " n"]
    descriptors: Float[np.ndarray, "n k"]

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(
        self, rows: slice | Bool[np.ndarray, " n"] | Int[np.ndarray, " m"]
    ) -> "Keypoints":
        """Some of the keypoints, by slice, mask or numbers."""
        return Keypoints(*(getattr(self, field.name)[rows] for field in fields(self)))

    def strongest(self, most: int | None) -> "Keypoints":
        """At most so many keypoints, the clearest first; all where None."""
        order = np.argsort(-self.responses, kind="stable")
        return self[order[:most]]
