"""What a Bayesian network says about rows with missing values: likelihoods, means, draws."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from likely.generative.graphs.factors import Evidence, RowFactors, row_factors
from likely.generative.graphs.hidden_normals import HiddenNormals
from likely.generative.graphs.nodes import Joint, NormalNode

MAX_BLOCK_CELLS = 2**21
"""Cells of the largest factor of the rows that are done at once."""
MAX_BLOCK_ROWS = 2**16


class Hidden(NamedTuple):
    """What is known about missing values: their probabilities, means and covariances."""

    probabilities: dict[str, np.ndarray]
    """(n, levels) of each discrete variable that is missing."""
    means: dict[str, np.ndarray]
    """(n,) of each continuous variable that is missing."""
    variances: dict[str, np.ndarray]


def patterns(values: np.ndarray) -> Iterator[np.ndarray]:
    """The numbers of the rows of which the same variables are observed."""
    missing = np.isnan(values)
    if not missing.any():
        yield np.arange(len(values))
        return
    _, which = np.unique(missing, axis=0, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.flatnonzero(np.diff(which[order])) + 1
    yield from np.split(order, ends)


def blocks(
    joint: Joint, values: np.ndarray, keep: tuple[str, ...] = ()
) -> Iterator[tuple[np.ndarray, Evidence]]:
    """Rows of which the same is observed, as many as fit in memory at once.

    Args:
        joint: the network.
        values: (n, d), NaN where missing.
        keep: variables of which the joint table is made.
    """
    for rows in patterns(values):
        size = _block_rows(joint, values[rows[:1]], len(rows), keep)
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            yield part, Evidence.of(joint, values[part])


def _block_rows(joint: Joint, row: np.ndarray, n: int, keep: tuple[str, ...]) -> int:
    """How many rows with the same missing values as one row fit in memory at once."""
    gone = np.flatnonzero(np.isnan(row[0]))
    sizes = [float(joint.sizes[j]) for j in gone]
    cells = float(np.prod([s for s in sizes if s])) * (1.0 + sizes.count(0.0)) ** 2
    if cells * n > MAX_BLOCK_CELLS:  # the whole table is too large: what is really made
        first = Evidence.of(joint, row)
        one = row_factors(joint, first, joint.names)
        kept = tuple(m for m in keep if m in joint.levels and m not in first.names)
        made = [float(hidden.covariances.size) for hidden in one.hidden]
        cells = max([1.0, one.order(kept).largest, *made])
    return int(np.clip(MAX_BLOCK_CELLS / cells, 1, MAX_BLOCK_ROWS))


def log_probs(joint: Joint, values: np.ndarray) -> np.ndarray:
    """(n,) log p of what is observed of each row."""
    found = np.zeros(len(values))
    for rows, evidence in blocks(joint, values):
        found[rows] = row_factors(joint, evidence).logs()
    return found


def hidden_values(
    joint: Joint, evidence: Evidence, names: Collection[str] | None = None
) -> Hidden:
    """The marginal distributions of values that are missing.

    Args:
        joint: the network.
        evidence: of the rows.
        names: of the variables that are asked for; None is all that are missing.
    """
    asked = joint.names if names is None else names
    hidden = [name for name in asked if name not in evidence.names]
    probabilities = {
        name: row_factors(joint, evidence, (name,)).shares((name,))
        for name in hidden
        if name in joint.levels
    }
    continuous = [name for name in hidden if name not in joint.levels]
    means, variances = {}, {}
    found = row_factors(joint, evidence, continuous)
    for group in found.hidden:
        shares, first, second = mixture_moments(found, group)
        for j, name in enumerate(group.names):
            means[name] = (shares * first[..., j]).sum(1)
            gaps = first[..., j] - means[name][:, None]
            variances[name] = (shares * (gaps**2 + second[..., j])).sum(1)
    return Hidden(probabilities, means, variances)


def mixture_moments(
    found: RowFactors, group: HiddenNormals
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One group of missing continuous variables as a mixture of normal distributions.

    Returns:
        (n, k) shares of the k combinations of levels of the missing discrete parents, and
        (n or 1, k, m) means and variances.
    """
    shares = found.shares(group.discrete).reshape(found.evidence.n, -1)
    m, k = len(group.names), shares.shape[1]
    means = group.means.reshape(-1, k, m)
    covariances = group.covariances.reshape(-1, k, m, m)
    return shares, means, np.diagonal(covariances, axis1=-2, axis2=-1)


def draw_hidden(
    joint: Joint, values: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """(n, d) the rows with every missing value drawn, given what is observed of the row."""
    values = values.copy()
    graph = joint.graph
    for rows, _ in blocks(joint, values):
        part = values[rows]
        for name in (
            graph.order
        ):  # one discrete variable after another, each given those before
            evidence = Evidence.of(joint, part)
            if name in joint.levels and name not in evidence.names:
                shares = row_factors(joint, evidence, (name,)).shares((name,))
                part[:, joint.column(name)] = drawn_levels(shares, rng)
        evidence = Evidence.of(joint, part)
        missing = [name for name in joint.names if name not in evidence.names]
        for group in row_factors(joint, evidence, missing).hidden:
            noise = rng.normal(size=(len(rows), len(group.names)))
            roots = np.linalg.cholesky(group.covariances)
            draws = group.means + (roots @ noise[..., None])[..., 0]
            part[:, [joint.column(name) for name in group.names]] = draws
        values[rows] = part
    return values


def draw_rows(joint: Joint, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, d) draws from the network, every variable after its parents."""
    values = np.full((n, len(joint.names)), np.nan)
    for name in joint.graph.order:
        node = joint.by_name[name]
        discrete = node.discrete if isinstance(node, NormalNode) else node.parents
        at = tuple(values[:, joint.column(p)].astype(np.int64) for p in discrete)
        if isinstance(node, NormalNode):
            B = np.broadcast_to(node.coefficients[at], (n, node.coefficients.shape[-1]))
            X = values[:, [joint.column(p) for p in node.continuous]]
            mean = (X * B[:, :-1]).sum(1) + B[:, -1]
            drawn = mean + node.scale[at] * rng.normal(size=n)
        else:
            shares = np.exp(node.log_probs[at])
            drawn = drawn_levels(np.broadcast_to(shares, (n, shares.shape[-1])), rng)
        values[:, joint.column(name)] = drawn
    return values


def drawn_levels(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n,) a level of each row, by its probabilities."""
    edges = np.cumsum(shares, axis=1)
    place = rng.random(len(shares)) * edges[:, -1]
    return (place[:, None] >= edges[:, :-1]).sum(1).astype(np.float64)
