r"""Sufficient statistics of the nodes of a network, and the best numbers given them.

A table needs the (expected) weight of each combination of levels; a normal node the second
moments of $z = (x_{pa}, 1, x_i)$, $\sum w E[z z^\top]$ over rows, for each combination of
levels of its discrete parents. Where values are missing the moments are expectations given what is
observed, under the current numbers: the E-step of expectation-maximisation.

The prior is α imaginary rows (the equivalent sample size), spread evenly over the cells of a
table; for a normal node they have mean 0 and variance 1, as its column has:

$$\hat θ = \frac{N + α/\text{cells}}{\sum (N + α/\text{cells})}, \qquad
  \hat β = (S_{zz} + κI)^{-1} S_{zy}, \qquad
  \hat σ^2 = \frac{\text{squares of residuals} + κ|β|^2 + κ}{N + κ},$$

with κ = α divided by the number of combinations of levels.
"""

import numpy as np

from likely.generative.graphs.answers import blocks
from likely.generative.graphs.factors import Evidence, RowFactors, row_factors
from likely.generative.graphs.hidden_normals import HiddenNormals
from likely.generative.graphs.nodes import Joint, Node, NormalNode, TableNode

LEAST_SCALE = 1e-5
"""The smallest σ, in units of the deviation of the column."""
MAX_CONDITION = 1e-12
"""Directions of parents whose variance is a smaller share of the largest are not used."""


def statistics(
    joint: Joint, values: np.ndarray, w: np.ndarray, *, expected: bool = True
) -> list[np.ndarray]:
    """The expected statistics of each node, in the order of the nodes.

    Args:
        joint: the network, whose numbers fill in what is missing.
        values: (n, d), NaN where missing.
        w: (n,) weights.
        expected: whether rows that miss something of a family count, by expectation.
    """
    found = [empty_statistics(node) for node in joint.nodes]
    missing = np.isnan(values)
    for node, total in zip(joint.nodes, found, strict=True):
        own = [joint.column(name) for name in (*node.parents, node.name)]
        whole = ~missing[:, own].any(1)
        add_complete(total, node, joint, values[whole], w[whole])
    if not expected:
        return found
    rest = np.flatnonzero(missing.any(1))
    families = tuple(dict.fromkeys(n for node in joint.nodes for n in node.parents))
    for rows, evidence in blocks(joint, values[rest], families):
        factors = row_factors(joint, evidence, joint.names)
        for node, total in zip(joint.nodes, found, strict=True):
            if not evidence.names.issuperset((*node.parents, node.name)):
                add_expected(total, node, factors, w[rest[rows]])
    return found


def empty_statistics(node: Node) -> np.ndarray:
    """Zeros: counts of a table, or moments of a normal node."""
    if isinstance(node, TableNode):
        return np.zeros(node.log_probs.shape)
    p = len(node.continuous) + 2
    return np.zeros((*node.scale.shape, p, p))


def add_complete(
    total: np.ndarray, node: Node, joint: Joint, values: np.ndarray, w: np.ndarray
) -> None:
    """Add rows of which the whole family of a node is observed."""
    if isinstance(node, TableNode):
        codes = [values[:, joint.column(n)].astype(np.int64) for n in node.scope]
        flat = np.ravel_multi_index(codes, total.shape)
        total += np.bincount(flat, w, total.size).reshape(total.shape)
        return
    Z = design(values[:, [joint.column(n) for n in node.family]])
    shape = node.scale.shape
    if not shape:
        total += (Z * w[:, None]).T @ Z
        return
    codes = [values[:, joint.column(n)].astype(np.int64) for n in node.discrete]
    flat = np.ravel_multi_index(codes, shape)
    each = total.reshape(-1, *total.shape[-2:])
    for k in np.unique(flat):
        mine = flat == k
        each[k] += (Z[mine] * w[mine, None]).T @ Z[mine]


def add_expected(
    total: np.ndarray, node: Node, found: RowFactors, w: np.ndarray
) -> None:
    """Add the expectation over what is missing of rows that miss the same variables."""
    evidence = found.evidence
    if isinstance(node, TableNode):
        hidden = tuple(name for name in node.scope if name not in evidence.names)
        shares = found.shares(hidden) * w.reshape(-1, *[1] * len(hidden))
        _scatter(total, node.scope, evidence, shares)
        return
    names = set(node.family) - set(evidence.numbers)
    group = next((g for g in found.hidden if names & set(g.names)), None)
    hidden = tuple(name for name in node.discrete if name not in evidence.levels)
    axes = hidden if group is None else group.discrete
    shares = found.shares(axes) * w.reshape(-1, *[1] * len(axes))
    moments = _moments(node, evidence, group, len(axes)) * shares[..., None, None]
    extra = tuple(i + 1 for i, name in enumerate(axes) if name not in node.discrete)
    moments = moments.sum(extra)
    kept = [name for name in axes if name in node.discrete]
    order = [1 + kept.index(name) for name in hidden]
    moments = moments.transpose(0, *order, -2, -1)
    _scatter(total, node.discrete, evidence, moments)


def _moments(
    node: NormalNode, evidence: Evidence, group: HiddenNormals | None, n_axes: int
) -> np.ndarray:
    """(n, levels, ..., p + 2, p + 2) the moments of z, given missing discrete parents."""
    lead = (evidence.n, *[1] * n_axes)
    names = (*node.continuous, None, node.name)
    shape = lead if group is None else (evidence.n, *group.means.shape[1:-1])
    means = np.ones((*shape, len(names)))
    spread = np.zeros((*shape, len(names), len(names)))
    at = {}
    for j, name in enumerate(names):
        if name in evidence.numbers:
            means[..., j] = evidence.numbers[name].reshape(lead)
        elif name is not None and group is not None:
            at[j] = group.names.index(name)
            means[..., j] = group.means[..., at[j]]
    if group is not None:
        own, theirs = list(at), list(at.values())
        part = group.covariances[..., theirs, :][..., theirs]
        spread[..., np.array(own)[:, None], np.array(own)] = part
    return means[..., :, None] * means[..., None, :] + spread


def _scatter(
    total: np.ndarray,
    scope: tuple[str, ...],
    evidence: Evidence,
    parts: np.ndarray,
) -> None:
    """Add (n, levels of what is missing, ...) at the observed levels of each row."""
    seen = [name for name in scope if name in evidence.levels]
    axes = [scope.index(name) for name in seen]
    moved = np.moveaxis(total, axes, range(len(axes)))
    if not seen:
        moved += parts.sum(0)
        return
    np.add.at(moved, tuple(evidence.levels[name] for name in seen), parts)


def design(values: np.ndarray) -> np.ndarray:
    """(n, p + 2) z = (continuous parents, 1, the variable), from parents and the variable."""
    ones = np.ones((len(values), 1))
    return np.hstack([values[:, :-1], ones, values[:, -1:]])


def fitted_node(
    node: Node, total: np.ndarray, prior: float | int, least: float | int = LEAST_SCALE
) -> Node:
    """The node with the most probable numbers, given its statistics.

    Args:
        node: whose parents stay.
        total: counts, or moments.
        prior: α.
        least: the smallest σ.
    """
    if isinstance(node, TableNode):
        raised = total + prior / total.size
        sums = raised.sum(-1, keepdims=True)
        shares = np.where(
            sums > 0, raised / np.where(sums > 0, sums, 1), 1 / total.shape[-1]
        )
        with np.errstate(divide="ignore"):
            return TableNode(node.name, node.parents, np.log(shares))
    kappa = prior / max(node.scale.size, 1)
    B, variance = regression(total, kappa, kappa)
    scale = np.asarray(np.sqrt(np.maximum(variance, least**2)))
    return NormalNode(node.name, node.discrete, node.continuous, B, scale)


def regression(
    moments: np.ndarray, ridge: float | int, kappa: float | int
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and variances of the last variable on the others, for many moments.

    Args:
        moments: (..., p + 2, p + 2).
        ridge: κ of the coefficients.
        kappa: κ of the variance: imaginary rows of variance 1.

    Returns:
        (..., p + 1) coefficients and (...) variances; 1 where there is no row at all.
    """
    S, s = moments[..., :-1, :-1], moments[..., :-1, -1]
    inverse = np.linalg.pinv(
        S + ridge * np.eye(S.shape[-1]), rcond=MAX_CONDITION, hermitian=True
    )
    B = (inverse @ s[..., None])[..., 0]
    left = moments[..., -1, -1] - (B * s).sum(-1)  # squares of residuals + κ|β|²
    n = S[..., -1, -1]
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (np.maximum(left, 0.0) + kappa) / (n + kappa)
    return B, np.where(n + kappa > 0, variance, 1.0)


def log_prior(node: Node, prior: float | int) -> float:
    """The logarithm of the prior at the numbers of a node, up to a constant."""
    if not prior:
        return 0.0
    if isinstance(node, TableNode):
        return float(prior / node.log_probs.size * node.log_probs.sum())
    kappa = prior / max(node.scale.size, 1)
    precision = node.scale**-2.0
    squares = (node.coefficients**2).sum(-1)
    each = kappa * (-np.log(node.scale) - 0.5 * precision * (1 + squares))
    return float(each.sum())
