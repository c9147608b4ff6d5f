"""Networks whose numbers are known: tables and linear normal distributions put together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.generative.graphs.nodes import Joint, Node, NormalNode, TableNode
from likely.preprocess import TableCodec
from likely.probability import Table


@dataclass(frozen=True)
class LinearNormal:
    r"""A continuous variable: $x \sim N(b + \sum_j β_j x_j,\; σ^2)$.

    With discrete parents (`given`) every number may be an array with one axis for each of them.

    Args:
        name: of the variable.
        coefficients: β by the names of continuous parents.
        intercept: b.
        scale: σ.
        given: names of the discrete parents.
    """

    name: str
    coefficients: Mapping[str, Any] = field(default_factory=dict)
    intercept: Any = 0.0
    scale: Any = 1.0
    given: tuple[str, ...] = ()

    @classmethod
    def of(cls, node: NormalNode) -> "LinearNormal":
        """Of a node of a network."""
        B = node.coefficients
        slopes = {parent: B[..., j] for j, parent in enumerate(node.continuous)}
        return cls(node.name, slopes, B[..., -1], node.scale, node.discrete)


def joint_of(parts: Sequence[Table | LinearNormal]) -> Joint:
    """The network of some parts, one for each variable."""
    levels = _levels(parts)
    names = tuple(_head(part) for part in parts)
    if len(set(names)) != len(names) or not names:
        raise InputError("give one part for each variable, and at least one.")
    nodes: list[Node] = []
    for part, name in zip(parts, names, strict=True):
        if isinstance(part, Table):
            nodes.append(_table_node(part, name, levels))
        else:
            nodes.append(_normal_node(part, names, levels))
    sizes = tuple(len(levels.get(name, ())) for name in names)
    joint = Joint(names, tuple(nodes), sizes)
    _ = joint.graph  # a cycle is refused
    return joint


def codec_of(parts: Sequence[Table | LinearNormal], joint: Joint) -> TableCodec:
    """The codec of the columns: levels as they are called, numbers as they are."""
    levels = _levels(parts)
    n = max([2, *(len(own) for own in levels.values())])
    rows = {
        name: [levels[name][i % len(levels[name])] for i in range(n)]
        if name in levels
        else (np.arange(n) + 0.5).tolist()
        for name in joint.names
    }
    kinds = {name: "category" if name in levels else "number" for name in joint.names}
    codec = TableCodec.fit(rows, kinds=kinds)
    columns = tuple(
        replace(column, levels=tuple(map(str, levels[column.name])))
        if column.name in levels
        else replace(column, center=0.0, scale=1.0, softness=None, kind="number")
        for column in codec.columns
    )
    return replace(codec, columns=columns)


def _head(part: Table | LinearNormal) -> str:
    if isinstance(part, LinearNormal):
        return part.name
    if len(part.heads) != 1:
        raise InputError(
            f"a table is of {', '.join(part.heads)}; give a table of one variable, with "
            "given= its parents."
        )
    return part.heads[0]


def _levels(parts: Sequence[Table | LinearNormal]) -> dict[str, list]:
    """The levels of each discrete variable, as its own table has them."""
    found = {}
    for part in parts:
        if isinstance(part, Table):
            name = _head(part)
            found[name] = part.levels[part.names.index(name)].tolist()
            if len(found[name]) < 2:
                raise InputError(f"{name!r} has one level; give two or more.")
    return found


def _table_node(table: Table, name: str, levels: Mapping[str, list]) -> TableNode:
    parents = tuple(table.conditions)
    for parent in parents:
        if parent not in levels:
            raise InputError(f"{parent!r} is a parent of {name!r} and has no table.")
        own = table.levels[table.names.index(parent)].tolist()
        if own != levels[parent]:
            raise InputError(
                f"{parent!r} has the levels {levels[parent]} in its own table and {own} in "
                f"that of {name!r}; give both the same."
            )
    logs = table.arranged((*parents, name)).factor.log_values
    return TableNode(name, parents, np.asarray(logs))


def _normal_node(
    part: LinearNormal, names: tuple[str, ...], levels: Mapping[str, list]
) -> NormalNode:
    for parent in (*part.given, *part.coefficients):
        if parent not in names or (parent in levels) != (parent in part.given):
            raise InputError(
                f"{parent!r} is a parent of {part.name!r}; give it a part of its own, in "
                "`given` if it is discrete and in `coefficients` if it is continuous."
            )
    shape = tuple(len(levels[parent]) for parent in part.given)
    numbers = [*part.coefficients.values(), part.intercept]
    try:
        B = np.stack(
            [np.broadcast_to(np.asarray(b, float), shape) for b in numbers], -1
        )
        scale = np.broadcast_to(np.asarray(part.scale, float), shape)
    except ValueError:
        raise InputError(
            f"the numbers of {part.name!r} have to be single ones, or of shape {shape}: one "
            "axis for the levels of each discrete parent."
        ) from None
    if not (scale > 0).all():
        raise InputError(f"the scale of {part.name!r} has to be above 0.")
    return NormalNode(part.name, part.given, tuple(part.coefficients), B, scale.copy())
