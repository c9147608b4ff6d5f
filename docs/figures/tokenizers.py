"""Draw docs/images/tokenizers.svg: length and bits of Shakespeare over the vocabulary."""

import os
from pathlib import Path

import matplotlib

from likely import plots
from likely.data import tinyshakespeare
from likely.text import vocabulary_study


def main() -> None:
    """Study vocabularies of 256 to 16,384 tokens and draw the study."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    root = Path(__file__).parents[2]
    shared = Path(os.environ.get("LIKELY_SHARED", root.parent / "shared"))
    path = shared / "data" / "tinyshakespeare.txt"
    text = tinyshakespeare(path=path if path.exists() else None)
    study = vocabulary_study([text], [2**k for k in range(8, 15)])
    for row in zip(*study[:4], strict=True):
        print(*row)
    print("characters", study.characters, "words", study.words)
    drawn = plots.vocabulary_study(study)
    path = root / "docs" / "images" / "tokenizers.svg"
    drawn.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
