r"""The numbers of a network of known structure: in one step, or by EM where values are missing.

Expectation-maximisation alternates the expected statistics given what is observed with the
numbers that are best for them. The observed log-likelihood plus the log prior never falls.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from likely.generative.graphs.answers import log_probs
from likely.generative.graphs.nodes import Joint, Node, NormalNode, TableNode
from likely.generative.graphs.statistics import (
    LEAST_SCALE,
    fitted_node,
    log_prior,
    statistics,
)


class NetworkFit(NamedTuple):
    """A network with its numbers, and how they were found."""

    joint: Joint
    path: np.ndarray
    """The mean log-likelihood of what is observed plus the log prior, step by step."""
    converged: bool


def blank(
    names: tuple[str, ...],
    sizes: tuple[int, ...],
    parents: Mapping[str, tuple[str, ...]],
) -> Joint:
    """A network with uniform tables and standard normal nodes.

    Args:
        names: of the variables.
        sizes: how many levels each has; 0 if it is continuous.
        parents: of each variable.
    """
    size = dict(zip(names, sizes, strict=True))
    nodes: list[Node] = []
    for name in names:
        discrete = tuple(p for p in parents[name] if size[p])
        shape = tuple(size[p] for p in discrete)
        if size[name]:
            logs = np.full((*shape, size[name]), -np.log(size[name]))
            nodes.append(TableNode(name, discrete, logs))
            continue
        continuous = tuple(p for p in parents[name] if not size[p])
        B = np.zeros((*shape, len(continuous) + 1))
        nodes.append(NormalNode(name, discrete, continuous, B, np.ones(shape)))
    return Joint(names, tuple(nodes), sizes)


def fit_numbers(
    joint: Joint,
    values: np.ndarray,
    w: np.ndarray,
    *,
    prior: float | int,
    least: dict[str, float],
    tol: float | int,
    max_iter: int,
    after_step: Callable[[dict], bool] | None = None,
) -> NetworkFit:
    """The most probable numbers of a network, given rows.

    Args:
        joint: the structure; its numbers are not used.
        values: (n, d), NaN where missing.
        w: (n,) weights.
        prior: the equivalent sample size α.
        least: the smallest σ of some variables.
        tol: nats per unit of weight by which a step has to get better.
        max_iter: steps, at most.
        after_step: called with the numbers of each step; EM ends where it returns True.
    """
    complete = not np.isnan(values).any()
    path, total = [], float(w.sum())
    for step in range(1 if complete else max_iter + 1):
        # the first numbers are those of the rows that miss nothing of a family
        found = statistics(joint, values, w, expected=step > 0)
        nodes = [
            fitted_node(node, s, prior, least.get(node.name, LEAST_SCALE))
            for node, s in zip(joint.nodes, found, strict=True)
        ]
        joint = Joint(joint.names, tuple(nodes), joint.sizes)
        likelihood = float(w @ log_probs(joint, values))
        penalty = sum(log_prior(node, prior) for node in joint.nodes)
        path.append((likelihood + penalty) / total)
        if after_step is not None and after_step({"round": step, "loss": -path[-1]}):
            break
        if step and path[-1] - path[-2] < tol:
            return NetworkFit(joint, np.array(path), True)
    return NetworkFit(joint, np.array(path), complete)
