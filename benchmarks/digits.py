"""How well does a small convolutional network read digits?

`python -m benchmarks.digits [SEED ...]` trains on the first 8,000 of MNIST's test digits
(of which the last 1,000 set the temperature and the size of the sets) and judges on the
last 2,000: accuracy, calibration error, coverage of 90 % sets, time. Asked for: 98.8 %
with at most 35,000 numbers in at most five minutes on two cores; an expected calibration
error below 1.5 %.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import likely as lk
from likely import evaluate
from likely.data import read_idx
from likely.diagnostics import parameter_count
from likely.layers import Augmentation

HERE = Path(__file__).resolve().parents[2] / "shared" / "data"
TRAIN, HELD, TEST = slice(0, 7000), slice(7000, 8000), slice(8000, 10_000)


def network(seed: int, epochs: int = 30) -> lk.CNNClassifier:
    """29,178 numbers to learn."""
    return lk.CNNClassifier(
        channels=(16, 32, 64),
        hidden=(),
        norm="batch",
        augment=Augmentation(shift=0.08, rotate=12.0, scale=0.12),
        learning_rate_init=4e-3,
        learning_rate="cosine",
        batch_size=100,
        max_iter=epochs,
        random_state=seed,
    )


def judge(seed: int, X: np.ndarray, y: np.ndarray, epochs: int) -> dict:
    """Train and judge one network."""
    wall, cpu = time.perf_counter(), time.process_time()

    def tell(event) -> None:
        if event.kind == "epoch":
            spent = time.process_time() - cpu
            print(
                f"  epoch {event.epoch:.0f}: {event.loss:.4f}, {spent:.0f} s",
                flush=True,
            )

    model = network(seed, epochs).fit(X[TRAIN], y[TRAIN], callbacks=tell)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    held, test = model.predict_proba(X[HELD]), model.predict_proba(X[TEST])
    T = evaluate.temperature(y[HELD], held)
    held, scaled = (
        evaluate.temperature_scaled(held, T),
        evaluate.temperature_scaled(test, T),
    )
    q = evaluate.radius(evaluate.class_scores(y[HELD], held), 0.9)
    sets = evaluate.class_sets(scaled, q)
    covered, size = evaluate.coverage_of_sets(y[TEST], sets)
    return {
        "seed": seed,
        "accuracy": float((test.argmax(1) == y[TEST]).mean()),
        "temperature": T,
        "error_before": evaluate.reliability(y[TEST], test).expected_error,
        "error": evaluate.reliability(y[TEST], scaled).expected_error,
        "covered": covered,
        "set_size": size,
        "parameters": parameter_count(model.phi_.solution.model),
        "seconds": wall,
        "core_seconds": cpu,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--data", type=Path, default=HERE)
    parser.add_argument("--epochs", type=int, default=30)
    options = parser.parse_args()
    X = read_idx(options.data / "mnist-t10k-images.idx3.gz")
    y = read_idx(options.data / "mnist-t10k-labels.idx1.gz").astype(int)
    rows = []
    for seed in options.seeds:
        rows.append(judge(seed, X, y, options.epochs))
        print(json.dumps(rows[-1]), flush=True)
    for name in ("accuracy", "error", "covered", "core_seconds"):
        print(f"{name}: {np.mean([row[name] for row in rows]):.4f}")


if __name__ == "__main__":
    main()
