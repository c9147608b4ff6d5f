r"""What models with coefficients share: a basis, formulas, statistics, `summary()`.

The statistics are computed when they are first asked for, from the rows of the fit, which
the model keeps in memory. Files, pickles and copies hold the computed statistics
(`inference_`), not the rows.
"""

from abc import ABC, abstractmethod
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import PyTree
from scipy.sparse import issparse
from sklearn.base import _clone_parametrized, clone
from sklearn.utils.validation import check_is_fitted

from likely.base.learning import Problem, learn, report_convergence
from likely.base.predictor import Predictor
from likely.base.rows import Rows, dense, weights_of
from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.core.random import key_of
from likely.estimators.linear.coefficients import coefficients_of, eta_at
from likely.estimators.linear.fitting.row_space import row_space_is_cheap
from likely.estimators.linear.formulas.formula import Formula, fit_formula
from likely.estimators.linear.inference.evidence import Evidence
from likely.estimators.linear.inference.spread import Spread
from likely.estimators.linear.inference.statistics import (
    FitRecord,
    penalty_sentence,
    refits,
    spread_of,
    statistics_of,
    statistics_or_none,
    summarize,
)
from likely.estimators.linear.inference.uncertainty import (
    columns_of,
    mixture_over_refits,
    predictive,
    recorded_predictive,
)
from likely.estimators.linear.penalty import choose_alpha
from likely.estimators.linear.standardised import plain_learner, standardised
from likely.families import Predictive
from likely.inference import Estimate, Summary
from likely.typing import Batch, Key

UNCERTAINTIES = ("auto", "none", "exact", "delta", "bootstrap")
RESAMPLES = 200
PREDICTIVE_RESAMPLES = 50


class LinearModel(Predictor, ABC):
    """A predictor with coefficients.

    You write `fit` (by `_fit`), `_learner`, `_hyper`, `_publish`, `_unit` and `_estimate`
    (the statistics, from evidence).
    """

    _uncertainty: ClassVar[Literal["none", "exact", "penalised", "delta"]] = "delta"
    """How predictions include the uncertainty of the coefficients, by default."""
    _formula: Formula
    learner_: Any
    phi_: Any
    basis_: Any
    inference_: Estimate
    spread_: list[Spread]

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit by maximum likelihood (with a penalty: maximum a posteriori).

        Args:
            X: (n, d) inputs.
            y: (n,) targets.
            sample_weight: how often each row counts; 2 is "this row twice", 0
                "absent", whatever the row contains.
        """

    @abstractmethod
    def _learner(self, y: np.ndarray) -> Any:
        """The pure core, for these targets."""

    @abstractmethod
    def _hyper(self) -> dict[str, np.ndarray]:
        """The numeric hyper-parameters, checked."""

    @abstractmethod
    def _publish(self, phi: PyTree) -> None:
        """Set the public fitted attributes from φ."""

    @abstractmethod
    def _unit(self) -> Any:
        """The family with its dispersion fixed: what robust errors start from."""

    @abstractmethod
    def _estimate(self, evidence: Evidence) -> Estimate:
        """Coefficients, covariance and likelihoods, from the rows of the fit."""

    # Fitting ---------------------------------------------------------------------------

    def _problem(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        single: bool = False,
    ) -> Problem:
        """The learner with checked rows; a basis is learned from the rows.

        Args:
            X: inputs.
            y: targets.
            sample_weight: how often each row counts.
            offset: gives that of each row from the weights.
            single: whether there is one fit, for which columns may stay as they are.
        """
        hyper, rows = self._hyper(), self._rows(X, y, sample_weight)
        w = self._weights(rows.y, rows.w)
        if issparse(rows.X) and single:
            learner = self._learner(rows.y)
            few = row_space_is_cheap(rows.X, w) and getattr(learner, "rotates", False)
            if getattr(learner, "takes_sparse", False) and not few:
                x = rows.X if offset is None else (rows.X, offset(rows.w))
                return Problem(learner, hyper, Batch(x, rows.y, w))
        rows = rows._replace(X=dense(rows.X))
        columns, relearn = rows.X, None
        vars(self).pop("basis_", None)
        if getattr(self, "basis", None) is not None:
            self.basis_, columns = self._learned_basis(rows.X, rows.w)
            relearn = partial(self._relearned, rows.X, rows.y)
        x = columns if offset is None else (columns, offset(rows.w))
        learner, batch = self._learner(rows.y), Batch(x, rows.y, w)
        if not (single and _suits(learner, hyper, batch)):
            learner = standardised(learner, x, w, self._column_names())
        return Problem(learner, hyper, batch, relearn)

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None):
        """Everything that a fit does; `offset` gives that of each row from the weights."""
        for name in ("_record", "inference_", "spread_"):
            vars(self).pop(name, None)
        single = not isinstance(getattr(self, "alpha", None), str)
        problem = self._problem(X, y, sample_weight, offset, single=single)
        self.learner_, batch = plain_learner(problem.learner), problem.batch
        self._check_targets(batch)
        key = key_of(0)
        hyper = self._chosen(key, problem)
        phi = learn(problem.learner, key, hyper, batch)
        self.phi_ = self._revised(phi, key, hyper, problem)
        report_convergence(self, self.phi_)
        self._publish(self.phi_)
        self._record = FitRecord(hyper, batch, problem.learner)
        return self

    def _learned_basis(self, X: np.ndarray, w: np.ndarray) -> tuple[Any, np.ndarray]:
        """A copy of the basis, fitted to weighted rows, and the columns it makes."""
        basis: Any = clone(self.basis)  # pyright: ignore[reportAttributeAccessIssue]
        basis.fit(X, sample_weight=w)
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            basis.feature_names_in_ = names
        return basis, np.asarray(basis._columns(X))

    def _relearned(self, X: np.ndarray, y: np.ndarray, w: np.ndarray):
        """The learner and the columns that rows of these weights give."""
        columns = self._learned_basis(X, w)[1]
        return standardised(self._learner(y), columns, w), columns

    def _chosen(self, key: Key, problem: Problem) -> dict:
        """The hyper-parameters, the penalty chosen by held-out nats if asked for."""
        if not isinstance(getattr(self, "alpha", None), str):
            return problem.hyper
        self.alpha_, self.alphas_, self.cv_nll_ = choose_alpha(self, key, problem)
        return {**problem.hyper, "alpha": np.asarray(self.alpha_)}

    @property
    def family_(self) -> Any:
        """The family of p(y | x)."""
        return self.learner_.family

    # Defaults that may be replaced -----------------------------------------------------

    @property
    def _takes_sparse(self) -> bool:
        """Whether columns have coefficients as they are, with no basis in between."""
        return getattr(self, "basis", None) is None and self.formula is None

    def _weights(self, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Weights that the settings ask for, beside those of the rows."""
        return w

    def _check_targets(self, batch: Batch) -> None:
        """Refuse targets that the family cannot have."""
        self.family_.check(batch.y, batch.w)

    def _revised(self, phi: PyTree, key: Key, hyper: dict, problem: Problem) -> PyTree:
        """Another φ where this one turns out to be no solution."""
        return phi

    def _coefficient_names(self) -> list[str]:
        """The names as in the table, an intercept first."""
        first = ["intercept"] if self._first else []
        return first + self._column_names()

    def _table_order(self, phi: PyTree) -> np.ndarray:
        """The coefficients of φ in the order of the table."""
        weight, bias, _ = coefficients_of(phi)
        return np.r_[[] if bias is None else bias, weight[:, 0]]

    def _notes(self) -> list[str]:
        """Sentences at the foot of the table."""
        return []

    def _refusal(self, errors: str) -> str | None:
        """Why errors of this kind are refused, or None."""
        return penalty_sentence(self)

    # Formulas --------------------------------------------------------------------------

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        offset: Any = None,
        **settings: Any,
    ) -> Any:
        """Fit y ~ columns, both named by a formula.

        The model keeps the formula: it predicts from frames with the same variables, and a
        copy of it is fitted through the formula (`fit(frame, y)`, `cross_validate`).

        Args:
            formula: such as "price ~ area + C(town)".
            data: a pandas frame (or what can become one).
            sample_weight: how often each row counts.
            exposure: for models of counts: of each row, or the name of a column, which is
                then read from every frame.
            offset: for models of counts, in the same way.
            settings: of the estimator; the formula says whether there is an intercept.
        """
        known = {"exposure": exposure, "offset": offset}
        return fit_formula(
            cls, formula, data, sample_weight, known=known, settings=settings
        )

    @property
    def formula(self) -> Formula | None:
        """The formula the model was made from, if it was."""
        return vars(self).get("_formula")

    def _rows(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        """Checked rows of a fit; with a formula, the columns that it makes of a frame."""
        if self.formula is not None:
            w = weights_of(sample_weight, len(X))
            self._formula.check_response(X, y, w)
            self._formula, X = self._formula.learn(X, w)
        return super()._rows(X, y, sample_weight)

    def _inputs(self, X: Any) -> Any:
        """Checked inputs; with a formula, a frame of variables becomes one of columns."""
        if self.formula is not None:
            X = self.formula.columns(X, list(getattr(self, "feature_names_in_", [])))
        return super()._inputs(X)

    def __sklearn_clone__(self) -> Any:
        copy: Any = _clone_parametrized(self)
        if self.formula is not None:
            copy._formula = self.formula.unlearned()
        return copy

    # Names -----------------------------------------------------------------------------

    def _column_names(self) -> list[str]:
        """Names of the columns that have coefficients."""
        if hasattr(self, "basis_"):
            return list(self.basis_.get_feature_names_out())
        names = getattr(self, "feature_names_in_", None)
        d = self.n_features_in_
        return [f"x{j}" for j in range(d)] if names is None else list(map(str, names))

    @property
    def _first(self) -> int:
        """Columns of the design before those of X: 1 with an intercept."""
        return int(coefficients_of(self.phi_).bias is not None)

    # Prediction ------------------------------------------------------------------------

    def predict_dist(
        self, X: Any, *, uncertainty: str = "auto", **known: Any
    ) -> Predictive:
        """p(y | x) for each row: the primitive from which all predictions derive.

        Args:
            X: (n, d) inputs.
            uncertainty: of the parameters. "auto" includes it: exactly for the normal
                linear model ("exact", Student's t), with the effective degrees of
                freedom where it has a penalty, by the delta method for other models of
                numbers ("delta"); classes take the parameters for known. "bootstrap"
                mixes refits; "none" takes the parameters for known.
            known: `exposure` and `offset` of each row, for models of counts.
        """
        x = self._design(X, **known)
        how = self._how(uncertainty)
        if how == "none":
            return self._at(x)
        if how == "bootstrap":
            etas = [eta_at(phi, x) for phi in refits(self, PREDICTIVE_RESAMPLES, 0)]
            return mixture_over_refits(self.family_, etas)
        eta, columns, found = eta_at(self.phi_, x), columns_of(x), spread_of(self)
        if found is not None:
            exact = how != "delta" or self.family_.multivariate
            return predictive(self.family_, eta, found, columns, exact=exact)
        estimate = statistics_of(self)  # of a file that holds nothing else
        shared = partial(self._log_shared, estimate)
        return recorded_predictive(self.family_, eta, estimate, columns, shared)

    def _log_shared(self, found: Estimate, z: np.ndarray) -> np.ndarray:
        """The logarithm of a shared dispersion z errors from its estimate."""
        shared = coefficients_of(self.phi_).shared[0]
        return shared + z * np.sqrt(found.tail_variance)

    def _plug_in(self, X: Any, **known: Any) -> Predictive:
        return self._at(self._design(X, **known))

    def _at(self, x: Any) -> Predictive:
        """p(y | x) at the fitted parameters, of expanded columns."""
        classes = getattr(self, "classes_", None)
        return Predictive(self.family_, eta_at(self.phi_, x), classes)

    def _design(self, X: Any) -> Any:
        """The columns that have coefficients."""
        return self._columns(self._inputs(X))

    def _columns(self, X: Any) -> Any:
        """The columns that the basis makes of checked rows."""
        if not hasattr(self, "basis_"):
            return X
        return np.asarray(self.basis_._columns(X))

    def _how(self, uncertainty: str) -> str:
        """The way to include the uncertainty, checked."""
        name = type(self).__name__
        if uncertainty not in UNCERTAINTIES:
            raise InputError(
                f"uncertainty is {uncertainty!r}; give one of {', '.join(UNCERTAINTIES)}."
            )
        if uncertainty == "auto":
            known = spread_of(self) is not None or "inference_" in vars(self)
            return self._uncertainty if known else "none"
        if uncertainty == "none":
            return "none"
        if self._predicts_classes:
            raise InputError(
                f"predictions of {name} take the coefficients for known; the uncertainty "
                'of coefficients is in summary(). Give uncertainty="none".'
            )
        if uncertainty == "exact" and self._uncertainty != "exact":
            raise InputError(
                "only LinearRegression has an exact predictive distribution; "
                f'{name} has "delta" and "bootstrap".'
            )
        reason = penalty_sentence(self)
        if reason is not None:
            raise InputError(reason)
        return uncertainty

    # Statistics ------------------------------------------------------------------------

    def summary(
        self,
        *,
        errors: str = "model",
        coverage: float = 0.95,
        n_resamples: int = RESAMPLES,
        random_state: int = 0,
    ) -> Summary:
        """The table of coefficients: errors, tests, intervals, and how well it fits.

        Args:
            errors: "model" (the family is right), "HC0" to "HC3" (the mean is right, the
                variance may not be), "bootstrap" (refits on rows drawn again), or "none".
            coverage: of the confidence intervals.
            n_resamples: refits of the bootstrap.
            random_state: of the bootstrap.
        """
        check_is_fitted(self)
        return summarize(self, errors, coverage, n_resamples, random_state)

    def __getstate__(self) -> Any:
        state: dict = dict(super().__getstate__())  # pyright: ignore
        if state.pop("_record", None) is not None:
            found, spread = statistics_or_none(self), spread_of(self)
            if found is not None:
                state["inference_"] = found
            if spread is not None:
                state["spread_"] = spread
        return state


def _suits(learner: Any, hyper: dict, batch: Batch) -> bool:
    """Whether a fit by the learner needs no other coordinates than those of the columns."""
    suits = getattr(learner, "needs_no_coordinates", None)
    return suits is not None and suits(hyper, batch)


def alpha_of(value: Any, words: tuple[str, ...] = ("cv",)) -> np.ndarray:
    """A strength, checked; a placeholder where a word says that it is to be chosen."""
    if isinstance(value, str):
        if value not in words:
            choices = " or ".join(f'"{word}"' for word in words)
            raise InputError(f"alpha is {value!r}; give a number, or {choices}.")
        return np.asarray(1.0)
    return np.asarray(at_least("alpha", value))


def alpha_hyper(self: Any) -> dict[str, np.ndarray]:
    """The hyper-parameters of a self with a ridge penalty alone."""
    return {"alpha": alpha_of(self.alpha)}
