"""Decision trees: histogram bins, growing, pruning, flat arrays, SHAP values.

The kernels are compiled by numba when they are first used; numba is not imported before.
"""

from importlib import import_module

from likely.models.trees.bins import Bins
from likely.models.trees.ensemble import Grown, Trees
from likely.models.trees.pruning import pruned, pruning_path
from likely.models.trees.text import tree_text

__all__ = [
    "Bins",
    "Grown",
    "Trees",
    "compile_kernels",
    "pruned",
    "pruning_path",
    "tree_text",
]


def compile_kernels() -> None:
    """Compile every kernel into the cache, so that the first fit need not."""
    for name in ("kernels", "grow", "leafwise", "derivatives", "shap_kernel"):
        import_module(f"likely.models.trees.{name}")
