"""Feed mutated tables to `likely fit`: each is fitted, or refused with a sentence.

    python tools/fuzz_fit.py --count 20000

The tables of `fuzz_tables.py`, some of them repeated to have rows enough. The command
must end with 0, or with 2 and one line on stderr; never with a traceback or a hang.
"""

import argparse
import collections
import random
import signal
import tempfile
import time
import warnings
from pathlib import Path

from fuzz_tables import mutant
from typer.testing import CliRunner

from likely.cli.main import app

LIMIT = 120


def attempt(seed: int, folder: Path) -> str:
    """Fit the table of a seed; what became of it."""
    name, content = mutant(seed)
    rng = random.Random(seed)
    path = folder / name
    path.write_bytes(_longer(content, rng) if rng.random() < 0.7 else content)
    command = ["fit", str(path), "--models", "linear", "--effort", "quick", "--force"]
    command += ["--out", str(folder / "run"), "--folds", rng.choice(["2", "5"])]
    signal.alarm(LIMIT)
    done = CliRunner().invoke(app, command)
    signal.alarm(0)
    path.unlink()
    if done.exit_code == 0:
        return "fitted"
    lines = done.stderr.strip().splitlines()
    if done.exit_code == 2 and len(lines) == 1 and lines[0].startswith("likely: "):
        return "refused"
    return f"exit {done.exit_code}: {lines[-1:]} {done.exception!r}"


def _longer(content: bytes, rng: random.Random) -> bytes:
    """The lines after the first several times over."""
    head, mark, body = content.partition(b"\n")
    if not mark or not body or content.startswith((b"PAR1", b"ARROW1", b"\x1f\x8b")):
        return content
    lines = body.splitlines(keepends=True) * rng.choice([2, 5, 20])
    rng.shuffle(lines)
    return head + mark + b"".join(lines)


def main() -> None:
    """Count what became of each table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found: collections.Counter[str] = collections.Counter()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(asked.first, asked.first + asked.count):
            said = attempt(seed, Path(folder))
            if said not in ("fitted", "refused"):
                print(f"seed {seed}: {said}", flush=True)
                said = "failed"
            found[said] += 1
    print(dict(found), f"{time.monotonic() - start:.0f} s")
    raise SystemExit(min(found["failed"], 1))


if __name__ == "__main__":
    main()
