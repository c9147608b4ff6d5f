"""Random variables from families, draws and tables."""

from typing import Any

import numpy as np

from likely import families
from likely.core.checks import InputError
from likely.families.empirical import Empirical
from likely.families.outputs import outputs_of
from likely.families.predictive import Predictive
from likely.probability.tables.from_law import predictive_of, probabilities_of
from likely.probability.tables.table import Table
from likely.probability.variables.combination import stack
from likely.probability.variables.family_variable import FamilyVariable
from likely.probability.variables.point_variable import PointVariable
from likely.probability.variables.variable import AbstractVariable


def random_variable(
    law: Any, *, sample_weight: Any = None, **theta: Any
) -> AbstractVariable:
    """A random variable with moments, generating functions and arithmetic.

    Args:
        law: a family of `likely.families`, with its parameters as further arguments
            (those of its `eta`, or `eta` itself, or `probs` in the place of logits); a
            `Predictive` of one row; draws, as an array (n,) or (n, d); a table of one
            variable with numbers as levels, or of several, which is a vector.
        sample_weight: weights of the draws; rows of weight 0 are not looked at.
        **theta: the parameters of a family.

    Examples:
        >>> calls = lk.probability.random_variable(lk.families.Poisson(), rate=3.0)
        >>> round(float(calls.mean), 2)
        3.0
    """
    if isinstance(law, AbstractVariable):
        return law
    if isinstance(law, families.AbstractFamily | Predictive):
        return _of_family(predictive_of(law, theta))
    if theta:
        raise InputError(
            f"the parameters {sorted(theta)} belong to a family, and the law is a "
            f"{type(law).__name__}; give a family of likely.families."
        )
    if isinstance(law, Empirical):
        return PointVariable(law.y, law.w)
    if isinstance(law, Table):
        return _of_table(law)
    draws = np.asarray(law)
    if draws.dtype.kind not in "biuf":
        raise InputError(
            f"the law is a {type(law).__name__}; give a family with its parameters, numbers "
            "or a table."
        )
    return PointVariable(draws, sample_weight)


def _of_family(predictive: Predictive) -> AbstractVariable:
    if len(predictive) != 1:
        raise InputError(
            f"the distribution has {len(predictive)} rows; give one, such as law[0]."
        )
    family = predictive.family
    if isinstance(family, families.Categorical | families.CumulativeLogit):
        support, values = probabilities_of(Predictive(family, predictive.eta), {})
        return PointVariable(support, values[0])
    if isinstance(family, families.Product):
        outputs = outputs_of(family, predictive.eta)
        return stack(*(_of_family(Predictive(*output)) for output in outputs))
    return FamilyVariable(predictive)


def _of_table(table: Table) -> PointVariable:
    for name, levels in zip(table.names, table.levels, strict=True):
        if levels.dtype.kind not in "biuf":
            raise InputError(
                f"the levels of {name!r} are {levels.tolist()}, which are no numbers; use "
                "table.expectation with a function of them."
            )
    if table.conditions:
        raise InputError("the table is conditional; give a joint one.")
    grid = np.meshgrid(*(own.astype(float) for own in table.levels), indexing="ij")
    values = np.stack([g.ravel() for g in grid], axis=-1)
    values = values[:, 0] if values.shape[1] == 1 else values
    return PointVariable(values, table.values.ravel())
