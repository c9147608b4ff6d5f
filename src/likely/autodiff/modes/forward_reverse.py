r"""Forward and reverse mode: the two orders of multiplying out the chain rule.

Forward mode computes tangents along with the values: after step i,
$\dot h_i = \sum_j \partial_j f_i\, \dot h_j$. One run gives one column of the Jacobian (one
directional derivative), so a gradient takes as many runs as there are inputs.

Reverse mode first runs the program and keeps its values; then it computes the adjoints
$\bar h = \partial L / \partial h$ from the last step to the first,
$\bar h_j \mathrel{+}= \bar h_i\, \partial_j f_i$: vector times matrix, never matrix
times matrix. One run gives one row of the Jacobian, the whole gradient of a scalar.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from likely.autodiff.program.program import Data, Program, Step


def evaluate(program: Program, inputs: tuple[Any, ...]) -> Data:
    """All values of the program for these inputs."""
    env = dict(zip(program.inputs, inputs, strict=True)) | program.constants
    for step in program.steps:
        results = step.rule.evaluate([env[i] for i in step.inputs])
        env |= zip(step.outputs, results, strict=True)
    return env


def forward(program: Program, env: Mapping[int, Any], tangents: Data) -> Data:
    """The tangent of every value that depends on the variables."""
    tangents = dict(tangents)
    for step in program.steps:
        positions = moving(program, step, tangents)
        if positions:
            moved = [tangents[step.inputs[i]] for i in positions]
            inputs = [env[i] for i in step.inputs]
            outputs = program.inexact_outputs(step)
            pushed = step.rule.push(positions, inputs, moved)
            tangents |= zip(outputs, pushed, strict=True)
    return tangents


def moving(program: Program, step: Step, tangents: Data) -> tuple[int, ...]:
    """The positions of the inputs of a step that have a tangent."""
    return tuple(i for i in program.moving(step) if step.inputs[i] in tangents)


def reverse(
    program: Program, env: Mapping[int, Any], cotangents: Data
) -> tuple[Data, dict[int, Data]]:
    """The adjoint of every active value, and the contribution of each step to its inputs.

    Returns:
        Adjoints by value, and contributions by step number and input position.
    """
    adjoints, sent = dict(cotangents), {}
    for step in reversed(program.steps):
        sent[step.number] = pull_step(program, step, env, adjoints)
    return adjoints, {number: parts for number, parts in sent.items() if parts}


def pull_step(
    program: Program, step: Step, env: Mapping[int, Any], adjoints: Data
) -> Data:
    """Propagate the adjoints of one step to its inputs, adding to `adjoints` in place."""
    outputs, positions = program.inexact_outputs(step), program.moving(step)
    if not positions or not any(i in adjoints for i in outputs):
        return {}
    cotangents = [adjoints.get(i, _zeros(program, i)) for i in outputs]
    inputs = [env[i] for i in step.inputs]
    received = step.rule.pull(positions, inputs, cotangents)
    for position, part in zip(positions, received, strict=True):
        i = step.inputs[position]
        adjoints[i] = adjoints[i] + part if i in adjoints else part
    return dict(zip(positions, received, strict=True))


def _zeros(program: Program, i: int) -> np.ndarray:
    return np.zeros(program.values[i].shape, program.values[i].dtype)
