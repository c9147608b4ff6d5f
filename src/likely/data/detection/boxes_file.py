"""Images and boxes in any of the formats that are known, by what the files are."""

from os import PathLike
from pathlib import Path

from likely.data.detection.annotated import AnnotatedImages
from likely.data.detection.coco import read_coco
from likely.data.detection.voc import read_voc
from likely.data.detection.yolo_text import read_yolo
from likely.data.errors import table_error


def read_boxes(
    images: str | PathLike, annotations: str | PathLike, *, problems: str = "raise"
) -> AnnotatedImages:
    """Images with boxes, in COCO's JSON, Pascal VOC's XML or YOLO's text files.

    Args:
        images: the folder of the images.
        annotations: a JSON file, or a folder of XML or of text files.
        problems: "raise" stops at the first thing that is wrong, "skip" leaves it out, or
            clips a box that reaches out of its image, and keeps a note of it.
    """
    path = Path(annotations)
    if not path.exists():
        raise table_error(path, "does not exist; give the file or folder of the boxes.")
    if path.suffix.lower() == ".json":
        return read_coco(path, images, problems=problems)
    if path.suffix.lower() == ".xml" or (path.is_dir() and any(path.glob("*.xml"))):
        return read_voc(path, images, problems=problems)
    if path.is_dir() and any(path.glob("*.txt")):
        return read_yolo(images, path, problems=problems)
    raise table_error(
        path,
        "is none of the formats that are known; give COCO's JSON file, or a folder of "
        "Pascal VOC's XML or of YOLO's text files.",
    )
