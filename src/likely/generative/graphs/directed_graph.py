r"""Directed graphs without cycles: what a Bayesian network says about independence.

A distribution factorises along a graph if $p(x) = \prod_i p(x_i \mid x_{pa(i)})$. Two sets of
variables A and B are then independent given C if C *blocks* every path between them
(d-separation): a path is blocked at a chain or a fork whose middle is in C, and at a collider
$\to v \leftarrow$ unless v or a descendant of it is in C.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from likely.core.checks import InputError
from likely.probability.tables.factor import check_names


@dataclass(frozen=True)
class DirectedGraph:
    """Nodes with names and arrows between them, without cycles.

    Args:
        names: of the nodes.
        edges: pairs (from, to).
    """

    names: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]

    def __post_init__(self):
        if len(set(self.names)) != len(self.names):
            raise InputError(
                f"names is {list(self.names)}; give each node its own name."
            )
        check_names((name for edge in self.edges for name in edge), self.names)
        order = _topological(self.names, self.parents)
        if len(order) < len(self.names):
            rest = [name for name in self.names if name not in order]
            raise InputError(
                f"the edges have a cycle among {', '.join(rest)}; a Bayesian network needs a "
                "graph without cycles: remove or turn an edge."
            )

    @classmethod
    def of(cls, edges: Iterable[Any], names: Iterable[str] = ()) -> "DirectedGraph":
        """The graph of some edges; nodes without an edge have to be named.

        Args:
            edges: pairs (from, to).
            names: of the nodes, in order; those of edges are added.
        """
        pairs = tuple((a, b) for a, b in edges)
        found = dict.fromkeys((*names, *(name for pair in pairs for name in pair)))
        return cls(tuple(found), tuple(dict.fromkeys(pairs)))

    @property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """The nodes with an arrow to each node, in the order of the names."""
        return _neighbours(self.names, self.edges)[0]

    @property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """The nodes that each node has an arrow to."""
        return _neighbours(self.names, self.edges)[1]

    @property
    def order(self) -> tuple[str, ...]:
        """The nodes, every one after its parents."""
        return _topological(self.names, self.parents)

    def ancestors(self, names: Iterable[str]) -> set[str]:
        """These nodes and all from which an arrow path leads to them."""
        return _reached(names, self.parents)

    def descendants(self, names: Iterable[str]) -> set[str]:
        """These nodes and all that an arrow path leads to."""
        return _reached(names, self.children)

    def without_arrows_to(self, names: Iterable[str]) -> "DirectedGraph":
        """The graph after an intervention, which cuts the arrows to these nodes."""
        cut = set(names)
        check_names(cut, self.names)
        left = tuple(edge for edge in self.edges if edge[1] not in cut)
        return DirectedGraph(self.names, left)

    def markov_blanket(self, name: str) -> tuple[str, ...]:
        """Parents, children and other parents of children: given them, nothing else matters."""
        check_names((name,), self.names)
        near = {*self.parents[name], *self.children[name]}
        near |= {p for child in self.children[name] for p in self.parents[child]}
        return tuple(other for other in self.names if other in near - {name})

    def d_separated(
        self, a: str | Iterable[str], b: str | Iterable[str], given: Any = ()
    ) -> bool:
        """Whether the graph makes a and b independent, given other nodes.

        Args:
            a: a node or several.
            b: a node or several.
            given: the conditions.
        """
        a, b, given = (_names_of(part) for part in (a, b, given))
        check_names((*a, *b, *given), self.names)
        if not a or not b or a & b or (a | b) & given:
            raise InputError(
                "a, b and given have to be different nodes, and a and b at least one each."
            )
        return not (self.reachable(a, given) & b)

    def reachable(self, start: Iterable[str], given: Iterable[str]) -> set[str]:
        """The nodes that are dependent on `start`, given others, in some distribution.

        A ball goes along arrows and remembers whether it came to a node from a child (up)
        or from a parent (down).
        """
        given = set(given)
        opened = self.ancestors(given)  # colliders that pass the ball on
        waiting, seen = [(name, True) for name in start], set()
        while waiting:
            state = waiting.pop()
            if state in seen:
                continue
            seen.add(state)
            name, from_child = state
            if name not in given:
                waiting += [(child, False) for child in self.children[name]]
                if from_child:
                    waiting += [(parent, True) for parent in self.parents[name]]
            if not from_child and name in opened:
                waiting += [(parent, True) for parent in self.parents[name]]
        return {name for name, _ in seen} - given


@lru_cache(maxsize=1024)
def _neighbours(
    names: tuple[str, ...], edges: tuple[tuple[str, str], ...]
) -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]:
    """The parents and the children of each node."""
    into: dict[str, set[str]] = {name: set() for name in names}
    out: dict[str, set[str]] = {name: set() for name in names}
    for a, b in edges:
        into[b].add(a)
        out[a].add(b)
    both = (
        {n: tuple(other for other in names if other in found[n]) for n in names}
        for found in (into, out)
    )
    parents, children = (MappingProxyType(found) for found in both)
    return parents, children


def _names_of(part: str | Iterable[str]) -> set[str]:
    return {part} if isinstance(part, str) else set(part)


def _topological(
    names: Iterable[str], parents: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Nodes after their parents; those on a cycle, and what follows, are left out."""
    order: dict[str, None] = {}
    waiting = list(names)
    while waiting:
        ready = [name for name in waiting if all(p in order for p in parents[name])]
        if not ready:
            break
        order |= dict.fromkeys(ready)
        waiting = [name for name in waiting if name not in order]
    return tuple(order)


def _reached(
    names: Iterable[str], neighbours: Mapping[str, tuple[str, ...]]
) -> set[str]:
    found, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += neighbours[name]
    return found
