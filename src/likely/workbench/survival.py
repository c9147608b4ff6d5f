r"""Times until an event, of which some are censored: reading, scores, calibration, findings.

In a table of such times y is the time of an event, and **minus the time until which there
was none** where the row is censored (`families.Censored`).

Calibration asks where each time lies in its predicted distribution, u = F(t); these are
uniform for a good model. Of a censored row it is only known that u is larger, so the shares
of u are Kaplan–Meier's: events have the mass of the steps of the curve, which stands for
censored rows before them too. What is left beyond the last event is spread evenly, for
nothing is known about it. All this holds if rows are censored independently of how long
they would have lasted.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import minimize
from scipy.special import log_ndtr

from likely import evaluate
from likely.core.checks import InputError
from likely.data.columns import as_levels, as_numbers

KIND = "survival"
FAMILIES = ("weibull", "lognormal", "exponential")
HAPPENED = frozenset({
    "1", "1.0", "yes", "y", "true", "t", "event", "events", "died", "dead", "death",
    "deceased", "churned", "churn", "failed", "failure", "relapse", "relapsed",
    "recurrence", "left", "cancelled", "canceled", "defaulted", "default", "converted",
})  # fmt: skip
"""What a column of events holds where the event happened."""
CENSORED = frozenset({
    "0", "0.0", "no", "n", "false", "f", "censored", "alive", "survived", "living",
    "active", "ongoing", "none", "stayed", "retained", "running",
})  # fmt: skip
"""What it holds where there was no event until that time."""
EVENT_NAMES = (
    "event", "status", "died", "dead", "death", "censored", "censor", "cens", "churn",
    "churned", "failed", "failure", "relapse", "deceased", "arrest", "fstat", "observed",
)  # fmt: skip
TIME_NAMES = (
    "time", "times", "duration", "tenure", "days", "weeks", "months", "years", "survival",
    "followup", "follow", "lifetime", "futime", "stop", "los", "week", "age",
)  # fmt: skip
SAMPLE_ROWS, MAX_FAMILY_COLUMNS, MAX_FAMILY_LEVELS = 4000, 50, 8
"""The number of rows, columns and levels of a column by which a family is chosen."""
SURVIVAL_QUARTERS = (0.25, 0.5, 0.75)


class Times(NamedTuple):
    """Times of a table, negative where they are censored."""

    y: Float[np.ndarray, " m"]
    rows: Int[np.ndarray, " m"]
    """The rows that have a time and say whether the event happened."""
    notes: tuple[str, ...]
    """What was assumed, as sentences."""


def read_times(name: str, values: Any, event: str, events: Any) -> Times:
    """The times of a target and whether each ended with an event.

    Args:
        name: of the column of times.
        values: its Arrow column.
        event: the name of the column of events.
        events: its Arrow column.
    """
    try:
        time = as_numbers(values, name)
    except InputError as error:
        raise InputError(
            f"with --event the target is a time, but {name!r} does not hold numbers; name "
            "the column of times with --target."
        ) from error
    happened, known, notes = _happened(event, events)
    if np.isinf(time).any():
        row = int(np.argmax(np.isinf(time)))
        raise InputError(f"the target {name!r} contains infinity (row {row}).")
    rows = np.flatnonzero(known & np.isfinite(time))
    time, happened = time[rows], happened[rows]
    if not len(rows):
        raise InputError(f"no row has both a time {name!r} and an event {event!r}.")
    if (time < 0).any():
        row = int(rows[np.argmax(time < 0)])
        raise InputError(
            f"the time {name!r} is {time[time < 0][0]:g} in row {row}; times are above 0."
        )
    if not happened.any():
        raise InputError(
            f"no row has an event in {event!r}, so nothing is known about times until one."
        )
    zero = time == 0
    if zero.all():
        raise InputError(f"all times {name!r} are 0; name the column of times.")
    if zero.any():
        least = float(time[~zero].min()) / 2
        notes += (
            f"{int(zero.sum())} rows have the time 0, which is taken for {least:g}, half "
            "of the shortest time.",
        )
        time = np.where(zero, least, time)
    return Times(np.where(happened, time, -time), rows, notes)


def _happened(name: str, values: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Whether the event happened, where that is known, and what was assumed."""
    levels = as_levels(values, name)
    words = [str(category).strip().lower() for category in levels.categories]
    used = np.bincount(levels.codes[levels.codes >= 0], minlength=len(words)) > 0
    seen = {word for word, here in zip(words, used, strict=True) if here}
    yes, notes = HAPPENED, ()
    if {word.removesuffix(".0") for word in seen} == {"1", "2"}:
        yes = frozenset({"2", "2.0"})
        notes = (f"Column {name!r} holds 1 and 2; 2 is taken for the event.",)
    elif not seen <= HAPPENED | CENSORED:
        other = sorted(seen - HAPPENED - CENSORED)[0]
        raise InputError(
            f"the column of events {name!r} holds {other!r}; 1, yes or true says that the "
            "event happened at that time, and 0, no or false that it had not until then."
        )
    is_event = np.array([word in yes for word in words] or [False])
    return is_event[levels.codes] & (levels.codes >= 0), levels.codes >= 0, notes


def family_of_times(
    y: Float[np.ndarray, " n"], X: Float[np.ndarray, "n d"] | None = None
) -> str:
    """Weibull or log-normal: the likelier one with log-times linear in the columns.

    Both have the same number of parameters.

    Args:
        y: times, negative where they are censored.
        X: columns, about standardised.
    """
    A = np.ones((len(y), 1)) if X is None else np.column_stack([np.ones(len(y)), X])
    logs, seen = np.log(np.abs(y)), (y > 0).astype(float)
    start = np.zeros(A.shape[1] + 1)
    start[0], start[-1] = logs.mean(), np.log(logs.std() + 1e-3)

    def loss(p: np.ndarray, slope: Any) -> tuple[float, np.ndarray]:
        scale = np.exp(p[-1])
        z = np.clip((logs - A @ p[:-1]) / scale, -50.0, 50.0)
        value, g = slope(z)
        inner = np.append(A.T @ g / scale, g @ z + seen.sum()) + 1e-3 * np.r_[p[:-1], 0]
        extra = 5e-4 * float(p[:-1] @ p[:-1])
        return float(seen.sum() * p[-1] - value.sum()) + extra, inner

    def weibull(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return seen * z - np.exp(z), seen - np.exp(z)

    def lognormal(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        density, tail = -0.5 * z**2 - 0.5 * np.log(2 * np.pi), log_ndtr(-z)
        value = np.where(seen > 0, density, tail)
        return value, np.where(seen > 0, -z, -np.exp(density - tail))

    losses = [
        minimize(loss, start, args=(slope,), jac=True, method="L-BFGS-B").fun
        for slope in (weibull, lognormal)
    ]
    return "weibull" if losses[0] <= losses[1] else "lognormal"


def chosen_family(frame: Any, schema: Any, y: Float[np.ndarray, " n"]) -> str:
    """The family of times, from some rows of the columns that are used."""
    rows = np.linspace(0, len(y) - 1, min(len(y), SAMPLE_ROWS)).astype(int)
    part = frame.take(rows) if len(rows) < len(y) else frame
    columns = []
    for column in [c for c in schema if c.used][:MAX_FAMILY_COLUMNS]:
        values = part[column.name]
        if column.kind in ("category", "code"):
            codes = as_levels(values, column.name).codes
            common = np.argsort(-np.bincount(codes + 1), kind="stable")[
                :MAX_FAMILY_LEVELS
            ]
            columns += [(codes + 1 == level).astype(float) for level in common[1:]]
        elif column.kind in ("number", "boolean"):
            columns.append(as_numbers(values, column.name))
    X = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))
    known = np.isfinite(X)
    mean = np.where(known, X, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    X = np.where(known, X - mean, 0.0)
    size = np.sqrt((X**2).mean(0))
    return family_of_times(y[rows], X[:, size > 0] / size[size > 0])


def horizons(
    y: Float[np.ndarray, " n"], w: Float[np.ndarray, " n"]
) -> tuple[float, ...]:
    """Round times by which about a quarter, half and three quarters of events happened."""
    times = np.sort(np.abs(y[y > 0]))
    found = [float(f"{np.quantile(times, q):.2g}") for q in SURVIVAL_QUARTERS]
    return tuple(sorted({time for time in found if time > 0}))


def survival_scores(
    y: Float[np.ndarray, " n"],
    median: Float[np.ndarray, " n"],
    w: Float[np.ndarray, " n"],
    fold: Int[np.ndarray, " n"],
) -> dict[str, float]:
    """Harrell's concordance, the mean over folds: one model made the predictions of each."""
    found, total = 0.0, 0.0
    for number in np.unique(fold):
        rows = fold == number
        value = evaluate.concordance(
            np.abs(y[rows]), median[rows], y[rows] > 0, w[rows]
        )
        if np.isfinite(value):
            found, total = found + value * w[rows].sum(), total + w[rows].sum()
    return {"concordance": found / total if total else float("nan")}


class Residuals(NamedTuple):
    """Where times lie in their predicted distributions, with Kaplan–Meier's masses."""

    u: Float[np.ndarray, " n"]
    """F(t) of events; of rows that are censored after the last event, spread evenly."""
    mass: Float[np.ndarray, " n"]
    """The weight of each row; 0 for other censored rows. They sum to the number of rows
    that would say as much if all had the same weight."""


def residuals(
    y: Float[np.ndarray, " n"], pit: Float[np.ndarray, " n"], w: Float[np.ndarray, " n"]
) -> Residuals:
    """The residuals of held-out rows: uniform for a good model."""
    seen, u = y > 0, np.clip(pit, 0.0, 1.0).copy()
    if not (w * seen).any():
        return Residuals(u, w.copy())
    curve = evaluate.kaplan_meier(u, seen, w)
    steps = -np.diff(np.r_[1.0, curve.survival])
    place = np.searchsorted(curve.times, u[seen])
    mass = np.zeros(len(y))
    mass[seen] = w[seen] * (steps / curve.events)[place]
    left, last = float(curve.survival[-1]), float(curve.times[-1])
    beyond = np.flatnonzero(~seen & (u >= last) & (w > 0))
    if left > 0 and len(beyond):
        beyond = beyond[np.argsort(u[beyond], kind="stable")]
        at = (np.arange(len(beyond)) + 0.5) / len(beyond)
        u[beyond] = last + (1 - last) * at
        mass[beyond] = left * w[beyond] / w[beyond].sum()
    share = np.where(w > 0, mass**2 / np.where(w > 0, w, 1.0), 0.0).sum()
    return Residuals(u, mass * (mass.sum() / share))


def possible(
    y: Float[np.ndarray, " n"], low: np.ndarray, high: np.ndarray
) -> Bool[np.ndarray, " n"]:
    """Whether a time lies in its interval; a censored one, whether it still may."""
    time = np.abs(y)
    return (time <= high) & ((low <= time) | (y < 0))


def shown_time(y: float) -> str:
    """A time as text: with a plus where the event had not happened until then."""
    return f"{abs(y):.4g}{'+' if y < 0 else ''}"


def suggested_event(target: str, kind: str, frame: Any) -> str:
    """A sentence where the table looks like one of times until an event; else nothing.

    Args:
        target: the name of the target.
        kind: its kind.
        frame: the Arrow table of the other columns.
    """
    if kind in ("positive", "real", "count", "nonnegative") and _names(
        target, TIME_NAMES
    ):
        event = _first_event(frame)
        if event:
            return (
                f"{target!r} looks like a time until an event, and {event!r} like whether it "
                "happened; rows without the event then only say that it takes longer. Use "
                f"--target {target} --event {event} if that is so."
            )
    if kind == "binary" and _names(target, EVENT_NAMES):
        times = [n for n in frame.column_names if _names(n, TIME_NAMES[:-2])]
        times = [n for n in times if _is_positive(frame[n], n)]
        if times:
            return (
                f"{target!r} looks like whether an event happened, and {times[0]!r} like the "
                "time until then, which is not known beforehand. Use "
                f"--target {times[0]} --event {target} if that is so."
            )
    return ""


def _first_event(frame: Any) -> str:
    names: Sequence[str] = [n for n in frame.column_names if _names(n, EVENT_NAMES)]
    for name in names:
        words = {
            str(v).strip().lower() for v in frame[name].drop_null().unique().to_pylist()
        }
        two = len(words) == 2
        if two and (
            words <= HAPPENED | CENSORED or words in ({"1", "2"}, {"1.0", "2.0"})
        ):
            return name
    return ""


def _names(name: str, words: Sequence[str]) -> bool:
    """Whether a name consists of words among which is one of these."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()
    return any(word in words for word in re.findall(r"[a-z]+", spaced))


def _is_positive(values: Any, name: str) -> bool:
    try:
        numbers = as_numbers(values, name)
    except InputError:
        return False
    known = numbers[np.isfinite(numbers)]
    return (
        len(known) > 0 and bool((known >= 0).all()) and len(np.unique(known[:1000])) > 5
    )
