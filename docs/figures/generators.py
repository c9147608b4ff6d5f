"""Draw docs/images/generators-*.svg: generative models compared, and what their rows teach.

`python docs/figures/generators.py`; the networks take about two minutes on two cores.
"""

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes

import likely as lk
from likely import diagnostics

FOLDER = Path(__file__).parents[1] / "images"
MODELS = (
    "independent columns",
    "BayesianNetwork",
    "SumProductNetwork",
    "NormalizingFlow",
    "VAE",
)


def save(drawn: Figure, name: str) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    drawn.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def main() -> None:
    """Models of the table of diabetes, and the best of them as a teacher."""
    table: Any = load_diabetes(as_frame=True, scaled=False)
    frame = table.frame
    found = lk.compare_densities(MODELS, frame)
    print(found)
    save(found.plot(), "generators-comparison")
    train, test = frame[::2], frame[1::2]
    model = lk.BayesianNetwork().fit(train)
    new = model.sample(len(train), random_state=0)
    taught = diagnostics.train_on_synthetic(new, train, test, target="target")
    save(taught.plot(), "generators-training")


if __name__ == "__main__":
    main()
