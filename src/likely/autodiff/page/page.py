"""A trace as a self-contained HTML page: a graph to step through, forward and back."""

import html
import json
from importlib import resources
from typing import TYPE_CHECKING

from likely.autodiff.networks.backprop import backprop
from likely.autodiff.networks.layers import called_layers
from likely.autodiff.page.columns import in_columns
from likely.autodiff.page.layout import graph
from likely.autodiff.page.page_data import page_data
from likely.autodiff.page.svg import svg
from likely.autodiff.program.text import array
from likely.core.checks import InputError

if TYPE_CHECKING:
    from likely.autodiff.modes.passes import Reverse
    from likely.autodiff.modes.trace import Trace


def page(trace: "Trace", reverse: "Reverse | None" = None) -> str:
    """The HTML of the page, without external resources."""
    reverse = _reversed(trace) if reverse is None else reverse
    template = resources.files("likely.autodiff.page").joinpath("page.html")
    text = template.read_text("utf-8")
    data = json.dumps(
        page_data(trace, reverse), ensure_ascii=False, separators=(",", ":")
    )
    parts = {
        "TITLE": html.escape(trace.arguments.title),
        "SUMMARY": html.escape(summary(trace)),
        "GRAPH": svg(in_columns(graph(trace, reverse))),
        "LAYERS": _layers(trace, reverse),
        "STEPS": _steps(trace, reverse),
        "RESULT": html.escape(trace.result_name),
        "LEGEND": _legend(trace),
        "DATA": data.replace("</", "<\\/"),
    }
    for name, part in parts.items():
        text = text.replace("{{" + name + "}}", part)
    return text


def embedded(trace: "Trace", reverse: "Reverse | None" = None) -> str:
    """The page inside an iframe, for a notebook."""
    source = html.escape(page(trace, reverse), quote=True)
    style = "width:100%;height:640px;border:1px solid #ccc"
    return f'<iframe srcdoc="{source}" style="{style}"></iframe>'


def _reversed(trace: "Trace") -> "Reverse | None":
    """The reverse pass, or None if the result has no derivative."""
    try:
        return trace.reverse()
    except InputError:
        return None


def summary(trace: "Trace") -> str:
    """The number of steps and parameters, and the result, in one line."""
    program, values = trace.program, trace.program.values
    n = sum(values[i].size for i in program.variables)
    result = array(trace.values[program.outputs[0]]) if program.outputs else "nothing"
    return f"{len(program.steps)} steps, {n:,} numbers to differentiate by, result {result}"


def _legend(trace: "Trace") -> str:
    """The legend of the symbols in the formulas of this trace."""
    formulas = " ".join(map(trace.formula, trace.steps))
    signs = {
        "[[1, 2], [3, 4]] is a matrix, row by row": "@" in formulas,
        "A @ B is the product of matrices, row times column": "@" in formulas,
        "Aᵀ has the columns of A as rows": "@" in formulas,
        "· acts entry by entry": True,
        "σ(t) = 1/(1 + e⁻ᵗ)": "σ(" in formulas,
        "1[…] is 1 where … holds and 0 elsewhere": "max(" in formulas,
        "δ is the slope of a layer's weighted sum z": bool(
            called_layers(trace.program)
        ),
    }
    return " Signs: " + "; ".join(sign for sign, used in signs.items() if used) + "."


def _layers(trace: "Trace", reverse: "Reverse | None") -> str:
    """The table of backpropagation, if the trace is a network."""
    if reverse is None or not called_layers(trace.program):
        return ""
    rows = backprop(trace, reverse).rows()
    head = ("quantity", "formula", "shape", "entries")
    sentence = (
        "Forward, first layer to last: z is the weighted sum of a layer, a its "
        "activation, the input of the next layer where layers form a chain. Then "
        "backward: δ = ∂L/∂z of each layer from the δ of the layers that follow it, and "
        "the gradients from δ. ⊙ multiplies entry by entry."
    )
    return f"<h2>Layer by layer</h2><p>{sentence}</p>{_table(head, rows)}"


def _steps(trace: "Trace", reverse: "Reverse | None") -> str:
    head = ("step", "value", "computed as", "shape", "result", "adjoint", "where")
    return _table(head, trace.rows({} if reverse is None else reverse.adjoints))


def _table(head: tuple[str, ...], rows: list[tuple]) -> str:
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
