"""Boxes in COCO's JSON: one file for all images."""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from likely.data.detection.annotated import AnnotatedImages
from likely.data.detection.problems import Reading, images_in
from likely.data.errors import table_error

MAX_PIXELS = 2**53
"""Whole numbers from this on are no places in an image."""


def read_coco(
    annotations: str | PathLike,
    images: str | PathLike | None = None,
    *,
    problems: str = "raise",
) -> AnnotatedImages:
    """Images and boxes of a COCO file; regions of crowds are left out, with a note.

    Args:
        annotations: the JSON file, with "images", "annotations" and "categories".
        images: the folder of the images; that of the file where None.
        problems: "raise" stops at the first thing that is wrong, "skip" leaves it out, or
            clips a box that reaches out of its image, and keeps a note of it.
    """
    path = Path(annotations)
    content = _content(path)
    folder = path.parent if images is None else Path(images)
    reading = Reading(problems)
    boxes = _boxes(reading, path, content)
    for each in content["images"]:
        name = each.get("file_name")
        if not isinstance(name, str) or not name or "\0" in name:
            reading.wrong(path, f"image {each.get('id')!r} has no file_name; add it.")
            continue
        found = boxes.pop(_key(each.get("id")), None)
        if found is None:
            reading.wrong(path, f"lists image {each.get('id')!r} twice; remove one.")
            continue
        pixels = reading.image(folder / name)
        if pixels is not None:
            reading.add(folder / name, pixels, found)
    if folder.is_dir():
        known = {folder / str(each.get("file_name")) for each in content["images"]}
        strange = (file for file in images_in(folder) if file not in known)
        reading.unused(strange, f"{path.name} does not list them")
    return reading.done(path, "COCO")


def _boxes(
    reading: Reading, path: Path, content: Mapping[str, Any]
) -> dict[str, list[tuple[Any, Any, str]]]:
    """For each image the labels, corners and names of its annotations."""
    names = {_key(each.get("id")): _label(each) for each in content["categories"]}
    boxes: dict[str, list] = {_key(each.get("id")): [] for each in content["images"]}
    for number, each in enumerate(content["annotations"]):
        found = _box(reading, path, each, names, number)
        if found is None:
            continue
        if _key(each.get("image_id")) not in boxes:
            reading.wrong(
                path,
                f"annotation {number} is of image {each.get('image_id')!r}, which is not "
                "listed; list the image or remove the annotation.",
            )
            continue
        boxes[_key(each.get("image_id"))].append(found)
    crowds = sum(bool(each.get("iscrowd")) for each in content["annotations"])
    if crowds:
        reading.notes.append(f"{path}: {crowds} regions of crowds are left out.")
    return boxes


def _key(value: Any) -> str:
    """An id, which may be any value of JSON, as the key of a table."""
    return json.dumps(value, sort_keys=True)


def _label(category: Mapping[str, Any]) -> Any:
    """The name of a category, or its id where it has none."""
    name = category.get("name")
    return name if isinstance(name, str) and name else _plain(category.get("id"))


def _plain(value: Any) -> Any:
    """A label as it is where it is a text or a whole number, else its text."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole or isinstance(value, str) else json.dumps(value)


def _content(path: Path) -> Mapping[str, Any]:
    """The three lists of the file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise table_error(path, f"cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise table_error(path, f"is no JSON ({error}); is it whole?") from error
    if isinstance(content, dict) and content.get("categories") is None:
        content["categories"] = []
    lists = ("images", "annotations", "categories")
    if not isinstance(content, dict) or not all(
        isinstance(content.get(name), list)
        and all(isinstance(each, dict) for each in content[name])
        for name in lists
    ):
        raise table_error(
            path, 'has no lists "images" and "annotations"; give a file as COCO has it.'
        )
    return content


def _box(
    reading: Reading, path: Path, each: Mapping[str, Any], names: dict, number: int
) -> tuple[Any, Any, str] | None:
    """The label, the corners and the name of an annotation, or None where it has none."""
    if each.get("iscrowd"):
        return None
    box, category = each.get("bbox"), each.get("category_id")
    if not isinstance(box, list) or len(box) != 4 or not all(map(_is_number, box)):
        return reading.wrong(
            path,
            f"annotation {number} has no bbox of four numbers; add it or remove it.",
        )
    if category is None or (names and _key(category) not in names):
        return reading.wrong(
            path,
            f"annotation {number} has the category {category!r}, which is not listed; add "
            "its label or remove it.",
        )
    x, y, w, h = box
    corners = (x, y, x + w, y + h)
    label = names.get(_key(category), _plain(category))
    return label, corners, f"annotation {number}"


def _is_number(value: Any) -> bool:
    """Whether a value of JSON is a number of a size that pixels may have."""
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return known and (isinstance(value, float) or abs(value) < MAX_PIXELS)
