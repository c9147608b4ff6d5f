"""A tree as text: one line for each node."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from likely.models.trees.ensemble import Trees


def question(
    trees: Trees,
    node: int,
    names: Sequence[str],
    words: Mapping[int, Sequence[str]] | None = None,
) -> str:
    """The condition of a node; rows that fulfil it go left.

    Args:
        trees: the trees.
        node: the index of the node.
        names: the names of the features.
        words: what the codes 0, 1, ... of a feature stand for, where they are words.
    """
    j, low = int(trees.feature[node]), int(trees.low[node])
    values = trees.bins.of_feature(j)
    if low == 2:
        bits = trees.sets[trees.set_at[node]]
        own = (words or {}).get(j)
        shown = [f"{v:.6g}" if own is None else own[int(v)] for v in values]
        inside = [
            w
            for c, w in enumerate(["missing", *shown])
            if int(bits[c >> 6]) >> (c & 63) & 1
        ]
        return f"{names[j]} in {{{', '.join(inside)}}}"
    cut = int(trees.cut[node])
    if cut == 0:
        return f"{names[j]} is missing"
    if cut > len(values):
        return f"{names[j]} is there"
    return f"{names[j]} <= {values[cut - 1]:.6g}"


def tree_text(
    trees: Trees,
    t: int = 0,
    *,
    names: Sequence[str] | None = None,
    leaf: Callable[[np.ndarray], str] | None = None,
    words: Mapping[int, Sequence[str]] | None = None,
) -> str:
    """A tree as indented text.

    Args:
        trees: the trees.
        t: the index of the tree.
        names: the names of the features; x0, x1, ... unless given.
        leaf: describes the values of a leaf.
        words: what the codes 0, 1, ... of a feature stand for, where they are words.
    """
    names = names if names is not None else [f"x{j}" for j in range(10**4)]
    describe = leaf or (lambda value: np.array2string(value, precision=4))
    left, lines = trees.left, []
    stack = [(int(trees.roots[t]), 0, "")]
    while stack:
        node, depth, answer = stack.pop()
        indent = "|   " * depth
        head = f"{indent}{answer}"
        if left[node] < 0:
            lines.append(
                f"{head}{describe(trees.value[node])} (weight {trees.weight[node]:.6g})"
            )
            continue
        lines.append(f"{head}{question(trees, node, names, words)}?")
        stack.append((int(left[node]) + 1, depth + 1, "no:  "))
        stack.append((int(left[node]), depth + 1, "yes: "))
    return "\n".join(lines)
