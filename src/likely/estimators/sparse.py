"""Sparse matrices as the tables that they stand for."""

from typing import Any

from scipy.sparse import issparse


def dense(X: Any) -> Any:
    """X itself, or the array of a sparse matrix: models here look at every entry."""
    return X.toarray() if issparse(X) else X
