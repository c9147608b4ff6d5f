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

from likely.core.host import tune_host

Answer = dict[str, np.ndarray]
PAUSE = 0.3


@dataclass(frozen=True)
class Case:
    """One comparison.

    Attributes:
        setup: makes the data, the same on both sides.
        ours: does the job with `likely`, and returns arrays to compare.
        peer: the same job with a peer.
        verify: None where the answers agree, else the sentence that says how not.
        at_least: the ratio peer/ours that is asked for.
        repeats: warm runs of each side.
        shown: the name of arrays whose largest difference is written beside the verdict.
    """

    setup: Callable[..., Any]
    ours: Callable[[Any], Answer]
    peer: Callable[[Any], Answer]
    verify: Callable[[Answer, Answer], str | None]
    at_least: float | int = 0.0
    repeats: int = 5
    shown: str = ""


class MissingPeerError(Exception):
    """A side of a case needs a package that is not installed."""


class Side:
    """A process that runs one side of a case when told to.

    Args:
        module: the module whose `CASES` has the case.
        case: the name of the case.
        side: "ours" or "peer".
        size: what the setup is called with, where it takes the size of its data.
    """

    def __init__(self, module: str, case: str, side: str, size: float | None = None):
        command = [sys.executable, "-m", __name__, module, case, side]
        command += [] if size is None else [repr(size)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            if self._read() != "ready":
                raise RuntimeError(f"a side of the benchmark is not ready: {command}")
        except BaseException:
            self.stop()
            raise

    def seconds(self) -> tuple[float, float]:
        """Run once, when the threads of the other side have gone to sleep.

        Seconds on the wall, and seconds of processors (of all threads together).
        """
        time.sleep(PAUSE)
        found = json.loads(self._tell("run"))
        if isinstance(found, str):
            raise MissingPeerError(found)
        wall, cpu = found
        return float(wall), float(cpu)

    def answer(self, path: Path) -> Answer:
        """The arrays of the last run, and the end of the process."""
        self._tell(f"answer {path}")
        self._tell("end")
        self.process.wait()
        with np.load(path) as arrays:
            return dict(arrays)

    def stop(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def _tell(self, order: str) -> str:
        if self.process.stdin is not None:
            self.process.stdin.write(order + "\n")
            self.process.stdin.flush()
        return self._read()

    def _read(self) -> str:
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            raise RuntimeError(f"a side of the benchmark died: {self.process.args}")
        return line.strip()


def measure(
    module: str,
    name: str,
    case: Case,
    *,
    size: float | None = None,
    until: float = np.inf,
) -> dict[str, Any]:
    """Alternate the two sides and compare times and answers.

    Args:
        module: the module whose `CASES` has the case.
        name: of the case.
        case: the case itself.
        size: what the setup is called with, where it takes the size of its data.
        until: no further turn begins after this moment of `time.monotonic`; one is made.

    Returns:
        the seconds, the ratio and the answers that have one number; only the name and what is
        `missing` where a package that the case needs is not installed.
    """
    sides: list[Side] = []
    try:
        for side in ("ours", "peer"):
            sides.append(Side(module, name, side, size))
        ours, peer = sides
        (cold_peer, _), (cold_ours, _) = peer.seconds(), ours.seconds()
        turns = [(ours.seconds(), peer.seconds())]
        while len(turns) < case.repeats and time.monotonic() < until:
            turns.append((ours.seconds(), peer.seconds()))
        with tempfile.TemporaryDirectory() as folder:
            answers = [
                side.answer(Path(folder) / f"{i}.npz") for i, side in enumerate(sides)
            ]
    except MissingPeerError as error:
        return {"name": name, "missing": str(error)}
    finally:
        for side in sides:
            side.stop()
    (best_ours, cpu_ours), (best_peer, cpu_peer) = np.array(turns).min(axis=0).tolist()
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
        "answers": [_numbers(answer) for answer in answers],
    }


def _numbers(answer: Answer) -> dict[str, float]:
    """The answers that are one number."""
    return {name: float(a.item()) for name, a in answer.items() if a.size == 1}


def close(name: str, tolerance: float) -> Callable[[Answer, Answer], str | None]:
    """A verdict: arrays of this name differ nowhere by more than the tolerance."""

    def verdict(ours: Answer, peer: Answer) -> str | None:
        gap = float(np.abs(ours[name] - peer[name]).max())
        return None if gap <= tolerance else f"{name} differs by {gap:.2e}"

    return verdict


def _serve(module: str, name: str, side: str, *size: str) -> None:
    """The loop of a side: run, keep the answer, report the seconds."""
    tune_host()  # on both sides alike
    case: Case = importlib.import_module(module).CASES[name]
    data, job = case.setup(*map(float, size)), getattr(case, side)
    answer: Answer = {}
    print("ready", flush=True)
    for line in sys.stdin:
        order, _, rest = line.strip().partition(" ")
        if order == "run":
            start, used = time.perf_counter(), time.process_time()
            try:
                answer = job(data)
            except ModuleNotFoundError as error:
                print(json.dumps(str(error.name)), flush=True)
                continue
            spent = time.perf_counter() - start, time.process_time() - used
            print(json.dumps(spent), flush=True)
        elif order == "answer":
            np.savez(rest, **answer)  # pyright: ignore[reportArgumentType]
            print("saved", flush=True)
        else:
            print("bye", flush=True)
            return


if __name__ == "__main__":
    _serve(*sys.argv[1:])
