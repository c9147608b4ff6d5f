r"""The cost of each mode, counted step by step and compared with XLA.

| mode | runs | memory |
|---|---|---|
| forward | one for each **input**: n directions | few values and tangents at a time |
| reverse | one for each **output**: m cotangents | every value until its backward step |
| checkpointed | reverse, and some forward steps again | the stored values and one segment |
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jax.extend import core

from likely.autodiff.modes.schedule import RECOMPUTE, even_cuts, schedule
from likely.autodiff.modes.work import Work, jaxpr_work
from likely.autodiff.program.program import Program, Step
from likely.autodiff.program.rules import Rule
from likely.autodiff.program.text import count, table

if TYPE_CHECKING:
    from likely.autodiff.modes.trace import Trace


class Mode(NamedTuple):
    """The cost of one way to run the program."""

    name: str
    runs: int
    work: Work
    """The work of all runs together."""
    stored: int
    """The number of values stored for the backward pass."""
    peak: int
    """Peak memory in bytes, without the arguments and their gradient."""
    xla: Work | None = None
    """The count of XLA for one run."""


@dataclass(frozen=True)
class Cost:
    """The costs of all modes."""

    n_inputs: int
    n_outputs: int
    n_steps: int
    modes: tuple[Mode, ...] = field(repr=False)
    has_loops: bool = False

    def __getitem__(self, name: str) -> Mode:
        """The mode with this name."""
        return next(mode for mode in self.modes if mode.name == name)

    def __str__(self) -> str:
        counted = ("runs", "flops", "transcendental", "bytes", "stored", "peak", "XLA")
        rows = [
            (
                mode.name,
                mode.runs,
                *map(count, mode.work),
                mode.stored,
                count(mode.peak),
                "" if mode.xla is None else count(mode.xla.flops),
            )
            for mode in self.modes
        ]
        sizes = (
            f"{self.n_steps} steps, {count(self.n_inputs)} inputs, "
            f"{count(self.n_outputs)} outputs; peak is in bytes, without the arguments "
            "and their gradient"
        )
        if any(mode.xla for mode in self.modes):
            sizes += "; XLA is its own count of the flops of one run"
        if self.has_loops:
            sizes += " (it counts the body of a loop once, we count every iteration)"
        return f"{table(('mode', *counted), rows)}\n{sizes}"

    __repr__ = __str__


def cost(trace: "Trace", segments: int | None = None, *, xla: bool = True) -> Cost:
    """Count every mode of a trace."""
    program, values = trace.program, trace.program.values
    n = sum(values[i].size for i in program.variables)
    m = sum(values[i].size for i in program.outputs if values[i].is_inexact)
    counted = [_step_work(program, step) for step in program.steps]
    plain, push, pull = (sum(column, Work()) for column in zip(*counted, strict=True))
    whole = schedule(program, range(1, len(program.steps) + 1))
    segments = segments or max(1, round(len(program.steps) ** 0.5))
    some = schedule(program, even_cuts(len(program.steps), segments))
    again = sum((counted[k - 1][0] for k in some.steps(RECOMPUTE)), Work())
    back, name = plain + pull * m, f"checkpointed, {segments} segments"
    peak = _forward_peak(program)
    counts = _xla(trace) if xla else {}
    modes = (
        Mode("value", 1, plain, 0, peak[0], counts.get("value")),
        Mode("forward, one direction", 1, plain + push, 0, peak[1], counts.get("push")),
        Mode("forward, all inputs", n, plain + push * n, 0, peak[1]),
        Mode("reverse", m, back, len(whole.kept), whole.peak, counts.get("pull")),
        Mode(name, m, back + again, len(some.kept), some.peak),
    )
    loops = any(step.name in ("scan", "while") for step in program.steps)
    return Cost(n, m, len(program.steps), modes, loops)


def _step_work(program: Program, step: Step) -> tuple[Work, Work, Work]:
    """The work of a step's value, and the extra work of its tangent and its adjoint."""
    inputs = [program.values[i] for i in step.inputs]
    shapes = tuple((value.shape, value.dtype) for value in inputs)
    pulled = bool(program.active.intersection(step.outputs)) and step.name != "while"
    return _rule_work(step.rule, program.moving(step), shapes, pulled)


@functools.lru_cache(maxsize=4096)
def _rule_work(
    rule: Rule, positions: tuple[int, ...], shapes: tuple, pulled: bool
) -> tuple[Work, Work, Work]:
    inputs = [jax.ShapeDtypeStruct(*shape) for shape in shapes]
    value = _traced(rule.evaluate, inputs)
    if not positions:
        return value, Work(), Work()

    def push(x, t):
        moved, values = rule.moving(positions, x)
        return jax.jvp(moved, values, t)

    def pull(x):
        moved, values = rule.moving(positions, x)
        outputs, back = jax.vjp(moved, *values)
        return outputs, back(outputs)  # any cotangent costs the same

    beyond = _traced(push, inputs, [inputs[p] for p in positions]) - value
    return value, beyond, _traced(pull, inputs) - value if pulled else Work()


def _traced(f: Callable, *inputs: Any) -> Work:
    return jaxpr_work(jax.make_jaxpr(f)(*inputs).jaxpr)[0]


def _forward_peak(program: Program) -> tuple[int, int]:
    """The peak memory of values, and of values with their tangents, in bytes."""
    values, last = program.values, program.last_use()
    live: set[int] = set()
    alone = together = 0
    for step in program.steps:
        live.update(step.outputs)
        held = sum(values[i].nbytes for i in live)
        tangents = sum(values[i].nbytes for i in live if i in program.varied)
        alone, together = max(alone, held), max(together, held + tangents)
        live = {i for i in live if last.get(i, 0) > step.number}
    return alone, together


def _xla(trace: "Trace") -> dict[str, Work]:
    """The counts of XLA for one run of the value, one tangent, one cotangent."""
    program, leaves = trace.program, trace.arguments.leaves
    f = core.jaxpr_as_fun(trace.arguments.jaxpr)
    positions = [k for k, i in enumerate(program.inputs) if i in program.variables]
    found = [k for k, i in enumerate(program.outputs) if program.values[i].is_inexact]

    def moving(*moved):
        changed = dict(zip(positions, moved, strict=True))
        results = f(*(changed.get(k, leaf) for k, leaf in enumerate(leaves)))
        return [results[k] for k in found]

    def push(*moved):
        return jax.jvp(moving, moved, moved)[1]

    def pull(*moved):
        outputs, back = jax.vjp(moving, *moved)
        return back([jax.numpy.ones_like(y) for y in outputs])

    chosen = [leaves[k] for k in positions]
    jobs = {"value": moving, "push": push, "pull": pull}
    counts = {}
    for name, job in jobs.items() if positions and found else [("value", moving)]:
        try:
            analysis = jax.jit(job).lower(*chosen).cost_analysis() or {}
        except ValueError:  # a while loop has no reverse mode
            continue
        keys = ("flops", "transcendentals", "bytes accessed")
        missing = 0.0 if analysis else np.nan
        counts[name] = Work(*(float(analysis.get(key, missing)) for key in keys))
    return counts
