"""Boxes in YOLO's text files: a line for each box, a file for each image."""

import itertools
from os import PathLike
from pathlib import Path
from typing import Any

from likely.data.detection.annotated import AnnotatedImages
from likely.data.detection.problems import Reading, images_in
from likely.data.errors import TableError, table_error

NAMES = ("classes.txt", "obj.names", "classes.names")


def read_yolo(
    images: str | PathLike,
    annotations: str | PathLike | None = None,
    *,
    problems: str = "raise",
) -> AnnotatedImages:
    """Images and boxes of folders as YOLO has them.

    A line is "class x y width height", with the centre and the sides in shares of those of
    the image. An image without a file has no objects, and a note says so. Names of classes
    come from a file such as classes.txt, one a line, where there is one.

    Args:
        images: the folder of the images.
        annotations: the folder of the text files; where None that of the images, or the
            folder "labels" beside it.
        problems: as in `read_coco`.
    """
    folder = Path(images)
    if not folder.is_dir():
        raise table_error(folder, "is no folder; give the folder of the images.")
    files, texts = images_in(folder), _texts(folder, annotations)
    names, reading = _names(texts, folder), Reading(problems)
    for file in files:
        pixels = reading.image(file)
        if pixels is None:
            continue
        text = texts / f"{file.stem}.txt"
        if not text.exists():
            reading.notes.append(f"{file}: has no {text.name}, so no objects.")
            reading.add(file, pixels, [])
            continue
        reading.add(file, pixels, _objects(reading, text, pixels.shape, names))
    known = {f"{file.stem}.txt" for file in files} | set(NAMES)
    strange = (text for text in texts.glob("*.txt") if text.name not in known)
    reading.unused(strange, "they belong to no image")
    return reading.done(folder, "YOLO text")


def _texts(folder: Path, annotations: str | PathLike | None) -> Path:
    if annotations is not None:
        return Path(annotations)
    beside = folder.parent / "labels"
    return beside if beside.is_dir() else folder


def _names(*folders: Path) -> list[str]:
    """Names of classes, or none."""
    for folder, name in itertools.product(
        [*folders, *(f.parent for f in folders)], NAMES
    ):
        if (folder / name).is_file():
            lines = _lines(folder / name)
            return [line.strip() for line in lines if line.strip()]
    return []


def _lines(file: Path) -> list[str]:
    """The lines of a text file."""
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise table_error(file, f"cannot be read ({error}).") from error


def _objects(
    reading: Reading, text: Path, shape: tuple[int, ...], names: list[str]
) -> list[tuple[Any, Any, str]]:
    """Label, corners and name of each line."""
    h, w = shape[:2]
    found = []
    try:
        lines = _lines(text)
    except TableError as error:
        reading.refuse(error)
        return []
    for number, line in enumerate(lines, 1):
        cells = line.split()
        if not cells:
            continue
        try:
            code, x, y, across, down = int(cells[0]), *map(float, cells[1:])
        except ValueError:
            reading.wrong(
                text, 'is not "class x y width height"; mend the line.', line=number
            )
            continue
        if code < 0 or (names and code >= len(names)):
            reading.wrong(
                text, f"class {code} has no name among {len(names)}.", line=number
            )
            continue
        corners = (
            (x - across / 2) * w,
            (y - down / 2) * h,
            (x + across / 2) * w,
            (y + down / 2) * h,
        )
        label = names[code] if names else code
        found.append((label, corners, f"line {number} of {text.name}"))
    return found
