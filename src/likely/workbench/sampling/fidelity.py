"""What a synthetic table keeps of a real one, and what it may give away."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from likely.core.checks import InputError
from likely.core.written_numbers import number, with_error
from likely.diagnostics import Drift, SyntheticTraining, drift, train_on_synthetic
from likely.diagnostics.generators.table_space import TableSpace
from likely.evaluate import (
    ClosestRecords,
    MemorizationTest,
    TableDistances,
    closest_records,
    memorization_test,
    table_distances,
)
from likely.workbench.sampling.synthesis import Synthesis, chosen_model

MAX_JUDGED = 5000
"""Synthetic rows that are judged."""
NO_PRIVACY = (
    "There is no differential privacy: no noise was added to the training. These scores find "
    "rows that are copied; they cannot show that nothing about a single row is given away. Do "
    "not publish the table where that has to be guaranteed."
)


class Fidelity(NamedTuple):
    """Scores of a synthetic table beside held-out rows of the real one."""

    made: Synthesis
    names: tuple[str, ...]
    """The columns that vary."""
    kinds: tuple[str, ...]
    distances: TableDistances
    told_apart: Drift
    closest: ClosestRecords
    memorization: MemorizationTest
    training: SyntheticTraining | None
    """What predictors learn from it; None where there is no target."""
    notes: tuple[str, ...] = ()

    def column_rows(self) -> list[dict[str, Any]]:
        """A row for each column: how far its values are apart, and what is chance."""
        d = self.distances
        return [
            {
                "column": name,
                "kind": kind,
                "distance": float(value),
                "by chance": float(chance),
            }
            for name, kind, value, chance in zip(
                self.names, self.kinds, d.columns, d.by_chance, strict=True
            )
        ]

    def sentences(self) -> list[str]:
        """What was found, to read."""
        made = self.made
        left: list[str] = []
        if made.left_out:
            names = ", ".join(map(repr, made.left_out))
            left = [f"Left out, as they name rows, hold prose or are empty: {names}."]
        told = with_error(self.told_apart.auc, self.told_apart.auc_error)
        area = (
            f"A classifier tells synthetic rows from held-out rows with an area under the "
            f"ROC curve of {told} (0.5 where it cannot)."
        )
        return [
            *self.notes,
            chosen_model(made),
            *left,
            self._distances(),
            *([area] if np.isfinite(self.told_apart.auc) else []),
            *([self.training.verdict] if self.training else []),
            self.closest.verdict,
            self.memorization.verdict,
            NO_PRIVACY,
        ]

    def _distances(self) -> str:
        d = self.distances
        excess = d.columns - d.by_chance
        j = int(np.argmax(excess))
        pairs = ""
        if np.isfinite(d.mean_pair):
            pairs = (
                f", pairs by {number(d.mean_pair)} ({number(d.mean_pair_by_chance)} by "
                "chance)"
            )
        return (
            f"Columns differ from held-out rows by {number(d.mean_column)} in the mean "
            f"({number(float(d.by_chance.mean()))} by chance){pairs}; furthest is "
            f"{self.names[j]!r} with {number(float(d.columns[j]))}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        made, d = self.made, self.distances
        training = None
        if self.training is not None:
            t = self.training
            training = {
                "target": t.target,
                "measure": t.measure,
                "ratio": _finite(t.ratio),
                "learners": {
                    name: {"real": list(r), "synthetic": list(s), "difference": list(g)}
                    for name, r, s, g in zip(
                        t.names, t.real, t.synthetic, t.difference, strict=True
                    )
                },
            }
        models = made.comparison.table()
        keys = ("model", "taxonomy", "nats", "±", "seconds")
        return {
            "rows": len(made.table),
            "model": made.trial.name,
            "models": [
                dict(zip(keys, values, strict=True))
                for values in zip(*(models[key] for key in keys), strict=True)
            ],
            "trained_on": made.comparison.rows[0],
            "held_out": made.comparison.rows[1],
            "left_out": list(made.left_out),
            "columns": self.column_rows(),
            "mean_column_distance": d.mean_column,
            "mean_pair_distance": _finite(d.mean_pair),
            "mean_pair_distance_by_chance": _finite(d.mean_pair_by_chance),
            "told_apart": {"auc": _finite(self.told_apart.auc),
                           "error": _finite(self.told_apart.auc_error)},
            "train_on_synthetic": training,
            "closest_records": {**self.closest._asdict(), "close": list(self.closest.close)},
            "memorization": self.memorization._asdict(),
            "differential_privacy": False,
            "sentences": self.sentences(),
        }  # fmt: skip


def judge_synthesis(
    made: Synthesis, *, target: str = "", seed: int = 0, notes: tuple[str, ...] = ()
) -> Fidelity:
    """Judge a synthetic table by the rows that its model did not see.

    Args:
        made: the table, and the real rows.
        target: the column that predictors learn; the last one that varies where empty.
        seed: of the random parts of the scores.
        notes: sentences to begin with.
    """
    keep = made.table.column_names
    train, held = made.train.select(keep), made.held_out.select(keep)
    drawn = made.table.slice(0, MAX_JUDGED)
    space = TableSpace.of(pa.concat_tables([train, held]))
    codec = space.codec
    codes = space.codes(held), space.codes(drawn)
    features = [space.features(rows) for rows in (drawn, train, held)]
    if target and target not in codec.names:
        raise InputError(
            f"the target {target!r} is no column that varies; those are "
            f"{', '.join(map(repr, codec.names[:10]))}."
        )
    kinds = tuple(column.kind for column in codec.columns)
    return Fidelity(
        made,
        codec.names,
        kinds,
        table_distances(*codes, [kind == "category" for kind in kinds]),
        drift(*codes, random_state=seed),
        closest_records(*features),
        memorization_test(*features, random_state=seed),
        _training(made, target or codec.names[-1], bool(target), seed),
        notes,
    )


def _training(
    made: Synthesis, target: str, asked: bool, seed: int
) -> SyntheticTraining | None:
    """What predictors learn; None where the last column cannot be predicted."""
    keep = made.table.column_names
    if len(keep) < 2:
        return None
    train, held = made.train.select(keep), made.held_out.select(keep)
    some = made.table.slice(0, len(train))
    try:
        return train_on_synthetic(some, train, held, target=target, random_state=seed)
    except (InputError, ValueError):
        if asked:
            raise
        return None


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
