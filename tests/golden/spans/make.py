"""Makes seqeval.json: scores that seqeval 1.2.2 gives. Run in this folder, with seqeval."""

import json
import random
import warnings
from pathlib import Path

from seqeval.metrics.sequence_labeling import precision_recall_fscore_support

LABELS = ["O", *"BIES", *(f"{letter}-{kind}" for letter in "BIES" for kind in "XYZ")]
CLEAN = ["O", "O", "B-X", "I-X", "B-Y", "I-Y"]


def case(name: str, labels: list[str], right: float, draw: random.Random) -> dict:
    true = [draw.choices(labels, k=draw.randint(0, 9)) for _ in range(5)]
    predicted = [
        [each if draw.random() < right else draw.choice(labels) for each in row]
        for row in true
    ]
    scores = {}
    for average in ("micro", "macro", "weighted", None):
        found = precision_recall_fscore_support(true, predicted, average=average)
        scores[str(average)] = [
            each.tolist() if hasattr(each, "tolist") else each for each in found
        ]
    return {"name": name, "true": true, "predicted": predicted, "scores": scores}


def main() -> None:
    warnings.simplefilter("ignore")
    draw = random.Random(0)
    cases = [case("clean", CLEAN, 0.8, draw), case("mostly right", LABELS, 0.8, draw)]
    cases += [
        case("mostly wrong", LABELS, 0.2, draw),
        case("IOB1", ["O", "I-X", "I-Y"], 0.7, draw),
    ]
    cases += [case("one kind", ["O", "B", "I"], 0.6, draw)]
    text = json.dumps(cases, indent=None, separators=(",", ":"))
    Path(__file__).with_name("seqeval.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
