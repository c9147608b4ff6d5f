r"""The factors of a Bayesian network for rows of which the same variables are observed.

Observed discrete variables choose cells of the tables, row by row, so that a factor has an
axis of rows besides those of the variables that are missing. Observed continuous variables make
a factor of the discrete parents: the density at each combination of their levels. Continuous
variables that are missing are integrated out exactly (`hidden_normals`), which
leaves a factor of discrete variables too. What is then summed out is discrete.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from likely.generative.graphs.elimination import EliminationOrder, elimination_order
from likely.generative.graphs.hidden_normals import (
    HiddenNormals,
    groups,
    hidden_normals,
)
from likely.generative.graphs.nodes import Joint, NormalNode, TableNode, gathered
from likely.probability.tables.factor import Factor, eliminate, log_sum

ROWS = "the rows"
"""The name of the axis of rows."""
HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)


class Evidence(NamedTuple):
    """Rows of which the same variables are observed."""

    levels: dict[str, np.ndarray]
    """(n,) the levels of observed discrete variables."""
    numbers: dict[str, np.ndarray]
    """(n,) the values of observed continuous variables."""
    n: int

    @classmethod
    def of(cls, joint: Joint, values: np.ndarray) -> "Evidence":
        """The evidence of rows; NaN, in the same columns of every row, is missing."""
        seen = ~np.isnan(values[0]) if len(values) else np.zeros(len(joint.names), bool)
        levels, numbers = {}, {}
        for j in np.flatnonzero(seen):
            name = joint.names[j]
            if joint.sizes[j]:
                levels[name] = values[:, j].astype(np.int64)
            else:
                numbers[name] = values[:, j]
        return cls(levels, numbers, len(values))

    @property
    def names(self) -> set[str]:
        """What is observed."""
        return {*self.levels, *self.numbers}


class RowFactors(NamedTuple):
    """The factors of rows, and the normal distributions of what was integrated out."""

    factors: list[Factor]
    hidden: list[HiddenNormals]
    evidence: Evidence

    def sizes(self) -> dict[str, int]:
        """The number of levels of each variable in the factors."""
        found: dict[str, int] = {}
        for factor in self.factors:
            found |= factor.sizes
        found.pop(ROWS, None)
        return found

    def order(self, keep: Iterable[str]) -> EliminationOrder:
        """The order in which the other variables are summed out, and its cells per row."""
        scopes = [[n for n in factor.names if n != ROWS] for factor in self.factors]
        return elimination_order(scopes, self.sizes(), tuple(keep))

    def logs(self, keep: tuple[str, ...] = ()) -> np.ndarray:
        """(n, levels of what is kept, ...) log p(kept, observed) of each row."""
        axes = (ROWS, *keep)
        if not any(ROWS in factor.names for factor in self.factors):
            blank = Factor((ROWS,), np.zeros(1))
            left = self._replace(factors=[*self.factors, blank])
            found = left.logs(keep)
            return np.broadcast_to(found, (self.evidence.n, *found.shape[1:]))
        return eliminate(self.factors, axes, order=self.order(keep).names).log_values

    def shares(self, keep: tuple[str, ...]) -> np.ndarray:
        """(n, levels of what is kept, ...) p(kept | observed) of each row."""
        logs = self.logs(keep)
        total = log_sum(logs, tuple(range(1, logs.ndim)))
        total = total.reshape(-1, *[1] * (logs.ndim - 1))
        with np.errstate(invalid="ignore"):
            return np.exp(logs - total)  # NaN where what is observed is impossible


def row_factors(
    joint: Joint, evidence: Evidence, targets: Iterable[str] = ()
) -> RowFactors:
    """The factors that matter: those of what is observed or asked for, and of its ancestors.

    Args:
        joint: the network.
        evidence: of the rows.
        targets: the variables that are asked for.
    """
    needed = joint.graph.ancestors({*evidence.names, *targets})
    factors, unseen = [], []
    for node in joint.nodes:
        if node.name not in needed:
            continue
        if isinstance(node, TableNode):
            factors.append(table_factor(node, evidence))
        elif all(name in evidence.numbers for name in node.family):
            factors.append(density_factor(node, evidence))
        else:
            unseen.append(node)
    hidden = [
        hidden_normals(group, evidence.levels, evidence.numbers, evidence.n)
        for group in groups(unseen, evidence.numbers)
    ]
    factors += [_factor(part.discrete, part.log_mass) for part in hidden]
    return RowFactors(factors, hidden, evidence)


def table_factor(node: TableNode, evidence: Evidence) -> Factor:
    """The table at the observed levels."""
    return _factor(*gathered(node.log_probs, node.scope, evidence.levels))


def density_factor(node: NormalNode, evidence: Evidence) -> Factor:
    """log p(x | parents) at the observed x, for all levels of missing discrete parents."""
    names, B = gathered(node.coefficients, node.discrete, evidence.levels)
    _, scale = gathered(node.scale, node.discrete, evidence.levels)
    lead = (evidence.n, *[1] * len(names))
    gap = evidence.numbers[node.name].reshape(lead) - B[..., -1]
    for j, parent in enumerate(node.continuous):
        gap = gap - evidence.numbers[parent].reshape(lead) * B[..., j]
    return _factor(names, -0.5 * (gap / scale) ** 2 - np.log(scale) - HALF_LOG_2PI)


def _factor(names: tuple[str, ...], logs: np.ndarray) -> Factor:
    """A factor of rows and variables; without rows if all are the same."""
    if len(logs) == 1:
        return Factor(names, logs[0])
    return Factor((ROWS, *names), logs)
