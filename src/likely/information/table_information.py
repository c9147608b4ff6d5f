r"""Mutual and conditional information of tables: $I(A; B) = KL(p_{AB}, p_A p_B)$."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import rel_entr

from likely.core.checks import InputError
from likely.information.probabilities import (
    Axes,
    axes_of,
    in_unit,
    marginal,
    probabilities,
)


def mutual_information(
    p: Any, a: Axes = 0, b: Axes = 1, *, given: Axes = (), unit: str = "nats"
) -> float:
    r"""What two variables of a table say about each other, exactly.

    $$I(A; B) = KL(p_{AB},\ p_A p_B) = H(A) + H(B) - H(A, B),$$
    $$I(A; B \mid C) = H(A, C) + H(B, C) - H(A, B, C) - H(C).$$

    It is symmetric, and zero only for independent variables (given C).

    Args:
        p: a joint table: an array with an axis for each variable, or a table with `.values`
            and `.names`.
        a: a variable, or several: axis numbers or names.
        b: the other one, or ones.
        given: the variables C that are known.
        unit: "nats" or "bits".

    Examples:
        >>> joint = np.array([[0.5, 0.0], [0.0, 0.5]])
        >>> round(float(lk.information.mutual_information(joint, unit="bits")), 3)
        1.0
    """
    values = probabilities(p)
    if values.ndim < 2:
        raise InputError(
            "the table has one variable; mutual information needs the joint table of two."
        )
    A, B, C = (axes_of(p, which, values.ndim) for which in (a, b, given))
    if {*A} & {*B} or {*C} & {*A, *B}:
        raise InputError("a, b and given share a variable; name each variable once.")

    joint = np.moveaxis(
        marginal(values, {*A, *B, *C}),
        [sorted({*A, *B, *C}).index(axis) for axis in (*A, *B, *C)],
        range(len(A) + len(B) + len(C)),
    )
    sizes = [int(np.prod([values.shape[i] for i in part])) for part in (A, B, C)]
    return in_unit(information_of_cells(joint.reshape(sizes)), unit)


def information_of_cells(joint: Float[np.ndarray, "a b c"]) -> float:
    """I(A; B | C) of a table with three axes, in nats; exactly 0 where rounding is below."""
    known = joint.sum(axis=(0, 1), keepdims=True)
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    apart = product / np.where(known > 0, known, 1.0)
    return max(float(rel_entr(joint, np.where(joint > 0, apart, 0.0)).sum()), 0.0)
