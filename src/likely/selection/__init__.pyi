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
from .stacking import Stacking as Stacking
