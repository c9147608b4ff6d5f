"""Non-maximum suppression of 10,000 boxes: ours against torchvision's, in turn.

    taskset -c 0,1 python -m benchmarks.suppression

Needs torch and torchvision. The kept boxes are compared first; asked for is a ratio of at
least 1 (theirs / ours).
"""

import sys
import time

import numpy as np

from likely.vision import boxes

N, THRESHOLD, ROUNDS = 10_000, 0.5, 15


def scenes() -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Scattered boxes (most are kept), and crowds around few objects (most are not)."""
    rng = np.random.default_rng(0)

    def some(centres: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size = rng.uniform(10, 60, (N, 2))
        corner = centres - size / 2
        table = np.concatenate([corner, corner + size], 1).astype(np.float32)
        return table, rng.random(N).astype(np.float32), rng.integers(0, 20, N)

    objects = rng.uniform(0, 1000, (60, 2))
    return {
        "scattered": some(rng.uniform(0, 1000, (N, 2))),
        "crowded": some(objects[rng.integers(60, size=N)] + rng.normal(0, 6, (N, 2))),
    }


def best(*jobs) -> list[float]:
    """The shortest time of each job, which take turns."""
    found = [np.inf] * len(jobs)
    for _ in range(ROUNDS):
        for i, job in enumerate(jobs):
            began = time.perf_counter()
            job()
            found[i] = min(found[i], time.perf_counter() - began)
    return found


def main() -> int:
    try:
        import torch
        from torchvision.ops import batched_nms, nms
    except ImportError:
        print("torch and torchvision are not installed.")
        return 2
    torch.set_num_threads(2)
    worst = np.inf
    for name, (table, scores, labels) in scenes().items():
        T, S, L = (torch.from_numpy(a) for a in (table, scores, labels))
        for by_class in (False, True):
            given = labels if by_class else None

            def ours(table=table, scores=scores, given=given):
                return boxes.nms(table, scores, iou_threshold=THRESHOLD, labels=given)

            def theirs(T=T, S=S, L=L, by_class=by_class):
                return (
                    batched_nms(T, S, L, THRESHOLD)
                    if by_class
                    else nms(T, S, THRESHOLD)
                )

            # theirs rounds overlaps to float32: pairs at the threshold may differ
            different = len(set(ours().tolist()) ^ set(theirs().tolist()))
            a, b = best(ours, theirs)
            worst = min(worst, b / a)
            print(
                f"{name}{' by class' if by_class else ''}: ours {a * 1e3:.2f} ms, "
                f"torchvision {b * 1e3:.2f} ms, ratio {b / a:.1f}; {len(ours())} kept, "
                f"{different} different"
            )
    return 0 if worst >= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
