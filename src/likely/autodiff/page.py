"""A trace as a page that stands alone: a graph to step through, forward and back."""

import html
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from likely.autodiff.backprop import backprop
from likely.autodiff.layout import Graph, Node, graph
from likely.autodiff.program import Step
from likely.autodiff.text import array, shape
from likely.autodiff.vocabulary import formula, rules
from likely.core.checks import InputError

if TYPE_CHECKING:
    from likely.autodiff.passes import Reverse
    from likely.autodiff.trace import Trace

SHOWN = 24
"""Arrays of at most this many entries are written out in the explanations."""


def page(trace: "Trace", reverse: "Reverse | None" = None) -> str:
    """The whole page, without anything from outside."""
    reverse = _reversed(trace) if reverse is None else reverse
    drawing = graph(trace, reverse)
    template = (
        resources.files("likely.autodiff").joinpath("page.html").read_text("utf-8")
    )
    data = json.dumps(_data(trace, reverse), ensure_ascii=False, separators=(",", ":"))
    parts = {
        "TITLE": html.escape(trace.arguments.title),
        "SUMMARY": html.escape(_summary(trace)),
        "GRAPH": _svg(drawing),
        "LAYERS": _layers(trace, reverse),
        "STEPS": _steps(trace, reverse),
        "RESULT": _result(trace),
        "DATA": data.replace("</", "<\\/"),
    }
    for name, part in parts.items():
        template = template.replace("{{" + name + "}}", part)
    return template


def embedded(trace: "Trace", reverse: "Reverse | None" = None) -> str:
    """The page inside a frame, for a notebook."""
    source = html.escape(page(trace, reverse), quote=True)
    style = "width:100%;height:640px;border:1px solid #ccc"
    return f'<iframe srcdoc="{source}" style="{style}"></iframe>'


def _reversed(trace: "Trace") -> "Reverse | None":
    """Adjoints, where the result has any."""
    try:
        return trace.reverse()
    except InputError:
        return None


def _summary(trace: "Trace") -> str:
    program, values = trace.program, trace.program.values
    n = sum(values[i].size for i in program.variables)
    result = array(trace.values[program.outputs[0]]) if program.outputs else "nothing"
    return f"{len(program.steps)} steps, {n:,} numbers to differentiate by, result {result}"


def _data(trace: "Trace", reverse: "Reverse | None") -> dict[str, Any]:
    """What the script needs: names, numbers, steps, and what they send back."""
    program = trace.program
    shown = {i for s in program.steps for i in (*s.inputs, *s.outputs)}
    shown |= set(program.outputs) | set(program.inputs)
    values = {i: _value(trace, i) for i in sorted(shown)}
    seeds, backward, running = {}, {}, {}
    if reverse is not None:
        adjoints = reverse.adjoints
        seeds = {i: _entries(adjoints[i]) for i in program.outputs if i in adjoints}
        for step in reverse.steps:
            backward[step.number] = _sent(trace, reverse, step, running)
    return {
        "values": values,
        "steps": [_forward(trace, step) for step in program.steps],
        "back": backward,
        "seeds": seeds,
        "variables": sorted(program.variables),
        "inputs": list(program.inputs),
        "result": _result(trace),
    }


def _result(trace: "Trace") -> str:
    """What adjoints are derivatives of."""
    outputs = trace.program.outputs
    return html.escape(trace.names[outputs[0]]) if len(outputs) == 1 else "result"


def _value(trace: "Trace", i: int) -> list[str]:
    """[name, entries, kind, the author's name where it is another one]."""
    value = trace.program.values[i]
    origin = value.name if value.name != trace.names[i] and value.named else ""
    parts = (trace.names[i], array(trace.values[i], SHOWN), value.kind, origin)
    return [html.escape(part) for part in parts]


def _entries(value: Any) -> str:
    return html.escape(array(value, SHOWN))


def _forward(trace: "Trace", step: Step) -> dict[str, Any]:
    names = [html.escape(name) for name in trace.names]
    where = step.where
    return {
        "in": list(dict.fromkeys(step.inputs)),
        "out": list(step.outputs),
        "formula": formula(trace.program, step, names),
        "name": html.escape(step.name),
        "where": "" if where is None else html.escape(f"{where}"),
        "code": "" if where is None else html.escape(where.code.strip()),
        "scope": html.escape(", ".join(step.scope)),
    }


def _sent(
    trace: "Trace", reverse: "Reverse", step: Step, running: dict[int, Any]
) -> list[list[Any]]:
    """[input, rule, what is sent, adjoint so far] for each input of a step."""
    names = [html.escape(name) for name in trace.names]
    words = rules(trace.program, step, names, _bar)
    rows = []
    for position, part in reverse.sent[step.number].items():
        i = step.inputs[position]
        running[i] = running[i] + part if i in running else part
        rows.append([i, words[position], _entries(part), _entries(running[i])])
    return rows


def _bar(name: str) -> str:
    return f'<span class="bar">{name}</span>'


def _svg(drawing: Graph) -> str:
    """The graph: edges below, boxes above."""
    size = f"{drawing.width:.0f}", f"{drawing.height:.0f}"
    lines = [_edge(drawing.nodes[a], drawing.nodes[b]) for a, b in drawing.edges]
    boxes = [_box(node) for node in drawing.nodes.values()]
    return (
        f'<svg viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" height="{size[1]}" '
        f'role="img" aria-label="computation graph">{"".join(lines)}{"".join(boxes)}</svg>'
    )


def _edge(a: Node, b: Node) -> str:
    y0, y1 = a.y + a.height / 2, b.y - b.height / 2
    bend = max((y1 - y0) / 2, 14)
    path = f"M{a.x:.0f} {y0:.0f}C{a.x:.0f} {y0 + bend:.0f} {b.x:.0f} {y1 - bend:.0f} "
    return f'<path id="e{a.value}-{b.value}" d="{path}{b.x:.0f} {y1:.0f}"/>'


def _box(node: Node) -> str:
    left, top = node.x - node.width / 2, node.y - node.height / 2
    texts = [("name", node.label), ("result", node.result)]
    if node.adjoint:
        texts.append(("adjoint", node.adjoint))
    lines = "".join(
        f'<text class="{kind}" x="{node.x:.0f}" y="{top + 19 + 17 * k:.0f}">'
        f"{html.escape(text)}</text>"
        for k, (kind, text) in enumerate(texts)
    )
    classes = f"node {node.kind}{'' if node.active else ' idle'}"
    return (
        f'<g id="n{node.value}" class="{classes}"><rect x="{left:.0f}" y="{top:.0f}" '
        f'width="{node.width:.0f}" height="{node.height:.0f}" rx="6"/>{lines}</g>'
    )


def _layers(trace: "Trace", reverse: "Reverse | None") -> str:
    """The table of backpropagation, where the trace is a network."""
    if reverse is None:
        return ""
    try:
        rows = backprop(trace, reverse).rows()
    except (InputError, KeyError):
        return ""
    head = ("quantity", "formula", "shape", "entries")
    sentence = (
        "Forward, first layer to last: z is what a layer computes, a is what the next "
        "one sees. Then back: δ = ∂L/∂z of each layer, and from it the gradients."
    )
    return f"<h2>Layer by layer</h2><p>{sentence}</p>{_table(head, rows)}"


def _steps(trace: "Trace", reverse: "Reverse | None") -> str:
    head = ("step", "value", "computed as", "shape", "result", "adjoint", "where")
    rows = []
    for step in trace.steps:
        for i in step.outputs:
            adjoint = reverse.adjoints.get(i) if reverse is not None else None
            rows.append(
                (
                    step.number,
                    trace.names[i],
                    trace.formula(step),
                    shape(trace.program.values[i].shape),
                    array(trace.values[i]),
                    "" if adjoint is None else array(adjoint),
                    " ".join([str(step.where or ""), *step.scope]),
                )
            )
    return _table(head, rows)


def _table(head: tuple[str, ...], rows: list[tuple]) -> str:
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
