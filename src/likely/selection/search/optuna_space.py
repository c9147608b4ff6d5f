"""Lists and distributions as Optuna has them."""

from typing import Any

from likely.selection.search.description import text_of


def distribution_in(optuna: Any, values: Any) -> Any:
    """The distribution of Optuna from which a parameter is proposed.

    Uniform, log-uniform and whole numbers are Optuna's own; of any other distribution of
    `scipy.stats` the level of its quantile is proposed.

    Args:
        optuna: the package.
        values: a list, or a distribution of `scipy.stats` or Optuna.
    """
    kinds = optuna.distributions
    if isinstance(values, list):
        return kinds.CategoricalDistribution([_choice(value) for value in values])
    if not hasattr(values, "rvs"):
        return values
    low, high = values.support()
    name = _name(values)
    if name == "randint":
        return kinds.IntDistribution(int(low), int(high))
    if name in ("loguniform", "reciprocal", "uniform"):
        log = name != "uniform"
        return kinds.FloatDistribution(float(low), float(high), log=log)
    return kinds.FloatDistribution(0.0, 1.0)


def value_of(chosen: Any, values: Any) -> Any:
    """The value of a parameter, from what Optuna chose.

    Args:
        chosen: by Optuna.
        values: as in `distribution_in`.
    """
    if isinstance(values, list):
        return next(value for value in values if _choice(value) == chosen)
    plain = ("randint", "loguniform", "reciprocal", "uniform")
    if not hasattr(values, "rvs") or _name(values) in plain:
        return chosen
    found = values.ppf(chosen)
    return found.item() if hasattr(found, "item") else found


def _name(values: Any) -> str:
    return getattr(getattr(values, "dist", None), "name", "")


def _choice(value: Any) -> Any:
    """A value as Optuna can keep it: anything but numbers and words by its description."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return text_of(value)
