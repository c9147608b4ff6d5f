"""Which structures a network may have: given, independent, a tree, or learned from rows."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.generative.graphs.answers import draw_hidden
from likely.generative.graphs.directed_graph import DirectedGraph
from likely.generative.graphs.em import blank, fit_numbers
from likely.generative.graphs.scores import FamilyScores
from likely.generative.graphs.search import Found, SearchLimits, has_cycle, hill_climb

N_COMPLETIONS = 3
"""How often missing values are drawn for the search of a structure."""
MAX_ROUNDS = 5
"""How often they are drawn anew, by the structure that was found last."""


class Problem(NamedTuple):
    """Rows whose structure is searched."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    """How many levels each column has; 0 if it is continuous."""
    values: np.ndarray
    w: np.ndarray
    score: str
    prior: float
    least: dict[str, float]

    def scores(self, values: np.ndarray, w: np.ndarray) -> FamilyScores:
        """The scores of families on completed rows."""
        least = np.array([self.least.get(name, 0.0) for name in self.names])
        return FamilyScores(values, w, self.sizes, self.score, self.prior, least)


def given_graph(structure: Any, names: tuple[str, ...]) -> DirectedGraph:
    """The graph that a user means: a graph, edges, or parents by child."""
    if isinstance(structure, DirectedGraph):
        edges: Any = structure.edges
    elif isinstance(structure, Mapping):
        pairs = {
            child: (own,) if isinstance(own, str) else own
            for child, own in structure.items()
        }
        edges = [(p, child) for child, own in pairs.items() for p in own]
    else:
        edges = [tuple(edge) for edge in structure]
    if any(len(edge) != 2 for edge in edges):
        raise InputError("structure has to be pairs (from, to).")
    found = DirectedGraph.of(edges, names)
    extra = [name for name in found.names if name not in names]
    if extra:
        raise InputError(
            f"structure has an edge of {extra[0]!r}, which is not a modelled column; the "
            f"columns are {', '.join(names)}."
        )
    return found


def check_kinds(graph: DirectedGraph, sizes: tuple[int, ...]) -> None:
    """Refuse an arrow from a continuous to a discrete variable."""
    size = dict(zip(graph.names, sizes, strict=True))
    for a, b in graph.edges:
        if size[b] and not size[a]:
            raise InputError(
                f"{a!r} is continuous and cannot be a parent of the discrete {b!r}; turn the "
                f"arrow around, or make {a!r} a category."
            )


def arrows_of(pairs: Any, names: tuple[str, ...]) -> np.ndarray:
    """(d, d) whether (i, j) is among pairs of names."""
    found = np.zeros((len(names), len(names)), bool)
    for a, b in pairs:
        for name in (a, b):
            if name not in names:
                raise InputError(
                    f"there is no column {name!r}; the columns are {', '.join(names)}."
                )
        found[names.index(a), names.index(b)] = True
    return found


def search_limits(
    names: tuple[str, ...],
    sizes: tuple[int, ...],
    *,
    required: Any,
    forbidden: Any,
    **options: int,
) -> SearchLimits:
    """The graphs that may be looked at."""
    discrete = np.array(sizes) > 0
    allowed = ~np.eye(len(names), dtype=bool)
    allowed &= ~(~discrete[:, None] & discrete[None])
    allowed &= ~arrows_of(forbidden, names)
    wanted = arrows_of(required, names)
    if has_cycle(wanted) or (wanted & ~allowed).any():
        raise InputError(
            "required has a cycle, a forbidden edge, or an arrow from a continuous to a "
            "discrete column; leave that out."
        )
    return SearchLimits(allowed, wanted, **options)


def learned(
    problem: Problem, limits: SearchLimits, rng: np.random.Generator
) -> tuple[DirectedGraph, Found]:
    """The structure of largest score.

    Where values are missing they are drawn by a network, the structure is searched on the
    completed rows, and so on, until it stays the same: structural EM by draws.
    """
    names, d = problem.names, len(problem.names)
    missing = np.isnan(problem.values).any(1)
    if not missing.any():
        found = hill_climb(problem.scores(problem.values, problem.w), limits, rng)
        return graph_of(found.arrows, names), found
    arrows = limits.required.copy()
    found = Found(arrows, -np.inf, [])
    for _ in range(MAX_ROUNDS):
        values, w = _completed(problem, graph_of(arrows, names), rng)
        found = hill_climb(problem.scores(values, w), limits, rng)
        if (found.arrows == arrows).all():
            break
        arrows = found.arrows
    assert arrows.shape == (d, d)
    return graph_of(found.arrows, names), found


def _completed(
    problem: Problem, graph: DirectedGraph, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows without missing values: each incomplete row some times, of smaller weights."""
    start = blank(problem.names, problem.sizes, graph.parents)
    fit = fit_numbers(
        start,
        problem.values,
        problem.w,
        prior=problem.prior,
        least=problem.least,
        tol=1e-3,
        max_iter=10,
    )
    missing = np.isnan(problem.values).any(1)
    rows = np.repeat(problem.values[missing], N_COMPLETIONS, axis=0)
    shares = np.repeat(problem.w[missing] / N_COMPLETIONS, N_COMPLETIONS)
    drawn = draw_hidden(fit.joint, rows, rng)
    values = np.vstack([problem.values[~missing], drawn])
    return values, np.concatenate([problem.w[~missing], shares])


def tree(problem: Problem) -> DirectedGraph:
    """The best tree (Chow and Liu): the spanning tree of largest gains of pairs."""
    if len({size > 0 for size in problem.sizes}) > 1:
        raise InputError(
            'structure="tree" needs columns that are all discrete or all continuous; give '
            '"learn", or other kinds.'
        )
    if np.isnan(problem.values).any():
        raise InputError('structure="tree" needs rows without missing values.')
    score, d = problem.scores(problem.values, problem.w), len(problem.names)
    alone = [score(j, frozenset()) for j in range(d)]
    inside, edges = {0}, []
    while len(inside) < d:
        options = [
            (score(j, frozenset((i,))) - alone[j], -i, -j)
            for i in inside
            for j in set(range(d)) - inside
        ]
        gain, i, j = max(options)
        if gain > 0:
            edges.append((problem.names[-i], problem.names[-j]))
        inside.add(-j)
    return DirectedGraph(problem.names, tuple(edges))


def graph_of(arrows: np.ndarray, names: tuple[str, ...]) -> DirectedGraph:
    """The graph of a matrix of arrows."""
    pairs = zip(*np.nonzero(arrows), strict=True)
    return DirectedGraph(names, tuple((names[i], names[j]) for i, j in pairs))
