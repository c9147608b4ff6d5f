"""A synthetic table: models compared on held-out rows, and new rows drawn from the best.

The rows that were held out take no part in the fit of the model that draws, so that they
can judge its rows: what is written is what was judged.
"""

from typing import Any, NamedTuple

import pyarrow as pa

from likely.core.checks import InputError
from likely.core.written_numbers import counted
from likely.diagnostics.generators.compare_densities import (
    compare_densities,
    split_table,
)
from likely.diagnostics.generators.contenders import known_names
from likely.diagnostics.generators.density_comparison import DensityComparison
from likely.diagnostics.generators.trial import Split, Trial
from likely.workbench.sampling.gaps import Gaps
from likely.workbench.sampling.source import Original
from likely.workbench.sampling.written_table import rounded

HELD_OUT = 0.25
"""The share of rows that no model sees."""
DRAWN_TOGETHER = 20_000
"""Rows that are drawn at once."""


class Synthesis(NamedTuple):
    """A synthetic table, the model that drew it, and the rows that judge it."""

    table: pa.Table
    comparison: DensityComparison
    trial: Trial
    """The model that drew the rows, and how it did."""
    train: pa.Table
    held_out: pa.Table
    left_out: tuple[str, ...]
    """Columns that name rows, hold prose, or are empty."""


def named_models(text: str) -> Any:
    """The models that an option asks for: nothing, "quick", "all", or names.

    Args:
        text: the option.
    """
    names = tuple(filter(None, (name.strip() for name in text.split(","))))
    if not names or names == ("quick",):
        return "quick"
    if names == ("all",):
        return None
    known = {name.lower(): name for name in known_names()}
    return tuple(known.get(name.lower(), name) for name in names)


def synthesize(
    original: Original,
    n: int,
    *,
    models: Any = "quick",
    seed: int = 0,
    verbose: bool = False,
) -> Synthesis:
    """Compare models on held-out rows of a table, and draw rows from the best.

    Args:
        original: the table.
        n: rows to draw.
        models: as `compare_densities` takes them.
        seed: of the split, of the models and of the draws.
        verbose: whether to show a progress bar.
    """
    if n < 1:
        raise InputError(f"rows is {n}; give at least 1.")
    gaps = Gaps.of(original.frame)
    frame = gaps.added(original.frame)
    options: dict[str, Any] = {"test_size": HELD_OUT, "random_state": seed}
    found = compare_densities(models, frame, n_samples=0, verbose=verbose, **options)
    trial = next((t for t in found.trials if not t.failure), None)
    if trial is None:
        why = "; ".join(f"{t.name}: {t.failure}" for t in found.trials)
        raise InputError(f"no model could be fitted to the table. {why}")
    split: Split = split_table(frame, HELD_OUT, seed)[0]
    drawn = gaps.removed(_drawn(trial.model, n, seed))
    drawn = drawn.select(
        [c for c in original.frame.column_names if c in drawn.schema.names]
    )
    return Synthesis(
        rounded(drawn, original.writing),
        found,
        trial,
        gaps.removed(split.train),
        gaps.removed(split.held_out),
        tuple(c for c in original.frame.column_names if c not in drawn.schema.names),
    )


def _drawn(model: Any, n: int, seed: int) -> pa.Table:
    """n new rows, some at a time."""
    parts = []
    for i, start in enumerate(range(0, n, DRAWN_TOGETHER)):
        size = min(DRAWN_TOGETHER, n - start)
        parts.append(model.sample(size, random_state=seed + i))
    return pa.concat_tables(parts).combine_chunks()


def chosen_model(made: Synthesis) -> str:
    """How the model was chosen, in a sentence.

    Args:
        made: the synthetic table.
    """
    if len([t for t in made.comparison.trials if not t.failure]) > 1:
        return made.comparison.verdict
    sizes = made.comparison.rows
    likelihood = made.trial.likelihood
    nats = f": {likelihood}" if likelihood is not None else ""
    rows = counted(sizes[0], "row")
    return (
        f"{made.trial.name} was fitted to {rows}, judged on {sizes[1]:,} others{nats}."
    )
