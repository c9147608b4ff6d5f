r"""Generative models of one table, compared on the same held-out rows.

All models are fitted to the same rows and judged on others that none of them saw, in nats of
the original columns: $-\log p(x)$ where it is known, an upper bound of it where the model has
a bound, and scores of drawn rows for all. Differences are paired, row by row.
"""

from typing import Any

import numpy as np

from likely.base.table_rows import take
from likely.core.checks import InputError
from likely.core.progress import Bar
from likely.diagnostics.generators.contenders import contenders
from likely.diagnostics.generators.density_comparison import DensityComparison
from likely.diagnostics.generators.table_space import TableSpace, row_count
from likely.diagnostics.generators.trial import Split, Trial, attempt
from likely.evaluate.assignment import generator_of
from likely.preprocess import TableCodec

MIN_ROWS = 10
"""The fewest rows of which some can be held out."""
MAX_JUDGED = 2000
"""Held-out rows that are judged; more of them cost more time than their error is worth."""


def compare_densities(
    models: Any = None,
    X: Any = None,
    *,
    test_size: float = 0.25,
    n_samples: int = 1000,
    random_state: int = 0,
    verbose: bool = False,
) -> DensityComparison:
    """Fit generative models to a table and compare them on held-out rows.

    Args:
        models: None for all that suit a table, "quick" for those fitted in seconds; or a
            list of names and unfitted models, or a mapping from names to models. A density
            of numbers, such as `GaussianMixture()`, is welcome too.
        X: rows: a frame, a dictionary of columns, or an array; it may hold words, dates, counts
            and missing cells.
        test_size: the share of rows that is held out; at most 2,000 of these, drawn at
            random, are judged.
        n_samples: rows drawn from each model to be judged; 0 for none.
        random_state: seed of the split, of the models and of the draws.
        verbose: whether to show a progress bar.

    Example:
        ```python
        result = lk.compare_densities(X=frame)
        print(result)
        result.best.sample(100)
        ```
    """
    if X is None:
        raise InputError("X is not given; call compare_densities(X=table).")
    if not 0 < test_size < 1:
        raise InputError(f"test_size is {test_size}; give a share between 0 and 1.")
    split, moved = split_table(X, test_size, random_state)
    split = _judged_part(split, random_state)
    entrants = contenders(models, random_state, split.codec)
    found: list[Trial] = []
    with Bar(len(entrants), enabled=verbose, transient=True) as bar:
        for name, entrant in entrants.items():
            bar.update(description=name)
            options = {"n_samples": n_samples, "seed": random_state}
            trial = attempt(name, *entrant, split=split, **options)
            found.append(trial)
            bar.update(advance=1)
    sizes = row_count(split.train), row_count(split.held_out)
    return DensityComparison(tuple(sorted(found, key=_rank)), sizes, moved)


def split_table(X: Any, test_size: float, seed: int) -> tuple[Split, int]:
    """A table in two random parts, and how many rows were moved to the first.

    A level that only held-out rows have would be impossible to every model, so such rows
    go to training.

    Args:
        X: rows.
        test_size: the share that is held out.
        seed: of the random order.
    """
    n = row_count(X)
    if n < MIN_ROWS:
        raise InputError(
            f"the table has {n} rows; give at least {MIN_ROWS}, of which some are held out."
        )
    codec = TableCodec.fit(X)
    if not codec.q:
        raise InputError("every column of the table is constant or left out.")
    V = codec.encode(X)
    order = generator_of(seed).permutation(n)
    out = np.zeros(n, bool)
    out[order[: max(2, round(test_size * n))]] = True
    lone = _lone_rows(V, out, codec)
    out &= ~lone
    if out.sum() < 2:
        raise InputError("nearly every row has a level of its own; merge rare levels.")
    parts = (take(X, np.flatnonzero(~out)), take(X, np.flatnonzero(out)))
    return Split(*parts, codec, TableSpace.of(X)), int(lone.sum())


def _judged_part(split: Split, seed: int) -> Split:
    """The split with no more held-out rows than are judged."""
    m = row_count(split.held_out)
    if m <= MAX_JUDGED:
        return split
    some = np.sort(generator_of(seed).permutation(m)[:MAX_JUDGED])
    return split._replace(held_out=take(split.held_out, some))


def _lone_rows(V: np.ndarray, out: np.ndarray, codec: TableCodec) -> np.ndarray:
    """(n,) held-out rows with a level, or a second value of a column, that training lacks."""
    lone = np.zeros(len(V), bool)
    for j, column in enumerate(codec.columns):
        v, known = V[:, j], np.unique(V[~out, j][~np.isnan(V[~out, j])])
        if column.kind == "category" or len(known) < 2:
            lone |= out & ~np.isnan(v) & ~np.isin(v, known)
    return lone


def _rank(trial: Trial) -> tuple[int, float]:
    if trial.failure:
        return 2, 0.0
    if trial.likelihood is None:
        return 1, 0.0
    return 0, trial.likelihood.nats.value
