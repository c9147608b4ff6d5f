"""A run that trains a detector on files: a test it has not seen, a model, a report."""

import dataclasses
import json
import shlex
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.data import AnnotatedImages, read_boxes
from likely.files.atomic import replace
from likely.vision import Detections, YOLODetector
from likely.workbench.detection.cases import MIN_SCORE, Case, cases_of, measured
from likely.workbench.detection.page import page, sentences
from likely.workbench.detection.pictures import picture
from likely.workbench.detection.spec import DetectionSpec

TEST_SHARE, MIN_IMAGES, SHOWN = 0.2, 5, 6
"""The share of images that are tested on, the fewest images of a run, and how many of the best
and of the worst cases are shown."""
WORK_FOLDER = "work"


class DetectionResult(NamedTuple):
    """The result of a run.

    Attributes:
        report: the content of `report.json`.
        model: the fitted detector.
        cases: the images of the test, from best to worst.
        html: the report as a page.
    """

    report: dict[str, Any]
    model: YOLODetector
    cases: list[Case]
    html: str

    @property
    def sentences(self) -> list[str]:
        """What to know first."""
        return sentences(self.report)


def run_detection(
    spec: DetectionSpec, out: Path, *, verbose: bool = False
) -> DetectionResult:
    """Train a detector on a folder, test it on images it has not seen, and write both.

    Files that cannot be used are left out, and the report says which and why. A run that
    was interrupted goes on where it was when it is started again.

    Args:
        spec: the settings.
        out: the folder of the result: `model.likely`, `report.json`, `report.html`.
        verbose: whether to show a progress bar.
    """
    given = read_boxes(spec.images, spec.boxes, problems="skip")
    if len(given) < MIN_IMAGES:
        raise InputError(
            f"{spec.images!r} has {len(given)} images that can be used; give at least "
            f"{MIN_IMAGES}."
        )
    order = np.random.default_rng(spec.seed).permutation(len(given))
    cut = max(1, round(TEST_SHARE * len(given)))
    test, fit = given.rows(np.sort(order[:cut])), given.rows(np.sort(order[cut:]))
    known = set(np.concatenate([np.asarray(y, object) for y in fit.labels]).tolist())
    test = _of_classes(test, known)
    work = out / WORK_FOLDER
    resume = _resumes(spec, work)
    model = spec.detector(given.images, verbose=verbose)
    model.fit(
        fit.images,
        fit.boxes,
        fit.labels,
        checkpoints=work / "checkpoints",
        resume=resume,
    )
    found = model.predict(test.images, min_score=0.0, coverage=spec.coverage)
    result = _result(spec, model, (given, fit, test), found)
    model.save(out / "model.likely")
    for name, text in (
        ("report.json", json.dumps(result.report, indent=1) + "\n"),
        ("report.html", result.html),
    ):
        content = text.encode("utf-8")
        replace(out / name, lambda file, content=content: file.write(content), _is_ours)
    shutil.rmtree(out / WORK_FOLDER, ignore_errors=True)
    return result


def _is_ours(path: Path) -> bool:
    """Whether a file may be overwritten: the command line has asked already."""
    return True


def _resumes(spec: DetectionSpec, work: Path) -> bool:
    """Whether a folder holds an unfinished run of the same settings; others are removed."""
    note = work / "spec.json"
    text = json.dumps(dataclasses.asdict(spec))
    known = note.exists() and note.read_text(encoding="utf-8") == text
    if not known:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        note.write_text(text, encoding="utf-8")
    return known and (work / "checkpoints").is_dir()


def _of_classes(test: AnnotatedImages, known: set) -> AnnotatedImages:
    """The test without boxes of classes that the fit has no example of, with a note."""
    strange = sorted(
        {str(name) for y in test.labels for name in y.tolist() if name not in known}
    )
    if not strange:
        return test
    keep = [np.array([name in known for name in y.tolist()], bool) for y in test.labels]
    return dataclasses.replace(
        test,
        boxes=[b[k] for b, k in zip(test.boxes, keep, strict=True)],
        labels=[y[k] for y, k in zip(test.labels, keep, strict=True)],
        notes=(*test.notes, f"only in the test, and left out: {', '.join(strange)}."),
    )


def _result(
    spec: DetectionSpec,
    model: YOLODetector,
    parts: tuple[AnnotatedImages, AnnotatedImages, AnnotatedImages],
    found: list[Detections],
) -> DetectionResult:
    """The report of a fitted detector."""
    given, fit, test = parts
    names, counts = np.unique(
        np.concatenate([np.asarray(y, str) for y in fit.labels]), return_counts=True
    )
    cases = cases_of(test, found)
    report = {
        "data": Path(spec.images).name,
        "classes": [str(name) for name in model.classes_],
        "counts": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        "fit": len(fit),
        "test": len(test),
        "objects": sum(map(len, given.boxes)),
        "epochs": int(model.n_iter_),
        "seed": spec.seed,
        "effort": spec.effort,
        "measured": measured(test, found, spec.seed),
        "cases": [dataclasses.asdict(c) for c in cases],
        "notes": list(test.notes),
        "command": shlex.join(
            ["likely", "fit", spec.images, "--boxes", spec.boxes, "--effort",
             spec.effort, "--seed", str(spec.seed)]
        ),
    }  # fmt: skip

    def shown(chosen: list[Case]) -> list[tuple[Case, str]]:
        return [
            (c, picture(test.images[c.number], found[c.number], test.boxes[c.number], MIN_SCORE))
            for c in chosen
        ]  # fmt: skip

    best, worst = cases[:SHOWN], cases[::-1][:SHOWN]
    return DetectionResult(
        report, model, cases, page(report, shown(best), shown(worst))
    )
