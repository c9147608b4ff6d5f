"""Regressors with coefficients: predictions that know how sure the coefficients are."""

from abc import ABC
from typing import Any, ClassVar

import numpy as np

from likely.core.checks import InputError
from likely.estimators.linear.model import AbstractLinearModel
from likely.estimators.shell import AbstractRegressor
from likely.families import Predictive

UNCERTAINTIES = ("auto", "none", "exact", "delta", "bootstrap")


class AbstractLinearRegressor(AbstractLinearModel, AbstractRegressor, ABC):
    """A regressor whose predictive distribution includes parameter uncertainty."""

    _how: ClassVar[str] = "delta"

    def predict_dist(self, X: Any, *, uncertainty: str = "auto") -> Predictive:
        """p(y | x) for each row: the primitive from which all predictions derive.

        Args:
            X: (n, d) inputs.
            uncertainty: of the parameters. "auto" includes it where it is known: exactly
                for the normal linear model ("exact", Student's t), by the delta method
                for other unpenalised models ("delta"), not at all under a penalty;
                "bootstrap" mixes refits; "none" takes the parameters for known.
        """
        return self._predictive(self._rows(X), uncertainty)

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, uncertainty: str = "auto"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the central predictive interval."""
        return self._predictive(self._rows(X), uncertainty).interval(coverage)

    def _predictive(self, X: Any, how: str) -> Predictive:
        if how not in UNCERTAINTIES:
            raise InputError(
                f"uncertainty is {how!r}; give one of {', '.join(UNCERTAINTIES)}."
            )
        if how == "exact" and self._how != "exact":
            raise InputError(
                f"only LinearRegression has an exact predictive distribution; "
                f'{type(self).__name__} has "delta" and "bootstrap".'
            )
        if how == "auto":
            how = self._how if self._known() else "none"
        elif how != "none" and self._penalty() is not None:
            raise InputError(self._penalty() or "")
        return self._uncertain(X, how)

    def _known(self) -> bool:
        """Whether there are errors of the coefficients to include."""
        self._settle()
        return hasattr(self, "inference_")
