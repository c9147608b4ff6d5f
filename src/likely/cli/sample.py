"""`likely sample`: a synthetic table, and what it keeps and gives away."""

import json
import sys
from pathlib import Path

from likely.cli.fit import STDIN
from likely.core.checks import InputError
from likely.core.host import tune_host
from likely.data.schema import unknown_column
from likely.workbench.sampling.fidelity import Fidelity, judge_synthesis
from likely.workbench.sampling.source import read_original
from likely.workbench.sampling.synthesis import named_models, synthesize
from likely.workbench.sampling.written_table import (
    check_place,
    write_file,
    write_table,
)


def sample_table(
    data: str, out: Path, *, rows: int = 0, model: str = "", target: str = "", seed: int
) -> Fidelity:
    """Write a synthetic table and its report.

    Args:
        data: a file, "-" for stdin, or the name of a data set.
        out: the file to write; the report stands beside it.
        rows: how many; 0 for as many as the table has.
        model: names of models, "quick" or "all".
        target: the column that predictors learn, to compare what both tables teach.
        seed: of everything random.
    """
    tune_host()
    check_place(out)
    source = sys.stdin.buffer.read() if data == STDIN else data
    original = read_original(source, seed)
    names = original.frame.column_names
    if target and target not in names:
        raise InputError(unknown_column(target, names))
    shown = sys.stderr.isatty()
    made = synthesize(
        original,
        rows or len(original.frame),
        models=named_models(model),
        seed=seed,
        verbose=shown,
    )
    found = judge_synthesis(made, target=target, seed=seed, notes=original.notes)
    write_table(made.table, out, original.writing)
    text = json.dumps(found.to_dict(), indent=1, ensure_ascii=False) + "\n"
    write_file(report_of(out), lambda file: file.write(text.encode()))
    return found


def report_of(out: Path) -> Path:
    """The file of the report beside a synthetic table."""
    return out.with_name(f"{out.stem}.report.json")
