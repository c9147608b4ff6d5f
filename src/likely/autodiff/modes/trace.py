"""Traces: a function call with every step, value, tangent and adjoint."""

import functools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import jax

from likely.autodiff.modes.checkpointed import Checkpointed, follow
from likely.autodiff.modes.cost import Cost, cost
from likely.autodiff.modes.forward_reverse import evaluate, forward, reverse
from likely.autodiff.modes.jacobians import Jacobians, local_jacobians
from likely.autodiff.modes.passes import Forward, Reverse
from likely.autodiff.modes.schedule import even_cuts, schedule
from likely.autodiff.networks.backprop import Backprop, backprop
from likely.autodiff.networks.layers import delta_names, layer_names
from likely.autodiff.page.layout import Graph, graph
from likely.autodiff.page.page import embedded, page, summary
from likely.autodiff.program.arguments import Arguments, to_numpy
from likely.autodiff.program.formulas import formula
from likely.autodiff.program.program import CONSTANT, Data, Program, Step, Value
from likely.autodiff.program.text import array, shape, table
from likely.core.checks import InputError
from likely.core.forks import check_not_forked

MAX_STEPWISE_SIZE = 100_000
"""Programs with more array entries than this are compiled as a whole, others by step."""


def trace(
    f: Callable,
    *args: Any,
    argnums: int | Sequence[int] | None = None,
    has_aux: bool = False,
    step_into: str | Iterable[str] = ("jit",),
    limit: int = 64,
    compiled: bool | None = None,
    **kwargs: Any,
) -> "Trace":
    """Turn a call `f(*args, **kwargs)` into a `Trace`.

    Args:
        f: any function that JAX can trace: a model, an objective, a lambda.
        *args: its arguments: arrays, numbers, pytrees, modules.
        argnums: the arguments that derivatives are taken with respect to; all of
            them by default.
        has_aux: whether `f` returns (result, something else), as objectives do; the
            rest is left out.
        step_into: the calls that are expanded into their steps: any of "jit", "library",
            "custom", "scan", "while", "cond", or "all".
        limit: the largest number of loop iterations to unroll.
        compiled: whether the program is compiled as a whole or step by step; single steps
            are faster where similar ones were compiled before. By default only large
            programs are compiled as a whole.
        **kwargs: further arguments, held constant.

    Examples:
        >>> import jax.numpy as jnp
        >>> found = lk.autodiff.trace(lambda x: jnp.sin(x) * x, 2.0)
        >>> round(float(found.reverse().gradient), 3)
        0.077
    """
    check_not_forked()
    arguments = Arguments(f, args, kwargs, argnums=argnums, has_aux=has_aux)
    return Trace(arguments, arguments.program(step_into, limit), compiled)


class Trace:
    """The steps of a call, with forward mode, reverse mode and their costs."""

    def __init__(
        self, arguments: Arguments, program: Program, compiled: bool | None = None
    ):
        self.arguments, self.program = arguments, program
        large = sum(value.size for value in program.values) > MAX_STEPWISE_SIZE
        self.compiled = large if compiled is None else compiled
        self._jobs: dict[Callable, Callable] = {}
        self.names = [value.name for value in program.values]
        self._deltas = delta_names(program)
        for i, name in layer_names(program).items():
            self.names[i] = name

    @property
    def steps(self) -> tuple[Step, ...]:
        """The primitives, in the order they ran."""
        return self.program.steps

    @functools.cached_property
    def values(self) -> dict[int, Any]:
        """All values by number, as NumPy arrays."""
        leaves = self.arguments.leaves
        if self.program.known.keys() >= self.program.makers().keys():
            given = dict(zip(self.program.inputs, leaves, strict=True))
            return to_numpy(given | self.program.constants | self.program.known)
        return self.run(evaluate, leaves)

    @property
    def output(self) -> Any:
        """The result of the function."""
        return self.shaped_like_output([self.values[i] for i in self.program.outputs])

    def named(self, name: str) -> Value:
        """The value with this name."""
        values = self.program.values
        found = [v for v in values if name in (self.names[v.index], v.name)]
        if not found:
            raise InputError(
                f"there is no value {name!r} in this trace; print the trace to see "
                "the names it has."
            )
        return found[-1]

    def value(self, name: str) -> Any:
        """The data of the value with this name."""
        return self.values[self.named(name).index]

    def formula(self, step: Step) -> str:
        """The formula of a step, as text."""
        return formula(self.program, step, self.names)

    @property
    def result_name(self) -> str:
        """The name of the differentiated result, L in ∂L/∂z."""
        outputs = self.program.outputs
        return self.names[outputs[0]] if len(outputs) == 1 else "result"

    def adjoint_name(self, i: int) -> str:
        """The name of an adjoint: δ² for z of layer 2, else ∂L/∂a."""
        return self._deltas.get(i, f"∂{self.result_name}/∂{self.names[i]}")

    def forward(self, *tangents: Any) -> Forward:
        """Forward mode: the tangent of every value along a direction of the arguments.

        Args:
            *tangents: the direction, one for each argument and shaped like it; None
                for an argument that is held constant. Ones by default. They may also be
                given as one tuple.
        """
        given = self.arguments.tangents(self.program, tangents)
        return Forward(self, self.run(forward, self.values, given))

    def reverse(self, cotangent: Any = 1.0) -> Reverse:
        """Reverse mode: the adjoint of every value.

        Args:
            cotangent: the adjoint of the result, shaped like it; one number is used for
                all entries.
        """
        given = self.arguments.cotangents(self.program, cotangent)
        adjoints, sent = self.run(reverse, self.values, given)
        return Reverse(self, adjoints, sent)

    def jacobians(self, largest: int = 10_000) -> Jacobians:
        """The input and weight Jacobians of every step.

        Args:
            largest: Jacobians with more entries than this are listed but not computed.
        """
        return local_jacobians(self, largest)

    def backprop(self, cotangent: Any = 1.0) -> Backprop:
        """Backpropagation through a network: z, a, δ and the gradients of each layer."""
        return backprop(self, self.reverse(cotangent))

    def checkpointed(
        self,
        segments: int | None = None,
        *,
        at: Sequence[int] | None = None,
        cotangent: Any = 1.0,
    ) -> Checkpointed:
        """Reverse mode that stores only checkpoints.

        Args:
            segments: the number of segments of equal length; by default the square root
                of the number of steps.
            at: instead, the steps whose results are stored.
            cotangent: the adjoint of the result.
        """
        n = len(self.steps)
        if segments is not None and not 1 <= segments <= n:
            raise InputError(f"segments={segments}, but there are {n} steps to divide.")
        cuts = even_cuts(n, segments or max(1, round(n**0.5))) if at is None else at
        plan = schedule(self.program, cuts)
        given = self.arguments.cotangents(self.program, cotangent)
        job = functools.partial(follow, plan)
        found, peak = self.run(job, self.arguments.leaves, given, by_step=True)
        plain = schedule(self.program, range(1, n + 1))
        return Checkpointed(self, plan, plain, found, int(peak))

    def cost(self, segments: int | None = None, *, xla: bool = True) -> Cost:
        """Operations, bytes, stored values and peak memory of each mode.

        Args:
            segments: the number of segments of the checkpointed mode.
            xla: whether to include the counts of XLA.
        """
        with jax.enable_x64(self.arguments.double), jax.debug_key_reuse(False):
            return cost(self, segments, xla=xla)

    def shaped_like_output(self, leaves: Sequence[Any]) -> Any:
        """Numbers for the outputs, in the structure that the function returned."""
        return jax.tree.unflatten(self.arguments.out_tree, leaves)

    def shaped_like_arguments(self, leaves: dict[int, Any]) -> Any:
        """Numbers for the variables, in the structure of the arguments."""
        return self.arguments.restore(self.program, leaves)

    def run(self, mode: Callable, *data: Any, by_step: bool = False) -> Any:
        """Run a mode over the program, in the precision it was traced in."""
        job = functools.partial(mode, self.program)
        if self.compiled and not by_step:
            job = self._jobs.setdefault(mode, jax.jit(job))
        with jax.enable_x64(self.arguments.double), jax.debug_key_reuse(False):
            return to_numpy(job(*data))

    def graph(self) -> Graph:
        """The values as boxes with coordinates, for `plots.computation_graph`."""
        return graph(self, self.reverse())

    def save_html(self, path: str | Path) -> Path:
        """Write the trace as a self-contained HTML page: a graph to step through."""
        path = Path(path)
        path.write_text(page(self), encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        return embedded(self)

    def __repr__(self) -> str:
        return f"Trace of {self.arguments.title}: {summary(self)}"

    def __str__(self) -> str:
        head = ("step", "value", "computed as", "shape", "result", "", "where")
        return table(head, [*self._input_rows(), *self.rows({})])

    def _input_rows(self) -> list[tuple]:
        used = {i for step in self.steps for i in step.inputs}
        values = self.program.values
        closed_over = [i for i in sorted(used) if values[i].kind == CONSTANT]
        return [
            ("", self.names[i], self._origin(i), *self._data(i), "", "")
            for i in [*self.program.inputs, *closed_over]
        ]

    def _origin(self, i: int) -> str:
        value = self.program.values[i]
        own = value.name if self.names[i] != value.name else ""
        return f"{value.kind} {own}".strip()

    def _data(self, i: int) -> tuple[str, str]:
        return shape(self.program.values[i].shape), array(self.values[i])

    def rows(self, beside: Data) -> list[tuple]:
        """Rows (step, value, formula, shape, result, its entry in `beside`, where)."""
        return [
            (
                step.number,
                self.names[i],
                self.formula(step),
                *self._data(i),
                array(beside[i]) if i in beside else "",
                " ".join([str(step.where or ""), *step.scope]).strip(),
            )
            for step in self.steps
            for i in step.outputs
        ]
