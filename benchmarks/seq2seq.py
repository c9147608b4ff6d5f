"""Dates of many formats to year-month-day: exact matches and processor seconds.

    python -m benchmarks.seq2seq [--pairs 10000] [--seeds 1] [--out FILE]

`Seq2Seq` with its default settings learns from some pairs and writes 2,000 others.
"""

import argparse
import json
import time
from pathlib import Path

NEW_PAIRS = 2000
ASKED_SCORE, ASKED_SECONDS = 0.98, 600
"""The share of exact matches, and the processor seconds of a fit: 5 minutes of 2 cores."""


def measure(pairs: int, seed: int) -> dict[str, float]:
    from likely import data
    from likely.text import Seq2Seq

    dates = data.date_formats(pairs + NEW_PAIRS, random_state=seed)
    model = Seq2Seq(random_state=seed)
    start, wall = time.process_time(), time.perf_counter()
    model.fit(dates.X[:pairs], dates.y[:pairs])
    fit, fit_wall = time.process_time() - start, time.perf_counter() - wall
    start = time.process_time()
    score = model.score(dates.X[pairs:], dates.y[pairs:])
    greedy = time.process_time() - start
    model.set_params(method="beam")
    start = time.process_time()
    beam_score = model.score(dates.X[pairs:], dates.y[pairs:])
    return {
        "score": score,
        "beam_score": beam_score,
        "steps": model.n_iter_,
        "parameters": model.n_parameters_,
        "fit_cpu_s": fit,
        "fit_wall_s": fit_wall,
        "greedy_cpu_s": greedy,
        "beam_cpu_s": time.process_time() - start,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/seq2seq.json"))
    options = parser.parse_args()
    rows = []
    for seed in range(options.seeds):
        rows.append(measure(options.pairs, seed))
        print(json.dumps(rows[-1]), flush=True)
    kept = all(
        row["score"] >= ASKED_SCORE and row["fit_cpu_s"] <= ASKED_SECONDS
        for row in rows
    )
    print("kept" if kept else "not kept")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
