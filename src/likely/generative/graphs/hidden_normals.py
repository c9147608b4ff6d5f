r"""Continuous variables that are missing, integrated out exactly.

Given the levels k of the discrete parents, the densities in which missing values z appear are
$\exp(-\tfrac{1}{2σ^2} (a^\top z + t)^2)$ each, so that their product is

$$\exp\bigl(-\tfrac12 z^\top J_k z + h_k^\top z + c_k\bigr), \qquad
  J = \sum \frac{a a^\top}{σ^2}, \quad h = -\sum \frac{a\,t}{σ^2},$$

a normal distribution of mean $J^{-1} h$ and covariance $J^{-1}$ times the mass
$\exp(c + \tfrac12 h^\top J^{-1} h) \sqrt{|2πJ^{-1}|}$. Variables that never appear together are
integrated apart, each group with its own discrete parents only.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from likely.generative.graphs.nodes import NormalNode, gathered, spread
from likely.probability.tables.factor import check_cells

LOG_2PI = np.log(2 * np.pi)


class HiddenNormals(NamedTuple):
    """Missing continuous variables, normal given what is observed and discrete parents."""

    names: tuple[str, ...]
    """The m variables."""
    discrete: tuple[str, ...]
    """The discrete parents that are missing too."""
    log_mass: np.ndarray
    """(n, levels of each discrete parent, ...), first axis 1 if rows do not differ."""
    means: np.ndarray
    """(n, levels, ..., m)."""
    covariances: np.ndarray
    """(n, levels, ..., m, m)."""


def groups(
    nodes: Iterable[NormalNode], numbers: Mapping[str, np.ndarray]
) -> Iterator[list[NormalNode]]:
    """The nodes in which missing variables appear, together where they share one.

    Args:
        nodes: in which at least one continuous variable is missing.
        numbers: the continuous variables that are observed.
    """
    left = [(node, {n for n in node.family if n not in numbers}) for node in nodes]
    while left:
        first, names = left.pop(0)
        group = [first]
        while True:
            joined = [pair for pair in left if pair[1] & names]
            if not joined:
                break
            group += [node for node, _ in joined]
            names = names.union(*(own for _, own in joined))
            left = [pair for pair in left if not any(pair is j for j in joined)]
        yield group


def hidden_normals(
    nodes: list[NormalNode],
    levels: dict[str, np.ndarray],
    numbers: dict[str, np.ndarray],
    n: int,
) -> HiddenNormals:
    """The normal distribution of the missing variables of some nodes.

    Args:
        nodes: all those in which one of the missing variables appears.
        levels: (n,) of the discrete variables that are observed.
        numbers: (n,) of the continuous ones.
        n: the number of rows.
    """
    every = dict.fromkeys(name for node in nodes for name in node.family)
    names = tuple(name for name in every if name not in numbers)
    every = dict.fromkeys(name for node in nodes for name in node.discrete)
    discrete = tuple(name for name in every if name not in levels)
    m = len(names)
    _check_size(nodes, discrete, m)
    seen = {"levels": levels, "numbers": numbers, "n": n}
    J, h, c = 0.0, 0.0, 0.0
    for node in nodes:
        a, t, precision = _terms(node, names, discrete, **seen)
        J = J + a[..., :, None] * a[..., None, :] * precision[..., None, None]
        h = h - a * (t * precision)[..., None]
        c = c - 0.5 * t**2 * precision + 0.5 * (np.log(precision) - LOG_2PI)
    J, h, c = np.asarray(J), np.asarray(h), np.asarray(c)
    root = np.linalg.cholesky(J)
    inverse = np.linalg.inv(J)
    means = (inverse @ h[..., None])[..., 0]
    volume = np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(-1)
    log_mass = c + 0.5 * (h * means).sum(-1) - volume + 0.5 * m * LOG_2PI
    return HiddenNormals(names, discrete, log_mass, means, inverse)


def _terms(
    node: NormalNode,
    names: tuple[str, ...],
    discrete: tuple[str, ...],
    *,
    levels: dict[str, np.ndarray],
    numbers: dict[str, np.ndarray],
    n: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a, t and 1/σ² of a node, with axes (n or 1, levels of all discrete, ...)."""
    own, B = gathered(node.coefficients, node.discrete, levels)
    _, scale = gathered(node.scale, node.discrete, levels)
    B = spread(B, own, discrete)
    precision = spread(scale, own, discrete) ** -2.0
    a = np.zeros((*B.shape[:-1], len(names)))
    t = -B[..., -1]
    for j, name in enumerate(node.family):
        weight = 1.0 if name == node.name else -B[..., j]
        if name in numbers:
            t = t + weight * numbers[name].reshape(n, *[1] * len(discrete))
        else:
            a[..., names.index(name)] = weight
    return a, t, precision


def _check_size(nodes: list[NormalNode], discrete: tuple[str, ...], m: int) -> None:
    """Refuse too many combinations of levels, by name."""
    sizes = {
        name: node.scale.shape[node.discrete.index(name)]
        for node in nodes
        for name in node.discrete
        if name in discrete
    }
    check_cells(sizes | {"the products of continuous variables": m * m})
