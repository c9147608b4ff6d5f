from .calibration.classifier import RecalibratedClassifier as RecalibratedClassifier
from .calibration.regressor import RecalibratedRegressor as RecalibratedRegressor
from .conformal.classifier import ConformalClassifier as ConformalClassifier
from .conformal.regressor import ConformalRegressor as ConformalRegressor
from .cross_validation import (
    CrossValidation as CrossValidation,
    cross_validate as cross_validate,
)
from .dependence import (
    PartialDependence as PartialDependence,
    partial_dependence as partial_dependence,
)
from .ensemble import Ensemble as Ensemble
from .importance import (
    Importance as Importance,
    permutation_importance as permutation_importance,
)
from .mixing import Mixing as Mixing, mixing_weights as mixing_weights
from .posterior import (
    Posterior as Posterior,
    sample_posterior as sample_posterior,
)
from .posterior_average import (
    ModelAverage as ModelAverage,
    model_average as model_average,
)
from .search.grid import GridSearch as GridSearch
from .search.halving import SuccessiveHalving as SuccessiveHalving
from .search.nested import (
    NestedCrossValidation as NestedCrossValidation,
    nested_cross_validate as nested_cross_validate,
)
from .search.optuna_study import OptunaSearch as OptunaSearch
from .search.random_draws import RandomSearch as RandomSearch
from .search.trial import Trial as Trial
from .stacking import Stacking as Stacking
