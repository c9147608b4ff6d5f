"""Trees on one histogram engine: bins, growing, pruning, flat arrays, SHAP values.

The kernels are compiled by numba when they are first used; nothing here imports it
before.
"""

from likely.models.trees.bins import Bins
from likely.models.trees.ensemble import Grown, Trees
from likely.models.trees.pruning import pruned, pruning_path
from likely.models.trees.text import tree_text

__all__ = ["Bins", "Grown", "Trees", "pruned", "pruning_path", "tree_text"]
