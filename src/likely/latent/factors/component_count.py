"""What the setting `n_components` means."""

from numbers import Integral, Real
from typing import Any

from likely.core.checks import InputError


def component_count(
    given: Any, columns: int, rows: int, *, share: bool = True
) -> int | float | str | None:
    """A checked setting: a whole number, a share between 0 and 1, "nats" or None.

    Args:
        given: the setting.
        columns: that X has.
        rows: that X has; a row of weight 2 is two.
        share: whether a share of the variance may be given.
    """
    if given is None or (isinstance(given, str) and given == "nats"):
        return given
    most = min(columns, rows)
    if isinstance(given, Integral) and not isinstance(given, bool):
        if 1 <= int(given) <= most:
            return int(given)
        raise InputError(
            f"n_components is {given}, but X has {rows} samples and {columns} features; "
            f"give a whole number from 1 to {most}."
        )
    if share and isinstance(given, Real) and 0 < float(given) < 1:
        return float(given)
    allowed = "a share between 0 and 1, " if share else ""
    raise InputError(
        f'n_components is {given!r}; give a whole number, {allowed}"nats" or None.'
    )
