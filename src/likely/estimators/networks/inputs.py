"""The inputs of networks: what a row is, and how it becomes an array.

A kind of input has no state of its own: what it learns from the rows of a fit it sets on
the estimator, as public fitted attributes.
"""

from typing import Any, Protocol

import numpy as np

from likely.estimators.networks.table import category_columns, coded, learn_codes


class Inputs(Protocol):
    """What a network estimator asks of its kind of input."""

    scaling: str
    """How inputs are scaled, see `RowScaling.of`."""
    max_rows: int | None
    """Rows that are predicted together, where all of them would need much memory."""

    def learn(self, estimator: Any, X: Any, sample_weight: Any) -> None:
        """Set on the estimator what the rows of a fit say about the inputs."""
        ...

    def table(self, estimator: Any, X: Any) -> Any:
        """X as a table of numbers that scikit-learn's checks take."""
        ...

    def shaped(
        self, estimator: Any, X: np.ndarray, given: Any, w: np.ndarray | None
    ) -> np.ndarray:
        """Checked rows in the shape that the network takes.

        Args:
            estimator: the fitted one.
            X: the table, checked.
            given: the rows as they came, where the table does not hold them.
            w: their weights; None where all count.
        """
        ...

    def shape(self, estimator: Any) -> tuple[int, ...]:
        """The shape of one row."""
        ...

    def plain(self, estimator: Any) -> tuple[int, ...]:
        """Columns that are not scaled."""
        ...


class TableInputs:
    """Rows of a table: numbers as they are, categories as codes of learned vectors."""

    scaling: str = "columns"
    max_rows: int | None = None

    def learn(self, estimator: Any, X: Any, sample_weight: Any) -> None:
        """Find the columns of categories (`category_columns_`) and code them (`encoder_`).

        A network that begins from another one has the columns and codes of that.
        """
        source: Any = getattr(estimator, "pretrained", None)
        if hasattr(source, "encoder_"):
            estimator.category_columns_ = source.category_columns_
            estimator.encoder_ = source.encoder_
            return
        columns = category_columns(X, getattr(estimator, "categories", None))
        estimator.category_columns_, estimator.encoder_ = columns, None
        if columns:
            estimator.encoder_ = learn_codes(X, columns, sample_weight)

    def table(self, estimator: Any, X: Any) -> Any:
        """X with codes in the place of categories."""
        if estimator.encoder_ is None:
            return X
        return coded(X, estimator.category_columns_, estimator.encoder_)

    def shaped(
        self, estimator: Any, X: np.ndarray, given: Any, w: np.ndarray | None
    ) -> np.ndarray:
        """The rows as they are."""
        return X

    def shape(self, estimator: Any) -> tuple[int, ...]:
        """(d,)."""
        return (estimator.n_features_in_,)

    def plain(self, estimator: Any) -> tuple[int, ...]:
        """The columns of codes."""
        return tuple(estimator.category_columns_)
