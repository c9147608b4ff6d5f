r"""Graphs that say the same: Markov equivalence.

Two graphs have the same independences if and only if they have the same edges without
their directions and the same *v-structures* $a \to c \leftarrow b$ with a and b not adjacent. What
data alone can tell is such a class. Its edges that have one direction in all members are
compelled; the others can be turned around.
"""

from itertools import combinations
from typing import NamedTuple

from likely.generative.graphs.directed_graph import DirectedGraph

Edge = tuple[str, str]


class EquivalenceClass(NamedTuple):
    """All graphs with the same independences."""

    directed: frozenset[Edge]
    """The edges (from, to) that every member has."""
    undirected: frozenset[frozenset[str]]
    """The edges that have either direction in some member."""


def skeleton(graph: DirectedGraph) -> frozenset[frozenset[str]]:
    """The edges without their directions."""
    return frozenset(frozenset(edge) for edge in graph.edges)


def v_structures(graph: DirectedGraph) -> frozenset[tuple[frozenset[str], str]]:
    """The colliders a → c ← b with a and b not adjacent, each as ({a, b}, c)."""
    near = skeleton(graph)
    return frozenset(
        (frozenset(pair), child)
        for child, parents in graph.parents.items()
        for pair in combinations(parents, 2)
        if frozenset(pair) not in near
    )


def markov_equivalent(a: DirectedGraph, b: DirectedGraph) -> bool:
    """Whether two graphs over the same variables have the same independences."""
    same = set(a.names) == set(b.names)
    return same and skeleton(a) == skeleton(b) and v_structures(a) == v_structures(b)


def equivalence_class(graph: DirectedGraph) -> EquivalenceClass:
    """The compelled and the reversible edges of a graph.

    The arrows of v-structures are compelled; others follow because the opposite direction
    would make a new v-structure or a cycle.
    """
    near = skeleton(graph)
    found: set[Edge] = {(p, child) for pair, child in v_structures(graph) for p in pair}
    loose = {edge for edge in near if not any(set(e) == edge for e in found)}
    while True:
        both = [edge for a, b in loose for edge in ((a, b), (b, a))]
        new = {edge for edge in both if _follows(edge, found, near)}
        if not new:
            return EquivalenceClass(frozenset(found), frozenset(loose))
        found |= new
        loose -= {frozenset(edge) for edge in new}


def _follows(edge: Edge, found: set[Edge], near: frozenset[frozenset[str]]) -> bool:
    """Whether a → b follows from the arrows found so far (Meek's rules)."""
    a, b = edge
    into = {x for x, y in found if y == a}
    to_b = {x for x, y in found if y == b}
    if any(frozenset((x, b)) not in near for x in into):  # x → a – b: no new collider
        return True
    if any((a, x) in found for x in to_b):  # a → x → b: no cycle
        return True
    middles = [x for x in to_b if frozenset((a, x)) in near]
    return any(  # a – x → b ← y – a with x, y not adjacent
        frozenset(pair) not in near
        for pair in combinations(middles, 2)
        if all((x, a) not in found and (a, x) not in found for x in pair)
    )
