r"""Cost-complexity pruning: the subtree that minimises loss + α · leaves.

For a node t with branch $T_t$, keeping the branch is better as long as α is below
$g(t) = (R(t) - R(T_t)) / (|T_t| - 1)$, where R is the loss of the training rows per unit of
all weight. Cutting the branch of smallest g again and again gives all optimal subtrees, each
contained in the one before.
"""

import numpy as np

from likely.models.trees.ensemble import Grown


def pruning_path(tree: Grown) -> tuple[np.ndarray, np.ndarray]:
    """The α at which each node is pruned (∞ at leaves), and the number of leaves then left."""
    left = (tree.nodes >> np.uint64(32)).astype(np.int64)
    parent = np.full(len(left), -1)
    inner = np.flatnonzero(left)
    parent[left[inner]] = parent[left[inner] + 1] = inner
    gain, leaves = np.zeros(len(left)), np.ones(len(left), np.int64)
    for node in inner[::-1]:  # children come after their parent
        pair = slice(left[node], left[node] + 2)
        gain[node] = tree.gain[node] + gain[pair].sum()
        leaves[node] = leaves[pair].sum()
    total = tree.weight[0]
    alpha, alive = np.full(len(left), np.inf), left > 0
    count = np.zeros(len(left), np.int64)
    reached = 0.0
    while alive[0]:
        rate = np.where(alive, gain / np.maximum(leaves - 1, 1), np.inf)
        node = int(np.argmin(rate))
        reached = max(reached, float(rate[node]) / total)
        lost_gain, lost_leaves = gain[node], leaves[node] - 1
        at = node
        while at >= 0:
            gain[at] -= lost_gain
            leaves[at] -= lost_leaves
            at = int(parent[at])
        below = [node]
        while below:
            at = below.pop()
            if alive[at]:
                alive[at], alpha[at] = False, reached
                below += [left[at], left[at] + 1]
        count[node] = leaves[0]
    return alpha, count


def pruned(tree: Grown, ccp_alpha: float | int) -> Grown:
    """The tree without the branches that gain less than α per leaf."""
    alpha, _ = pruning_path(tree)
    left = (tree.nodes >> np.uint64(32)).astype(np.int64)
    cut = (alpha <= ccp_alpha) & (left > 0)
    old, new_left, queue = [0], {}, [0]
    while queue:
        node = queue.pop()
        if left[node] and not cut[node]:
            new_left[node] = len(old)
            old += [left[node], left[node] + 1]
            queue += [left[node] + 1, left[node]]
    keep = np.array(old)
    low32 = np.uint64(0xFFFFFFFF)
    nodes = np.array(
        [
            (tree.nodes[i] & low32) | np.uint64(new_left[i] << 32)
            if i in new_left
            else np.uint64(0)
            for i in old
        ],
        np.uint64,
    )
    inside = nodes > 0
    return Grown(
        nodes,
        np.where(inside, tree.set_at[keep], -1).astype(np.int32),
        tree.sets,
        tree.value[keep],
        tree.weight[keep],
        np.where(inside, tree.gain[keep], 0.0),
    )
