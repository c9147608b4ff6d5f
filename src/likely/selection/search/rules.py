r"""Which setting is chosen: the best one, or the simplest that is hardly worse.

Scores on a few folds are noisy, and of many settings the best one is partly lucky. The
one-standard-error rule takes the simplest setting whose mean score is no further below the
best one than the standard error of the latter:

$$\bar s_i \ge \bar s_{\text{best}} - \text{se}_{\text{best}}.$$
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likely.base.settings import one_of
from likely.core.checks import InputError
from likely.selection.search.trial import Trial

RULES = ("best", "one-standard-error")
DIRECTIONS = ("larger", "smaller")
SIMPLER = {
    "alpha": "larger",
    "l1_ratio": "larger",
    "C": "smaller",
    "gamma": "smaller",
    "n_neighbors": "larger",
    "bandwidth": "larger",
    "degree": "smaller",
    "n_knots": "smaller",
    "n_components": "smaller",
    "max_depth": "smaller",
    "max_leaf_nodes": "smaller",
    "num_leaves": "smaller",
    "min_samples_leaf": "larger",
    "min_samples_split": "larger",
    "min_child_weight": "larger",
    "ccp_alpha": "larger",
    "reg_alpha": "larger",
    "reg_lambda": "larger",
    "n_estimators": "smaller",
    "max_iter": "smaller",
    "hidden_layer_sizes": "smaller",
    "dropout": "larger",
}
"""In which direction a parameter makes a model simpler, by its name (in a pipeline: the
part after the last "__"). Of several widths the sum counts."""


def chosen_trial(
    trials: Sequence[Trial], rule: str, simpler: Mapping[str, str] | None
) -> Trial:
    """The trial that a rule chooses; failures are never chosen.

    Args:
        trials: those to choose from.
        rule: one of `RULES`.
        simpler: the direction of simplicity of some parameters, the first one counting
            most; `SIMPLER` where None.
    """
    one_of("rule", rule, RULES)
    finished = [trial for trial in trials if not trial.failure]
    if not finished:
        raise InputError(
            f"every one of {len(trials)} trials failed, the first with: "
            f"{trials[0].failure}"
        )
    best = max(finished, key=lambda trial: trial.mean)  # the first of equal ones
    if rule == "best":
        return best
    order = _order(trials, simpler)
    margin = best.standard_error if np.isfinite(best.standard_error) else 0.0
    near = [trial for trial in finished if trial.mean >= best.mean - margin]
    return min(near, key=lambda trial: (*_complexity(trial, order), -trial.mean))


def _order(
    trials: Sequence[Trial], simpler: Mapping[str, str] | None
) -> dict[str, str]:
    """The direction of each parameter that has one."""
    names = list(dict.fromkeys(name for trial in trials for name in trial.params))
    if simpler is None:
        last = {name: name.rpartition("__")[2] for name in names}
        order = {name: SIMPLER[last[name]] for name in names if last[name] in SIMPLER}
    else:
        order = dict(simpler)
    unknown = [name for name in order if name not in names]
    if unknown or not order:
        of_what = f"{unknown[0]!r} is none" if unknown else f"of {', '.join(names)}"
        raise InputError(
            f"rule is 'one-standard-error' and the search has to know which of its "
            f"parameters make a model simpler ({of_what}); give for example "
            'simpler={"alpha": "larger"}.'
        )
    for name, direction in order.items():
        one_of(f"simpler[{name!r}]", direction, DIRECTIONS)
    return order


def _complexity(trial: Trial, order: Mapping[str, str]) -> tuple[float, ...]:
    """Numbers that are the smaller the simpler a setting is."""
    sizes = (_size(trial.params.get(name)) for name in order)
    signs = (-1 if direction == "larger" else 1 for direction in order.values())
    return tuple(
        size if size == np.inf else sign * size
        for size, sign in zip(sizes, signs, strict=True)
    )


def _size(value: Any) -> float:
    """A number as it is, of several their sum; no limit and words are infinite."""
    try:
        return float(np.sum(np.asarray(value, float))) if value is not None else np.inf
    except (TypeError, ValueError):
        return np.inf
