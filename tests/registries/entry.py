"""An entry of the registry of estimators."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
SPARSE_WEIGHTS = "check_sample_weight_equivalence_on_sparse_data"


class Entry(NamedTuple):
    """How to make an estimator, and what is known about it."""

    make: Callable[[], Any]
    kind: str
    slow: str = ""
    """Why it is left to the slow run; empty: it is not."""
    fails: Mapping[str, str] = {}
    """The checks of scikit-learn that it does not pass, each with its reason."""
    brief: Mapping[str, Any] = {}
    """Settings of a fit that compiles fast, for checks that need no converged weights."""
    distribution: bool = True
    """Whether a predictor gives a distribution; some give signs or numbers only."""
    conformal: bool = False
    """Whether intervals and sets come from scores of held-out rows, not the distribution."""
