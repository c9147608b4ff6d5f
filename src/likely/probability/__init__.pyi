from .exchangeability import (
    DeFinetti as DeFinetti,
    Exchangeable as Exchangeable,
    de_finetti as de_finetti,
    exchangeable as exchangeable,
    mixture_law as mixture_law,
    urn_law as urn_law,
)
from .limits.bounds import (
    Chebyshev as Chebyshev,
    Jensen as Jensen,
    Stirling as Stirling,
    chebyshev as chebyshev,
    jensen as jensen,
    stirling as stirling,
)
from .limits.central_limit import (
    CentralLimit as CentralLimit,
    StandardisedSum as StandardisedSum,
    central_limit as central_limit,
)
from .limits.estimators import (
    EstimatorRisk as EstimatorRisk,
    estimator_risk as estimator_risk,
)
from .limits.large_numbers import (
    RunningMean as RunningMean,
    running_mean as running_mean,
)
from .limits.monte_carlo import (
    MonteCarlo as MonteCarlo,
    monte_carlo as monte_carlo,
)
from .streams import (
    Stream as Stream,
    Welford as Welford,
    welford as welford,
)
from .tables.expectations import Tower as Tower
from .tables.factor import (
    Factor as Factor,
    eliminate as eliminate,
    multiply as multiply,
    restrict as restrict,
    sum_out as sum_out,
)
from .tables.independence import (
    Independence as Independence,
    independence as independence,
)
from .tables.table import Table as Table
from .variables.combination import (
    Combination as Combination,
    stack as stack,
)
from .variables.family_variable import FamilyVariable as FamilyVariable
from .variables.grid import GridLaw as GridLaw
from .variables.make import random_variable as random_variable
from .variables.point_variable import PointVariable as PointVariable
from .variables.variable import AbstractVariable as AbstractVariable
