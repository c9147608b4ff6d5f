"""The sentences that a report begins with, and its comparison of models as rows."""

from typing import Any

import numpy as np

from likely.core.written_numbers import number, percent, with_error
from likely.workbench.candidates import STACK
from likely.workbench.report.contents import Report

NATS = (
    "Nats measure how likely the true values of held-out rows are under a model: a gain of "
    "0.1 nats per row makes them e^0.1 = 1.11 times as likely, one of 0.7 twice as likely."
)
SHOWN_SCORES = ("rmse", "mae", "r2", "accuracy", "brier", "auc", "concordance")
"""The scores that are printed in a terminal."""


def verdict(report: Report) -> list[str]:
    """What has to be known first, which model is best, how good it is, what is simpler."""
    winner = report.winner
    warned = [f.sentences for f in report.findings if f.first]
    likelier = [] if winner.name == "null" else [_likelier(report)]
    return [
        *warned,
        *map(_sentence, (_best(report), *likelier, _quality(report))),
        *([winner.better_mean] if winner.better_mean else []),
        *([_sentence(_simpler(report))] if winner.simpler else []),
    ]


def _best(report: Report) -> str:
    winner, target = report.winner, report.target.name
    if winner.name == "null":
        return f"no model predicts {target} better than its overall distribution"
    model = winner.label
    if winner.name == STACK:
        parts = sorted(winner.weights.items(), key=lambda pair: -pair[1])[:3]
        labels = {row.name: row.label for row in report.ladder}
        mix = ", ".join(f"{100 * p:.0f} % {labels[n]}" for n, p in parts)
        model = f"a mixture ({mix})"
    return f"best of {len(report.ladder)} models of {target}: {model}"


def _likelier(report: Report) -> str:
    gain = report.winner.gain_over_null or 0.0
    likelier = np.exp(min(gain, 50.0))
    error = report.winner.gain_over_null_error
    return (
        f"on held-out rows, the true value is {number(likelier)} times as likely under it "
        f"as under the null model ({with_error(gain, error)} nats per row)"
    )


def _quality(report: Report) -> str:
    winner = report.winner
    scores = winner.scores
    said = []
    if scores.get("accuracy") is not None:
        plain = percent(report.ladder[0].scores.get("accuracy"))
        always = f" (always saying the commonest class: {plain})" if plain else ""
        said.append(f"it is right in {percent(scores['accuracy'])} of rows{always}")
    elif scores.get("r2") is not None:
        said.append(_explained(scores["r2"]))
    if scores.get("concordance") is not None:
        said.append(f"it orders {percent(scores['concordance'])} of pairs rightly")
    what = "sets" if report.is_class else "intervals"
    unit = " classes" if report.is_class else " wide"
    said.append(
        f"its {what} of {percent(winner.coverage_asked, 0)} cover {coverage(report)} of "
        f"rows, {mean_size(winner.size, unit)}"
    )
    return ", and ".join([", ".join(said[:-1]), said[-1]] if said[:-1] else said)


def coverage(report: Report) -> str:
    """The share of held-out rows that is covered, with its error where it is known."""
    share, error = report.winner.coverage, report.winner.coverage_error
    if share is None or not error:
        return percent(share)
    return f"{100 * share:.1f} ± {100 * error:.1f} %"


def _explained(r2: Any) -> str:
    if r2 < 0.005:
        return f"its mean is no better than that of all rows (R² {r2:.3f})"
    return f"it explains {percent(r2, 0)} of the variance"


def _simpler(report: Report) -> str:
    winner = report.winner
    simpler = winner.simpler
    assert simpler is not None
    gap = with_error(simpler.behind, simpler.error)
    if simpler.name == "null":
        return f"that is within error of the null model ({gap} nats per row)"
    return (
        f"a simpler model, the {simpler.label}, is within error of it ({gap} nats per row "
        "behind)"
    )


def mean_size(size: float | None, unit: str) -> str:
    """The mean size of intervals or sets; with too few rows intervals are unbounded."""
    if size is None:
        return "unbounded, since there are too few rows"
    return f"{number(size)}{unit} on average"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def ladder_rows(report: Report) -> list[dict[str, Any]]:
    """The comparison in a report as a table: one row for each model."""
    return [
        {
            "model": row.label,
            "nats": row.nats,
            "±": row.error,
            "gain": row.gain,
            "gain ±": row.gain_error,
            **row.scores,
        }
        for row in report.ladder
    ]


def compact(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The comparison as text for narrow terminals: each number with its error."""
    return [
        {
            "model": row["model"],
            "nats": with_error(row["nats"], row.get("±")),
            "gain": with_error(row.get("gain"), row.get("gain ±"), "+") if i else "",
            **{name: score(row[name]) for name in row if name in SHOWN_SCORES},
        }
        for i, row in enumerate(rows)
    ]


def score(value: float | None) -> str:
    """A score with three decimals, or three digits where it is large."""
    if value is None:
        return ""
    small = value if abs(value) >= 0.0005 else 0.0  # no minus before a zero
    return f"{small:.3f}" if abs(value) < 10 else number(value, 4)


def shrunk_lines(report: Report) -> list[str]:
    """A sentence about what was made smaller to stay within the time of the effort."""
    if not report.shrunk:
        return []
    effort = report.spec.effort
    return [
        f"To stay within the time of --effort {effort}: {'; '.join(report.shrunk)}."
    ]


def findings_lines(report: Report, limit: int = 6) -> list[str]:
    """The findings for a terminal, without those that the verdict begins with."""
    left = [f for f in report.findings if not f.first and f.kind != "simpler model"]
    shown = [
        f"{f'{f.level} {f.code}'.rstrip()}: {f.text} {f.advice}".rstrip()
        for f in left[:limit]
    ]
    more = len(left) - len(shown)
    return [*shown, *([f"({more} more in the report)"] if more else [])]
