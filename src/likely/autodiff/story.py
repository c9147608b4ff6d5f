"""What the page tells: every step forward and back, in words and with numbers."""

import html
from typing import TYPE_CHECKING, Any

from likely.autodiff import worked
from likely.autodiff.layers import called_layers
from likely.autodiff.program import Step
from likely.autodiff.text import array
from likely.autodiff.vocabulary import rules

if TYPE_CHECKING:
    from likely.autodiff.passes import Reverse
    from likely.autodiff.trace import Trace

SHOWN = 24
"""Arrays of at most this many entries are written out."""


def story(trace: "Trace", reverse: "Reverse | None") -> dict[str, Any]:
    """What the script of the page needs; all texts are ready to be shown as HTML."""
    program = trace.program
    shown = {i for s in program.steps for i in (*s.inputs, *s.outputs)}
    shown |= set(program.outputs) | set(program.inputs)
    told = {
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
        told["seeds"] = {
            i: _text(adjoints[i]) for i in program.outputs if i in adjoints
        }
        for step in reverse.steps:
            told["back"][step.number] = _backward(trace, reverse, step, running)
    return told


def _text(value: Any) -> str:
    return html.escape(array(value, SHOWN))


def _value(trace: "Trace", i: int) -> list[str]:
    """[name, entries, kind, the author's name where it is another one, its adjoint]."""
    value = trace.program.values[i]
    origin = value.name if value.name != trace.names[i] and value.named else ""
    parts = (trace.names[i], array(trace.values[i], SHOWN), value.kind, origin)
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
    """[input, rule, rule with numbers, what is sent, adjoint so far], by input."""
    words = rules(trace.program, step, trace.names, trace.adjoint_name(step.outputs[0]))
    rows = []
    for position, part in reverse.sent[step.number].items():
        i = step.inputs[position]
        running[i] = running[i] + part if i in running else part
        numbers = worked.sent(trace, reverse, step, position)
        texts = (words[position], numbers, array(part, SHOWN), array(running[i], SHOWN))
        rows.append([i, *map(html.escape, texts)])
    return rows


def _roles(trace: "Trace") -> dict[int, list[str]]:
    """What values are to a network: [said on the way forward, said on the way back]."""
    roles: dict[int, list[str]] = {}
    names, found = trace.names, called_layers(trace.program)
    for k, layer, a in found:
        next_one = f"layer {k + 1} sees" if k < len(found) else "the network answers"
        said = {
            layer.weight: ("", f"the gradient by the weights of layer {k}"),
            layer.bias: ("", f"the gradient by the biases of layer {k}"),
            a: (f"the activation of layer {k}: what {next_one}", ""),
            layer.z: (
                f"the weighted sum of layer {k}, before its activation",
                f"the delta of layer {k}: ∂{trace.result_name}/∂{names[layer.z]}",
            ),
        }
        roles |= {
            i: list(map(html.escape, w)) for i, w in said.items() if i is not None
        }
    return roles
