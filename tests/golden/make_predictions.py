"""Write down what every public class predicts, and save each fitted one.

    python tests/golden/make_predictions.py tests/golden/v4

Golden files stay as they are: a changed prediction needs a reason in the changelog.
"""

import sys
from pathlib import Path

import numpy as np
from examples import CASES, fitted, predictions

from likely import files


def main() -> None:
    folder, arrays = Path(sys.argv[1]), {}
    for name, case in CASES.items():
        path = folder / f"{name.replace(' ', '-')}.likely"
        if path.exists():
            raise SystemExit(f"{path} is there already; golden files stay as they are.")
        model = fitted(name)
        found = predictions(model, case.kind)
        arrays |= {f"{name}/{what}": value for what, value in found.items()}
        files.save(model, path, card=False)
        print(path, path.stat().st_size, "bytes", *found)
    np.savez_compressed(folder / "predictions.npz", **arrays)


if __name__ == "__main__":
    main()
