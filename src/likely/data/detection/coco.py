"""Boxes in COCO's JSON: one file for all images."""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from likely.data.detection.annotated import AnnotatedImages
from likely.data.detection.problems import Reading
from likely.data.errors import table_error


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
    reading, names = Reading(problems), {}
    for each in content.get("categories", ()):
        names[each.get("id")] = each.get("name", each.get("id"))
    boxes: dict[Any, list] = {each.get("id"): [] for each in content["images"]}
    for number, each in enumerate(content["annotations"]):
        found = _box(reading, path, each, names, number)
        if found is None:
            continue
        if each.get("image_id") not in boxes:
            reading.wrong(
                path,
                f"annotation {number} is of image {each.get('image_id')!r}, which is not "
                "listed; list the image or remove the annotation.",
            )
            continue
        boxes[each["image_id"]].append(found)
    crowds = sum(bool(each.get("iscrowd")) for each in content["annotations"])
    if crowds:
        reading.notes.append(f"{path}: {crowds} regions of crowds are left out.")
    for each in content["images"]:
        if not isinstance(each.get("file_name"), str):
            reading.wrong(path, f"image {each.get('id')!r} has no file_name; add it.")
            continue
        file = folder / each["file_name"]
        pixels = reading.image(file)
        if pixels is not None:
            reading.add(file, pixels, boxes[each.get("id")])
    return reading.done(path, "COCO")


def _content(path: Path) -> Mapping[str, Any]:
    """The three lists of the file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise table_error(path, f"cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise table_error(path, f"is no JSON ({error}); is it whole?") from error
    lists = ("images", "annotations")
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
    if category is None or (names and category not in names):
        return reading.wrong(
            path,
            f"annotation {number} has the category {category!r}, which is not listed; add "
            "its label or remove it.",
        )
    x, y, w, h = box
    corners = (x, y, x + w, y + h)
    return names.get(category, category), corners, f"annotation {number}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
