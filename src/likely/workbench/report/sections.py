"""The parts of the page, each from the report and the held-out rows."""

import html
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from likely import evaluate
from likely.workbench.quantiles import MIDDLE
from likely.workbench.report.charts import Axes, number, rows_chart
from likely.workbench.result import mean_size

POINTS = 400
MANY_CLASSES = 12


def escape(text: Any) -> str:
    """Text that is safe inside a page."""
    return html.escape(str(text), quote=True)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    caption: str,
    best: int | None = None,
    text: Sequence[int] = (),
) -> str:
    """An HTML table; cells are escaped here."""
    kind = [' class="text"' if j in text else "" for j in range(len(head))]
    top = "".join(
        f'<th scope="col"{k}>{escape(name)}</th>'
        for k, name in zip(kind, head, strict=True)
    )
    body = []
    for i, row in enumerate(rows):
        mark = ' class="best"' if i == best else ""
        cells = "".join(
            f"<td{k}>{escape(c)}</td>" for k, c in zip(kind, row, strict=True)
        )
        body.append(f"<tr{mark}>{cells}</tr>")
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def figure(svg: str, caption: str, wide: bool = False) -> str:
    """A picture with what it shows; on a phone a wide one can be moved sideways."""
    kind = ' class="wide"' if wide else ""
    said = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure{kind}>{svg}{said}</figure>"


def ladder(result: Any) -> str:
    """The rungs: scores, gains, and a picture of both."""
    rows = result.report["ladder"]
    best = next(
        i for i, r in enumerate(rows) if r["name"] == result.report["winner"]["name"]
    )
    scores = list(rows[0]["scores"])
    head = ["model", "nats", "±", "gain", "±", *scores]
    cells = [
        [
            row["label"],
            _fixed(row["nats"]),
            _fixed(row["error"]),
            "" if i == 0 else _fixed(row["gain"], "+"),
            "" if i == 0 else _fixed(row["gain_error"]),
            *(_cell(row["scores"][name]) for name in scores),
        ]
        for i, row in enumerate(rows)
    ]
    gains = [row["gain_over_null"] for row in rows]
    errors = [2 * (row["gain_over_null_error"] or 0) for row in rows]
    chart = rows_chart(
        [row["label"] for row in rows],
        gains,
        [g - e for g, e in zip(gains, errors, strict=True)],
        [g + e for g, e in zip(gains, errors, strict=True)],
        title="Gain of each model over the null model, in nats a row, with two errors",
        label="nats a row gained over the null model (± 2 errors)",
        marked=best,
    )
    skipped = "".join(
        f"<p class=soft>Left out: {escape(label)}, because {escape(why)}.</p>"
        for label, why in result.report["skipped"].items()
    )
    caption = (
        "Held-out negative log-likelihood (lower is better); the gain is over the row "
        "above, on the same rows."
    )
    return (
        table(head, cells, caption, best)
        + figure(chart, "Right of zero is better.", wide=True)
        + skipped
    )


def _fixed(value: Any, sign: str = "") -> str:
    return "" if value is None else f"{value:{sign}.4f}"


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4g}"


def simple(result: Any) -> str:
    """Coefficients of the simplest model."""
    found = result.report["simple"]
    if not found["rows"]:
        why = found["refusal"] or "it could not be fitted"
        return f"<p>No coefficients are shown: {escape(why)}</p>"
    rows = found["rows"]
    shown = sorted(
        rows, key=lambda r: -abs(r["estimate"] or 0) if r["p"] is None else r["p"]
    )
    shown = [r for r in shown if not _is_intercept(r["name"])][:25]
    cells = [
        [
            r["name"],
            *(_cell(r[k]) for k in ("estimate", "error", "low", "high")),
            _p(r["p"]),
        ]
        for r in rows[:60]
    ]
    chart = rows_chart(
        [r["name"] for r in shown],
        [r["estimate"] or 0.0 for r in shown],
        [r["low"] if r["low"] is not None else 0.0 for r in shown],
        [r["high"] if r["high"] is not None else 0.0 for r in shown],
        title="Coefficients with confidence intervals",
        label="coefficient (95 % interval)",
    )
    more = f" The first 60 of {len(rows)} are listed." if len(rows) > 60 else ""
    say = (
        f"<p>{escape(found['title'][0].upper() + found['title'][1:])}, fitted to all rows "
        "without a penalty. Numbers are scaled to variance 1, so the sizes of "
        f"coefficients can be compared.{more}</p>"
    )
    head = ["column", "estimate", "error", "low 95 %", "high 95 %", "p"]
    detail = table(head, cells, "Estimates, standard errors, intervals, p-values")
    caption = (
        "Columns whose interval misses zero tell something that the others do not."
    )
    return say + figure(chart, caption, wide=True) + detail


def _is_intercept(name: str) -> bool:
    return name.strip("()").lower() in ("intercept", "const", "bias")


def _p(p: Any) -> str:
    if p is None:
        return ""
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def calibration(result: Any) -> str:
    """Are its probabilities frequencies; do its intervals cover?"""
    winner = result.report["winner"]
    asked, share = 100 * winner["coverage_asked"], 100 * winner["coverage"]
    what = "sets" if result.table.target.is_class else "intervals"
    unit = " classes" if result.table.target.is_class else " wide"
    say = (
        f"<p>Conformal {what} of {asked:.0f} % covered {share:.1f} % of held-out rows and "
        f"are {mean_size(winner['size'], unit)}.</p>"
    )
    held = result.held[winner["name"]]
    y, w = result.table.y[held.rows], result.table.w[held.rows]
    if held.probs is None:
        return (
            say + f'<div class="grid2">{_pit(held, w)}{_scatter(result, held, y)}</div>'
        )
    pictures = [_reliability(result, held, y, w)]
    if held.probs.shape[1] == 2:
        pictures += _curves(held, y, w)
    tail = _confusion(result, held, y, w) if held.probs.shape[1] <= MANY_CLASSES else ""
    return say + f'<div class="grid2">{"".join(pictures)}</div>' + tail


def _pit(held: Any, w: np.ndarray) -> str:
    found = evaluate.uniformity(held.pit, w)
    b = len(found.share)
    axes = Axes((0, 1), (0, 1.1 * max(found.share)), labels=("F(y)", "share of rows"))
    axes.bars(np.arange(b) / b, 1 / b, found.share)
    axes.line([0, 1], [1 / b, 1 / b], "ideal")
    caption = (
        "Where the truth fell in its predicted distribution: flat is right, full ends are "
        "intervals that are too narrow (before recalibration)."
    )
    return figure(axes.svg("Histogram of the probability integral transform"), caption)


def _scatter(result: Any, held: Any, y: np.ndarray) -> str:
    pick = np.linspace(0, len(y) - 1, min(POINTS, len(y))).round().astype(int)
    said = held.quantiles[pick, MIDDLE]
    seen = y[pick]
    low, high = np.quantile(np.concatenate([said, seen]), [0.002, 0.998])
    inside = (said >= low) & (said <= high) & (seen >= low) & (seen <= high)
    name = result.table.target.name
    axes = Axes((low, high), (low, high), labels=(f"predicted {name}", f"true {name}"))
    axes.line([low, high], [low, high], "ideal")
    axes.dots(said[inside], seen[inside], "faint", 2.5)
    return figure(
        axes.svg("Truth against prediction"), "Held-out rows: truth by prediction."
    )


def _reliability(result: Any, held: Any, y: np.ndarray, w: np.ndarray) -> str:
    T = result.report["winner"]["temperature"]
    after = evaluate.heated(held.probs, T)
    axes = Axes((0, 1), (0, 1), labels=("confidence", "frequency"))
    axes.line([0, 1], [0, 1], "ideal")
    found = evaluate.reliability(y, after, w, equal="weight", bins=10)
    before = evaluate.reliability(y, held.probs, w)
    low = found.frequency - 2 * found.error
    high = found.frequency + 2 * found.error
    for x, a, b in zip(found.confidence, low, high, strict=True):
        axes.line([x, x], [max(a, 0), min(b, 1)], "whisker")
    axes.line(found.confidence, found.frequency)
    axes.dots(found.confidence, found.frequency)
    now = evaluate.reliability(y, after, w)
    caption = (
        f"How often it is right, by how sure it was. Expected calibration error "
        f"{100 * before.expected_error:.1f} points, {100 * now.expected_error:.1f} at "
        f"temperature {T:.2f}."
    )
    return figure(axes.svg("Reliability diagram"), caption)


def _curves(held: Any, y: np.ndarray, w: np.ndarray) -> list[str]:
    curve = evaluate.operating_points(y, held.probs[:, 1], w)
    keep = np.unique(np.linspace(0, len(curve.threshold) - 1, 200).round().astype(int))
    roc = Axes((0, 1), (0, 1), labels=("false positive rate", "true positive rate"))
    roc.line([0, 1], [0, 1], "ideal")
    roc.line(curve.false_positive_rate[keep], curve.recall[keep])
    pr = Axes((0, 1), (0, 1), labels=("recall", "precision"))
    pr.line(curve.recall[keep], curve.precision[keep])
    return [
        figure(roc.svg("ROC curve"), f"Area under the ROC curve {curve.area:.3f}."),
        figure(
            pr.svg("Precision and recall"),
            f"Average precision {curve.average_precision:.3f}.",
        ),
    ]


def _confusion(result: Any, held: Any, y: np.ndarray, w: np.ndarray) -> str:
    labels = result.table.target.classes
    counts = evaluate.confusion(y, held.probs, w)
    rows = [
        [label, *(f"{v:g}" for v in row)]
        for label, row in zip(labels, counts, strict=True)
    ]
    return table(
        ["true \\ said", *labels], rows, "Held-out rows by true and predicted class"
    )


def importance(result: Any) -> str:
    """Which columns matter, and how."""
    found = result.report["importances"]
    if not found:
        return "<p>No column helps.</p>"
    top = found[:20]
    chart = rows_chart(
        [i["column"] for i in top],
        [i["nats"] for i in top],
        [i["nats"] - 2 * (i["error"] or 0) for i in top],
        [i["nats"] + 2 * (i["error"] or 0) for i in top],
        title="Importance of columns",
        label="nats a row lost when the column is shuffled (± 2 errors)",
    )
    pictures = "".join(_effect(result, e) for e in result.report["effects"])
    say = (
        "<p>Held-out rows, models of single folds. What a column does alone need not be "
        "what changing it would do.</p>"
    )
    effects = f'<h3>Partial effects</h3><div class="grid2">{pictures}</div>'
    return say + figure(chart, "", wide=True) + effects


def _effect(result: Any, effect: dict) -> str:
    target = result.table.target
    means, errors = np.array(effect["means"], float), np.array(effect["errors"], float)
    if not (np.isfinite(means).all() and np.isfinite(errors).all()):
        return ""  # numbers so large that their means are not
    which = (
        means.shape[1] - 1
        if means.shape[1] <= 2
        else int(np.argmax(np.ptp(means, axis=0)))
    )
    mean, error = means[:, which], 2 * errors[:, which]
    label = (
        f"P({target.classes[which]})" if target.is_class else f"predicted {target.name}"
    )
    low, high = float((mean - error).min()), float((mean + error).max())
    pad = 0.05 * max(high - low, 1e-9)
    values = effect["values"]
    y = (low - pad, high + pad)
    if effect["kind"] == "number":
        axes = Axes((values[0], values[-1]), y, labels=(effect["column"], label))
        axes.band(values, mean - error, mean + error)
        axes.line(values, mean)
        picture = axes.svg(f"Effect of {effect['column']}")
    else:
        n = len(values)
        axes = Axes((-0.5, n - 0.5), y, labels=(effect["column"], label))
        for i in range(n):
            axes.line([i, i], [mean[i] - error[i], mean[i] + error[i]], "whisker")
        axes.dots(range(n), mean)
        for i in range(0, n, -(-n // 6)):
            (px,), _ = axes.place([i], [y[0]])
            short = escape(str(values[i])[:10])
            at = f'x="{px:.1f}" y="{axes.height - 21}"'
            axes.drawn.append(
                f'<text class="label" {at} text-anchor="middle">{short}</text>'
            )
        picture = axes.svg(f"Effect of {effect['column']}", ticks=(False, True))
    return figure(
        picture, f"{effect['column']}: mean over rows, ± 2 spreads over folds."
    )


def findings(result: Any) -> str:
    """What to know before believing the numbers."""
    found = result.report["findings"]
    if not found:
        return "<p>Nothing stands out.</p>"
    return "".join(
        f'<div class="finding {escape(f["level"])}"><b>{escape(f["kind"])}.</b> '
        f'{escape(f["text"])} <span class="soft">{escape(f["advice"])}</span></div>'
        for f in found
    )


def data(result: Any) -> str:
    """The columns as they were read."""
    report = result.report["data"]
    rows = []
    for c in report["columns"]:
        ends = "" if c["low"] is None else f"{_end(c['low'])} to {_end(c['high'])}"
        seen = ends or ", ".join(c["examples"][:3])
        kind = c["kind"] if c["used"] else f"{c['kind']} (left out)"
        rows.append(
            [c["name"], kind, c["missing"], c["distinct"] or "", seen[:60], c["reason"]]
        )
    head = ["column", "kind", "missing", "different", "values", "why this kind"]
    caption = f"{report['rows']} rows, dealt {report['dealt']}"
    notes = "".join(f'<p class="soft">{escape(n)}</p>' for n in report["notes"])
    target = result.report["target"]
    say = (
        f"<p>The target <b>{escape(target['name'])}</b> is {escape(target['kind'])} "
        f"({escape(target['reason'])}), family {escape(target['family'])}.</p>"
    )
    return say + table(head, rows, caption, text=(4, 5)) + notes


def _end(value: Any) -> str:
    return number(value) if isinstance(value, int | float) else str(value)


def reproduce(result: Any) -> str:
    """How to do it again, and with what it was done."""
    versions = ", ".join(f"{k} {v}" for k, v in result.report["versions"].items())
    spec = result.report["spec"]
    command = (
        f"likely fit {shlex.quote(spec['data'])} --target {shlex.quote(spec['target'])}"
    )
    return (
        f"<pre>likely fit --spec spec.toml</pre><p>or</p><pre>{escape(command)} --seed "
        f"{spec['seed']} --folds {spec['folds']} --effort {escape(spec['effort'])}</pre>"
        f"<p>New rows: <code>likely predict model rows.csv</code></p>"
        f'<p class="soft">{escape(versions)}. Data sha256 '
        f"{escape(result.report['data']['digest'][:16])}….</p>"
    )
