"""What are rows without a label worth? Digits with 100 labels.

`python -m benchmarks.few_labels [SEED ...]` takes MNIST's test digits at half their size
(14 x 14): 100 with labels, ten of each, 7,900 without, and 2,000 to judge by. It prints, for
each way to learn, the accuracy and the nats per digit with their standard errors over the
seeds, the gain over the same model without the unlabelled digits, and processor seconds.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline

import likely as lk
from likely.data import read_idx
from likely.layers import Augmentation

HERE = Path(__file__).resolve().parents[2] / "shared" / "data"
LABELS, FRESH = 100, 2000
SIDE = 14
SHAKEN = Augmentation(shift=0.1, rotate=15.0, scale=0.15, erase=0.3)
"""The strong disturbance of consistency training, as plain augmentation."""


def digits() -> tuple[np.ndarray, np.ndarray]:
    """(10000, 14, 14) numbers from 0 to 1, and their classes."""
    images = read_idx(HERE / "mnist-t10k-images.idx3.gz") / 255
    small = images.reshape(-1, SIDE, 2, SIDE, 2).mean((2, 4))
    return small, np.array(read_idx(HERE / "mnist-t10k-labels.idx1.gz"), int)


def split(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows with labels, without, and to judge by; as many labels of each class."""
    order = np.random.default_rng(seed).permutation(len(y))
    fresh, rest = order[:FRESH], order[FRESH:]
    labelled = np.concatenate([rest[y[rest] == c][: LABELS // 10] for c in range(10)])
    return labelled, np.setdiff1d(rest, labelled), fresh


def logistic() -> lk.LogisticRegression:
    """The small model."""
    return lk.LogisticRegression(alpha=1.0)


def perceptron(seed: int) -> lk.MLPClassifier:
    """A network of pixels as columns, 1000 steps."""
    settings = {"solver": "adam", "max_iter": 1000, "learning_rate_init": 3e-3}
    return lk.MLPClassifier((128,), random_state=seed, **settings)


def convolutional(seed: int, **settings) -> lk.CNNClassifier:
    """A network of images, 800 steps."""
    told = {"max_iter": 400, "learning_rate": "cosine", "learning_rate_init": 5e-3}
    told |= {"batch_size": 64, "random_state": seed}
    return lk.CNNClassifier((8, 16), (), **told, **settings)


def autoencoder(seed: int) -> lk.AutoencoderFeatures:
    """16 columns that need no labels."""
    settings = {"scaling": "together", "max_iter": 40, "learning_rate_init": 5e-3}
    return lk.AutoencoderFeatures(16, (128,), random_state=seed, **settings)


def pretrained(seed: int, X: np.ndarray) -> lk.MLPClassifier:
    """A network that begins from one that has learned to find hidden pixels of all rows."""
    network = perceptron(seed)
    masked = lk.MaskedPretraining(network, max_iter=10, random_state=seed).fit(X)
    return network.set_params(pretrained=masked)


def ways(seed: int) -> dict:
    """Name -> the model, whether it takes images, the name of what it is compared with."""
    alone = lk.PseudoLabels(
        logistic(), max_iter=0
    )  # takes -1, and leaves such rows out
    components = make_pipeline(PCA(16, whiten=True, random_state=seed), alone)
    features = make_pipeline(autoencoder(seed), alone)
    pseudo = lk.PseudoLabels(logistic(), 0.9, max_iter=3, cv=3)
    consistent = lk.ConsistencyTraining(perceptron(seed))
    images = lk.ConsistencyTraining(convolutional(seed), batch_size=128)
    return {
        "logistic regression": (logistic(), False, None),
        "logistic, pseudo-labels": (pseudo, False, "logistic regression"),
        "principal components": (components, False, "logistic regression"),
        "autoencoder features": (features, False, "logistic regression"),
        "perceptron": (perceptron(seed), False, None),
        "perceptron, consistency": (consistent, False, "perceptron"),
        "perceptron, masked": (pretrained, False, "perceptron"),
        "convolutional": (convolutional(seed), True, None),
        "convolutional, augmented": (convolutional(seed, augment=SHAKEN), True, None),
        "convolutional, consistency": (images, True, "convolutional, augmented"),
    }


def judge(seed: int, images: np.ndarray, y: np.ndarray) -> dict[str, dict]:
    """Accuracy, nats and processor seconds of each way, for one draw of the labels."""
    labelled, rest, fresh = split(y, seed)
    rows = np.concatenate([labelled, rest])
    few = np.where(np.arange(len(rows)) < LABELS, y[rows], -1)
    found = {}
    for name, (model, pictures, _) in ways(seed).items():
        X = images if pictures else images.reshape(len(images), -1)
        takes = isinstance(model, lk.PseudoLabels | lk.ConsistencyTraining | Pipeline)
        start = time.process_time()
        if model is pretrained:
            model = pretrained(seed, X[rows])
        if takes:
            model.fit(X[rows], few)
        else:
            model.fit(X[labelled], y[labelled])
        spent = time.process_time() - start
        probs = model.predict_proba(X[fresh])
        own = probs[np.arange(FRESH), y[fresh]]
        right = float(np.mean(probs.argmax(1) == y[fresh]))
        nats = float(-np.log(own).mean())
        found[name] = {"accuracy": right, "nats": nats, "seconds": spent}
        print(f"{seed} {name:28s} {right:.4f} {nats:.3f} {spent:5.1f} s", flush=True)
    return found


def table(runs: list[dict]) -> list[str]:
    """Lines of means with standard errors over the runs."""
    lines = []
    for name, (_, _, other) in ways(0).items():
        values = {
            what: np.array([run[name][what] for run in runs]) for what in runs[0][name]
        }
        cells = [
            f"{100 * values['accuracy'].mean():.1f} ± {_error(100 * values['accuracy']):.1f}"
        ]
        cells += [f"{values['nats'].mean():.3f} ± {_error(values['nats']):.3f}"]
        if other is not None:
            gain = 100 * (values["accuracy"] - [run[other]["accuracy"] for run in runs])
            cells += [f"{gain.mean():+.1f} ± {_error(gain):.1f} over {other}"]
        else:
            cells += [""]
        cells += [f"{np.median(values['seconds']):.0f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _error(values: np.ndarray) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0


def main() -> None:
    """Run all ways for each seed, print the table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--out", type=Path, default=Path("runs/few_labels.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    images, y = digits()
    runs = [judge(seed, images, y) for seed in options.seeds]
    print("| model | accuracy, % | nats | gain, points | processor s |")
    print("|---|---|---|---|---|")
    print("\n".join(table(runs)))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(runs, indent=2) + "\n")


if __name__ == "__main__":
    main()
