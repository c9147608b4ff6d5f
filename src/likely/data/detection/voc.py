"""Boxes in Pascal VOC's XML: one file for each image."""

from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from likely.data.detection.annotated import AnnotatedImages
from likely.data.detection.problems import Reading, images_in
from likely.data.errors import TableError, table_error

MAX_BYTES = 1 << 24
"""Files of one image are not larger than this."""


def read_voc(
    annotations: str | PathLike,
    images: str | PathLike | None = None,
    *,
    problems: str = "raise",
) -> AnnotatedImages:
    """Images and boxes of a folder of VOC's XML files.

    The corners of VOC count pixels from 1 and include the last one; here they become the
    numbers from the left of the first pixel to the right of the last.

    Args:
        annotations: the folder of the XML files, or one of them.
        images: the folder of the images; where None that of the annotations, or the folder
            "JPEGImages" beside it.
        problems: as in `read_coco`.
    """
    path = Path(annotations)
    files = sorted(path.glob("*.xml")) if path.is_dir() else [path]
    if not files:
        raise table_error(path, "holds no XML files; give the folder that does.")
    folder = _folder(files[0].parent, images)
    reading, known = Reading(problems), set()
    for file in files:
        try:
            root = _root(file)
        except TableError as error:
            reading.refuse(error)
            continue
        name = root.findtext("filename")
        if not name:
            reading.wrong(file, "does not say the filename of its image; add it.")
            continue
        known.add(folder / name.strip())
        pixels = reading.image(folder / name.strip())
        if pixels is not None:
            reading.add(folder / name.strip(), pixels, _objects(reading, file, root))
    if path.is_dir() and folder.is_dir():
        strange = (file for file in images_in(folder) if file not in known)
        reading.unused(strange, "no XML file names them")
    return reading.done(path, "Pascal VOC")


def _folder(beside: Path, images: str | PathLike | None) -> Path:
    if images is not None:
        return Path(images)
    other = beside.parent / "JPEGImages"
    return other if other.is_dir() else beside


def _root(file: Path) -> ElementTree.Element:
    """The content of a file; one that declares entities, which can grow, is refused."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise table_error(file, "is too large for the boxes of one image.")
        text = file.read_bytes()
    except OSError as error:
        raise table_error(file, f"cannot be read ({error.strerror}).") from error
    if b"<!ENTITY" in text or b"<!DOCTYPE" in text:
        raise table_error(
            file, "declares entities, which boxes do not need; remove them."
        )
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise table_error(file, f"is no XML ({error}); is it whole?") from error


def _objects(
    reading: Reading, file: Path, root: ElementTree.Element
) -> list[tuple[Any, Any, str]]:
    """Label, corners and name of each object."""
    found = []
    for number, each in enumerate(root.iter("object")):
        label = (each.findtext("name") or "").strip()
        if not label:
            reading.wrong(file, f"object {number} has no name; add its label.")
            continue
        try:
            x0, y0, x1, y1 = (
                float(each.findtext(f"bndbox/{side}") or "nothing")
                for side in ("xmin", "ymin", "xmax", "ymax")
            )
        except ValueError:
            reading.wrong(
                file, f"object {number} has no bndbox of four numbers; add it."
            )
            continue
        corners = (x0 - 1, y0 - 1, x1, y1)
        found.append((label, corners, f"object {number} of {file.name}"))
    return found
