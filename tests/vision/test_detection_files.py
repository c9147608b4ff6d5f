"""Files of boxes: three formats read alike, and every fault is a sentence with its file."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from likely import data

NAMES = ("cross", "disc", "square", "triangle")


@pytest.fixture(scope="module")
def scenes():
    return data.shape_scenes(4, size=32, count=(0, 3), sides=(8, 14), random_state=5)


@pytest.fixture
def folder(tmp_path, scenes):
    """The scenes as files in all three formats."""
    images = tmp_path / "JPEGImages"
    for name in ("JPEGImages", "Annotations", "labels"):
        (tmp_path / name).mkdir()
    annotations, listed = [], []
    for i, image in enumerate(scenes.images):
        Image.fromarray(image).save(images / f"{i}.png")
        listed.append({"id": 10 + i, "file_name": f"{i}.png"})
        lines, objects = [], []
        for box, label in zip(scenes.boxes[i], scenes.labels[i], strict=True):
            x0, y0, x1, y1 = box
            code = NAMES.index(label)
            bbox = [x0, y0, x1 - x0, y1 - y0]
            annotations.append({"image_id": 10 + i, "bbox": bbox, "category_id": code})
            middle = [(x0 + x1) / 64, (y0 + y1) / 64, (x1 - x0) / 32, (y1 - y0) / 32]
            lines.append(" ".join(map(str, [code, *middle])))
            objects.append(
                f"<object><name>{label}</name><bndbox><xmin>{x0 + 1}</xmin>"
                f"<ymin>{y0 + 1}</ymin><xmax>{x1}</xmax><ymax>{y1}</ymax></bndbox></object>"
            )
        (tmp_path / "labels" / f"{i}.txt").write_text("\n".join(lines) + "\n")
        (tmp_path / "Annotations" / f"{i}.xml").write_text(
            f"<annotation><filename>{i}.png</filename>{''.join(objects)}</annotation>"
        )
    (tmp_path / "labels" / "classes.txt").write_text("\n".join(NAMES))
    write_coco(tmp_path, listed, annotations)
    return tmp_path


def write_coco(folder: Path, images, annotations):
    categories = [{"id": i, "name": name} for i, name in enumerate(NAMES)]
    content = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "boxes.json").write_text(json.dumps(content))


@pytest.mark.parametrize("where", ["boxes.json", "Annotations", "labels"])
def test_three_formats_say_the_same(folder, scenes, where):
    found = data.read_boxes(folder / "JPEGImages", folder / where)
    np.testing.assert_array_equal(found.images, scenes.images)
    for boxes, labels, true, names in zip(
        found.boxes, found.labels, scenes.boxes, scenes.labels, strict=True
    ):
        np.testing.assert_allclose(boxes, true, atol=1e-9)
        assert labels.tolist() == names.tolist()
    assert found.names[2].endswith("2.png")
    assert not found.notes


def change_coco(folder, change):
    content = json.loads((folder / "boxes.json").read_text())
    change(content)
    (folder / "boxes.json").write_text(json.dumps(content))


def set_box(box):
    def change(content):
        content["annotations"][0]["bbox"] = box

    return change


FAULTS = {
    "no area": (set_box([3, 3, 0, 5]), "annotation 0.*has no area"),
    "outside": (set_box([40, 40, 5, 5]), "annotation 0.*lies outside"),
    "partly outside": (set_box([20, 20, 30, 5]), "annotation 0.*reaches outside"),
    "no numbers": (set_box([1, 2, 3]), "no bbox of four numbers"),
    "no label": (
        lambda c: c["annotations"][0].pop("category_id"),
        "the category None, which is not listed",
    ),
    "no image": (
        lambda c: c["annotations"][0].update(image_id=99),
        "image 99, which is not listed",
    ),
    "an id that is a list": (
        lambda c: c["annotations"][0].update(image_id=[1]),
        r"image \[1\], which is not listed",
    ),
    "a number beyond all": (set_box([10**400, 2, 3, 3]), "no bbox of four numbers"),
    "no file": (
        lambda c: c["images"][1].update(file_name="gone.png"),
        "gone.png.*does not exist",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_names_the_file_and_can_be_skipped(folder, scenes, name):
    change, sentence = FAULTS[name]
    change_coco(folder, change)
    with pytest.raises(data.TableError, match=sentence) as caught:
        data.read_coco(folder / "boxes.json", folder / "JPEGImages")
    assert "boxes.json" in str(caught.value) or ".png" in str(caught.value)
    found = data.read_coco(
        folder / "boxes.json", folder / "JPEGImages", problems="skip"
    )
    assert str(caught.value) == found.notes[0]
    assert len(found.notes) == (2 if name == "no file" else 1)  # 1.png is not listed
    total = sum(map(len, scenes.boxes))
    lost = {"no file": len(scenes.boxes[1]), "partly outside": 0}.get(name, 1)
    assert sum(map(len, found.boxes)) == total - lost
    assert all((b >= 0).all() and (b <= 32).all() for b in found.boxes)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is no image"),
        (b"\x89PNG\r\n\x1a\n garbage", "is no image|is damaged"),
        (None, "is damaged"),
    ],
)
def test_images_that_cannot_be_read_are_named(folder, content, sentence):
    path = folder / "JPEGImages" / "1.png"
    if content is None:
        content = path.read_bytes()[:-200]
    path.write_bytes(content)
    with pytest.raises(data.TableError, match=f"1.png.*({sentence})"):
        data.read_yolo(folder / "JPEGImages", folder / "labels")
    found = data.read_yolo(folder / "JPEGImages", folder / "labels", problems="skip")
    assert len(found) == 3
    assert "1.png" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0 0.5 0.5 0.1\n", "line 1.*class x y width height"),
        ("9 0.5 0.5 0.1 0.1\n", "class 9 has no name among 4"),
        ("\n0 0.5 0.5 0.0 0.1\n", "line 2 of 0.txt.*has no area"),
        ("\xff", "class x y width height"),
    ],
)
def test_lines_of_text_files_are_named(folder, text, sentence):
    (folder / "labels" / "0.txt").write_text(text, encoding="utf-8")
    with pytest.raises(data.TableError, match=sentence):
        data.read_yolo(folder / "JPEGImages", folder / "labels")


def test_an_image_without_a_text_file_has_no_objects_and_a_note(folder):
    (folder / "labels" / "2.txt").unlink()
    found = data.read_yolo(folder / "JPEGImages", folder / "labels")
    assert found.boxes[2].shape == (0, 4)
    assert "2.png: has no 2.txt" in found.notes[0]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("</annotation>", "", "is no XML"),
        ("<annotation>", "<!DOCTYPE x><annotation>", "declares entities"),
        ("<name>", "<title>", "is no XML"),
        ("xmin", "left", "no bndbox of four numbers"),
        ("<filename>0.png</filename>", "", "does not say the filename"),
    ],
)
def test_faults_of_xml_files_are_named(folder, scenes, old, new, sentence):
    number = next(i for i, b in enumerate(scenes.boxes) if len(b))
    path = folder / "Annotations" / f"{number}.xml"
    text = path.read_text().replace(old.replace("0.png", f"{number}.png"), new)
    path.write_text(text)
    with pytest.raises(data.TableError, match=f"{number}.xml.*{sentence}"):
        data.read_voc(folder / "Annotations")
    found = data.read_voc(folder / "Annotations", problems="skip")
    assert found.notes
    assert len(found) >= 3


def test_an_object_of_xml_without_a_name(folder, scenes):
    number = next(i for i, b in enumerate(scenes.boxes) if len(b))
    path = folder / "Annotations" / f"{number}.xml"
    label = scenes.labels[number][0]
    path.write_text(
        path.read_text().replace(f"<name>{label}</name>", "<name></name>", 1)
    )
    with pytest.raises(data.TableError, match=f"{number}.xml.*object 0 has no name"):
        data.read_voc(folder / "Annotations", folder / "JPEGImages")


def test_images_of_different_sizes_are_a_list(folder):
    Image.fromarray(np.zeros((8, 12, 3), np.uint8)).save(folder / "JPEGImages/9.png")
    (folder / "labels" / "9.txt").write_text("1 0.5 0.5 1 1\n")
    found = data.read_yolo(folder / "JPEGImages", folder / "labels")
    assert isinstance(found.images, list)
    assert found.images[4].shape == (8, 12, 3)
    np.testing.assert_allclose(found.boxes[4], [[0, 0, 12, 8]])
    assert len(found.rows([4, 0]).images) == 2


def test_an_image_that_is_listed_twice_is_read_once(folder):
    change_coco(folder, lambda c: c["images"].append(c["images"][0]))
    given = folder / "boxes.json", folder / "JPEGImages"
    with pytest.raises(data.TableError, match="boxes.json.*lists image 10 twice"):
        data.read_coco(*given)
    assert len(data.read_coco(*given, problems="skip")) == 4


@pytest.mark.parametrize("categories", [None, [{"id": [1], "name": "x"}], [{}]])
def test_categories_may_be_anything_or_absent(folder, categories):
    """They only name the labels; what they do not name is refused with its number."""
    change_coco(folder, lambda c: c.update(categories=categories))
    given = folder / "boxes.json", folder / "JPEGImages"
    found = data.read_coco(*given, problems="skip")
    if categories is None:
        assert sum(map(len, found.boxes)) > 0
    else:
        assert "annotation 0 has the category" in found.notes[0]


@pytest.mark.parametrize("where", ["boxes.json", "Annotations", "labels"])
def test_files_that_nothing_refers_to_are_named(folder, where):
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(folder / "JPEGImages/more.png")
    (folder / "labels" / "orphan.txt").write_text("1 0.5 0.5 1 1\n")
    found = data.read_boxes(folder / "JPEGImages", folder / where)
    assert any("more.png" in note for note in found.notes)
    if where == "labels":
        assert "1 not used, since they belong to no image: orphan.txt" in "".join(
            found.notes
        )


def test_levels_of_sixteen_bits_are_not_lost(folder):
    levels = np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000
    Image.fromarray(levels).save(folder / "JPEGImages" / "0.png")
    found = data.read_coco(
        folder / "boxes.json", folder / "JPEGImages", problems="skip"
    )
    np.testing.assert_allclose(found.images[0] * 65535, levels, atol=0.01)
    assert found.images[1].dtype == np.uint8
    wild = np.full((8, 8), 3.0, np.float32)
    Image.fromarray(wild).save(folder / "JPEGImages" / "0.tif")
    with pytest.raises(data.TableError, match="0.tif.*levels outside of 0 to 1"):
        data.read_yolo(folder / "JPEGImages", folder / "labels")


def test_names_of_classes_that_cannot_be_read_are_named(folder):
    (folder / "labels" / "classes.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(data.TableError, match="classes.txt.*cannot be read"):
        data.read_yolo(folder / "JPEGImages", folder / "labels")


def test_what_is_no_format_is_refused(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    for path, sentence in [
        ("empty", "none of the formats"),
        ("gone", "does not exist"),
    ]:
        with pytest.raises(data.TableError, match=sentence):
            data.read_boxes(folder / "JPEGImages", tmp_path / path)
    (folder / "boxes.json").write_text("[1, 2")
    with pytest.raises(data.TableError, match="boxes.json.*is no JSON"):
        data.read_boxes(folder / "JPEGImages", folder / "boxes.json")
    (folder / "boxes.json").write_text("[1, 2]")
    with pytest.raises(data.TableError, match='no lists "images" and "annotations"'):
        data.read_boxes(folder / "JPEGImages", folder / "boxes.json")
