"""The numba kernel of SHAP values, over leaves and rows; the mathematics is in `shap`."""

from typing import no_type_check

import numpy as np
from numba import float64, int32, int64, uint8, void

from likely.core.compiled import const, inner, kernel
from likely.models.trees.kernels import TREES, U, goes_right


@inner
@no_type_check
def contributions(z, o, n, w, out):
    """The SHAP contribution of each of n features: the sum over sets S of the others."""
    w[0] = 1.0
    for k in range(n):  # w[i]: total of the sets of i among the first k features
        w[k + 1] = 0.0
        for i in range(k, -1, -1):
            w[i + 1] += o[k] * w[i] * (i + 1) / (k + 2)
            w[i] *= z[k] * (k + 1 - i) / (k + 2)
    for k in range(n):
        total, rest = 0.0, w[n]
        for i in range(n - 1, -1, -1):
            if o[k] != 0.0:
                part = rest * (n + 1) / ((i + 1) * o[k])
                total += part
                rest = w[i] - part * z[k] * (n - i) / (n + 1)
            else:
                total += w[i] * (n + 1) / (z[k] * (n - i))
        out[k] = total * (o[k] - z[k])


@kernel(
    void(
        const(uint8, 3),
        *TREES,
        const(int32, 1),
        const(float64, 2),
        const(float64, 1),
        float64[:, :, ::1],
        int64,
        int64,
    )
)
@no_type_check
def add_shap(  # noqa: PLR0917, C901
    codes, nodes, set_at, sets, roots, groups, value, weight, phi, start, stop
):
    """Add the SHAP values of all trees to these rows of phi."""
    m = value.shape[1]
    for t in range(len(groups)):
        root, end = roots[t], roots[t + 1]
        parent = np.full(end - root, -1, np.int64)
        for i in range(end - root):
            left = int64(nodes[root + i] >> U(32))
            if left != i:
                parent[left] = parent[left + 1] = i
        depth = np.zeros(end - root, np.int64)
        for i in range(1, end - root):
            depth[i] = depth[parent[i]] + 1
        longest = depth.max() + 1
        path, side = np.empty(longest, np.int64), np.empty(longest, np.bool_)
        slot, features = np.empty(longest, np.int64), np.empty(longest, np.int64)
        z, o = np.empty(longest), np.empty(longest)
        w, found = np.empty(longest + 1), np.empty(longest)
        for leaf in range(end - root):
            if int64(nodes[root + leaf] >> U(32)) != leaf or leaf == 0:
                continue
            steps, n, at = 0, 0, leaf
            while at > 0:
                above = parent[at]
                f = int64((nodes[root + above] >> U(16)) & U(0xFFFF))
                index = -1
                for k in range(n):
                    if features[k] == f:
                        index = k
                if index < 0:
                    index, features[n], z[n] = n, f, 1.0
                    n += 1
                path[steps], slot[steps] = above, index
                side[steps] = at != int64(nodes[root + above] >> U(32))
                z[index] *= weight[root + at] / weight[root + above]
                steps += 1
                at = above
            for row in range(start, stop):
                o[:n] = 1.0
                for s in range(steps):
                    f = features[slot[s]]
                    code = codes[f >> 2, row, f & 3]
                    node = nodes[root + path[s]]
                    right = goes_right(node, root + path[s], set_at, sets, code)
                    if right != side[s]:
                        o[slot[s]] = 0.0
                contributions(z, o, n, w, found)
                for k in range(n):
                    for j in range(m):
                        phi[row, features[k], groups[t] + j] += (
                            found[k] * value[root + leaf, j]
                        )
