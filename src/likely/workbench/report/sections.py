"""The sections of the report, each from the report data and the held-out predictions."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from likely import evaluate
from likely.workbench.quantiles import MIDDLE
from likely.workbench.report.charts import Axes, number, rows_chart
from likely.workbench.result import mean_size
from likely.workbench.spec import Spec

MAX_POINTS = 400
"""The largest number of points of a scatter plot."""
MAX_CONFUSION_CLASSES = 12
"""The largest number of classes of a confusion matrix."""


def escape(text: Any) -> str:
    """Text that is safe inside HTML."""
    return html.escape(str(text), quote=True)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    caption: str,
    best: int | None = None,
    text: Sequence[int] = (),
) -> str:
    """An HTML table; its cells are escaped."""
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
    """A chart with a caption; on a phone a wide one scrolls sideways."""
    kind = ' class="wide"' if wide else ""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure{kind}>{svg}{below}</figure>"


def comparison(result: Any) -> str:
    """Scores and gains of all models, and a chart of the gains."""
    rows = result.report["ladder"]
    best = [row["name"] for row in rows].index(result.report["winner"]["name"])
    scores = list(rows[0]["scores"])
    head = ["model", "nats", "±", "gain", "±", *scores]
    cells = [
        [
            row["label"],
            _cell(row["nats"], ".4f"),
            _cell(row["error"], ".4f"),
            _cell(row["gain"] if i else None, "+.4f"),
            _cell(row["gain_error"] if i else None, ".4f"),
            *(_cell(row["scores"][name]) for name in scores),
        ]
        for i, row in enumerate(rows)
    ]
    chart = rows_chart(
        [
            _whiskers(row["label"], row["gain_over_null"], row["gain_over_null_error"])
            for row in rows
        ],
        title="Gain over the null model, in nats per row, with two standard errors",
        label="nats per row gained over the null model (± 2 standard errors)",
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


def _cell(value: Any, form: str = ".4g") -> str:
    return "" if value is None else format(value, form)


def _whiskers(name: str, value: Any, error: Any) -> tuple:
    """A row of a chart: a value with two standard errors."""
    width = 2 * (error or 0)
    return name, value, value - width, value + width


def coefficients(result: Any) -> str:
    """Coefficients of an unpenalised linear model."""
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
        [
            (r["name"], *(r[k] or 0.0 for k in ("estimate", "low", "high")))
            for r in shown
        ],
        title="Coefficients with confidence intervals",
        label="coefficient (95 % interval)",
    )
    more = f" The first 60 of {len(rows)} are listed." if len(rows) > 60 else ""
    text = (
        f"<p>{escape(found['title'][0].upper() + found['title'][1:])}, fitted to all rows "
        "without a penalty. Numbers are scaled to variance 1, so the sizes of "
        f"coefficients can be compared.{more}</p>"
    )
    head = ["column", "estimate", "error", "low 95 %", "high 95 %", "p"]
    detail = table(head, cells, "Estimates, standard errors, intervals, p-values")
    caption = "A column whose interval excludes zero carries information that the others lack."
    return text + figure(chart, caption, wide=True) + detail


def _is_intercept(name: str) -> bool:
    return name.strip("()").lower() in ("intercept", "const", "bias")


def _p(p: Any) -> str:
    if p is None:
        return ""
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def calibration(result: Any) -> str:
    """Calibration of the probabilities, and coverage of the intervals or sets."""
    winner = result.report["winner"]
    asked, share = 100 * winner["coverage_asked"], 100 * winner["coverage"]
    what = "sets" if result.table.target.is_class else "intervals"
    unit = " classes" if result.table.target.is_class else " wide"
    text = (
        f"<p>Conformal {what} of {asked:.0f} % covered {share:.1f} % of held-out rows and "
        f"are {mean_size(winner['size'], unit)}.</p>"
    )
    predictions = result.held_out[winner["name"]]
    y, w = result.table.y[predictions.rows], result.table.w[predictions.rows]
    tail = ""
    if predictions.probs is None:
        pictures = [_pit(predictions, w), _scatter(result, predictions, y)]
    else:
        pictures = [_reliability(result, predictions, y, w)]
        if predictions.probs.shape[1] == 2:
            pictures += _curves(predictions, y, w)
        if predictions.probs.shape[1] <= MAX_CONFUSION_CLASSES:
            tail = _confusion(result, predictions, y, w)
    return text + f'<div class="grid2">{"".join(pictures)}</div>' + tail


def _pit(predictions: Any, w: np.ndarray) -> str:
    found = evaluate.uniformity(predictions.pit, w)
    b = len(found.share)
    axes = Axes((0, 1), (0, 1.1 * max(found.share)), labels=("F(y)", "share of rows"))
    axes.bars(np.arange(b) / b, 1 / b, found.share)
    axes.line([0, 1], [1 / b, 1 / b], "ideal")
    caption = (
        "Where the truth fell in its predicted distribution: flat is right, full ends are "
        "intervals that are too narrow (before recalibration)."
    )
    return figure(axes.svg("Histogram of the probability integral transform"), caption)


def _scatter(result: Any, predictions: Any, y: np.ndarray) -> str:
    pick = np.linspace(0, len(y) - 1, min(MAX_POINTS, len(y))).round().astype(int)
    predicted, true = predictions.quantiles[pick, MIDDLE], y[pick]
    low, high = np.quantile(np.concatenate([predicted, true]), [0.002, 0.998])
    inside = ((predicted >= low) & (true >= low)) & (
        (predicted <= high) & (true <= high)
    )
    name = result.table.target.name
    axes = Axes((low, high), (low, high), labels=(f"predicted {name}", f"true {name}"))
    axes.line([low, high], [low, high], "ideal")
    axes.dots(predicted[inside], true[inside], "faint", 2.5)
    picture = axes.svg("True against predicted values")
    return figure(picture, "Held-out rows: true by predicted.")


def _reliability(result: Any, predictions: Any, y: np.ndarray, w: np.ndarray) -> str:
    T = result.report["winner"]["temperature"]
    after = evaluate.temperature_scaled(predictions.probs, T)
    axes = Axes((0, 1), (0, 1), labels=("confidence", "frequency"))
    axes.line([0, 1], [0, 1], "ideal")
    found = evaluate.reliability(y, after, w, equal="weight", bins=10)
    before = evaluate.reliability(y, predictions.probs, w)
    for x, share, _, error in zip(*found, strict=True):
        ends = max(share - 2 * error, 0), min(share + 2 * error, 1)
        axes.line([x, x], ends, "whisker")
    axes.line(found.confidence, found.frequency)
    axes.dots(found.confidence, found.frequency)
    now = evaluate.reliability(y, after, w)
    caption = (
        f"Frequency of correct predictions by confidence. Expected calibration error "
        f"{100 * before.expected_error:.1f} points, {100 * now.expected_error:.1f} at "
        f"temperature {T:.2f}."
    )
    return figure(axes.svg("Reliability diagram"), caption)


def _curves(predictions: Any, y: np.ndarray, w: np.ndarray) -> list[str]:
    curve = evaluate.operating_points(y, predictions.probs[:, 1], w)
    keep = np.unique(np.linspace(0, len(curve.threshold) - 1, 200).round().astype(int))
    roc = Axes((0, 1), (0, 1), labels=("false positive rate", "true positive rate"))
    roc.line([0, 1], [0, 1], "ideal")
    roc.line(curve.false_positive_rate[keep], curve.recall[keep])
    pr = Axes((0, 1), (0, 1), labels=("recall", "precision"))
    pr.line(curve.recall[keep], curve.precision[keep])
    caption = f"Average precision {curve.average_precision:.3f}."
    return [
        figure(roc.svg("ROC curve"), f"Area under the ROC curve {curve.area:.3f}."),
        figure(pr.svg("Precision and recall"), caption),
    ]


def _confusion(result: Any, predictions: Any, y: np.ndarray, w: np.ndarray) -> str:
    labels = result.table.target.classes
    counts = evaluate.confusion(y, predictions.probs, w)
    rows = [
        [label, *(f"{v:g}" for v in row)]
        for label, row in zip(labels, counts, strict=True)
    ]
    head = ["true \\ predicted", *labels]
    return table(head, rows, "Held-out rows by true and predicted class")


def importance(result: Any) -> str:
    """Importances and partial effects of columns."""
    found = result.report["importances"]
    if not found:
        return "<p>No column improves the predictions.</p>"
    chart = rows_chart(
        [_whiskers(i["column"], i["nats"], i["error"]) for i in found[:20]],
        title="Importance of columns",
        label="nats per row lost when the column is shuffled (± 2 standard errors)",
    )
    pictures = "".join(_effect(result, e) for e in result.report["effects"])
    text = (
        "<p>Computed on held-out rows by the models of single folds. These are effects on "
        "predictions; they need not be causal.</p>"
    )
    effects = f'<h3>Partial effects</h3><div class="grid2">{pictures}</div>'
    return text + figure(chart, "", wide=True) + effects


def _effect(result: Any, effect: dict) -> str:
    target = result.table.target
    means, errors = np.array(effect["means"], float), np.array(effect["errors"], float)
    if not (np.isfinite(means).all() and np.isfinite(errors).all()):
        return ""  # numbers so large that their means are not
    which = means.shape[1] - 1
    if which > 1:
        which = int(np.argmax(np.ptp(means, axis=0)))
    mean, error = means[:, which], 2 * errors[:, which]
    label = f"predicted {target.name}"
    if target.is_class:
        label = f"P({target.classes[which]})"
    low, high = mean - error, mean + error
    pad = 0.05 * max(high.max() - low.min(), 1e-9)
    values, column = effect["values"], effect["column"]
    n, is_number = len(values), effect["kind"] == "number"
    x = (values[0], values[-1]) if is_number else (-0.5, n - 0.5)
    axes = Axes(x, (low.min() - pad, high.max() + pad), labels=(column, label))
    if is_number:
        axes.band(values, low, high)
        axes.line(values, mean)
    else:
        for i in range(n):
            axes.line([i, i], [low[i], high[i]], "whisker")
        axes.dots(range(n), mean)
        for i in range(0, n, -(-n // 6)):
            (px,), _ = axes.pixels([i], [0])
            axes.text(px, axes.height - 21, str(values[i])[:10])
    picture = axes.svg(f"Effect of {column}", ticks=(is_number, True))
    caption = f"{column}: mean over rows, ± 2 standard deviations over folds."
    return figure(picture, caption)


def findings(result: Any) -> str:
    """Warnings and notes, with advice."""
    found = result.report["findings"]
    if not found:
        return "<p>There is nothing to report.</p>"
    return "".join(
        f'<div class="finding {escape(f["level"])}"><b>{escape(f["kind"])}.</b> '
        f'{escape(f["text"])} <span class="soft">{escape(f["advice"])}</span></div>'
        for f in found
    )


def data(result: Any) -> str:
    """The columns, and what they were read as."""
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
    caption = f"{report['rows']} rows, split into folds {report['dealt']}"
    notes = "".join(f'<p class="soft">{escape(n)}</p>' for n in report["notes"])
    target = result.report["target"]
    text = (
        f"<p>The target <b>{escape(target['name'])}</b> is {escape(target['kind'])} "
        f"({escape(target['reason'])}), family {escape(target['family'])}.</p>"
    )
    return text + table(head, rows, caption, text=(4, 5)) + notes


def _end(value: Any) -> str:
    return number(value) if isinstance(value, int | float) else str(value)


def reproduce(result: Any) -> str:
    """The command that repeats the run, and the versions that were used."""
    versions = ", ".join(f"{k} {v}" for k, v in result.report["versions"].items())
    command = Spec.from_dict(result.report["spec"]).command()
    return (
        f"<p>In the folder of this report:</p><pre>likely fit --spec spec.toml</pre>"
        f"<p>or</p><pre>{escape(command)}</pre>"
        f"<p>New rows: <code>likely predict . rows.csv</code></p>"
        f'<p class="soft">{escape(versions)}. Data sha256 '
        f"{escape(result.report['data']['digest'][:16])}….</p>"
    )
