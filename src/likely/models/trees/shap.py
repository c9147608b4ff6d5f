r"""Exact SHAP values of trees (Shapley values of the prediction), in polynomial time.

For a row x, a set S of features has the value $v(S) = E[f(x_S, \cdot)]$, where a split on a
feature outside of S sends the row both ways, in the proportion of the training weights. The
SHAP value of feature j is its mean contribution over all orders of the features,

$$φ_j = \sum_{S \not\ni j} \frac{|S|!\,(d-|S|-1)!}{d!} \bigl(v(S \cup j) - v(S)\bigr),$$

and $\sum_j φ_j = f(x) - v(∅)$. For one leaf, v(S) is the leaf's value times a product over the
features on its path: o (whether x passes the splits on this feature, 0 or 1) for those in S, z
(the share of the weight that passes) for the others. The sum over S is then one over the
number of features in S: coefficients of a polynomial, which is multiplied up feature by
feature and divided again by each of them. The cost is O(leaves · depth²) for a row and a tree.
"""

import numpy as np
from jaxtyping import Float

from likely.core.threads import row_blocks, thread_count, thread_map
from likely.models.trees.ensemble import Trees


def shap_values(
    trees: Trees, X: Float[np.ndarray, "n d"], n_jobs: int | None = None
) -> tuple[Float[np.ndarray, "n d k"], Float[np.ndarray, " k"]]:
    """The SHAP values φ of each row, feature and entry of η, and v(∅); they sum to η."""
    from likely.models.trees.shap_kernel import add_shap

    n, d = X.shape
    codes = trees.bins.encode(np.ascontiguousarray(X), n_jobs)
    phi = np.zeros((n, d, len(trees.start)))
    base = trees.start.copy()
    for t in range(len(trees)):
        part = slice(int(trees.roots[t]), int(trees.roots[t + 1]))
        leaf = trees.left[part] < 0
        w = trees.weight[part][leaf]
        mean = (w / w.sum()) @ trees.value[part][leaf]
        base[trees.groups[t] : trees.groups[t] + len(mean)] += mean

    def one(rows: tuple[int, int]) -> None:
        add_shap(
            codes,
            trees.nodes,
            trees.set_at,
            trees.sets,
            trees.roots,
            trees.groups,
            trees.value,
            trees.weight,
            phi,
            *rows,
        )

    workers = min(thread_count(n_jobs), n)
    thread_map(one, row_blocks(n, workers), workers)
    return phi, base
