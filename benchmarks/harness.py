"""Two processes, ours and the peer's, take turns; the best of several counts.

Timing both in one process misleads: the thread pools of XLA, OpenBLAS and OpenMP spin
against each other. So each side of a case lives in its own process, a parent lets them
run in turn, with a pause in which the threads of the last one fall asleep, and their
answers are compared before a ratio counts.
"""

import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likely import tune_host

Answer = dict[str, np.ndarray]
PAUSE = 0.3


@dataclass(frozen=True)
class Case:
    """One comparison.

    Attributes:
        setup: makes the data, the same on both sides.
        ours, peer: do the job and return arrays to compare.
        verify: None where the answers agree, else the sentence that says how not.
        at_least: the ratio peer/ours that is asked for.
        repeats: warm runs of each side.
        shown: the name of arrays whose largest difference is written beside the verdict.
    """

    setup: Callable[[], Any]
    ours: Callable[[Any], Answer]
    peer: Callable[[Any], Answer]
    verify: Callable[[Answer, Answer], str | None]
    at_least: float
    repeats: int = 5
    shown: str = ""


class Side:
    """A process that runs one side of a case when told to."""

    def __init__(self, module: str, case: str, side: str):
        command = [sys.executable, "-m", "benchmarks.harness", module, case, side]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._read() == "ready"

    def seconds(self) -> tuple[float, float]:
        """Run once, when the threads of the other side have gone to sleep.

        Seconds on the wall, and seconds of processors (of all threads together).
        """
        time.sleep(PAUSE)
        wall, cpu = json.loads(self._tell("run"))
        return float(wall), float(cpu)

    def answer(self, path: Path) -> Answer:
        """The arrays of the last run, and the end of the process."""
        self._tell(f"answer {path}")
        self._tell("end")
        self.process.wait()
        with np.load(path) as arrays:
            return dict(arrays)

    def _tell(self, order: str) -> str:
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a side of the benchmark died: {self.process.args}")
        return line.strip()


def measure(module: str, name: str, case: Case) -> dict:
    """Alternate the two sides and compare times and answers."""
    ours, peer = Side(module, name, "ours"), Side(module, name, "peer")
    (cold_ours, _), (cold_peer, _) = ours.seconds(), peer.seconds()
    turns = np.array([(ours.seconds(), peer.seconds()) for _ in range(case.repeats)])
    (best_ours, cpu_ours), (best_peer, cpu_peer) = turns.min(axis=0).tolist()
    with tempfile.TemporaryDirectory() as folder:
        answers = [
            side.answer(Path(folder) / f"{i}.npz")
            for i, side in enumerate((ours, peer))
        ]
    complaint = case.verify(*answers)
    own, other = (answer.get(case.shown, np.zeros(1)) for answer in answers)
    return {
        "name": name,
        "ours_s": best_ours,
        "peer_s": best_peer,
        "ratio": best_peer / best_ours,
        "at_least": case.at_least,
        "cpu_ours_s": cpu_ours,
        "cpu_peer_s": cpu_peer,
        "cold_ours_s": cold_ours,
        "cold_peer_s": cold_peer,
        "verified": complaint is None,
        "complaint": complaint,
        "difference": float(np.abs(own - other).max()) if case.shown else None,
    }


def close(name: str, tolerance: float) -> Callable[[Answer, Answer], str | None]:
    """A verdict: arrays of this name differ nowhere by more than the tolerance."""

    def verdict(ours: Answer, peer: Answer) -> str | None:
        gap = float(np.abs(ours[name] - peer[name]).max())
        return None if gap <= tolerance else f"{name} differs by {gap:.2e}"

    return verdict


def _serve(module: str, name: str, side: str) -> None:
    """The loop of a side: run, keep the answer, report the seconds."""
    tune_host()  # on both sides alike
    case: Case = importlib.import_module(module).CASES[name]
    data, job = case.setup(), getattr(case, side)
    answer: Answer = {}
    print("ready", flush=True)
    for line in sys.stdin:
        order, _, rest = line.strip().partition(" ")
        if order == "run":
            start, used = time.perf_counter(), time.process_time()
            answer = job(data)
            spent = time.perf_counter() - start, time.process_time() - used
            print(json.dumps(spent), flush=True)
        elif order == "answer":
            np.savez(rest, **answer)
            print("saved", flush=True)
        else:
            print("bye", flush=True)
            return


if __name__ == "__main__":
    _serve(*sys.argv[1:4])
