"""The data of the HTML page: every step forward and back, as text with numbers."""

import html
from typing import TYPE_CHECKING, Any

from likely.autodiff.networks.layers import called_layers
from likely.autodiff.page import worked
from likely.autodiff.program.formulas import rules
from likely.autodiff.program.program import Step
from likely.autodiff.program.text import array

if TYPE_CHECKING:
    from likely.autodiff.modes.passes import Reverse
    from likely.autodiff.modes.trace import Trace

MAX_SHOWN_ENTRIES = 24
"""Arrays with at most this many entries are shown in full."""


def page_data(trace: "Trace", reverse: "Reverse | None") -> dict[str, Any]:
    """The data for the script of the page; all texts are escaped HTML."""
    program = trace.program
    shown = {i for s in program.steps for i in (*s.inputs, *s.outputs)}
    shown |= set(program.outputs) | set(program.inputs)
    data = {
        "values": {i: _value(trace, i) for i in sorted(shown)},
        "steps": [_forward(trace, step) for step in program.steps],
        "roles": _roles(trace),
        "variables": sorted(program.variables),
        "inputs": list(program.inputs),
        "result": html.escape(trace.result_name),
        "back": {},
        "seeds": {},
    }
    if reverse is not None:
        adjoints, running = reverse.adjoints, {}
        data["seeds"] = {
            i: _text(adjoints[i]) for i in program.outputs if i in adjoints
        }
        for step in reverse.steps:
            data["back"][step.number] = _backward(trace, reverse, step, running)
    return data


def _text(value: Any) -> str:
    return html.escape(array(value, MAX_SHOWN_ENTRIES))


def _value(trace: "Trace", i: int) -> list[str]:
    """[name, entries, kind, name in the source if it differs, name of the adjoint]."""
    value = trace.program.values[i]
    origin = value.name if value.name != trace.names[i] and value.named else ""
    parts = (
        trace.names[i],
        array(trace.values[i], MAX_SHOWN_ENTRIES),
        value.kind,
        origin,
    )
    return [html.escape(part) for part in (*parts, trace.adjoint_name(i))]


def _forward(trace: "Trace", step: Step) -> dict[str, Any]:
    where = step.where
    return {
        "in": list(dict.fromkeys(step.inputs)),
        "out": list(step.outputs),
        "formula": html.escape(trace.formula(step)),
        "worked": html.escape(worked.value(trace, step)),
        "where": "" if where is None else html.escape(f"{where}"),
        "code": "" if where is None else html.escape(where.code.strip()),
        "scope": html.escape(", ".join(step.scope)),
    }


def _backward(
    trace: "Trace", reverse: "Reverse", step: Step, running: dict[int, Any]
) -> list[list[Any]]:
    """Rows [input, rule, rule with numbers, contribution, adjoint so far], by input."""
    patterns = rules(
        trace.program, step, trace.names, trace.adjoint_name(step.outputs[0])
    )
    rows = []
    for position, part in reverse.sent[step.number].items():
        i = step.inputs[position]
        running[i] = running[i] + part if i in running else part
        numbers = worked.sent(trace, reverse, step, position)
        texts = (
            patterns[position],
            numbers,
            array(part, MAX_SHOWN_ENTRIES),
            array(running[i], MAX_SHOWN_ENTRIES),
        )
        rows.append([i, *map(html.escape, texts)])
    return rows


def _roles(trace: "Trace") -> dict[int, list[str]]:
    """The roles of values in a network: [text in the forward pass, in the backward pass]."""
    roles: dict[int, list[str]] = {}
    names, found = trace.names, called_layers(trace.program)
    for k, layer, a in found:
        into = [str(m) for m, other, _ in found if other.source == a]
        use = (
            f"the input of layer {' and '.join(into)}"
            if into
            else "the network's output"
            if k == len(found)
            else "which other steps use"
        )
        texts = {
            layer.weight: ("", f"the gradient by the weights of layer {k}"),
            layer.bias: ("", f"the gradient by the biases of layer {k}"),
            a: (f"the activation of layer {k}, {use}", ""),
            layer.z: (
                f"the weighted sum of layer {k}, before its activation",
                f"the delta of layer {k}: ∂{trace.result_name}/∂{names[layer.z]}",
            ),
        }
        roles |= {
            i: list(map(html.escape, w)) for i, w in texts.items() if i is not None
        }
    return roles
