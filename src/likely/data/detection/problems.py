"""What is wrong in files of boxes: one error that names the file, or notes to go on with."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.data.detection.annotated import AnnotatedImages
from likely.data.detection.pictures import read_image
from likely.data.errors import TableError, table_error

SLACK = 1.0
"""Pixels by which a box may reach outside of its image; it is clipped."""
WAYS = ("raise", "skip")
MAX_NAMED = 5
"""Files that a note names; the others are counted."""
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")


def images_in(folder: Path) -> list[Path]:
    """The image files of a folder, by their names."""
    return sorted(f for f in folder.iterdir() if f.suffix.lower() in IMAGE_ENDINGS)


class Reading:
    """Images and boxes as they are read, with what is wrong with some of them.

    Args:
        problems: "raise" stops at the first thing that is wrong, "skip" leaves it out, or
            clips a box that reaches out of its image, and keeps a note of it.
    """

    def __init__(self, problems: str):
        if problems not in WAYS:
            raise InputError(f'problems is {problems!r}; give "raise" or "skip".')
        self.problems, self.notes = problems, []
        self.images: list[np.ndarray] = []
        self.boxes: list[np.ndarray] = []
        self.labels: list[np.ndarray] = []
        self.names: list[str] = []

    def wrong(
        self, path: str | PathLike, what: str, *, line: int | None = None
    ) -> None:
        """Raise the error, or keep the note."""
        self.refuse(table_error(path, what, line=line))

    def refuse(self, error: TableError) -> None:
        """Raise the error, or keep the note."""
        if self.problems == "raise":
            raise error
        self.notes.append(str(error))

    def image(self, path: Path) -> np.ndarray | None:
        """The pixels of a file, or None where it cannot be read."""
        try:
            return read_image(path)
        except TableError as error:
            self.refuse(error)
            return None

    def add(
        self, path: Path, pixels: np.ndarray, found: list[tuple[Any, Any, str]]
    ) -> None:
        """Add an image with its boxes.

        Args:
            path: of the image.
            pixels: of the image.
            found: label, corners, and what the box is called in a message.
        """
        h, w = pixels.shape[:2]
        kept = []
        for label, corners, name in found:
            box = self._inside(np.asarray(corners, np.float64), (h, w), path, name)
            if box is not None:
                kept.append((label, box))
        self.images.append(pixels)
        self.names.append(str(path))
        self.boxes.append(np.array([b for _, b in kept]).reshape(-1, 4))
        self.labels.append(np.array([label for label, _ in kept]))

    def _inside(
        self, box: np.ndarray, shape: tuple[int, int], path: Path, name: str
    ) -> np.ndarray | None:
        """A box inside of its image, or None where there is none."""
        h, w = shape
        clipped = np.clip(box, 0.0, [w, h, w, h])
        size = f"the image has {w} by {h} pixels"
        if not np.isfinite(box).all():
            return self.wrong(path, f"{name} has sides that are no numbers; mend it.")
        shown = np.round(box, 2).tolist()
        if (box[2:] <= box[:2]).any():
            return self.wrong(path, f"{name}, {shown}, has no area; remove it.")
        if (clipped[2:] <= clipped[:2]).any():
            return self.wrong(
                path, f"{name}, {shown}, lies outside: {size}; remove it."
            )
        if np.abs(clipped - box).max() > SLACK:
            self.wrong(path, f"{name}, {shown}, reaches outside: {size}; clip it.")
        return clipped

    def unused(self, files: Iterable[Path], why: str) -> None:
        """Keep one note of files that nothing refers to, with the names of some.

        Args:
            files: any number of them.
            why: they are not used, such as "no annotation lists them".
        """
        found = sorted(files)
        if found:
            names = ", ".join(file.name for file in found[:MAX_NAMED])
            more = ", ..." if len(found) > MAX_NAMED else ""
            self.notes.append(
                f"'{found[0].parent}': {len(found)} not used, since {why}: {names}{more}."
            )

    def done(self, source: str | PathLike, kind: str) -> AnnotatedImages:
        """All that was read."""
        if not self.images:
            first = f" ({self.notes[0]})" if self.notes else ""
            raise table_error(source, f"there are no images that can be used{first}.")
        shapes = {(image.shape, image.dtype) for image in self.images}
        images: Any = self.images
        if len(shapes) == 1:
            images = np.stack(self.images)
        return AnnotatedImages(
            images,
            self.boxes,
            self.labels,
            self.names,
            f"{Path(source).name}, {kind}",
            tuple(self.notes),
        )
