r"""The conditional distributions of a Bayesian network, one for each variable.

A discrete variable has a table $P(x_i \mid x_{pa})$ for each combination of levels of its
parents. A continuous one is normal around a linear function of its continuous parents,

$$x_i \mid x_{pa} \sim N(β_k^\top x_{pa} + b_k,\; σ_k^2),$$

with numbers of its own for each combination k of levels of its discrete parents. A discrete
variable has no continuous parents: so all conditionals of the network stay mixtures of normal
distributions, which are exact.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from likely.generative.graphs.directed_graph import DirectedGraph


@dataclass(frozen=True)
class TableNode:
    """A discrete variable given discrete parents."""

    name: str
    parents: tuple[str, ...]
    log_probs: np.ndarray
    """(levels of each parent, ..., own levels)."""

    @property
    def scope(self) -> tuple[str, ...]:
        """The names of the axes: parents, then the variable."""
        return (*self.parents, self.name)


@dataclass(frozen=True)
class NormalNode:
    """A continuous variable that is linear in continuous parents, given discrete ones."""

    name: str
    discrete: tuple[str, ...]
    continuous: tuple[str, ...]
    coefficients: np.ndarray
    """(levels of each discrete parent, ..., p + 1): of the continuous parents, then b."""
    scale: np.ndarray
    """(levels of each discrete parent, ...) σ."""

    @property
    def parents(self) -> tuple[str, ...]:
        """The names of all parents."""
        return (*self.discrete, *self.continuous)

    @property
    def family(self) -> tuple[str, ...]:
        """The continuous variables that it is about: parents, then itself."""
        return (*self.continuous, self.name)


Node = TableNode | NormalNode


@dataclass(frozen=True)
class Joint:
    """The joint distribution of all variables: the product of the conditional ones.

    Args:
        names: of all variables, in the order of the columns of values.
        nodes: one for each variable; after an intervention those that were set have none.
        sizes: how many levels each variable has; 0 if it is continuous.
    """

    names: tuple[str, ...]
    nodes: tuple[Node, ...]
    sizes: tuple[int, ...]

    @property
    def by_name(self) -> dict[str, Node]:
        """The node of each variable that has one."""
        return {node.name: node for node in self.nodes}

    @property
    def graph(self) -> DirectedGraph:
        """Arrows from parents to their children."""
        edges = tuple((p, node.name) for node in self.nodes for p in node.parents)
        return _graph(self.names, edges)

    @property
    def levels(self) -> dict[str, int]:
        """How many levels each discrete variable has."""
        pairs = zip(self.names, self.sizes, strict=True)
        return {name: size for name, size in pairs if size}

    def column(self, name: str) -> int:
        """The number of the column of a variable."""
        return self.names.index(name)

    def after(self, interventions: set[str]) -> "Joint":
        """The distribution where some variables are set from outside: they have no node."""
        kept = tuple(node for node in self.nodes if node.name not in interventions)
        return Joint(self.names, kept, self.sizes)


@lru_cache(maxsize=256)
def _graph(names: tuple, edges: tuple) -> DirectedGraph:
    """The graph, which is checked once."""
    return DirectedGraph(names, edges)


def gathered(
    array: np.ndarray, scope: tuple[str, ...], observed: dict[str, np.ndarray]
) -> tuple[tuple[str, ...], np.ndarray]:
    """An array at the observed levels of each row: (n, levels of the others, ...).

    Args:
        array: one axis for each name of the scope, and perhaps more behind.
        scope: names of the first axes.
        observed: (n,) levels of the variables that are observed.

    Returns:
        The names that are left, and the array; its first axis has length 1 if nothing of
        the scope was observed.
    """
    seen = [name for name in scope if name in observed]
    rest = tuple(name for name in scope if name not in observed)
    if not seen:
        return rest, array[None]
    axes = [scope.index(name) for name in seen]
    moved = np.moveaxis(array, axes, range(len(axes)))
    return rest, moved[tuple(observed[name] for name in seen)]


def spread(
    array: np.ndarray, own: tuple[str, ...], names: tuple[str, ...]
) -> np.ndarray:
    """An array (n, levels of own, ..., more) with axes for all names, of length 1 if new."""
    order = [own.index(name) + 1 for name in names if name in own]
    more = range(1 + len(own), array.ndim)
    moved = array.transpose(0, *order, *more)
    shape = [array.shape[own.index(n) + 1] if n in own else 1 for n in names]
    return moved.reshape(len(array), *shape, *array.shape[1 + len(own) :])
