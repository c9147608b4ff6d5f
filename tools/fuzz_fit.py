"""Feed odd and mutated tables to `likely fit`: each is fitted, or refused with a sentence.

    python tools/fuzz_fit.py --count 20000

Most are the tables of `odd_tables.py`, odd but mostly good enough; a tenth are the damaged
files of `fuzz_tables.py`. The command must end with 0 and leave a report that is whole
(numbers are numbers, every row is predicted, no model has failed, and the saved model
predicts the table), or end with 2 and one line on stderr; never with a traceback.
"""

import argparse
import collections
import csv
import json
import random
import re
import tempfile
import time
import warnings
from pathlib import Path

from fuzz_tables import mutant
from odd_tables import odd_table
from typer.testing import CliRunner

from likely.cli.main import app

MODELS = (
    "null",
    "null",
    "linear",
    "neighbors",
    "neighbors,linear",
    "forest",
    "linear,stack",
)


def attempt(seed: int, folder: Path, models: tuple[str, ...] = MODELS) -> str:
    """Fit the table of a seed, and describe the outcome."""
    rng = random.Random(seed)
    if rng.random() < 0.1:
        (name, content), target = mutant(seed), ""
    else:
        name, content, target = odd_table(seed)
    path, out = folder / name, folder / "run"
    path.write_bytes(content)
    command = ["fit", str(path), "--models", rng.choice(models), "--effort", "quick"]
    command += ["--folds", rng.choice(["2", "3"]), "--force", "--out", str(out)]
    if target and rng.random() < 0.9:
        command += ["--target", target]
    if rng.random() < 0.1:
        command += [
            "--family",
            rng.choice(["normal", "poisson", "gamma", "categorical"]),
        ]
    done = CliRunner().invoke(app, command)
    outcome = _outcome(done)
    if outcome == "fitted":
        outcome = _wrong_in(out) or _wrong_in_predictions(path, out) or outcome
    path.unlink()
    return outcome


def _outcome(done) -> str:
    if done.exit_code == 0:
        return "fitted"
    lines = done.stderr.strip().splitlines()
    if done.exit_code == 2 and len(lines) == 1 and lines[0].startswith("likely: "):
        return f"refused: {lines[0]}"
    return f"exit {done.exit_code}: {lines[-1:]} {done.exception!r}"


def _wrong_in(out: Path) -> str:
    """What is wrong with the files of a run, if anything."""
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    failed = [why for why in report["skipped"].values() if why.startswith("it failed")]
    if failed:
        return f"a model failed: {failed[0]}"
    if any(row["nats"] is None for row in report["ladder"]):
        return "a score is no number"
    with (out / "predictions.csv").open(encoding="utf-8", newline="") as file:
        rows = sum(1 for _ in csv.reader(file)) - 1
    if not 0 < rows <= report["data"]["rows"]:
        return f"{rows} predictions of {report['data']['rows']} rows"
    page = (out / "report.html").read_text(encoding="utf-8")
    names = r'<(title|desc|text).*?</\1>|aria-label="[^"]*"'
    odd = re.findall(r'="[^"]*\bnan\b[^"]*"', re.sub(names, "", page))
    return f"the page has {odd[0]}" if odd else ""


def _wrong_in_predictions(path: Path, out: Path) -> str:
    """The saved model predicts the very file, unless a row that was left out is infinite."""
    done = CliRunner().invoke(app, ["predict", str(out), str(path)])
    infinite = done.exit_code == 2 and "contains infinity" in done.stderr
    if done.exit_code == 0 or infinite:
        return ""
    return f"predict: {done.stderr.strip()[-200:]}"


def main() -> None:
    """Count the outcomes of all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--reasons", action="store_true", help="list the refusals")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.count):
            outcome = attempt(seed, Path(folder))
            if outcome.startswith("refused"):
                reasons[re.sub(r"'[^']*'|\d+", "_", outcome)[:110]] += 1
                outcome = "refused"
            elif outcome != "fitted":
                print(f"seed {seed}: {outcome}", flush=True)
                outcome = "failed"
            found[outcome] += 1
            if (seed + 1) % 100 == 0:
                print(f"{dict(found)} {time.monotonic() - start:.0f} s", flush=True)
    if options.reasons:
        for reason, count in reasons.most_common():
            print(count, reason)
    print(dict(found), f"{time.monotonic() - start:.0f} s")
    raise SystemExit(min(found["failed"], 1))


if __name__ == "__main__":
    main()
